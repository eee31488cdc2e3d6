//! What somebody still holds, whether the cache keeps it or not.
//!
//! A directory of 40,000 entries may be larger than what a cache keeps in one piece, and a walk
//! through it asks for it again and again: by path, by the tree before, by the check that comes
//! after. As long as one of them holds the value, all others find it here instead of reading it
//! anew. The table holds weak references only, so that it never keeps anything alive and takes
//! no budget.
//!
//! Invariant: it is looked at only after the cache had nothing, and written only when something
//! was read; a request that finds all it needs in the cache never comes here.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use parking_lot::Mutex;

use crate::cache::item::{Alive, Item, Key};
use crate::cache::store::PassThrough;

/// References to values that are gone are cleared away when there are so many references, and
/// whenever their number has doubled since.
const FEW: usize = 256;

type Table = HashMap<Key, Alive, BuildHasherDefault<PassThrough>>;

#[derive(Debug, Default)]
struct State {
    table: Table,
    /// How many references remained when those to values that are gone were last cleared away.
    remained: usize,
}

/// Values that are in use.
#[derive(Debug, Default)]
pub(crate) struct InUse {
    state: Mutex<State>,
}

impl InUse {
    /// The value under `key`, if it is held anywhere.
    pub(crate) fn get(&self, key: &Key) -> Option<Item> {
        self.state.lock().table.get(key)?.upgrade()
    }

    /// Remembers a value for as long as it is held.
    pub(crate) fn put(&self, key: Key, item: &Item) {
        let mut state = self.state.lock();
        state.table.insert(key, item.downgrade());
        if state.table.len() >= state.remained.saturating_mul(2).max(FEW) {
            state.table.retain(|_, value| value.is_held());
            state.remained = state.table.len();
        }
    }

    /// Forgets all values.
    pub(crate) fn clear(&self) {
        *self.state.lock() = State::default();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::cache::item::{Block, Kind};

    fn key(n: u64) -> Key {
        Key { fs: 1, kind: Kind::Block, a: n, b: 0, part: 0 }
    }

    #[test]
    fn finds_what_is_held_and_nothing_else() {
        let in_use = InUse::default();
        let block = Item::Block(Arc::new(Block(Box::new([1]))));
        in_use.put(key(1), &block);
        assert!(in_use.get(&key(1)).is_some());
        assert!(in_use.get(&key(2)).is_none());
        drop(block);
        assert!(in_use.get(&key(1)).is_none());
    }

    #[test]
    fn what_is_gone_takes_no_room_for_long() {
        let in_use = InUse::default();
        let held: Vec<Item> = (0..3).map(|n| Item::Block(Arc::new(Block(Box::new([n]))))).collect();
        for (n, item) in (0..).zip(&held) {
            in_use.put(key(n), item);
        }
        for n in 3..100_000 {
            in_use.put(key(n), &Item::Block(Arc::new(Block(Box::new([])))));
            assert!(in_use.state.lock().table.len() <= FEW);
        }
        assert!((0..3).all(|n| in_use.get(&key(n)).is_some()));
    }
}
