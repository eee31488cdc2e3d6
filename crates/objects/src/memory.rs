//! A store in memory, for tests and for trying things.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::{Bound, Range};
use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::Mutex;
use sapwood_core::exact::clamped;
use sapwood_core::{Cut as _, len64};

use crate::error::Result;
use crate::key::Key;
use crate::store::{Attempt, Blobs, ListedObject, Log, Upload};

type Objects = Arc<Mutex<BTreeMap<Key, Object>>>;

/// An object.
#[derive(Debug)]
struct Object {
    bytes: Vec<u8>,
    modified: SystemTime,
}

impl Object {
    fn new(bytes: &[u8]) -> Self {
        Self { bytes: bytes.to_vec(), modified: SystemTime::now() }
    }
}

/// A store in memory. Its clones are the same store.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    objects: Objects,
}

impl Memory {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Says when an object was written, in place of what the clock said; nothing, when there is none.
    pub fn set_modified(&self, key: &Key, modified: SystemTime) {
        if let Some(object) = self.objects.lock().get_mut(key) {
            object.modified = modified;
        }
    }
}

impl Blobs for Memory {
    fn address(&self) -> &str {
        "memory:"
    }

    fn get(&self, key: &Key, range: Range<u64>) -> Result<Option<Vec<u8>>> {
        let objects = self.objects.lock();
        let Some(Object { bytes, .. }) = objects.get(key) else { return Ok(None) };
        let end = clamped(range.end).min(bytes.len());
        let start = clamped(range.start).min(end);
        Ok(Some(bytes.piece(start..end).to_vec()))
    }

    fn put(&self, key: &Key, bytes: &[u8]) -> Result<()> {
        self.objects.lock().insert(key.clone(), Object::new(bytes));
        Ok(())
    }

    fn upload(&self, key: &Key) -> Result<Box<dyn Upload>> {
        let objects = Arc::clone(&self.objects);
        Ok(Box::new(UnfinishedUpload { objects, key: key.clone(), bytes: Vec::new() }))
    }

    fn list(&self, part: &str, after: Option<&Key>, most: usize) -> Result<Vec<ListedObject>> {
        let objects = self.objects.lock();
        let begin = after.map_or(Bound::Unbounded, Bound::Excluded);
        let later = objects.range((begin, Bound::Unbounded));
        let within = later.filter(|(key, _)| key.is_in(part)).take(most);
        let listed = within.map(|(key, Object { bytes, modified })| ListedObject {
            key: key.clone(),
            len: len64(bytes.len()),
            modified: *modified,
        });
        Ok(listed.collect())
    }

    fn delete(&self, key: &Key) -> Result<()> {
        self.objects.lock().remove(key);
        Ok(())
    }
}

impl Log for Memory {
    fn address(&self) -> &str {
        Blobs::address(self)
    }

    fn read_from(&self, log: &Key, first: u64, most: usize) -> Result<Vec<Vec<u8>>> {
        let objects = self.objects.lock();
        let mut found = Vec::new();
        for slot in (first..).take(most) {
            let Some(object) = objects.get(&Key::slot(log, slot)?) else { break };
            found.push(object.bytes.clone());
        }
        Ok(found)
    }

    fn attempt(&self, log: &Key, slot: u64, bytes: &[u8]) -> Result<Attempt> {
        match self.objects.lock().entry(Key::slot(log, slot)?) {
            Entry::Occupied(_) => Ok(Attempt::Taken),
            Entry::Vacant(free) => {
                free.insert(Object::new(bytes));
                Ok(Attempt::Created)
            }
        }
    }

    fn discard(&self, log: &Key, slot: u64) -> Result<()> {
        self.delete(&Key::slot(log, slot)?)
    }
}

/// An object that comes in pieces.
#[derive(Debug)]
struct UnfinishedUpload {
    objects: Objects,
    key: Key,
    bytes: Vec<u8>,
}

impl Upload for UnfinishedUpload {
    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.objects.lock().insert(self.key, Object::new(&self.bytes));
        Ok(())
    }
}
