//! Changes of files beside revisions, in memory over those that are there: what they make becomes an entry of the log before the
//! folder has it.
//!
//! Invariant: nothing is written to the folder here.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use sapwood_core::{exact::clamped, len64};
use sapwood_store::write::{HeldLock, NewFile};
use sapwood_store::{Stamp, Storage, StoredFile, WriteStorage};

use super::places::HeldBytes;

/// What became of files: their bytes, or nothing.
pub(super) type Files = BTreeMap<PathBuf, Option<Vec<u8>>>;

/// Changes on the state of one entry of the log.
#[derive(Debug)]
pub(crate) struct FileChanges {
    below: Arc<dyn WriteStorage>,
    files: Arc<Mutex<Files>>,
    /// The slot that they are for.
    pub(super) slot: u64,
}

/// A file that is being written.
#[derive(Debug)]
struct HeldFile {
    path: PathBuf,
    files: Arc<Mutex<Files>>,
}

impl HeldFile {
    fn with<T>(&self, change: impl FnOnce(&mut Vec<u8>) -> T) -> io::Result<T> {
        match self.files.lock().get_mut(&self.path) {
            Some(Some(bytes)) => Ok(change(bytes)),
            _ => Err(ErrorKind::NotFound.into()),
        }
    }
}

impl NewFile for HeldFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.with(|held| held.extend_from_slice(bytes))
    }

    fn truncate(&mut self, len: u64) -> io::Result<()> {
        self.with(|held| held.truncate(clamped(len)))
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn set_mode(&mut self, _: u32) -> io::Result<()> {
        Ok(())
    }
}

impl FileChanges {
    /// No changes yet, of the files in `below`.
    pub(super) fn new(below: Arc<dyn WriteStorage>, slot: u64) -> Self {
        Self { below, files: Arc::default(), slot }
    }

    /// What was changed, and differs from what is there.
    pub(super) fn changed(&self) -> Files {
        let files = self.files.lock();
        let differs = |path: &Path, now: Option<&Vec<u8>>| match self.below.read(path, usize::MAX) {
            Ok(there) => now != Some(&there),
            Err(_) => now.is_some(),
        };
        let changed = files.iter().filter(|(path, now)| differs(path, now.as_ref()));
        changed.map(|(path, now)| (path.clone(), now.clone())).collect()
    }

    fn make(&self, path: &Path, only_new: bool) -> io::Result<Box<dyn NewFile>> {
        if only_new && self.stamp(path).is_ok() {
            return Err(ErrorKind::AlreadyExists.into());
        }
        self.files.lock().insert(path.to_owned(), Some(Vec::new()));
        Ok(Box::new(HeldFile { path: path.to_owned(), files: Arc::clone(&self.files) }))
    }
}

impl Storage for FileChanges {
    fn open(&self, path: &Path) -> io::Result<Arc<dyn StoredFile>> {
        match self.files.lock().get(path) {
            Some(Some(bytes)) => Ok(Arc::new(HeldBytes(Arc::new(bytes.clone())))),
            Some(None) => Err(ErrorKind::NotFound.into()),
            None => self.below.open(path),
        }
    }

    fn read(&self, path: &Path, limit: usize) -> io::Result<Vec<u8>> {
        match self.files.lock().get(path) {
            Some(Some(bytes)) if bytes.len() > limit => Err(ErrorKind::FileTooLarge.into()),
            Some(Some(bytes)) => Ok(bytes.clone()),
            Some(None) => Err(ErrorKind::NotFound.into()),
            None => self.below.read(path, limit),
        }
    }

    fn list(&self, path: &Path) -> io::Result<Vec<OsString>> {
        self.below.list(path)
    }

    fn stamp(&self, path: &Path) -> io::Result<Stamp> {
        match self.files.lock().get(path) {
            Some(Some(bytes)) => {
                Ok(Stamp { inode: 0, len: len64(bytes.len()), modified: 0, changed: 0 })
            }
            Some(None) => Err(ErrorKind::NotFound.into()),
            None => self.below.stamp(path),
        }
    }
}

impl WriteStorage for FileChanges {
    fn create(&self, path: &Path) -> io::Result<Box<dyn NewFile>> {
        self.make(path, true)
    }

    fn create_over(&self, path: &Path) -> io::Result<Box<dyn NewFile>> {
        self.make(path, false)
    }

    fn reopen(&self, path: &Path) -> io::Result<Box<dyn NewFile>> {
        let bytes = self.read(path, usize::MAX)?;
        let mut file = self.make(path, false)?;
        file.append(&bytes)?;
        Ok(file)
    }

    fn rename(&self, from: &Path, to: &Path, _: bool) -> io::Result<()> {
        let bytes = self.read(from, usize::MAX)?;
        let mut files = self.files.lock();
        // One that was made here is as if it had never been.
        if self.below.stamp(from).is_ok() {
            files.insert(from.to_owned(), None);
        } else {
            files.remove(from);
        }
        files.insert(to.to_owned(), Some(bytes));
        Ok(())
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.stamp(path)?;
        self.files.lock().insert(path.to_owned(), None);
        Ok(())
    }

    fn remove_dir(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn create_dir(&self, _: &Path, _: bool) -> io::Result<()> {
        Ok(())
    }

    fn mode(&self, path: &Path) -> io::Result<u32> {
        self.below.mode(path)
    }

    fn copy_permissions(&self, _: &Path, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn set_read_only(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn sync_dir(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn HeldLock>> {
        self.below.lock(path)
    }

    fn try_lock(&self, path: &Path) -> io::Result<Option<Box<dyn HeldLock>>> {
        self.below.try_lock(path)
    }

    fn sync_all(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use sapwood_store::LocalStorage;

    use super::*;

    #[test]
    fn what_is_changed_is_seen_here_and_nowhere_else() {
        let folder = tempfile::tempdir().unwrap();
        let [old, same, new, gone] =
            ["old", "same", "new", "gone"].map(|name| folder.path().join(name));
        for path in [&old, &same, &gone] {
            std::fs::write(path, "before").unwrap();
        }
        let changes = FileChanges::new(Arc::new(LocalStorage), 7);
        changes.replace(&old, b"after", None, true).unwrap();
        changes.replace(&same, b"before", None, true).unwrap();
        changes.replace(&new, b"first", Some(&old), false).unwrap();
        changes.remove_file(&gone).unwrap();
        assert_eq!(changes.read(&old, 100).unwrap(), b"after");
        assert_eq!(changes.read(&new, 4).unwrap_err().kind(), ErrorKind::FileTooLarge);
        assert_eq!(changes.read(&gone, 100).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(changes.remove_file(&gone).unwrap_err().kind(), ErrorKind::NotFound);
        let changed: Vec<_> = changes.changed().into_iter().collect();
        let expected = [
            (gone.clone(), None),
            (new.clone(), Some(b"first".to_vec())),
            (old.clone(), Some(b"after".to_vec())),
        ];
        assert_eq!(changed, expected);
        assert_eq!(std::fs::read(&old).unwrap(), b"before");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 3);
        assert!(!new.exists() && gone.exists());
    }
}
