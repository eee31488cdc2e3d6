//! Changes of packed revision properties that are stopped at every single file operation:
//! afterwards all revisions of the shard have their properties, the changed one the old or the
//! new ones, and the next change works.

use crate::common;

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use crate::common::crashing::CrashingStorage;
use crate::common::{losses, open, writer};
use sapwood_core::{PropList, Revnum};
use sapwood_fs::{LocalStorage, WriteStorage};
use sapwood_testkit::repository::Packing;
use sapwood_testkit::{Repository, Shape};

fn all_props(path: &Path) -> Vec<PropList> {
    let fs = open(path);
    let youngest = fs.youngest().unwrap().0;
    (0..=youngest).map(|n| PropList::clone(&fs.revprops(Revnum(n)).unwrap())).collect()
}

fn set(
    path: &Path,
    storage: Arc<dyn WriteStorage>,
    revision: u64,
    value: &[u8],
) -> sapwood_fs::Result<()> {
    let writer = writer(path, storage)?;
    let present = writer.fs().revprops(Revnum(revision))?.get("p").map(<[u8]>::to_vec);
    writer.change_revision_prop(Revnum(revision), "p", present.as_deref(), Some(value))
}

#[test]
fn stopped_at_every_operation() {
    // Packs of 1 KiB: the long values divide them, at first in front, then behind.
    let config = "[packed-revprops]\nrevprop-pack-size = 1\n[debug]\n";
    let shape = Shape::new("1.10").shard(7).pack(Packing::All).config(config);
    let repository = Repository::random(&shape, 5, 24);
    let dir = common::memory();
    let path = dir.path().join("repo");
    common::copy_tree(&repository.path(), &path);
    let mut refused = 0u64;
    // The last revisions are not packed.
    for (revision, len) in [(3, 10), (1, 700), (9, 1200), (13, 700), (3, 20), (23, 700)] {
        let value = |n: u64| format!("{n:0len$}").into_bytes();
        let mut props = all_props(&path);
        for operations in 0.. {
            let mut stopped = false;
            for (turn, loss) in (0u64..).zip(losses(operations)) {
                let storage = CrashingStorage::after(operations);
                let new = value(operations * 100 + turn);
                let done = set(&path, Arc::new(storage.clone()), revision, &new);
                stopped = storage.crash(loss);
                let now = all_props(&path);
                let place = usize::try_from(revision).unwrap();
                let what = format!("r{revision}, {loss:?} after {operations}");
                if now[place] != props[place] {
                    props[place].set("p", &new);
                } else {
                    assert!(done.is_err(), "{what}: nothing changed");
                }
                assert!(now == props, "{what}");
                refused += u64::from(done.is_err());
            }
            if !stopped {
                break;
            }
        }
    }
    // A change in place is five operations, one that divides a pack is three times that.
    assert!(refused >= 50, "{refused}");
    set(&path, Arc::new(LocalStorage), 9, b"short").unwrap();
    let expected = all_props(&path);
    let read = Command::new("svnlook")
        .args(["propget", "--revprop", "-r9"])
        .arg(&path)
        .arg("p")
        .output()
        .unwrap();
    assert_eq!(read.stdout, expected[9].get("p").unwrap());
    let dump = Command::new("svnadmin").args(["dump-revprops", "-q"]).arg(&path).output().unwrap();
    assert!(dump.status.success(), "{}", String::from_utf8_lossy(&dump.stderr));
}

/// What another process changes is seen, whatever was read and cached before.
#[test]
fn others_see_changes_at_once() {
    let shape = Shape::new("1.10").shard(7).pack(Packing::All);
    let repository = Repository::random(&shape, 5, 24);
    let path = repository.path();
    let reader = open(&path);
    for turn in 0..60u64 {
        let revision = turn % 20;
        let value = format!("{turn}").repeat(usize::try_from(turn).unwrap() * 20 + 1);
        set(&path, Arc::new(LocalStorage), revision, value.as_bytes()).unwrap();
        let props = reader.revprops(Revnum(revision)).unwrap();
        assert_eq!(props.get("p"), Some(value.as_bytes()), "turn {turn}");
    }
}
