//! What requests read, counted for tests: cost has to grow with the size of the request.

use sapwood_core::Exact;
use std::collections::HashMap;

use parking_lot::Mutex;

use super::key::Name;

/// The reads of some time.
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
    each: HashMap<Name, (u64, &'static str)>,
    blocks: u64,
    bytes: u64,
}

/// Counts what is put into caches.
#[derive(Debug, Default)]
pub(super) struct Tally {
    counts: Mutex<Counts>,
}

impl Tally {
    /// Counts a read of a block of so many bytes.
    pub(super) fn note_block(&self, weight: usize) {
        let mut counts = self.counts.lock();
        counts.blocks.tally(1);
        counts.bytes.tally(sapwood_core::exact::len64(weight));
    }

    /// Counts an item that was made, of so many bytes.
    pub(super) fn note<T>(&self, name: Name, weight: usize) {
        let mut counts = self.counts.lock();
        let (count, _) = counts.each.entry(name).or_insert((0, std::any::type_name::<T>()));
        count.tally(1);
        counts.bytes.tally(sapwood_core::exact::len64(weight));
    }

    /// The counts since the last call.
    pub(super) fn take(&self) -> Reads {
        let counts = std::mem::take(&mut *self.counts.lock());
        let most = counts.each.iter().max_by_key(|(_, (count, _))| *count);
        Reads {
            blocks: counts.blocks,
            items: counts.each.values().fold(0, |sum, (count, _)| sum.plus(*count)),
            bytes: counts.bytes,
            most: most.map_or(0, |(_, (count, _))| *count),
            which: most.map(|(name, (_, of))| format!("{of} {name:?}")).unwrap_or_default(),
        }
    }
}
