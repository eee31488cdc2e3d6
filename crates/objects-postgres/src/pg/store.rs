//! Entries in a database and objects in a store, as one store: the entries of a log are listed and read as objects, too.
//!
//! Invariant: what is an entry is decided by its key alone ([`Key::as_entry`]).

use std::ops::Range;
use std::sync::Arc;

use sapwood_objects::{Attempt, Blobs, Key, ListedObject, Log, Result, Store, Upload};

use super::entries::Entries;

/// Both.
#[derive(Debug)]
pub(super) struct Both {
    entries: Entries,
    objects: Arc<dyn Store>,
}

impl Both {
    pub(super) fn new(entries: Entries, objects: Arc<dyn Store>) -> Self {
        Self { entries, objects }
    }
}

impl Blobs for Both {
    fn address(&self) -> &str {
        self.entries.address()
    }

    fn get(&self, key: &Key, range: Range<u64>) -> Result<Option<Vec<u8>>> {
        match key.as_entry() {
            Some((log, slot)) => self.entries.get((&log, slot), range),
            None => self.objects.get(key, range),
        }
    }

    fn put(&self, key: &Key, bytes: &[u8]) -> Result<()> {
        self.objects.put(key, bytes)
    }

    fn upload(&self, key: &Key) -> Result<Box<dyn Upload>> {
        self.objects.upload(key)
    }

    fn list(&self, part: &str, after: Option<&Key>, most: usize) -> Result<Vec<ListedObject>> {
        let log = Key::new(part).ok().filter(Key::is_log);
        match log {
            Some(log) => self.entries.list(&log, after.and_then(|key| key.slot_in(&log)), most),
            None => self.objects.list(part, after, most),
        }
    }

    fn delete(&self, key: &Key) -> Result<()> {
        match key.as_entry() {
            Some((log, slot)) => self.entries.discard(&log, slot),
            None => self.objects.delete(key),
        }
    }
}

impl Log for Both {
    fn address(&self) -> &str {
        self.entries.address()
    }

    fn read_from(&self, log: &Key, first: u64, most: usize) -> Result<Vec<Vec<u8>>> {
        self.entries.read_from(log, first, most)
    }

    fn attempt(&self, log: &Key, slot: u64, bytes: &[u8]) -> Result<Attempt> {
        self.entries.attempt(log, slot, bytes)
    }

    fn discard(&self, log: &Key, slot: u64) -> Result<()> {
        self.entries.discard(log, slot)
    }
}
