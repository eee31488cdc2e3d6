//! What is asked of the storage, and what happens when it misbehaves: hot requests read nothing,
//! changes by other programs are seen, short reads and errors do no harm, packing goes on under
//! our feet.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::as_conversions,
    reason = "tests"
)]

use std::ffi::OsString;
use std::io;
use std::io::Read as _;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;

use sapwood_core::{FormKey, NodeKind, PropList, Revnum, SvnError};
use sapwood_fsfs::read_ahead::LogNeeds;
use sapwood_fsfs::{
    Caches, ChangedPaths, Filesystem, LocalStorage, Node, OpenOptions, SpanEncoder, Storage,
};
use sapwood_store::{HeldLock, NewFile, Stamp, StoredFile, WriteStorage};
use sapwood_testkit::fspath;
use sapwood_testkit::{Packing, Programs, Repository, Shape};

/// The local file system with counters and faults.
#[derive(Debug, Default)]
struct Strange {
    /// Opens, reads and lists so far.
    operations: AtomicU64,
    stamps: AtomicU64,
    /// The operation that fails, when not 0.
    fails_at: AtomicU64,
    /// Reads give at most so many bytes, when not 0.
    short: AtomicU64,
    /// Stamps are so many seconds older than they are.
    age: AtomicU64,
    /// The thread of the request, when it is of interest.
    owner: Mutex<Option<ThreadId>>,
    /// Operations of other threads.
    foreign: AtomicU64,
}

#[derive(Debug)]
struct StrangeFile {
    file: Arc<dyn StoredFile>,
    storage: Arc<Strange>,
}

impl Strange {
    fn count(&self) -> io::Result<()> {
        if self.owner.lock().unwrap().is_some_and(|owner| owner != std::thread::current().id()) {
            self.foreign.fetch_add(1, Ordering::Relaxed);
        }
        let number = self.operations.fetch_add(1, Ordering::Relaxed) + 1;
        if number == self.fails_at.load(Ordering::Relaxed) {
            return Err(io::Error::from_raw_os_error(5));
        }
        Ok(())
    }
}

impl Strange {
    fn older(&self, mut stamp: Stamp) -> Stamp {
        self.stamps.fetch_add(1, Ordering::Relaxed);
        let age = i128::from(self.age.load(Ordering::Relaxed)) * 1_000_000_000;
        stamp.modified -= age;
        stamp.changed -= age;
        stamp
    }
}

#[derive(Debug, Clone)]
struct Handle(Arc<Strange>);

impl Storage for Handle {
    fn open(&self, path: &Path) -> io::Result<Arc<dyn StoredFile>> {
        self.0.count()?;
        let file = LocalStorage.open(path)?;
        Ok(Arc::new(StrangeFile { file, storage: Arc::clone(&self.0) }))
    }
    fn read(&self, path: &Path, limit: usize) -> io::Result<Vec<u8>> {
        self.0.count()?;
        LocalStorage.read(path, limit)
    }
    fn list(&self, path: &Path) -> io::Result<Vec<OsString>> {
        self.0.count()?;
        LocalStorage.list(path)
    }
    fn stamp(&self, path: &Path) -> io::Result<Stamp> {
        Ok(self.0.older(LocalStorage.stamp(path)?))
    }
    fn open_folder(&self, path: &Path) -> io::Result<Arc<dyn StoredFile>> {
        let file = LocalStorage.open_folder(path)?;
        Ok(Arc::new(StrangeFile { file, storage: Arc::clone(&self.0) }))
    }
}

