//! Stores that break their promises: what [`prove`](crate::prove) must refuse.

use std::ops::Range;
use std::sync::Barrier;

use crate::error::Result;
use crate::key::Key;
use crate::memory::Memory;
use crate::store::{Attempt, Blobs, ListedObject, Log, Upload};

/// How a store cheats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cheat {
    /// All who create an object succeed, and the last one's is there.
    IgnoresTheCondition,
    /// It looks first and writes then: those who come at once all succeed, those who come later do not.
    LooksFirst,
    /// One succeeds, and the object is not there.
    WritesNothing,
    /// One succeeds, the others are refused, and the object is not the one that succeeded.
    KeepsTheLast,
}

/// A store in memory that cheats.
#[derive(Debug)]
pub struct Cheater {
    how: Cheat,
    store: Memory,
    together: Barrier,
}

impl Cheater {
    /// A store that cheats so, asked by `writers` at once.
    #[must_use]
    pub fn new(how: Cheat, writers: usize) -> Self {
        Self { how, store: Memory::new(), together: Barrier::new(writers) }
    }
}

impl Blobs for Cheater {
    fn address(&self) -> &str {
        "cheater:"
    }

    fn get(&self, key: &Key, range: Range<u64>) -> Result<Option<Vec<u8>>> {
        self.store.get(key, range)
    }

    fn put(&self, key: &Key, bytes: &[u8]) -> Result<()> {
        self.store.put(key, bytes)
    }

    fn upload(&self, key: &Key) -> Result<Box<dyn Upload>> {
        self.store.upload(key)
    }

    fn list(&self, part: &str, after: Option<&Key>, most: usize) -> Result<Vec<ListedObject>> {
        self.store.list(part, after, most)
    }

    fn delete(&self, key: &Key) -> Result<()> {
        self.store.delete(key)
    }
}

impl Log for Cheater {
    fn address(&self) -> &str {
        Blobs::address(self)
    }

    fn read_from(&self, log: &Key, first: u64, most: usize) -> Result<Vec<Vec<u8>>> {
        self.store.read_from(log, first, most)
    }

    fn attempt(&self, log: &Key, slot: u64, bytes: &[u8]) -> Result<Attempt> {
        let key = Key::slot(log, slot)?;
        match self.how {
            Cheat::IgnoresTheCondition => {
                self.put(&key, bytes)?;
                Ok(Attempt::Created)
            }
            Cheat::LooksFirst => {
                let is_free = self.store.read_from(log, slot, 1)?.is_empty();
                // The writers of a race have all looked before the first of them writes.
                self.together.wait();
                if is_free {
                    self.put(&key, bytes)?;
                    return Ok(Attempt::Created);
                }
                Ok(Attempt::Taken)
            }
            Cheat::WritesNothing => {
                let attempt = self.store.attempt(log, slot, bytes)?;
                self.put(&key, b"")?;
                Ok(attempt)
            }
            Cheat::KeepsTheLast => {
                let attempt = self.store.attempt(log, slot, bytes)?;
                self.put(&key, bytes)?;
                Ok(attempt)
            }
        }
    }

    fn discard(&self, log: &Key, slot: u64) -> Result<()> {
        self.store.discard(log, slot)
    }
}
