//! What requests read, counted for tests: cost has to grow with what is asked for.

use std::collections::HashMap;

use parking_lot::Mutex;

use crate::cache::item::{Key, Kind};

/// What was read in some time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reads {
    /// How many blocks were read from files.
    pub blocks: u64,
    /// How many items were made of them, each time counted.
    pub items: u64,
    /// Bytes of memory that both took.
    pub bytes: u64,
    /// How often the item that was made most often was made.
    pub most: u64,
    /// Which one that was.
    pub which: String,
}

#[derive(Debug, Default)]
struct Counts {
    each: HashMap<Key, u64>,
    blocks: u64,
    bytes: u64,
}

/// Counts what is put into caches.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    counts: Mutex<Counts>,
}

impl Tally {
    pub(crate) fn note(&self, key: Key, weight: usize) {
        let mut counts = self.counts.lock();
        if key.kind == Kind::Block {
            counts.blocks = counts.blocks.saturating_add(1);
        } else {
            let count = counts.each.entry(key).or_default();
            *count = count.saturating_add(1);
        }
        counts.bytes = counts.bytes.saturating_add(u64::try_from(weight).unwrap_or(u64::MAX));
    }

    /// What was counted since the last call.
    pub(crate) fn take(&self) -> Reads {
        let counts = std::mem::take(&mut *self.counts.lock());
        let most = counts.each.iter().max_by_key(|(_, count)| **count);
        Reads {
            blocks: counts.blocks,
            items: counts.each.values().fold(0, |sum, count| sum.saturating_add(*count)),
            bytes: counts.bytes,
            most: most.map_or(0, |(_, count)| *count),
            which: most.map(|(key, _)| format!("{key:?}")).unwrap_or_default(),
        }
    }
}
