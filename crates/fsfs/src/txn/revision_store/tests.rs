//! A store that notes which verbs it is asked for, loses a race or refuses: what is published goes through
//! these verbs and no other way.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::path::Path;

use parking_lot::Mutex;
use sapwood_core::{ErrorCode, SvnError};
use sapwood_store::{Caches, LocalStorage};

use super::*;
use crate::create::{CreateOptions, create};
use crate::filesystem::OpenOptions;
use crate::txn::{WriteOptions, Writer};

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
    inner: Box<dyn RevisionStore>,
    verbs: Arc<Mutex<Vec<&'static str>>>,
    mood: Mood,
}

impl Recorder {
    fn note(&self, verb: &'static str) {
        self.verbs.lock().push(verb);
    }
}

impl RevisionStore for Recorder {
    fn youngest(&self, fs: &Fs) -> Result<Current> {
        self.note("youngest");
        self.inner.youngest(fs)
    }

    fn put(
        &self,
        fs: &Fs,
        revisions: &mut [&mut Prepared],
        next: Current,
        flush: bool,
    ) -> Result<Announced> {
        self.note("put");
        if self.mood == Mood::Deaf {
            return Ok(Announced(PathBuf::new()));
        }
        self.inner.put(fs, revisions, next, flush)
    }

    fn swap_youngest(&self, fs: &Fs, next: &Announced) -> Result<()> {
        self.note("swap_youngest");
        match self.mood {
            Mood::LosesSwap => Err(Error::internal("another revision came first")),
            Mood::Deaf => Ok(()),
            _ => self.inner.swap_youngest(fs, next),
        }
    }

    fn withdraw(&self, next: &Announced) {
        self.note("withdraw");
        self.inner.withdraw(next);
    }

    fn settle(&self, fs: &Fs, youngest: Revnum) -> Result<()> {
        self.note("settle");
        self.inner.settle(fs, youngest)
    }

    fn discard(&self, revision: &Prepared) {
        self.note("discard");
        self.inner.discard(revision);
    }

    fn put_revprops_if_unchanged(
        &self,
        fs: &Filesystem,
        revision: Revnum,
        change: &mut ChangeProps<'_>,
    ) -> Result<()> {
        self.note("put_revprops_if_unchanged");
        match self.mood {
            Mood::Deaf => change(&*fs.revprops(revision)?).map(drop).map_err(Error::from),
            Mood::LosesProps => {
                change(&*fs.revprops(revision)?)?;
                self.inner.put_revprops_if_unchanged(fs, revision, &mut |present| {
                    let mut props = present.clone();
                    props.set("p", b"theirs");
                    Ok(Some(props))
                })?;
                self.inner.put_revprops_if_unchanged(fs, revision, change)
            }
            _ => self.inner.put_revprops_if_unchanged(fs, revision, change),
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
        create(&LocalStorage, &dir.path().join("db"), &CreateOptions::default()).unwrap();
        let writer = Writer::new(&open(dir.path()), WriteOptions::default()).unwrap();
        let mut writer = Arc::into_inner(writer).unwrap();
        let verbs = Arc::default();
        let packing = RevpropPackConfig { size: 1 << 16, compress: false };
        let inner =
            Box::new(LocalRevisions { storage: Arc::new(LocalStorage), flush: true, packing });
        writer.revisions = Box::new(Recorder { inner, verbs: Arc::clone(&verbs), mood });
        Self { dir, writer: Arc::new(writer), verbs }
    }

    fn commit(&self) -> Result<Revnum> {
        let mut txn = self.writer.begin(Revnum::ZERO)?;
        txn.make_file("/f")?;
        txn.set_text("/f", &mut &b"text"[..], None)?;
        txn.commit()
    }

    fn set(&self, expected: Option<&[u8]>, value: &[u8]) -> Result<()> {
        self.writer.change_revision_prop(Revnum::ZERO, "p", expected, Some(value))
    }

    fn asked(&self) -> Vec<&'static str> {
        std::mem::take(&mut *self.verbs.lock())
    }

    /// The youngest revision and the property, as another process sees them.
    fn seen(&self) -> (u64, Option<Vec<u8>>) {
        let fs = open(self.dir.path());
        let value = fs.revprops(Revnum::ZERO).unwrap().get("p").map(<[u8]>::to_vec);
        (fs.youngest().unwrap().0, value)
    }
}

#[test]
fn a_commit_and_a_change_use_these_verbs() {
    let scene = Scene::new(Mood::Obedient);
    assert_eq!(scene.commit().unwrap(), Revnum(1));
    assert_eq!(scene.asked(), ["youngest", "put", "swap_youngest", "settle"]);
    scene.set(None, b"mine").unwrap();
    assert_eq!(scene.asked(), ["put_revprops_if_unchanged"]);
    assert_eq!(scene.seen(), (1, Some(b"mine".to_vec())));
}

/// Nothing is published past the store: where that does nothing, nothing is seen.
#[test]
fn no_other_way() {
    let scene = Scene::new(Mood::Deaf);
    let _ = scene.commit();
    scene.set(None, b"mine").unwrap();
    assert_eq!(scene.seen(), (0, None));
}

#[test]
fn a_swap_that_comes_too_late() {
    let scene = Scene::new(Mood::LosesSwap);
    scene.commit().unwrap_err();
    assert_eq!(scene.asked(), ["youngest", "put", "swap_youngest", "withdraw", "discard"]);
    assert_eq!(scene.seen(), (0, None));
    // What was put is replaced by the next commit.
    let next = Writer::new(&open(scene.dir.path()), WriteOptions::default()).unwrap();
    let mut txn = next.begin(Revnum::ZERO).unwrap();
    txn.make_file("/other").unwrap();
    assert_eq!(txn.commit().unwrap(), Revnum(1));
    let root = open(scene.dir.path()).revision_root(Revnum(1)).unwrap();
    assert!(root.node("/other").is_ok() && root.node("/f").is_err());
}

/// An atomic change is refused when another came first; one that sees what is there is made of it.
#[test]
fn a_change_that_comes_second() {
    let scene = Scene::new(Mood::LosesProps);
    let late = scene.set(None, b"mine").unwrap_err();
    assert_eq!(SvnError::from(late).code(), ErrorCode::FS_PROP_BASEVALUE_MISMATCH);
    assert_eq!(scene.seen(), (0, Some(b"theirs".to_vec())));
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
