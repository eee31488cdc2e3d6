//! Pack, hotcopy, upgrade and recover, stopped at every single file operation, with all data lost
//! that was not synced: the repository is what it was or what it was to become, whole, and the same
//! command run again brings it there.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};

use sapwood_core::{CancelToken, Revnum};
use sapwood_fsfs::hotcopy::HotcopyOptions;
use sapwood_fsfs::maintenance::MaintenanceOptions;
use sapwood_fsfs::pack::PackOptions;
use sapwood_fsfs::storage::{Stamp, StoredFile};
use sapwood_fsfs::storage_write::{HeldLock, NewFile};
use sapwood_fsfs::txn::{WriteOptions, Writer};
use sapwood_fsfs::{
    Caches, CreateOptions, Filesystem, LocalStorage, OpenOptions, Storage, WriteStorage,
};
use sapwood_repos::Repository;
use sapwood_repos::create::{RepositoryOptions, create};

/// What a machine that will crash knows.
#[derive(Debug, Default)]
struct Machine {
    /// Operations that still work.
    left: u64,
    stopped: bool,
    /// For each file that was written how much of it is safe.
    synced: HashMap<PathBuf, u64>,
}

/// A local storage that stops working.
#[derive(Clone, Debug)]
struct Crashing(Arc<Mutex<Machine>>);

impl Crashing {
    fn after(left: u64) -> Self {
        Self(Arc::new(Mutex::new(Machine { left, ..Machine::default() })))
    }

    fn step(&self) -> io::Result<()> {
        let mut machine = self.0.lock().unwrap();
        match machine.left.checked_sub(1) {
            Some(left) => machine.left = left,
            None => {
                machine.stopped = true;
                return Err(io::Error::other("stopped"));
            }
        }
        Ok(())
    }

    /// Whether it stopped; then everything that was not synced is lost.
    fn crash(&self) -> bool {
        let machine = self.0.lock().unwrap();
        if machine.stopped {
            for (path, len) in &machine.synced {
                let file = std::fs::File::options().write(true).open(path);
                if let Ok(file) = file
                    && file.metadata().unwrap().len() > *len
                {
                    file.set_len(*len).unwrap();
                }
            }
        }
        machine.stopped
    }
}

#[derive(Debug)]
struct Fragile {
    inner: Box<dyn NewFile>,
    path: PathBuf,
    len: u64,
    storage: Crashing,
}

impl NewFile for Fragile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Err(error) = self.storage.step() {
            // The last write is torn: half of it arrives.
            self.inner.append(&bytes[..bytes.len() / 2])?;
            return Err(error);
        }
        self.len += u64::try_from(bytes.len()).unwrap();
        self.inner.append(bytes)
    }
    fn truncate(&mut self, len: u64) -> io::Result<()> {
        self.storage.step()?;
        self.len = len;
        self.inner.truncate(len)
    }
    fn set_mode(&mut self, mode: u32) -> io::Result<()> {
        self.storage.step()?;
        self.inner.set_mode(mode)
    }
    fn sync(&mut self) -> io::Result<()> {
        self.storage.step()?;
        self.storage.0.lock().unwrap().synced.remove(&self.path);
        Ok(())
    }
}

impl Crashing {
    fn fragile(&self, path: &Path, inner: Box<dyn NewFile>) -> Box<dyn NewFile> {
        self.0.lock().unwrap().synced.insert(path.to_owned(), 0);
        Box::new(Fragile { inner, path: path.to_owned(), len: 0, storage: self.clone() })
    }
}

impl Storage for Crashing {
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

impl WriteStorage for Crashing {
    fn create(&self, path: &Path) -> io::Result<Box<dyn NewFile>> {
        self.step()?;
        Ok(self.fragile(path, LocalStorage.create(path)?))
    }
    fn create_over(&self, path: &Path) -> io::Result<Box<dyn NewFile>> {
        self.step()?;
        Ok(self.fragile(path, LocalStorage.create_over(path)?))
    }
    fn reopen(&self, path: &Path) -> io::Result<Box<dyn NewFile>> {
        self.step()?;
        LocalStorage.reopen(path)
    }
    fn rename(&self, from: &Path, to: &Path, sync: bool) -> io::Result<()> {
        self.step()?;
        LocalStorage.rename(from, to, false)?;
        {
            let synced = &mut self.0.lock().unwrap().synced;
            synced.remove(to);
            if let Some(len) = synced.remove(from) {
                synced.insert(to.to_owned(), len);
            }
        }
        if sync { self.step() } else { Ok(()) }
    }
    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.step()?;
        self.0.lock().unwrap().synced.remove(path);
        LocalStorage.remove_file(path)
    }
    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        self.step()?;
        LocalStorage.remove_dir(path)
    }
    fn create_dir(&self, path: &Path, inherit_group: bool) -> io::Result<()> {
        self.step()?;
        LocalStorage.create_dir(path, inherit_group)
    }
    fn mode(&self, path: &Path) -> io::Result<u32> {
        LocalStorage.mode(path)
    }
    fn copy_permissions(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.step()?;
        LocalStorage.copy_permissions(from, to)
    }
    fn set_read_only(&self, path: &Path) -> io::Result<()> {
        self.step()?;
        LocalStorage.set_read_only(path)
    }
    fn sync_dir(&self, _: &Path) -> io::Result<()> {
        self.step()
    }
    fn sync_all(&self, _: &Path) -> io::Result<()> {
        self.step()?;
        self.0.lock().unwrap().synced.clear();
        Ok(())
    }
    fn lock(&self, path: &Path) -> io::Result<Box<dyn HeldLock>> {
        LocalStorage.lock(path)
    }
    fn try_lock(&self, path: &Path) -> io::Result<Option<Box<dyn HeldLock>>> {
        LocalStorage.try_lock(path)
    }
}

