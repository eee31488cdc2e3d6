//! A store that notes which verbs it is asked for, loses a race or refuses: what is published goes through
//! these verbs and no other way. One of objects in memory: what is read does, too, for nothing is in files.

#![allow(clippy::unwrap_used, reason = "tests")]

mod objects;

use std::io::Read as _;
use std::path::Path;

use parking_lot::Mutex;
use sapwood_core::{ErrorCode, SvnError};
use sapwood_fs_common::TxnEdit as _;
use sapwood_fs_common::one_prop::change_one;
use sapwood_store::{Caches, LocalStorage};
use sapwood_testkit::fspath;

use super::*;
use crate::create::{CreateOptions, create};
use crate::error::Error;
use crate::filesystem::{Filesystem, OpenOptions};
use crate::txn::{Bulk, WriteOptions, Writer};
use objects::Objects;

/// What the store does besides noting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mood {
    Obedient,
    /// The youngest is another one by the time of the swap.
    LosesSwap,
    /// Another writer changes properties between the question and the writing, once.
    LosesProps,
    /// New data and properties are received, and never put anywhere.
    Deaf,
}

#[derive(Debug)]
struct Recorder {
    inner: Arc<dyn RevisionStore>,
    verbs: Arc<Mutex<Vec<&'static str>>>,
    mood: Mood,
}

impl Recorder {
    fn note(&self, verb: &'static str) {
        self.verbs.lock().push(verb);
    }
}

impl RevisionStore for Recorder {
    fn place(&self, object: Object<'_>) -> PathBuf {
        self.inner.place(object)
    }

    fn open(&self, object: Object<'_>) -> io::Result<Arc<dyn StoredFile>> {
        self.inner.open(object)
    }

    fn read(&self, object: Object<'_>, limit: usize) -> io::Result<Vec<u8>> {
        self.inner.read(object, limit)
    }

    fn version(&self, object: Object<'_>) -> io::Result<Stamp> {
        self.inner.version(object)
    }

    fn list(&self, object: Object<'_>) -> io::Result<Vec<OsString>> {
        self.inner.list(object)
    }

    fn youngest(&self) -> Result<Current> {
        self.note("youngest");
        self.inner.youngest()
    }

    fn like(&self, youngest: Revnum) -> Result<Like> {
        self.inner.like(youngest)
    }

    fn stage(&self, new: &mut NewRevision, like: Like, flush: bool) -> Result<StagedRevision> {
        self.note("stage");
        self.inner.stage(new, like, flush)
    }

    fn put(
        &self,
        revisions: &mut [&mut StagedRevision],
        next: Current,
        flush: bool,
    ) -> Result<Announcement> {
        self.note("put");
        if self.mood == Mood::Deaf {
            return Ok(Announcement { token: String::new() });
        }
        self.inner.put(revisions, next, flush)
    }

    fn swap_youngest(&self, next: &Announcement) -> Result<()> {
        self.note("swap_youngest");
        match self.mood {
            Mood::LosesSwap => Err(Error::internal("another revision came first")),
            Mood::Deaf => Ok(()),
            _ => self.inner.swap_youngest(next),
        }
    }

    fn withdraw(&self, next: &Announcement) {
        self.note("withdraw");
        self.inner.withdraw(next);
    }

    fn sync(&self, youngest: Revnum) -> Result<()> {
        self.note("settle");
        self.inner.sync(youngest)
    }

    fn discard(&self, revision: &StagedRevision) {
        self.note("discard");
        self.inner.discard(revision);
    }

    fn put_revprops_if_unchanged(
        &self,
        revision: Revnum,
        change: &mut ChangeProps<'_>,
        how: &PropsWriting,
    ) -> Result<()> {
        self.note("put_revprops_if_unchanged");
        let present = || self.inner.read(Object::Props(revision), 1 << 10).unwrap();
        match self.mood {
            Mood::Deaf => change(&parse(&present(), revision)?).map(drop).map_err(Error::from),
            Mood::LosesProps => {
                change(&parse(&present(), revision)?)?;
                let theirs = &mut |present: &PropList| {
                    let mut props = present.clone();
                    props.set("p", b"theirs");
                    Ok(Some(props))
                };
                self.inner.put_revprops_if_unchanged(revision, theirs, how)?;
                self.inner.put_revprops_if_unchanged(revision, change, how)
            }
            _ => self.inner.put_revprops_if_unchanged(revision, change, how),
        }
    }
}

