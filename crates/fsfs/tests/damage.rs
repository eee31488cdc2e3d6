//! Damaged repositories: bytes changed, files cut short, removed or filled with zeros. Whatever is
//! wrong, reading everything and verifying ends with an error or with data, soon, and without a
//! panic; and where indexes cover every byte of revision files, verification finds every change.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::as_conversions,
    reason = "a test on input of our own"
)]

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{Error, ErrorKind, Result as IoResult};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use sapwood_core::{CancelToken, Depth, Revnum};
use sapwood_fsfs::storage::{Stamp, StoredFile};
use sapwood_fsfs::{Caches, Filesystem, Node, OpenOptions, Result, Storage};
use sapwood_testkit::{Packing, Repository, Rng, Shape, repository};

/// A `db` folder in memory.
#[derive(Clone, Debug)]
struct Memory(BTreeMap<PathBuf, Arc<Vec<u8>>>);

#[derive(Debug)]
struct File(Arc<Vec<u8>>);

impl StoredFile for File {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> IoResult<usize> {
        let from = usize::try_from(offset).unwrap_or(usize::MAX).min(self.0.len());
        let len = buf.len().min(self.0.len() - from);
        buf[..len].copy_from_slice(&self.0[from..from + len]);
        Ok(len)
    }

    fn len(&self) -> IoResult<u64> {
        Ok(self.0.len() as u64)
    }
}

impl Memory {
    fn load(db: &Path) -> Self {
        let mut all = BTreeMap::new();
        let mut todo = vec![PathBuf::new()];
        while let Some(dir) = todo.pop() {
            for entry in std::fs::read_dir(db.join(&dir)).unwrap() {
                let entry = entry.unwrap();
                let name = dir.join(entry.file_name());
                if entry.file_type().unwrap().is_dir() {
                    todo.push(name);
                } else {
                    all.insert(name, Arc::new(std::fs::read(entry.path()).unwrap()));
                }
            }
        }
        Self(all)
    }

    fn get(&self, path: &Path) -> IoResult<&Arc<Vec<u8>>> {
        self.0.get(path).ok_or_else(|| Error::from_raw_os_error(2))
    }
}

impl Storage for Memory {
    fn open(&self, path: &Path) -> IoResult<Arc<dyn StoredFile>> {
        Ok(Arc::new(File(Arc::clone(self.get(path)?))))
    }

    fn read(&self, path: &Path, limit: usize) -> IoResult<Vec<u8>> {
        let bytes = self.get(path)?;
        if bytes.len() > limit {
            return Err(ErrorKind::FileTooLarge.into());
        }
        Ok(bytes.to_vec())
    }

    fn list(&self, path: &Path) -> IoResult<Vec<OsString>> {
        let names = self.0.keys().filter_map(|p| p.strip_prefix(path).ok());
        let mut names: Vec<OsString> =
            names.filter_map(|p| p.iter().next()).map(OsString::from).collect();
        names.dedup();
        Ok(names)
    }

    fn stamp(&self, path: &Path) -> IoResult<Stamp> {
        let len = self.0.get(path).map(|bytes| bytes.len() as u64);
        let dir = self.0.keys().any(|p| p.starts_with(path));
        if len.is_none() && !dir {
            return Err(Error::from_raw_os_error(2));
        }
        Ok(Stamp { inode: 1, len: len.unwrap_or(0), modified: 1, changed: 1 })
    }
}

/// How many nodes of a tree are read: damage can make a directory hold itself.
const NODES: usize = 3000;

/// Reads all there is, and goes on behind errors.
fn read_everything(fs: &Filesystem) -> Result<()> {
    let mut first_error = None;
    let mut note = |result: Result<()>| {
        if let Err(e) = result {
            first_error.get_or_insert(e);
        }
    };
    note(fs.locks("/", Depth::Infinity).map(drop));
    note(fs.transactions().map(drop));
    let youngest = fs.youngest()?.0.min(40);
    for revision in (0..=youngest).map(Revnum) {
        note(fs.revprops(revision).map(drop));
        note(fs.changed_paths(revision).map(drop));
        note(read_tree(fs, revision));
    }
    first_error.map_or(Ok(()), Err)
}