/// Nothing is written in these tests but by other programs.
impl WriteStorage for Handle {
    fn create(&self, path: &Path) -> io::Result<Box<dyn NewFile>> {
        LocalStorage.create(path)
    }
    fn create_over(&self, path: &Path) -> io::Result<Box<dyn NewFile>> {
        LocalStorage.create_over(path)
    }
    fn reopen(&self, path: &Path) -> io::Result<Box<dyn NewFile>> {
        LocalStorage.reopen(path)
    }
    fn rename(&self, from: &Path, to: &Path, sync: bool) -> io::Result<()> {
        LocalStorage.rename(from, to, sync)
    }
    fn remove_file(&self, path: &Path) -> io::Result<()> {
        LocalStorage.remove_file(path)
    }
    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        LocalStorage.remove_dir(path)
    }
    fn create_dir(&self, path: &Path, inherit_group: bool) -> io::Result<()> {
        LocalStorage.create_dir(path, inherit_group)
    }
    fn mode(&self, path: &Path) -> io::Result<u32> {
        LocalStorage.mode(path)
    }
    fn copy_permissions(&self, from: &Path, to: &Path) -> io::Result<()> {
        LocalStorage.copy_permissions(from, to)
    }
    fn set_read_only(&self, path: &Path) -> io::Result<()> {
        LocalStorage.set_read_only(path)
    }
    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        LocalStorage.sync_dir(path)
    }
    fn lock(&self, path: &Path) -> io::Result<Box<dyn HeldLock>> {
        LocalStorage.lock(path)
    }
    fn try_lock(&self, path: &Path) -> io::Result<Option<Box<dyn HeldLock>>> {
        LocalStorage.try_lock(path)
    }
    fn sync_all(&self, path: &Path) -> io::Result<()> {
        LocalStorage.sync_all(path)
    }
}

impl StoredFile for StrangeFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        self.storage.count()?;
        let short = self.storage.short.load(Ordering::Relaxed) as usize;
        let len = if short == 0 { buf.len() } else { buf.len().min(1 + offset as usize % short) };
        self.file.read_at(&mut buf[..len], offset)
    }
    fn read_now(&self, buf: &mut [u8], offset: u64) -> Option<usize> {
        self.storage.count().ok()?;
        let short = self.storage.short.load(Ordering::Relaxed) as usize;
        let len = if short == 0 { buf.len() } else { buf.len().min(short) };
        self.file.read_now(&mut buf[..len], offset)
    }
    fn short_read_is_end(&self) -> bool {
        self.storage.short.load(Ordering::Relaxed) == 0
    }
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }
    fn stamp(&self) -> io::Result<Stamp> {
        Ok(self.storage.older(self.file.stamp()?))
    }
}

fn open(
    repo: &Repository,
    storage: &Arc<Strange>,
    cache: usize,
) -> sapwood_fsfs::Result<Filesystem> {
    let options = OpenOptions {
        storage: Some(Arc::new(Handle(Arc::clone(storage)))),
        ..OpenOptions::default()
    };
    Filesystem::open(&repo.path().join("db"), &Caches::new(cache), &options)
}

/// Everything there is to read below a node, as a checksum.
fn read_node(node: &Node, sum: &mut Vec<u8>) -> sapwood_fsfs::Result<()> {
    sum.extend(node.path().as_bytes());
    for (name, value) in node.props()?.iter() {
        sum.extend(name.as_bytes());
        sum.extend(value);
    }
    if node.kind() == NodeKind::File {
        let mut buf = [0; 5000];
        let mut contents = node.contents()?;
        loop {
            match contents.read_some(&mut buf)? {
                0 => return Ok(()),
                n => sum.extend(&buf[..n]),
            }
        }
    }
    for entry in node.entries()?.iter() {
        read_node(&node.child(entry.name)?.unwrap(), sum)?;
    }
    Ok(())
}

fn read_everything(fs: &Filesystem) -> sapwood_fsfs::Result<sapwood_core::Md5> {
    let mut sum = Vec::new();
    let mut revprops = fs.revprops_snapshot();
    for number in 0..=fs.youngest()?.0 {
        let revision = Revnum(number);
        read_node(&fs.revision_root(revision)?.node(fspath("/"))?, &mut sum)?;
        for change in fs.changed_paths(revision)?.iter() {
            sum.extend(change.path.as_bytes());
        }
        for (name, value) in revprops.get(revision)?.iter() {
            sum.extend(name.as_bytes());
            sum.extend(value);
        }
    }
    Ok(sapwood_core::Md5::of(&sum))
}

fn shapes() -> Vec<Shape> {
    vec![
        Shape::new("1.4"),
        Shape::new("1.6").shard(7).pack(Packing::Half),
        Shape::new("1.8").shard(7).pack(Packing::Half),
        Shape::new("1.10").shard(7).pack(Packing::Half),
    ]
}