fn open(path: &Path) -> Filesystem {
    Filesystem::open(&path.join("db"), &Caches::new(4 << 20), &OpenOptions::default()).unwrap()
}

fn repository(path: &Path) -> Repository {
    Repository::open(path, &Caches::new(4 << 20), &OpenOptions::default()).unwrap()
}

fn commit(path: &Path) -> Revnum {
    let fs = open(path);
    let writer = Writer::new(&fs, WriteOptions::default()).unwrap();
    let base = fs.youngest().unwrap();
    let mut txn = writer.begin(base).unwrap();
    let file = format!("/f{base}");
    txn.make_file(&file).unwrap();
    txn.set_text(&file, &mut "text ".repeat(200).as_bytes(), None).unwrap();
    txn.change_prop("/", "p", Some(b"value")).unwrap();
    txn.commit().unwrap()
}

/// A repository with six revisions in shards of two.
fn make(dir: &Path, format: u32, logical: bool) -> PathBuf {
    let path = dir.join("repo");
    let fs = CreateOptions {
        format,
        shard_size: 2,
        logical_addressing: logical,
        ..CreateOptions::default()
    };
    create(&path, &RepositoryOptions { fs, compatible_minor: None }).unwrap();
    for _ in 0..6 {
        commit(&path);
    }
    path
}

/// Reads everything of all revisions: how many nodes.
fn read_all(path: &Path) -> (Revnum, usize) {
    let fs = open(path);
    let youngest = fs.youngest().unwrap();
    let mut count = 0;
    for revision in (0..=youngest.0).map(Revnum) {
        fs.revprops(revision).unwrap();
        fs.changed_paths(revision).unwrap();
        let mut todo = vec![fs.revision_root(revision).unwrap().node("/").unwrap()];
        while let Some(node) = todo.pop() {
            count += 1;
            node.props().unwrap();
            if node.kind() == sapwood_core::NodeKind::File {
                io::copy(&mut node.contents().unwrap(), &mut io::sink()).unwrap();
            } else {
                for entry in node.entries().unwrap().iter() {
                    todo.push(node.child(entry.name).unwrap().unwrap());
                }
            }
        }
    }
    (youngest, count)
}

fn verify(path: &Path) {
    let verified = Command::new("svnadmin").args(["verify", "-q"]).arg(path).output().unwrap();
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stderr));
}

fn copy_tree(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-a").args([from, to]).status().unwrap();
    assert!(copied.success());
}

/// What is stopped: a repository, and the storage to do it with.
type Work<'a> = dyn Fn(&Path, Arc<dyn WriteStorage>) -> Result<(), String> + 'a;

