//! Identifies the contents of wc.db that a cached result belongs to.

use std::collections::HashMap;
use std::fs::{self, File};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::{Changes, Reader};
use sapwood_core::paths::RelPathBuf;

/// Where SQLite keeps the counter of changes in a database.
const COUNTER: u64 = 24;

/// A state of wc.db: another state has another counter, which every change increments, or is another file.
/// The time of the inode's change detects files whose contents were restored from elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct State {
    device: u64,
    inode: u64,
    length: u64,
    changed: (i64, i64),
    counter: u32,
}

/// A state, and what this process changed since then.
#[derive(Debug)]
pub(crate) struct Since {
    pub(crate) state: State,
    pub(crate) changes: Changes<RelPathBuf>,
}

impl State {
    /// The current state. Call it only while SQLite holds a lock on the database; otherwise a change may be
    /// half done.
    pub(crate) fn of(db: &Path) -> Option<Self> {
        let file = database(db)?;
        let found = file.metadata().ok()?;
        // Since it was opened, another file may have been put in its place.
        let now = fs::metadata(db).ok()?;
        if (now.dev(), now.ino()) != (found.dev(), found.ino()) {
            return None;
        }
        let mut counter = [0; 4];
        file.read_exact_at(&mut counter, COUNTER).ok()?;
        Some(Self {
            device: found.dev(),
            inode: found.ino(),
            length: found.len(),
            changed: (found.ctime(), found.ctime_nsec()),
            counter: u32::from_be_bytes(counter),
        })
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        for number in [self.device, self.inode, self.length] {
            out.extend(number.to_le_bytes());
        }
        out.extend(self.changed.0.to_le_bytes());
        out.extend(self.changed.1.to_le_bytes());
        out.extend(self.counter.to_le_bytes());
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Option<Self> {
        Some(Self {
            device: reader.u64()?,
            inode: reader.u64()?,
            length: reader.u64()?,
            changed: (reader.i64()?, reader.i64()?),
            counter: reader.u32()?,
        })
    }
}

/// The database's file, for reading beside SQLite. It is never closed: closing it would release the
/// locks that SQLite holds on the same file in this process.
fn database(path: &Path) -> Option<Arc<File>> {
    static OPEN: Mutex<Option<HashMap<PathBuf, Arc<File>>>> = Mutex::new(None);
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    let open = open.get_or_insert_default();
    if let Some(file) = open.get(path) {
        return Some(Arc::clone(file));
    }
    let file = Arc::new(File::open(path).ok()?);
    open.insert(path.to_owned(), Arc::clone(&file));
    Some(file)
}