fn read_tree(fs: &Filesystem, revision: Revnum) -> Result<()> {
    let root = fs.revision_root(revision)?;
    let mut first_error = None;
    let mut todo = vec![root.node("/")?];
    let mut count = 0;
    root.mergeinfo_below("/", &mut |_, _| Ok(()))?;
    while let Some(node) = todo.pop() {
        count += 1;
        if count > NODES {
            break;
        }
        match read_node(fs, &node) {
            Ok(children) => todo.extend(children),
            Err(e) => drop(first_error.get_or_insert(e)),
        }
        if count < 30 && revision == fs.youngest()? {
            let mut history = root.history(node.path())?;
            for _ in 0..50 {
                if history.previous(true)?.is_none() {
                    break;
                }
            }
            root.closest_copy(node.path())?;
            root.node_origin_rev(node.path())?;
        }
    }
    first_error.map_or(Ok(()), Err)
}

fn read_node(_: &Filesystem, node: &Node) -> Result<Vec<Node>> {
    node.props()?;
    if node.kind() == sapwood_core::NodeKind::Dir {
        let entries = node.entries()?;
        return entries.iter().map(|e| Ok(node.child(e.name)?.expect("an entry"))).collect();
    }
    let mut contents = node.contents()?;
    let mut md5 = sapwood_core::checksum::Md5Hasher::new();
    let mut len = 0;
    while let Some(piece) = contents.next_piece()? {
        md5.update(piece);
        len += piece.len();
        assert!(len < 64 << 20, "a small file has grown");
    }
    // What came without an error is the right text: it has the checksum that is recorded.
    assert_eq!(md5.finish(), node.md5()?);
    if let Some(before) = node.predecessor()? {
        node.contents_differ(&before)?;
    }
    Ok(Vec::new())
}

/// What came of one damage.
#[derive(Clone, Copy, Debug, Default)]
struct Outcome {
    read: bool,
    verified: bool,
}

fn run(db: Memory) -> Outcome {
    let options = OpenOptions { storage: Some(Arc::new(db)), ..OpenOptions::default() };
    let caches = Caches::new(8 << 20);
    let Ok(fs) = Filesystem::open(Path::new(""), &caches, &options) else {
        return Outcome::default();
    };
    let read = read_everything(&fs).is_ok();
    let cancel = CancelToken::new();
    let mut verified = fs.verify_metadata(None, None, &cancel, &mut |_| {}).is_ok();
    for revision in 0..=fs.youngest().map_or(0, |r| r.0.min(40)) {
        verified &= fs.verify_revision(Revnum(revision), &cancel).is_ok();
        let _ = fs.revision_size(Revnum(revision));
    }
    let _ = fs.stats(&cancel, &mut |_| {});
    Outcome { read, verified }
}

/// Runs in a thread of its own, so that an endless loop is seen for what it is. Nothing here
/// takes a second; what has not ended in two minutes never ends.
fn run_guarded(label: &str, db: Memory) -> Outcome {
    let (sender, receiver) = channel();
    let thread = std::thread::Builder::new().stack_size(1 << 20);
    thread
        .spawn(move || {
            let outcome = catch_unwind(AssertUnwindSafe(|| run(db)));
            let _ = sender.send(outcome);
        })
        .unwrap();
    match receiver.recv_timeout(Duration::from_secs(120)) {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(_)) => panic!("{label}: panic"),
        Err(RecvTimeoutError::Timeout) => panic!("{label}: does not end"),
        Err(RecvTimeoutError::Disconnected) => panic!("{label}: the thread is gone"),
    }
}

fn shapes() -> Vec<Shape> {
    vec![
        Shape::new("1.1"),
        Shape::new("1.6").shard(3).pack(Packing::All),
        Shape::new("1.8").shard(3).pack(Packing::Half).config(repository::DELTIFY_ALL),
        Shape::new("1.9").shard(3).pack(Packing::All).config(repository::ZLIB),
        Shape::new("1.10").shard(3).pack(Packing::Half).config(repository::PLAIN),
        Shape::new("1.10").shard(3),
    ]
}

/// One way to damage a file.
#[derive(Clone, Copy, Debug)]
enum Damage {
    Byte(usize, u8),
    Cut(usize),
    Zeros(usize, usize),
    Twice(usize, usize),
    Remove,
}