/// A filesystem with revision 0, a writer to it whose store is a recorder, and what that notes.
struct Scene {
    dir: tempfile::TempDir,
    writer: Arc<Writer>,
    verbs: Arc<Mutex<Vec<&'static str>>>,
}

fn open(dir: &Path) -> Filesystem {
    Filesystem::open(&dir.join("db"), &Caches::new(1 << 20), &OpenOptions::default()).unwrap()
}

impl Scene {
    fn new(mood: Mood) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let db = dir.path().join("db");
        create(&LocalStorage, &db, &CreateOptions::default()).unwrap();
        let verbs = Arc::default();
        let inner = Arc::clone(&open(dir.path()).fs.revisions);
        let recorder = Recorder { inner, verbs: Arc::clone(&verbs), mood };
        let caches = Caches::new(1 << 20);
        let fs = Filesystem::open_with(&db, &caches, Arc::new(recorder)).unwrap();
        Self { dir, writer: Writer::new(&fs, WriteOptions::default()).unwrap(), verbs }
    }

    fn commit(&self) -> Result<Revnum> {
        let mut txn = self.writer.begin(Revnum::ZERO)?;
        txn.make_file(fspath("/f"))?;
        txn.set_text(fspath("/f"), &mut &b"text"[..], None)?;
        txn.commit()
    }

    fn set(&self, expected: Option<&[u8]>, value: &[u8]) -> Result<()> {
        self.writer.change_revision_props(Revnum::ZERO, &mut change_one("p", expected, Some(value)))
    }

    fn calls(&self) -> Vec<&'static str> {
        std::mem::take(&mut *self.verbs.lock())
    }

    /// The youngest revision and the property, as another process sees them.
    fn snapshot(&self) -> (u64, Option<Vec<u8>>) {
        let fs = open(self.dir.path());
        let value = fs.revprops(Revnum::ZERO).unwrap().get("p").map(<[u8]>::to_vec);
        (fs.youngest().unwrap().0, value)
    }
}

#[test]
fn a_commit_and_a_change_use_these_verbs() {
    let scene = Scene::new(Mood::Obedient);
    assert_eq!(scene.commit().unwrap(), Revnum(1));
    assert_eq!(scene.calls(), ["youngest", "stage", "put", "swap_youngest", "settle"]);
    scene.set(None, b"mine").unwrap();
    assert_eq!(scene.calls(), ["put_revprops_if_unchanged"]);
    assert_eq!(scene.snapshot(), (1, Some(b"mine".to_vec())));
}

/// Nothing is published past the store: where that does nothing, nothing is seen.
#[test]
fn no_other_way() {
    let scene = Scene::new(Mood::Deaf);
    let _ = scene.commit();
    scene.set(None, b"mine").unwrap();
    assert_eq!(scene.snapshot(), (0, None));
}

#[test]
fn a_swap_that_comes_too_late() {
    let scene = Scene::new(Mood::LosesSwap);
    scene.commit().unwrap_err();
    let asked = ["youngest", "stage", "put", "swap_youngest", "withdraw", "discard"];
    assert_eq!(scene.calls(), asked);
    assert_eq!(scene.snapshot(), (0, None));
    // What was put is replaced by the next commit.
    let next = Writer::new(&open(scene.dir.path()), WriteOptions::default()).unwrap();
    let mut txn = next.begin(Revnum::ZERO).unwrap();
    txn.make_file(fspath("/other")).unwrap();
    assert_eq!(txn.commit().unwrap(), Revnum(1));
    let root = open(scene.dir.path()).revision_root(Revnum(1)).unwrap();
    assert!(root.node(fspath("/other")).is_ok() && root.node(fspath("/f")).is_err());
}

/// An atomic change is refused when another came first; one that sees what is there is made of it.
#[test]
fn a_change_that_comes_second() {
    let scene = Scene::new(Mood::LosesProps);
    let late = scene.set(None, b"mine").unwrap_err();
    assert_eq!(SvnError::from(late).code(), ErrorCode::FS_PROP_BASEVALUE_MISMATCH);
    assert_eq!(scene.snapshot(), (0, Some(b"theirs".to_vec())));
    let mut given = Vec::new();
    scene
        .writer
        .change_revision_props(Revnum::ZERO, &mut |present| {
            given.push(present.get("q").map(<[u8]>::to_vec));
            let mut props = present.clone();
            props.set("q", b"mine");
            Ok(Some(props))
        })
        .unwrap();
    assert_eq!(given.len(), 2);
    let props = open(scene.dir.path()).revprops(Revnum::ZERO).unwrap();
    assert_eq!((props.get("p"), props.get("q")), (Some(&b"theirs"[..]), Some(&b"mine"[..])));
}