#[test]
fn hot_requests_read_nothing() {
    for shape in shapes() {
        let repo = Repository::random(&shape, 3, 30);
        let storage = Arc::new(Strange::default());
        storage.age.store(3600, Ordering::Relaxed);
        let fs = open(&repo, &storage, 256 << 20).unwrap();
        let cold = read_everything(&fs).unwrap();
        let before = storage.operations.load(Ordering::Relaxed);
        storage.stamps.store(0, Ordering::Relaxed);
        assert_eq!(read_everything(&fs).unwrap(), cold);
        assert_eq!(storage.operations.load(Ordering::Relaxed), before, "{}", shape.name());
        // One look at `current`, one at `min-unpacked-rev`, one at each shard.
        let shards = 2 + fs.youngest().unwrap().0 / fs.format().shard_size.unwrap_or(1_000_000);
        assert!(storage.stamps.load(Ordering::Relaxed) <= shards + 3, "{}", shape.name());
    }
}

#[test]
fn each_file_is_opened_once() {
    let repo = Repository::random(&Shape::new("1.10").shard(7), 3, 30);
    let storage = Arc::new(Strange::default());
    storage.age.store(3600, Ordering::Relaxed);
    let fs = open(&repo, &storage, 256 << 20).unwrap();
    let start = storage.operations.load(Ordering::Relaxed);
    for number in 0..=fs.youngest().unwrap().0 {
        fs.changed_paths(Revnum(number)).unwrap();
        fs.revision_root(Revnum(number)).unwrap();
    }
    let used = storage.operations.load(Ordering::Relaxed) - start;
    // An open and a read for each revision; `current`.
    assert!(used <= 2 * (fs.youngest().unwrap().0 + 1) + 1, "{used}");
}

/// Sets a property by the reference's program.
fn set_revprop(repo: &Repository, revision: u64, name: &str, value: &str) {
    let file = repo.parent().join("value");
    std::fs::write(&file, value).unwrap();
    let mut command = Programs::reference().command("svnadmin");
    command.args(["setrevprop", "-r", &revision.to_string(), &repo.arg(), name]).arg(&file);
    sapwood_testkit::Output::of(&mut command).expect_success("setrevprop");
}

#[test]
fn changes_of_revision_properties_are_seen() {
    for shape in shapes() {
        for age in [0, 3600] {
            let repo = Repository::random(&shape, 3, 30);
            let storage = Arc::new(Strange::default());
            storage.age.store(age, Ordering::Relaxed);
            let fs = open(&repo, &storage, 64 << 20).unwrap();
            for (round, revision) in [3u64, 30, 3, 0, 12].into_iter().enumerate() {
                fs.revprops(Revnum(revision)).unwrap();
                let want = format!("value {round}");
                set_revprop(&repo, revision, "my:prop", &want);
                let props = fs.revprops(Revnum(revision)).unwrap();
                assert_eq!(props.get("my:prop"), Some(want.as_bytes()), "{}", shape.name());
            }
        }
    }
}

#[test]
fn changes_of_date_and_author_are_seen() {
    for shape in shapes() {
        for age in [0, 3600] {
            let repo = Repository::random(&shape, 3, 30);
            let storage = Arc::new(Strange::default());
            storage.age.store(age, Ordering::Relaxed);
            let fs = open(&repo, &storage, 64 << 20).unwrap();
            let long = "x".repeat(100);
            for (author, date) in [("one", 1), (long.as_str(), 2), ("two", 3)] {
                let date = format!("2020-01-0{date}T00:00:00.000000Z");
                for (revision, name, value) in
                    [(3, "svn:author", author), (12, "svn:date", date.as_str())]
                {
                    set_revprop(&repo, revision, name, value);
                    // The second pass finds what the first one kept.
                    for _ in 0..2 {
                        let mut snapshot = fs.revprops_snapshot();
                        for number in (0..=30).map(Revnum) {
                            let props = fs.revprops(number).unwrap();
                            let date_author = snapshot.date_author(number).unwrap();
                            assert_eq!(
                                date_author.author(),
                                props.get("svn:author"),
                                "{} {age} {author} r{number} r{revision} {name}",
                                shape.name()
                            );
                            assert_eq!(date_author.date(), props.get("svn:date"));
                            if number.0 == revision {
                                assert_eq!(props.get(name), Some(value.as_bytes()));
                            }
                        }
                    }
                }
            }
            if age > 0 {
                let before = storage.operations.load(Ordering::Relaxed);
                let mut snapshot = fs.revprops_snapshot();
                (0..=30).for_each(|n| drop(snapshot.date_author(Revnum(n)).unwrap()));
                assert_eq!(storage.operations.load(Ordering::Relaxed), before);
            }
        }
    }
}

