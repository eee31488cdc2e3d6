//! Values that a request still holds, whether the cache keeps them or not.
//!
//! A directory of 40,000 entries may be larger than the largest value of a cache, and a walk
//! through it needs it again and again: by path, by the tree before, by the check that comes
//! after. As long as one of them holds the value, all others find it here instead of reading it
//! anew. The table holds weak references only, so that it never keeps anything alive and takes
//! no budget.
//!
//! Invariant: it is read only after a miss in the cache, and written only when something
//! was read; a request that finds all it needs in the cache never comes here.

use std::any::Any;
use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use super::Item;
use super::key::{Name, PassThrough};

/// References to values that are gone are cleared away when there are so many references, and
/// whenever their number has doubled since.
const FEW: usize = 256;

type Table = HashMap<Name, Weak<dyn Any + Send + Sync>, BuildHasherDefault<PassThrough>>;

#[derive(Debug, Default)]
struct State {
    table: Table,
    /// How many references remained when those to values that are gone were last cleared away.
    remained: usize,
}

/// Values that are in use.
#[derive(Debug, Default)]
pub(super) struct InUse {
    state: Mutex<State>,
}

impl InUse {
    /// The value under `key`, if it is held anywhere.
    pub(super) fn get(&self, key: &Name) -> Option<Item> {
        self.state.lock().table.get(key)?.upgrade()
    }

    /// Registers a value for as long as it is used elsewhere.
    pub(super) fn put(&self, key: Name, item: &Item) {
        let mut state = self.state.lock();
        state.table.insert(key, Arc::downgrade(item));
        if state.table.len() >= state.remained.saturating_mul(2).max(FEW) {
            state.table.retain(|_, value| value.strong_count() > 0);
            state.remained = state.table.len();
        }
    }

    /// Removes all values of one filesystem.
    pub(super) fn forget(&self, fs: u32) {
        self.state.lock().table.retain(|name, _| name.fs != fs);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn none() -> Item {
        Arc::new(())
    }

    fn key(n: u64) -> Name {
        Name::new(1, 0, n, 0, 0)
    }

    #[test]
    fn finds_what_is_held_and_nothing_else() {
        let in_use = InUse::default();
        let block: Item = Arc::new(1u8);
        in_use.put(key(1), &block);
        assert!(in_use.get(&key(1)).is_some());
        assert!(in_use.get(&key(2)).is_none());
        drop(block);
        assert!(in_use.get(&key(1)).is_none());
    }

    #[test]
    fn what_is_gone_takes_no_room_for_long() {
        let in_use = InUse::default();
        let held: Vec<Item> = (0..3u8).map(|n| -> Item { Arc::new(n) }).collect();
        for (n, item) in (0..).zip(&held) {
            in_use.put(key(n), item);
        }
        for n in 3..100_000 {
            in_use.put(key(n), &none());
            assert!(in_use.state.lock().table.len() <= FEW);
        }
        assert!((0..3).all(|n| in_use.get(&key(n)).is_some()));
    }
}