/// A filesystem of whose revisions nothing is in files is written and read.
#[test]
fn revisions_in_objects() {
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("db");
    let options = CreateOptions { shard_size: 3, ..CreateOptions::default() };
    create(&LocalStorage, &db, &options).unwrap();
    let config = "[debug]\nverify-before-commit = true\n";
    std::fs::write(db.join(names::CONFIG), config).unwrap();
    let store = Arc::new(Objects::copied_from(&db));
    let open = || {
        let store: Arc<dyn RevisionStore> = Arc::<Objects>::clone(&store);
        Filesystem::open_with(&db, &Caches::new(1 << 20), store).unwrap()
    };
    let writer = Writer::new(&open(), WriteOptions::default()).unwrap();
    // One that is too long for memory is spooled on its way.
    let mut long = vec![0u8; 6 << 20];
    let mut noise = 1u64;
    for byte in &mut long {
        noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        *byte = noise.to_be_bytes()[0];
    }
    for number in 0..7u64 {
        let mut txn = writer.begin(Revnum(number)).unwrap();
        let path = format!("/f{number}");
        txn.make_file(fspath(&path)).unwrap();
        let text = if number == 2 { &long } else { path.as_bytes() };
        txn.set_text(fspath(&path), &mut &*text, None).unwrap();
        txn.props_mut().set("svn:log", path.clone());
        assert_eq!(txn.commit().unwrap(), Revnum(number + 1));
    }
    let change = writer
        .change_revision_props(Revnum(2), &mut change_one("svn:log", Some(b"/f1"), Some(b"new")));
    change.unwrap();

    let fs = open();
    assert_eq!(fs.youngest().unwrap(), Revnum(7));
    let mut props = fs.revprops_snapshot();
    for number in 1..=7 {
        props.will_need(Revnum(number));
    }
    for number in 1..=7u64 {
        let path = format!("/f{}", number - 1);
        let log = if number == 2 { "new" } else { &path };
        assert_eq!(props.get(Revnum(number)).unwrap().get("svn:log"), Some(log.as_bytes()));
        assert_eq!(*fs.changed_paths(Revnum(number)).unwrap().iter().next().unwrap().path, path);
        let root = fs.revision_root(Revnum(number)).unwrap();
        root.verify().unwrap();
        let mut text = Vec::new();
        root.node(fspath(&path)).unwrap().contents().unwrap().read_to_end(&mut text).unwrap();
        assert!(text == if number == 3 { &long } else { path.as_bytes() }, "{path}");
    }
    let files = |name: &str| std::fs::read_dir(db.join(name)).map_or(0, Iterator::count);
    assert_eq!((files(names::REVS), files(names::REVPROPS)), (0, 0));
    assert!(!db.join(names::CURRENT).exists());
    let asked: Vec<_> = store.verbs.lock().iter().copied().collect();
    let verbs = ["open", "put", "put_revprops_if_unchanged", "read", "stage", "swap_youngest"];
    assert_eq!(asked, [&verbs[..], &["version", "youngest"]].concat());
}

/// The same by a writer that makes many revisions at once.
#[test]
fn bulk_into_objects() {
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("db");
    create(&LocalStorage, &db, &CreateOptions::default()).unwrap();
    let store: Arc<dyn RevisionStore> = Arc::new(Objects::copied_from(&db));
    let open = || Filesystem::open_with(&db, &Caches::new(1 << 20), Arc::clone(&store)).unwrap();
    let options = WriteOptions { batch_reps: true, ..WriteOptions::default() };
    let writer = Writer::new(&open(), options).unwrap();
    let bulk = Bulk::new(&writer).unwrap().unwrap();
    for number in 0..40 {
        let mut txn = bulk.begin().unwrap();
        txn.make_dir(fspath(&format!("/d{number}"))).unwrap();
        bulk.commit(txn).unwrap();
    }
    bulk.sync().unwrap();
    let fs = open();
    assert_eq!(fs.youngest().unwrap(), Revnum(40));
    let root = fs.revision_root(Revnum(40)).unwrap();
    assert_eq!(root.node(fspath("/")).unwrap().entries().unwrap().iter().count(), 40);
    root.verify().unwrap();
}
