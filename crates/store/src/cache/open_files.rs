//! The bounded table of open revision files.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use crate::storage::StoredFile;

/// Names one revision file or pack file of one filesystem, the contents of which never change; or a
/// folder of revision properties.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileKey {
    /// The filesystem's number in the caches.
    pub fs: u32,
    /// Whether it is the pack of a shard.
    pub packed: bool,
    /// The revision, or the shard.
    pub number: u64,
}

type OpenFile = Arc<dyn StoredFile>;

/// Open files, the least recently used of them closed when there are too many.
#[derive(Debug)]
pub struct FileTable {
    /// With the time of the last use.
    files: Mutex<HashMap<FileKey, (u64, OpenFile)>>,
    most: usize,
    clock: AtomicU64,
    opens: AtomicU64,
}

impl FileTable {
    /// A table with a limit of files.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self { files: Mutex::default(), most, clock: AtomicU64::new(0), opens: AtomicU64::new(0) }
    }

    /// How many files were opened so far.
    pub fn opens(&self) -> u64 {
        self.opens.load(Ordering::Relaxed)
    }

    /// The open file, opened now, by `open`, when it is not.
    ///
    /// # Errors
    /// Those of `open`.
    pub fn get(
        &self,
        key: FileKey,
        open: impl FnOnce() -> io::Result<Arc<dyn StoredFile>>,
    ) -> io::Result<Arc<dyn StoredFile>> {
        let now = self.clock.fetch_add(1, Ordering::Relaxed);
        if let Some((used, file)) = self.files.lock().get_mut(&key) {
            *used = now;
            return Ok(Arc::clone(file));
        }
        // Opening is slow on a network: not under the lock.
        self.count();
        let file = open()?;
        self.keep(key, Arc::clone(&file));
        Ok(file)
    }

    /// The open file under this name.
    pub fn cached(&self, key: FileKey) -> Option<Arc<dyn StoredFile>> {
        let now = self.clock.fetch_add(1, Ordering::Relaxed);
        let mut files = self.files.lock();
        let (used, file) = files.get_mut(&key)?;
        *used = now;
        Some(Arc::clone(file))
    }

    /// Keeps what `open` gives under this name, if there is room. One time in so many as there
    /// are places, room is made: a request that needs more of them than there are, one after the
    /// other, shall not open and close all of them each time.
    pub fn offer(&self, key: FileKey, open: impl FnOnce() -> io::Result<Arc<dyn StoredFile>>) {
        let most = sapwood_core::exact::len64(self.most).max(1);
        let has_room = self.files.lock().len() < self.most;
        if has_room || self.clock.load(Ordering::Relaxed).is_multiple_of(most) {
            self.opens.fetch_add(1, Ordering::Relaxed);
            if let Ok(file) = open() {
                self.keep(key, file);
            }
        }
    }

    /// Keeps a file that was opened.
    pub fn keep(&self, key: FileKey, file: Arc<dyn StoredFile>) {
        let now = self.clock.fetch_add(1, Ordering::Relaxed);
        let mut files = self.files.lock();
        if files.len() >= self.most {
            let oldest = files.iter().min_by_key(|(_, (used, _))| *used).map(|(key, _)| *key);
            if let Some(oldest) = oldest {
                files.remove(&oldest);
            }
        }
        files.insert(key, (now, file));
    }

    /// Counts a file that was opened elsewhere.
    pub fn count(&self) {
        self.opens.fetch_add(1, Ordering::Relaxed);
    }

    /// Closes the files of one filesystem.
    pub fn close_all_of(&self, fs: u32) {
        self.files.lock().retain(|key, _| key.fs != fs);
    }

    /// Closes all files: whether there were any.
    pub fn clear(&self) -> bool {
        let closed = std::mem::take(&mut *self.files.lock());
        !closed.is_empty()
    }

    /// Closes a file that is not needed any more.
    pub fn close(&self, key: FileKey) {
        let closed = self.files.lock().remove(&key);
        drop(closed);
    }
}