#[test]
fn another_folder_of_revision_properties_is_noticed() {
    let repo = Repository::random(&Shape::new("1.10"), 3, 10);
    let storage = Arc::new(Strange::default());
    storage.age.store(3600, Ordering::Relaxed);
    let fs = open(&repo, &storage, 64 << 20).unwrap();
    assert!(fs.revprops(Revnum(5)).unwrap().get("svn:author").is_some());
    let folder = repo.path().join("db/revprops/0");
    let aside = repo.path().join("db/revprops/aside");
    std::fs::rename(&folder, &aside).unwrap();
    std::fs::create_dir(&folder).unwrap();
    for n in 0..=10 {
        std::fs::write(folder.join(n.to_string()), "K 3\nnew\nV 1\n1\nEND\n").unwrap();
    }
    // Looked for once a second.
    std::thread::sleep(std::time::Duration::from_millis(1100));
    assert_eq!(fs.revprops(Revnum(5)).unwrap().get("new"), Some(&b"1"[..]));
    assert!(fs.revprops_snapshot().date_author(Revnum(5)).unwrap().author().is_none());
    // A folder that is gone is noticed at once.
    std::fs::remove_dir_all(&folder).unwrap();
    std::fs::rename(&aside, &folder).unwrap();
    assert!(fs.revprops(Revnum(5)).unwrap().get("svn:author").is_some());
}

#[test]
fn short_reads_do_no_harm() {
    for shape in shapes() {
        let repo = Repository::random(&shape, 3, 30);
        let storage = Arc::new(Strange::default());
        let want = read_everything(&open(&repo, &storage, 64 << 20).unwrap()).unwrap();
        storage.short.store(777, Ordering::Relaxed);
        let got = read_everything(&open(&repo, &storage, 64 << 20).unwrap()).unwrap();
        assert_eq!(want, got, "{}", shape.name());
    }
}

#[test]
fn errors_of_the_storage_come_out_and_go_away() {
    for shape in shapes() {
        let repo = Repository::random(&shape, 3, 12);
        let storage = Arc::new(Strange::default());
        // How much is read must not depend on how old the files are.
        storage.age.store(3600, Ordering::Relaxed);
        let want = read_everything(&open(&repo, &storage, 64 << 20).unwrap()).unwrap();
        let all = storage.operations.load(Ordering::Relaxed);
        for at in 1..=all {
            storage.operations.store(0, Ordering::Relaxed);
            storage.fails_at.store(at, Ordering::Relaxed);
            let fs = match open(&repo, &storage, 64 << 20) {
                Ok(fs) => fs,
                Err(e) => {
                    assert_eq!(SvnError::from(e).code().0, 5, "{} {at}", shape.name());
                    continue;
                }
            };
            let e = SvnError::from(read_everything(&fs).unwrap_err());
            assert_eq!(e.code().0, 5, "{} {at}: {e}", shape.name());
            // Nothing wrong stays in the caches.
            assert_eq!(read_everything(&fs).unwrap(), want, "{} {at}", shape.name());
        }
    }
}

#[test]
fn packing_goes_on_while_we_read() {
    let reference = Programs::reference();
    for version in ["1.6", "1.8", "1.9", "1.10"] {
        for cache in [1, 64 << 20] {
            let repo = Repository::random(&Shape::new(version).shard(7), 3, 30);
            let storage = Arc::new(Strange::default());
            let want = read_everything(&open(&repo, &storage, 64 << 20).unwrap()).unwrap();
            let fs = open(&repo, &storage, cache).unwrap();
            // Half-read texts of every revision.
            let mut half = Vec::new();
            for number in 1..=30 {
                let root = fs.revision_root(Revnum(number)).unwrap();
                for change in fs.changed_paths(Revnum(number)).unwrap().iter() {
                    let Some(node) = root.find(change.path).unwrap() else { continue };
                    if node.kind() == NodeKind::File {
                        let mut contents = node.contents().unwrap();
                        let mut start = vec![0; 10];
                        let n = contents.read_some(&mut start).unwrap();
                        start.truncate(n);
                        half.push((node, contents, start));
                    }
                }
            }
            reference.run("svnadmin", ["pack", &repo.arg()]).expect_success("pack");
            for (node, mut contents, mut start) in half {
                contents.read_to_end(&mut start).unwrap();
                assert_eq!(sapwood_core::Md5::of(&start), node.md5().unwrap());
            }
            assert_eq!(read_everything(&fs).unwrap(), want, "{version}");
            assert!(fs.min_unpacked_rev().unwrap().0 == 28, "{version}");
        }
    }
}

