//! A storage that stops working: it lets the first N operations through and fails all later ones,
//! as a killed process or a full disk does. With `lose` it also throws away what was written but
//! not synced, as a crash of the machine may.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use sapwood_fsfs::storage::{Stamp, StoredFile};
use sapwood_fsfs::storage_write::{HeldLock, NewFile};
use sapwood_fsfs::{LocalStorage, Storage, WriteStorage};

/// A local storage that stops working.
#[derive(Debug)]
pub struct Stopping {
    /// Write operations that still work.
    left: AtomicU64,
    /// Whether unsynced contents are lost when it stops.
    lose: bool,
    stopped: AtomicBool,
    /// Names that files were moved to.
    moves: Mutex<Vec<PathBuf>>,
}

impl Stopping {
    pub fn after(operations: u64, lose: bool) -> Arc<Self> {
        Arc::new(Self {
            left: AtomicU64::new(operations),
            lose,
            stopped: AtomicBool::new(false),
            moves: Mutex::default(),
        })
    }

    /// How often a file was moved over one called `name`.
    #[allow(dead_code, reason = "not every test asks")]
    pub fn moves_of(&self, name: &str) -> usize {
        self.moves.lock().unwrap().iter().filter(|to| to.ends_with(name)).count()
    }

    /// Whether some operation failed.
    pub fn has_stopped(&self) -> bool {
        self.stopped.load(Ordering::SeqCst)
    }

    fn step(&self) -> io::Result<()> {
        let take = self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1));
        if take.is_err() {
            self.stopped.store(true, Ordering::SeqCst);
            return Err(io::Error::other("stopped"));
        }
        Ok(())
    }
}

/// A file that remembers how much of it is safe.
#[derive(Debug)]
struct Fragile {
    inner: Box<dyn NewFile>,
    path: PathBuf,
    len: u64,
    synced: u64,
    storage: Arc<Stopping>,
}

impl NewFile for Fragile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Err(error) = self.storage.step() {
            // The last write is torn: half of it arrives.
            let half = bytes.get(..bytes.len() / 2).unwrap_or_default();
            self.inner.append(half)?;
            return Err(error);
        }
        self.len += u64::try_from(bytes.len()).unwrap();
        self.inner.append(bytes)
    }
    fn truncate(&mut self, len: u64) -> io::Result<()> {
        self.storage.step()?;
        self.len = len;
        self.synced = self.synced.min(len);
        self.inner.truncate(len)
    }
    fn set_mode(&mut self, mode: u32) -> io::Result<()> {
        self.storage.step()?;
        self.inner.set_mode(mode)
    }
    fn sync(&mut self) -> io::Result<()> {
        self.storage.step()?;
        self.synced = self.len;
        Ok(())
    }
}

impl Drop for Fragile {
    fn drop(&mut self) {
        if self.storage.lose && self.storage.stopped.load(Ordering::SeqCst) {
            let file = std::fs::File::options().write(true).open(&self.path);
            let _ = file.and_then(|file| file.set_len(self.synced));
        }
    }
}

/// The storage that hands out fragile files; what it does itself is the local storage's.
#[derive(Debug)]
pub struct Faulty(pub Arc<Stopping>);

impl Faulty {
    fn fragile(&self, path: &Path, inner: Box<dyn NewFile>) -> Box<dyn NewFile> {
        let (path, storage) = (path.to_owned(), Arc::clone(&self.0));
        Box::new(Fragile { inner, path, len: 0, synced: 0, storage })
    }
}

impl Storage for Faulty {
    fn open(&self, path: &Path) -> io::Result<Arc<dyn StoredFile>> {
        LocalStorage.open(path)
    }
    fn read(&self, path: &Path, limit: usize) -> io::Result<Vec<u8>> {
        LocalStorage.read(path, limit)
    }
    fn list(&self, path: &Path) -> io::Result<Vec<OsString>> {
        LocalStorage.list(path)
    }
    fn stamp(&self, path: &Path) -> io::Result<Stamp> {
        LocalStorage.stamp(path)
    }
}

impl WriteStorage for Faulty {
    fn create(&self, path: &Path) -> io::Result<Box<dyn NewFile>> {
        self.0.step()?;
        Ok(self.fragile(path, LocalStorage.create(path)?))
    }
    fn create_over(&self, path: &Path) -> io::Result<Box<dyn NewFile>> {
        self.0.step()?;
        Ok(self.fragile(path, LocalStorage.create_over(path)?))
    }
    fn reopen(&self, path: &Path) -> io::Result<Box<dyn NewFile>> {
        self.0.step()?;
        Ok(self.fragile(path, LocalStorage.reopen(path)?))
    }
    fn rename(&self, from: &Path, to: &Path, sync: bool) -> io::Result<()> {
        self.0.step()?;
        LocalStorage.rename(from, to, false)?;
        self.0.moves.lock().unwrap().push(to.to_owned());
        // The name is there; making it durable is an operation of its own.
        if sync { self.0.step() } else { Ok(()) }
    }
    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.0.step()?;
        LocalStorage.remove_file(path)
    }
    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        self.0.step()?;
        LocalStorage.remove_dir(path)
    }
    fn create_dir(&self, path: &Path, inherit_group: bool) -> io::Result<()> {
        self.0.step()?;
        LocalStorage.create_dir(path, inherit_group)
    }
    fn mode(&self, path: &Path) -> io::Result<u32> {
        LocalStorage.mode(path)
    }
    fn copy_permissions(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.0.step()?;
        LocalStorage.copy_permissions(from, to)
    }
    fn set_read_only(&self, path: &Path) -> io::Result<()> {
        self.0.step()?;
        LocalStorage.set_read_only(path)
    }
    fn sync_dir(&self, _: &Path) -> io::Result<()> {
        self.0.step()
    }
    fn lock(&self, path: &Path) -> io::Result<Box<dyn HeldLock>> {
        LocalStorage.lock(path)
    }
    fn try_lock(&self, path: &Path) -> io::Result<Option<Box<dyn HeldLock>>> {
        LocalStorage.try_lock(path)
    }
}