impl Damage {
    fn apply(self, db: &Memory, file: &Path) -> Memory {
        let mut db = db.clone();
        let mut bytes = db.0[file].to_vec();
        match self {
            Self::Byte(at, xor) => bytes[at] ^= xor,
            Self::Cut(len) => bytes.truncate(len),
            Self::Zeros(at, len) => {
                let end = (at + len).min(bytes.len());
                bytes[at..end].fill(0);
            }
            Self::Twice(at, len) => {
                let end = (at + len).min(bytes.len());
                let part = bytes[at..end].to_vec();
                bytes.splice(at..at, part);
            }
            Self::Remove => {
                db.0.remove(file);
                return db;
            }
        }
        db.0.insert(file.to_owned(), Arc::new(bytes));
        db
    }
}

fn damaged_file(db: &Memory, file: &Path, damage: Damage) -> Vec<u8> {
    damage.apply(db, file).0.get(file).map(|bytes| bytes.to_vec()).unwrap_or_default()
}

/// Files that readers look at.
fn files(db: &Memory) -> Vec<PathBuf> {
    let skip = |p: &Path| {
        let name = p.to_str().unwrap();
        name.ends_with("lock") || name.ends_with("rep-cache.db") || name == "fsfs.conf"
    };
    db.0.iter().filter(|(p, b)| !skip(p) && !b.is_empty()).map(|(p, _)| p.clone()).collect()
}

/// Checks one damage; whether it was noticed.
fn check(name: &str, db: &Memory, logical: bool, file: &Path, damage: Damage) -> bool {
    let damaged = damage.apply(db, file);
    let same = damaged.0.get(file) == db.0.get(file);
    let label = format!("{name}, {}, {damage:?}", file.display());
    let outcome = run_guarded(&label, damaged);
    // Every byte of these files is covered by a checksum, but hexadecimal digits in the footer may
    // be of either case.
    let case_only = damaged_file(db, file, damage).eq_ignore_ascii_case(&db.0[file]);
    if logical && file.starts_with("revs") && !case_only {
        assert!(!outcome.verified, "{label}: verification did not notice");
    }
    if same {
        assert!(outcome.read && outcome.verified, "{label}: nothing was changed");
    }
    !(outcome.read && outcome.verified)
}

fn load(shape: &Shape) -> (Repository, Memory, bool) {
    let repository = Repository::random(shape, 7, 5);
    let db = Memory::load(&repository.path().join("db"));
    let logical = db.0[Path::new("format")].ends_with(b"addressing logical\n");
    (repository, db, logical)
}

#[test]
fn sampled_damage() {
    let mut rng = Rng::new(1);
    for shape in shapes() {
        let (repository, db, logical) = load(&shape);
        let name = repository.name();
        let whole = run_guarded(&name, db.clone());
        assert!(whole.read && whole.verified, "{name}");
        let files = files(&db);
        let mut noticed = 0;
        for _ in 0..60 {
            let file = rng.pick(&files).clone();
            let len = db.0[&file].len();
            let at = rng.below(len);
            let damage = match rng.below(8) {
                0 => Damage::Cut(at),
                1 => Damage::Zeros(at, 1 + rng.below(40)),
                2 => Damage::Twice(at, 1 + rng.below(40)),
                3 => Damage::Remove,
                _ => Damage::Byte(at, 1 << rng.below(8)),
            };
            noticed += usize::from(check(&name, &db, logical, &file, damage));
        }
        assert!(noticed > 20, "{name}: {noticed}");
    }
}

#[test]
#[ignore = "long: every byte of every file"]
fn every_byte() {
    for shape in shapes() {
        let (repository, db, logical) = load(&shape);
        let name = repository.name();
        let mut count = 0;
        let mut noticed = 0;
        for file in files(&db) {
            let len = db.0[&file].len();
            let mut all = vec![Damage::Remove, Damage::Zeros(0, len), Damage::Twice(0, len)];
            for at in 0..len {
                // A neighbour, another class of character, the top bit.
                all.extend([1, 0x10, 0x80].map(|xor| Damage::Byte(at, xor)));
                all.push(Damage::Cut(at));
            }
            for damage in all {
                count += 1;
                noticed += usize::from(check(&name, &db, logical, &file, damage));
            }
        }
        println!("{name}: {count} damages, {noticed} noticed");
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|l| l.strip_prefix("VmHWM:")).unwrap();
    let peak: u64 = peak.trim().strip_suffix(" kB").unwrap().parse().unwrap();
    assert!(peak < 512 << 10, "{peak} KiB of memory were taken at some time");
}
