//! Checkpoints in a store: which there are, and how one is added.
//!
//! Invariant: they only make a start short. One that is missing, old or damaged, and a hint that is lost or wrong, cost requests,
//! never an answer.

use std::sync::Arc;

use sapwood_core::exact::Exact as _;
use sapwood_core::len64;
use sapwood_objects::{Key, Store};

use crate::checkpoint::{Due, parse_hint, write_hint};
use crate::error::Result;

/// Where they are in a store.
const CHECKPOINTS: &str = "ckpt";
/// Where the number of the newest is, as a hint.
const HINT: &str = "hint";
/// The most bytes of a hint.
const MOST_HINT: u64 = 32;
/// How many names are asked for at once.
const PAGE: usize = 1000;

/// The key of the checkpoint of an entry.
pub(crate) fn key(slot: u64) -> Result<Key> {
    Ok(Key::slot(&Key::new(CHECKPOINTS)?, slot)?)
}

/// What the hint says.
pub(crate) fn hint(store: &dyn Store) -> Result<Option<u64>> {
    let bytes = store.get(&Key::new(HINT)?, 0..MOST_HINT)?;
    Ok(bytes.and_then(|bytes| parse_hint(&bytes)))
}

/// The entries that have checkpoints, from one on, in their order.
pub(crate) fn listed(store: &dyn Store, from: u64) -> Result<Vec<u64>> {
    let part = Key::new(CHECKPOINTS)?;
    let mut after = from.checked_sub(1).map(key).transpose()?;
    let mut found = Vec::new();
    loop {
        let page = store.list(CHECKPOINTS, after.as_ref(), PAGE)?;
        found.extend(page.iter().filter_map(|listed| listed.key.slot_in(&part)));
        if page.len() < PAGE {
            return Ok(found);
        }
        after = page.into_iter().last().map(|listed| listed.key);
    }
}

/// The bytes of a checkpoint, if it is there.
pub(crate) fn read(store: &dyn Store, slot: u64) -> Result<Option<Vec<u8>>> {
    Ok(store.get(&key(slot)?, 0..u64::MAX)?)
}

/// A checkpoint that is due, and that any thread can write: nothing waits for it.
#[derive(Debug)]
pub struct NewCheckpoint {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) slot: u64,
    pub(crate) bytes: Vec<u8>,
    /// What came since the newest that its maker knows.
    pub(crate) since: Due,
}

impl NewCheckpoint {
    /// Writes it, and the hint, unless another has written one meanwhile. Whether it was written.
    ///
    /// It is not created on condition: all who write it write the same bytes, and one that is damaged is mended so.
    ///
    /// # Errors
    /// Those of the store. Nothing is lost then but the time of later starts.
    pub fn write(&self) -> Result<bool> {
        let newest = hint(&*self.store)?.filter(|newest| *newest <= self.slot);
        if newest.is_some_and(|newest| newest.plus(self.since.entries) > self.slot) {
            return Ok(false);
        }
        self.store.put(&key(self.slot)?, &self.bytes)?;
        self.store.put(&Key::new(HINT)?, &write_hint(self.slot))?;
        Ok(true)
    }

    /// The number of the entry that it is of.
    #[must_use]
    pub fn slot(&self) -> u64 {
        self.slot
    }

    /// How many bytes it has.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        len64(self.bytes.len())
    }
}
