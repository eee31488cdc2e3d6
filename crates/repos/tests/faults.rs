//! Commits that are stopped at every single file operation: afterwards the old or the new revision
//! is there, whole, and the next commit works.
//!
//! The storage here lets the first N operations through and fails all later ones, as a killed
//! process or a full disk does. With `lose` it also throws away what was written but not synced, as
//! a crash of the machine may.

#![allow(clippy::unwrap_used)]

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use sapwood_core::Revnum;
use sapwood_fsfs::storage::{Stamp, StoredFile};
use sapwood_fsfs::storage_write::{HeldLock, NewFile};
use sapwood_fsfs::txn::{WriteOptions, Writer};
use sapwood_fsfs::{
    Caches, CreateOptions, Filesystem, LocalStorage, OpenOptions, Storage, WriteStorage,
};
use sapwood_repos::create::{RepositoryOptions, create};

/// A local storage that stops working.
#[derive(Debug)]
struct Stopping {
    /// Write operations that still work.
    left: AtomicU64,
    done: AtomicU64,
    /// Whether unsynced contents are lost when it stops.
    lose: bool,
    stopped: AtomicBool,
}

impl Stopping {
    fn after(operations: u64, lose: bool) -> Arc<Self> {
        Arc::new(Self {
            left: AtomicU64::new(operations),
            done: AtomicU64::new(0),
            lose,
            stopped: AtomicBool::new(false),
        })
    }

    fn step(&self) -> io::Result<()> {
        let take = self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1));
        if take.is_err() {
            self.stopped.store(true, Ordering::SeqCst);
            return Err(io::Error::other("stopped"));
        }
        self.done.fetch_add(1, Ordering::SeqCst);
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
struct Faulty(Arc<Stopping>);

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
    fn rename(&self, from: &Path, to: &Path, sync: bool) -> io::Result<()> {
        self.0.step()?;
        LocalStorage.rename(from, to, false)?;
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
}

fn open(path: &Path) -> Filesystem {
    Filesystem::open(&path.join("db"), &Caches::new(4 << 20), &OpenOptions::default()).unwrap()
}

/// Commits a change of everything a commit can change; how it ended.
fn commit(
    path: &Path,
    storage: Arc<dyn WriteStorage>,
    large: bool,
) -> sapwood_fsfs::Result<Revnum> {
    let fs = open(path);
    let options = WriteOptions { storage, ..WriteOptions::default() };
    let writer = Writer::new(&fs, options)?;
    let base = fs.youngest()?;
    let mut txn = writer.begin(base)?;
    let file = format!("/f{base}");
    txn.make_file(&file)?;
    txn.set_text(&file, &mut "text ".repeat(200).as_bytes(), None)?;
    txn.change_prop("/", "p", Some(format!("{base} ").repeat(50).as_bytes()))?;
    if large {
        // So large that it goes to the disk before the commit.
        let block: Vec<u8> = (0u8..=255).flat_map(|n| [n, n.wrapping_mul(31), 7, n ^ 85]).collect();
        let text = block.repeat(5000);
        txn.make_file("/large")?;
        txn.set_text("/large", &mut text.as_slice(), None)?;
    }
    txn.commit()
}

/// Reads the whole youngest revision.
fn read_youngest(path: &Path) -> (Revnum, usize) {
    let fs = open(path);
    let youngest = fs.youngest().unwrap();
    let mut todo = vec![fs.revision_root(youngest).unwrap().node("/").unwrap()];
    let mut count = 0;
    while let Some(node) = todo.pop() {
        count += 1;
        node.props().unwrap();
        if node.kind() == sapwood_core::NodeKind::File {
            std::io::copy(&mut node.contents().unwrap(), &mut std::io::sink()).unwrap();
        } else {
            for entry in node.entries().unwrap().iter() {
                todo.push(node.child(entry.name).unwrap().unwrap());
            }
        }
    }
    fs.revprops(youngest).unwrap();
    (youngest, count)
}

fn stop_everywhere(lose: bool) {
    // The shard size makes the second commit begin a new shard.
    let fs = CreateOptions { shard_size: 2, ..CreateOptions::default() };
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("repo");
    create(&path, &RepositoryOptions { fs, compatible_minor: None }).unwrap();
    commit(&path, Arc::new(LocalStorage), false).unwrap();

    let (mut young, mut files) = read_youngest(&path);
    let mut refused = 0u64;
    for operations in 0.. {
        let stopping = Stopping::after(operations, lose);
        let done = commit(&path, Arc::new(Faulty(Arc::clone(&stopping))), false);
        let (now, now_files) = read_youngest(&path);
        let committed = now == young.next() && now_files == files + 1;
        assert!(committed || (now == young && now_files == files), "after {operations}: r{now}");
        match done {
            Ok(revision) => assert_eq!(revision, now, "after {operations}"),
            Err(_) => refused += 1,
        }
        (young, files) = (now, now_files);
        if !stopping.stopped.load(Ordering::SeqCst) {
            break;
        }
    }
    // There was something to stop at: creating, writing, syncing, moving, four files at least.
    assert!(refused >= 15, "{refused}");
    commit(&path, Arc::new(LocalStorage), false).unwrap();
    let verified = Command::new("svnadmin").args(["verify", "-q"]).arg(&path).output().unwrap();
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stderr));
}

#[test]
fn stopped_while_a_large_text_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("repo");
    create(&path, &RepositoryOptions::default()).unwrap();
    // Three operations name the transaction; then the prototype is created and written.
    for operations in 4..12 {
        let stopping = Stopping::after(operations, true);
        commit(&path, Arc::new(Faulty(stopping)), true).unwrap_err();
        assert_eq!(read_youngest(&path), (Revnum(0), 1));
    }
    commit(&path, Arc::new(LocalStorage), true).unwrap();
    assert_eq!(read_youngest(&path), (Revnum(1), 3));
}

#[test]
fn stopped_at_every_operation() {
    stop_everywhere(false);
}

#[test]
fn stopped_at_every_operation_and_unsynced_data_lost() {
    stop_everywhere(true);
}