/// Runs `work` on copies of `original`, stopped after each number of operations; `check` looks at
/// what is left. Then once more without stopping.
fn everywhere(original: &Path, work: &Work<'_>, check: &dyn Fn(&Path)) -> u64 {
    let dir = tempfile::tempdir().unwrap();
    for operations in 0.. {
        let path = dir.path().join(operations.to_string());
        copy_tree(original, &path);
        let storage = Crashing::after(operations);
        let done = work(&path, Arc::new(storage.clone()));
        let stopped = storage.crash();
        assert_eq!(done.is_err(), stopped, "{operations}: {done:?}");
        check(&path);
        work(&path, Arc::new(LocalStorage)).unwrap();
        check(&path);
        std::fs::remove_dir_all(&path).unwrap();
        if !stopped {
            return operations;
        }
    }
    0
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn pack(path: &Path, storage: Arc<dyn WriteStorage>, threads: bool) -> Result<(), String> {
    let options = PackOptions { storage, threads, ..PackOptions::default() };
    open(path).pack(&options, &CancelToken::new(), &mut |_| Ok(())).map_err(text)
}

fn packs(format: u32, logical: bool) {
    let dir = tempfile::tempdir().unwrap();
    let path = make(dir.path(), format, logical);
    let before = read_all(&path);
    let work = |path: &Path, storage| pack(path, storage, false);
    let operations = everywhere(&path, &work, &|path| assert_eq!(read_all(path), before));
    assert!(operations > 50, "{operations}");
    // A pack that was stopped, then commits, then another pack.
    for left in [5, operations / 2, operations - 3] {
        let part = dir.path().join(format!("part{left}"));
        copy_tree(&path, &part);
        let storage = Crashing::after(left);
        pack(&part, Arc::new(storage.clone()), true).unwrap_err();
        assert!(storage.crash());
        commit(&part);
        commit(&part);
        pack(&part, Arc::new(LocalStorage), true).unwrap();
        assert_eq!(open(&part).min_unpacked_rev().unwrap(), Revnum(8));
        verify(&part);
        // Nothing is left of what was interrupted; revision 8 is in shard 4.
        let left: Vec<OsString> = LocalStorage.list(&part.join("db/revs")).unwrap();
        assert!(left.iter().all(|name| name == "4" || name.to_str().unwrap().ends_with(".pack")));
    }
}

#[test]
fn pack_with_logical_addressing() {
    packs(8, true);
}

#[test]
fn pack_with_physical_addressing() {
    packs(6, false);
    packs(4, false);
}

#[test]
fn upgrade() {
    for format in [1, 3, 4, 6] {
        let dir = tempfile::tempdir().unwrap();
        let path = make(dir.path(), format, false);
        if format == 4 {
            pack(&path, Arc::new(LocalStorage), false).unwrap();
        }
        let before = read_all(&path);
        let work = |path: &Path, storage| {
            let options = MaintenanceOptions { storage, ..MaintenanceOptions::default() };
            let cancel = CancelToken::new();
            sapwood_repos::upgrade::upgrade(&repository(path), &options, &cancel, &mut |_| Ok(()))
                .map_err(text)
        };
        let operations = everywhere(&path, &work, &|path| assert_eq!(read_all(path), before));
        assert!(operations > 10, "{operations}");
        work(&path, Arc::new(LocalStorage)).unwrap();
        commit(&path);
        verify(&path);
    }
}

#[test]
fn recover() {
    for format in [1, 8] {
        let dir = tempfile::tempdir().unwrap();
        let path = make(dir.path(), format, format == 8);
        let before = read_all(&path);
        let work = |path: &Path, storage| {
            let options = MaintenanceOptions { storage, ..MaintenanceOptions::default() };
            open(path).recover(&options, &CancelToken::new()).map_err(text)
        };
        everywhere(&path, &work, &|path| assert_eq!(read_all(path), before));
        std::fs::write(path.join("db/current"), "").unwrap();
        work(&path, Arc::new(LocalStorage)).unwrap();
        assert_eq!(read_all(&path), before);
        commit(&path);
        verify(&path);
    }
}

#[test]
fn hotcopy() {
    for packed in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let source = make(dir.path(), 8, true);
        let early = dir.path().join("early");
        let copy = |to: &Path, storage: Arc<dyn WriteStorage>, incremental| {
            let options = HotcopyOptions {
                storage,
                incremental,
                threads: false,
                ..HotcopyOptions::default()
            };
            let cancel = CancelToken::new();
            let from = repository(&source);
            sapwood_repos::hotcopy::hotcopy(&from, to, &options, &cancel, &mut |_, _| Ok(()))
                .map_err(text)
        };
        copy(&early, Arc::new(LocalStorage), false).unwrap();
        let old = read_all(&early);
        for _ in 0..3 {
            commit(&source);
        }
        if packed {
            pack(&source, Arc::new(LocalStorage), false).unwrap();
        }
        let new = read_all(&source);
        let work = |path: &Path, storage| copy(path, storage, true);
        let operations = everywhere(&early, &work, &|path| {
            let now = read_all(path);
            assert!(now == old || now == new, "{now:?}");
        });
        assert!(operations > 30, "{operations}");
        copy(&early, Arc::new(LocalStorage), true).unwrap();
        commit(&early);
        verify(&early);
        // A new copy that was stopped is no repository, and an incremental one completes it.
        for left in [1, 20, 60] {
            let fresh = dir.path().join(format!("fresh{left}"));
            let storage = Crashing::after(left);
            copy(&fresh, Arc::new(storage.clone()), false).unwrap_err();
            assert!(storage.crash());
            assert!(!fresh.join("format").exists());
            copy(&fresh, Arc::new(LocalStorage), true).unwrap();
            assert_eq!(read_all(&fresh), new);
            verify(&fresh);
        }
    }
}