#[test]
fn another_repository_in_the_same_place_is_noticed() {
    let repo = Repository::random(&Shape::new("1.10"), 3, 12);
    let caches = Caches::new(64 << 20);
    let db = repo.path().join("db");
    let open = || Filesystem::open(&db, &caches, &OpenOptions::default()).unwrap();
    let first = open();
    read_everything(&first).unwrap();
    // The same again shares all that is cached.
    let misses = caches.stats().misses;
    read_everything(&open()).unwrap();
    assert!(caches.stats().misses < misses + 40);
    std::fs::remove_dir_all(repo.path()).unwrap();
    Programs::reference().run("svnadmin", ["create", &repo.arg()]).expect_success("create");
    let second = open();
    assert_eq!(second.youngest().unwrap(), Revnum(0));
    assert_ne!(first.uuid().unwrap(), second.uuid().unwrap());
}

/// Goes through the whole history as a log does; waits half-way for a reader to read something
/// when `patient`.
fn log_everything(
    fs: &Filesystem,
    wanted: LogNeeds,
    patient: Option<&Strange>,
) -> sapwood_fsfs::Result<sapwood_core::Md5> {
    let mut sum = Vec::new();
    let youngest = fs.youngest()?.0;
    let mut revprops = fs.revprops_snapshot();
    let mut ahead = fs.prefetch_revisions(Revnum(youngest), Revnum(0), wanted, None);
    for n in 0..=youngest {
        ahead.at(n);
        while let Some(storage) = patient
            && n == youngest / 2
            && storage.foreign.load(Ordering::Relaxed) == 0
        {
            std::thread::yield_now();
        }
        let revision = Revnum(youngest - n);
        for change in fs.changed_paths(revision)?.iter() {
            sum.extend(change.path.as_bytes());
        }
        for (name, value) in revprops.get(revision)?.iter() {
            sum.extend(name.as_bytes());
            sum.extend(value);
        }
    }
    Ok(sapwood_core::Md5::of(&sum))
}

#[test]
fn reading_ahead_changes_nothing() {
    let all = LogNeeds { changes: true, revprops: true };
    let nothing = LogNeeds { changes: false, revprops: false };
    for shape in shapes() {
        let repo = Repository::random(&shape, 3, 120);
        for (cache, age) in [(64 << 20, 3600), (64 << 20, 0), (1 << 14, 3600)] {
            let storage = Arc::new(Strange::default());
            storage.age.store(age, Ordering::Relaxed);
            let want =
                log_everything(&open(&repo, &storage, 64 << 20).unwrap(), nothing, None).unwrap();
            storage.foreign.store(0, Ordering::Relaxed);
            *storage.owner.lock().unwrap() = Some(std::thread::current().id());
            let fs = open(&repo, &storage, cache).unwrap();
            let hot = cache > 1 << 20 && age > 0;
            let patient = hot.then_some(&*storage);
            assert_eq!(log_everything(&fs, all, patient).unwrap(), want, "{}", shape.name());
            // Nothing is read after the request, and nothing by any request when it is hot.
            let before = storage.operations.load(Ordering::Relaxed);
            std::thread::sleep(std::time::Duration::from_millis(5));
            assert_eq!(storage.operations.load(Ordering::Relaxed), before);
            if hot {
                assert_eq!(log_everything(&fs, all, None).unwrap(), want, "{}", shape.name());
                assert_eq!(storage.operations.load(Ordering::Relaxed), before);
            }
        }
    }
}

#[test]
fn faults_met_while_reading_ahead_do_no_harm() {
    let all = LogNeeds { changes: true, revprops: true };
    let repo = Repository::random(&Shape::new("1.10").shard(30).pack(Packing::Half), 3, 60);
    let storage = Arc::new(Strange::default());
    storage.age.store(3600, Ordering::Relaxed);
    let want = log_everything(&open(&repo, &storage, 64 << 20).unwrap(), all, None).unwrap();
    let most = storage.operations.load(Ordering::Relaxed);
    for at in 1..=most {
        storage.operations.store(0, Ordering::Relaxed);
        storage.fails_at.store(at, Ordering::Relaxed);
        let Ok(fs) = open(&repo, &storage, 64 << 20) else { continue };
        // Who meets the fault, the request or a reader, is left to chance.
        match log_everything(&fs, all, None) {
            Ok(sum) => assert_eq!(sum, want, "{at}"),
            Err(e) => assert_eq!(SvnError::from(e).code().0, 5, "{at}"),
        }
        storage.fails_at.store(0, Ordering::Relaxed);
        assert_eq!(log_everything(&fs, all, None).unwrap(), want, "{at}");
    }
}

fn entry(revision: Revnum, changes: &ChangedPaths, props: Option<&PropList>, out: &mut Vec<u8>) {
    out.extend(revision.to_string().as_bytes());
    changes.iter().for_each(|change| out.extend(change.path.as_bytes()));
    props.unwrap().iter().for_each(|(_, value)| out.extend(value));
}

fn form(number: u64) -> FormKey {
    FormKey::new(number).unwrap()
}

/// Goes through all revisions as a log does that prefers to send whole blocks encoded. Returns what it
/// sends. With `encoder` it waits, at place `patient`, until such are there.
fn log_spans(
    fs: &Filesystem,
    encoder: Option<SpanEncoder>,
    youngest_first: bool,
    patient: u64,
) -> Vec<u8> {
    let youngest = fs.youngest().unwrap().0;
    let nth = |n: u64| Revnum(if youngest_first { youngest - n } else { n });
    let wanted = LogNeeds { changes: true, revprops: true };
    let form = encoder.as_ref().map_or_else(|| form(0), |encoder| encoder.form);
    let waits = encoder.is_some();
    let mut ahead = fs.prefetch_revisions(nth(0), nth(youngest), wanted, encoder);
    let mut revprops = fs.revprops_snapshot();
    let (mut out, mut n, mut waited) = (Vec::new(), 0, false);
    while n <= youngest {
        ahead.at(n);
        let mut kept = |n: u64| {
            let span = revprops.log_span(nth(n)).unwrap()?;
            let first = if youngest_first { span.youngest } else { span.oldest };
            Some((span, revprops.encoded_entries(&span, form).filter(|_| first == nth(n))?))
        };
        while waits && n >= patient && !waited {
            waited = (n..youngest.min(n + 60)).any(|n| kept(n).is_some());
        }
        if let Some((span, entries)) = kept(n) {
            entries.pieces(youngest_first).for_each(|piece| out.extend(piece));
            n += span.youngest.0 - span.oldest.0 + 1;
        } else {
            let changes = fs.changed_paths(nth(n)).unwrap();
            entry(nth(n), &changes, Some(&revprops.get(nth(n)).unwrap()), &mut out);
            n += 1;
        }
    }
    out
}

#[test]
fn log_entries_are_made_ahead() {
    let repo = Repository::random(&Shape::new("1.10").shard(20).pack(Packing::Half), 3, 130);
    let storage = Arc::new(Strange::default());
    storage.age.store(3600, Ordering::Relaxed);
    for (youngest_first, patient) in [(false, 12), (true, 80)] {
        let fs = open(&repo, &storage, 64 << 20).unwrap();
        let want = log_spans(&fs, None, youngest_first, patient);
        let fs = open(&repo, &storage, 64 << 20).unwrap();
        let encode = |revision, list: &ChangedPaths, props: Option<&PropList>, out: &mut _| {
            entry(revision, list, props, out);
            true
        };
        let encoder = SpanEncoder { form: form(77), encode: Box::new(encode) };
        let made = log_spans(&fs, Some(encoder), youngest_first, patient);
        assert!(made == want, "{youngest_first}");
    }
    // An encoder that cannot encode a revision leaves it to the request.
    let fs = open(&repo, &storage, 64 << 20).unwrap();
    let encode = |_, _: &ChangedPaths, _: Option<&PropList>, out: &mut Vec<u8>| {
        out.push(b'!');
        false
    };
    let encoder = SpanEncoder { form: form(78), encode: Box::new(encode) };
    let wanted = LogNeeds { changes: true, revprops: true };
    let mut ahead = fs.prefetch_revisions(Revnum(1), Revnum(60), wanted, Some(encoder));
    let mut revprops = fs.revprops_snapshot();
    for n in 1..=60 {
        ahead.at(n - 1);
        let span = revprops.log_span(Revnum(n)).unwrap().unwrap();
        assert!(revprops.encoded_entries(&span, form(78)).is_none());
        fs.changed_paths(Revnum(n)).unwrap();
    }
}
