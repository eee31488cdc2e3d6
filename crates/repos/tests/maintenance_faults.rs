//! Pack, hotcopy, upgrade, recover, load-index and setuuid, stopped at every single file operation,
//! with contents and names lost that were not synced: the repository is what it was or what it was to
//! become, whole, and the same command run again brings it there.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

use crate::common;

use std::cell::Cell;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use crate::common::crashing::{Crashing, Loss};
use crate::common::{
    commit, copy_tree, everywhere, losses, open, open_on, read_all, reference_commits,
};
use crate::common::{reference_verifies, repository, repository_on, text, whole, writer};
use sapwood_core::{CancelToken, Depth, Revnum};
use sapwood_fs::admin::CreateOptions;
use sapwood_fs::admin::hotcopy::HotcopyOptions;
use sapwood_fs::admin::maintenance::MaintenanceOptions;
use sapwood_fs::admin::pack::PackOptions;
use sapwood_fs::fsfs::P2lEntry;
use sapwood_fs::{LocalStorage, LockOptions, LockTarget};
use sapwood_fs::{Storage, WriteStorage};
use sapwood_repos::create::{RepositoryOptions, create};
use sapwood_testkit::fspath;

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

fn pack(path: &Path, storage: Arc<dyn WriteStorage>, threads: bool) -> Result<(), String> {
    let options = PackOptions { threads, ..PackOptions::default() };
    open_on(path, storage)
        .map_err(text)?
        .pack(&options, &CancelToken::new(), &mut |_| Ok(()))
        .map_err(text)
}

fn packs(format: u32, logical: bool) {
    let dir = common::memory();
    let path = make(dir.path(), format, logical);
    let before = read_all(&path);
    let work = |path: &Path, storage| pack(path, storage, false);
    let operations = everywhere(&path, &work, &|path, done| {
        assert_eq!(read_all(path), before);
        whole(path);
        assert!(!done || open(path).min_unpacked_rev().unwrap() == Revnum(6));
    });
    assert!(operations > 30, "{operations}");
    // A pack that was stopped, then commits, then another pack.
    for left in [5, operations / 2, operations - 3] {
        let part = dir.path().join(format!("part{left}"));
        copy_tree(&path, &part);
        let storage = Crashing::after(left);
        pack(&part, Arc::new(storage.clone()), true).unwrap_err();
        assert!(storage.crash(Loss::Everything));
        commit(&part);
        commit(&part);
        pack(&part, Arc::new(LocalStorage), true).unwrap();
        assert_eq!(open(&part).min_unpacked_rev().unwrap(), Revnum(8));
        reference_verifies(&part);
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
        let dir = common::memory();
        let path = make(dir.path(), format, false);
        if format == 4 {
            pack(&path, Arc::new(LocalStorage), false).unwrap();
        }
        let before = read_all(&path);
        let work = |path: &Path, storage| {
            let options = MaintenanceOptions::default();
            let cancel = CancelToken::new();
            sapwood_repos::upgrade::upgrade(
                &repository_on(path, storage),
                &options,
                &cancel,
                &mut |_| Ok(()),
            )
            .map_err(text)
        };
        let operations = everywhere(&path, &work, &|path, done| {
            assert_eq!(read_all(path), before);
            whole(path);
            assert!(!done || open(path).format().number == 8);
        });
        assert!(operations > 10, "{operations}");
        work(&path, Arc::new(LocalStorage)).unwrap();
        commit(&path);
        reference_verifies(&path);
    }
}

#[test]
fn recover() {
    for format in [1, 8] {
        let dir = common::memory();
        let path = make(dir.path(), format, format == 8);
        let before = read_all(&path);
        let work = |path: &Path, storage| {
            let options = MaintenanceOptions::default();
            open_on(path, storage)
                .map_err(text)?
                .recover(&options, &CancelToken::new())
                .map_err(text)
        };
        everywhere(&path, &work, &|path, _| {
            assert_eq!(read_all(path), before);
            whole(path);
        });
        std::fs::write(path.join("db/current"), "").unwrap();
        everywhere(&path, &work, &|path, done| {
            if done {
                assert_eq!(read_all(path), before);
                whole(path);
            }
        });
        work(&path, Arc::new(LocalStorage)).unwrap();
        commit(&path);
        reference_verifies(&path);
    }
}

#[test]
fn load_index() {
    for packed in [false, true] {
        let dir = common::memory();
        let path = make(dir.path(), 8, true);
        if packed {
            pack(&path, Arc::new(LocalStorage), false).unwrap();
        }
        let before = read_all(&path);
        let mut entries = Vec::new();
        let mut each = |entry: &P2lEntry| {
            entries.push(*entry);
            Ok(())
        };
        open(&path).dump_index(Revnum(3), &CancelToken::new(), &mut each).unwrap();
        let work = |path: &Path, storage| {
            let options = MaintenanceOptions::default();
            open_on(path, storage)
                .map_err(text)?
                .load_index(entries.clone(), &options, &CancelToken::new())
                .map_err(text)
        };
        let operations = everywhere(&path, &work, &|path, _| {
            assert_eq!(read_all(path), before);
            whole(path);
        });
        assert!(operations > 6, "{operations}");
        work(&path, Arc::new(LocalStorage)).unwrap();
        reference_verifies(&path);
    }
}

#[test]
fn setuuid() {
    const UUID: &str = "01234567-89ab-cdef-0123-456789abcdef";
    for format in [1, 8] {
        let dir = common::memory();
        let path = make(dir.path(), format, format == 8);
        let before = read_all(&path);
        let old = open(&path).uuid().unwrap();
        let work = |path: &Path, storage| {
            let writer = writer(path, storage).map_err(text)?;
            writer.set_uuid(UUID).map(drop).map_err(text)
        };
        let operations = everywhere(&path, &work, &|path, done| {
            assert_eq!(read_all(path), before);
            let fs = open(path);
            let uuid = fs.uuid().unwrap();
            assert!(uuid == UUID || (!done && uuid == old));
        });
        assert!(operations > 4, "{operations}");
    }
}

fn lock(path: &Path, file: &str) {
    let options = LockOptions {
        user: "ann",
        comment: None,
        is_dav_comment: false,
        expires: None,
        steal: false,
    };
    let target = LockTarget { path: fspath(file).to_owned(), token: None, revision: None };
    let done = writer(path, Arc::new(LocalStorage)).unwrap().lock_paths(&[target], &options);
    assert!(done.failure.is_none() && done.each.iter().all(|(_, lock)| lock.is_ok()));
}

/// What is committed and packed while we copy is copied, or left out, but not in part.
#[test]
fn hotcopy_while_others_commit_and_pack() {
    let dir = common::memory();
    let source = make(dir.path(), 8, true);
    let to = dir.path().join("copy");
    let options = HotcopyOptions { incremental: true, threads: false, ..HotcopyOptions::default() };
    for _ in 0..2 {
        let from = repository(&source);
        let mut first = true;
        let mut notify = |_, _| {
            if std::mem::take(&mut first) {
                for _ in 0..5 {
                    commit(&source);
                }
                pack(&source, Arc::new(LocalStorage), false).unwrap();
            }
            Ok(())
        };
        sapwood_repos::hotcopy::hotcopy(&from, &to, &options, &CancelToken::new(), &mut notify)
            .unwrap();
        let copy = open(&to);
        assert!(copy.min_unpacked_rev().unwrap() <= copy.youngest().unwrap().next());
        reference_verifies(&to);
        commit(&source);
    }
    commit(&to);
    reference_verifies(&to);
}

/// Copies without threads.
fn copy(
    source: &Path,
    to: &Path,
    storage: Arc<dyn WriteStorage>,
    incremental: bool,
) -> Result<(), String> {
    let options = HotcopyOptions { incremental, threads: false, ..HotcopyOptions::default() };
    let (from, cancel) = (repository_on(source, storage), CancelToken::new());
    sapwood_repos::hotcopy::hotcopy(&from, to, &options, &cancel, &mut |_, _| Ok(())).map_err(text)
}

#[test]
fn hotcopy() {
    for packed in [false, true] {
        let dir = common::memory();
        let source = make(dir.path(), 8, true);
        let early = dir.path().join("early");
        if packed {
            pack(&source, Arc::new(LocalStorage), false).unwrap();
        }
        lock(&source, "/f0");
        copy(&source, &early, Arc::new(LocalStorage), false).unwrap();
        let old = read_all(&early);
        // Properties that divide packs, and those of revisions that are not packed, or not yet.
        for revision in [1, 3, 6] {
            let writer = writer(&source, Arc::new(LocalStorage)).unwrap();
            let value = vec![b'x'; 20_000];
            writer.change_revision_prop(Revnum(revision), "p", None, Some(&value)).unwrap();
        }
        lock(&source, "/f1");
        for _ in 0..3 {
            commit(&source);
        }
        if packed {
            pack(&source, Arc::new(LocalStorage), false).unwrap();
        }
        let new = read_all(&source);
        let work = |path: &Path, storage| copy(&source, path, storage, true);
        let links = Cell::new(0);
        let operations = everywhere(&early, &work, &|path, done| {
            let now = read_all(path);
            assert!(now == new || (!done && now == old), "{now:?}");
            whole(path);
            let locks = open(path).locks(fspath("/"), Depth::Infinity).unwrap().len();
            assert!(locks == 2 || (!done && locks == 1), "{locks}");
            let props = open(path).revprops(Revnum(1)).unwrap();
            assert!(!done || props.get("p").is_some());
            let is_link = path.join("db/current").is_symlink();
            assert!(!done || !is_link);
            // While packs with new revisions are being published, all readers see a complete copy.
            if is_link {
                links.set(links.get() + 1);
                reference_verifies(path);
                let used = path.with_extension("used");
                copy_tree(path, &used);
                commit(&used);
                whole(&used);
                reference_commits(&used);
                reference_verifies(&used);
                std::fs::remove_dir_all(&used).unwrap();
                copy_tree(path, &used);
                let mut hotcopy = Command::new("svnadmin");
                hotcopy.args(["hotcopy", "--incremental"]).args([&source, &used]);
                assert!(hotcopy.status().unwrap().success());
                assert!(!used.join("db/current").is_symlink());
                assert_eq!(read_all(&used), new);
                std::fs::remove_dir_all(&used).unwrap();
            }
        });
        assert_eq!(links.get() > 2, packed);
        let plain = early.with_extension("plain");
        copy_tree(&early, &plain);
        copy(&source, &plain, Arc::new(Crashing::without_links()), true).unwrap();
        assert_eq!(read_all(&plain), new);
        whole(&plain);
        let left = LocalStorage.list(&plain.join("db")).unwrap();
        assert!(!left.iter().any(|name| name.to_string_lossy().starts_with("hotcopy")));
        assert!(operations > 30, "{operations}");
        copy(&source, &early, Arc::new(LocalStorage), true).unwrap();
        commit(&early);
        reference_verifies(&early);
    }
}

/// A new copy that was stopped is no repository, and an incremental one completes it.
#[test]
fn hotcopy_anew() {
    for packed in [false, true] {
        let dir = common::memory();
        let source = dir.path().join("repo");
        let fs = CreateOptions { shard_size: 2, ..CreateOptions::default() };
        create(&source, &RepositoryOptions { fs, compatible_minor: None }).unwrap();
        for _ in 0..2 {
            commit(&source);
        }
        if packed {
            pack(&source, Arc::new(LocalStorage), false).unwrap();
        }
        lock(&source, "/f0");
        let all = read_all(&source);
        for operations in 0.. {
            let mut stopped = false;
            for loss in losses(operations) {
                let fresh = dir.path().join(format!("fresh {operations} {loss:?}"));
                let storage = Crashing::after(operations);
                let done = copy(&source, &fresh, Arc::new(storage.clone()), false);
                stopped = storage.crash(loss);
                assert_eq!(done.is_err(), stopped, "{done:?}");
                if !fresh.join("format").exists() {
                    assert!(stopped, "{loss:?} after {operations}");
                    copy(&source, &fresh, Arc::new(LocalStorage), true).unwrap();
                }
                assert_eq!(read_all(&fresh), all, "{loss:?} after {operations}");
                whole(&fresh);
                if operations % 20 == 0 {
                    commit(&fresh);
                    reference_verifies(&fresh);
                }
                std::fs::remove_dir_all(&fresh).unwrap();
            }
            if !stopped {
                assert!(operations > 60, "{operations}");
                break;
            }
        }
    }
}

/// A new copy that was killed is taken up by the reference, but for a moment at the very end: it
/// makes some files anew, and fails if they are there.
#[test]
fn the_reference_takes_up_a_new_copy() {
    const MADE_ANEW: [&str; 6] = [
        "write-lock",
        "current",
        "min-unpacked-rev",
        "txn-current",
        "txn-current-lock",
        "fsfs.conf",
    ];
    let dir = common::memory();
    let source = make(dir.path(), 8, true);
    pack(&source, Arc::new(LocalStorage), false).unwrap();
    let (mut blocked, mut taken_up) = (0, 0);
    for operations in 0.. {
        let fresh = dir.path().join(format!("fresh {operations}"));
        let storage = Crashing::after(operations);
        let _ = copy(&source, &fresh, Arc::new(storage.clone()), true);
        if !storage.crash(Loss::Nothing) {
            break;
        }
        let is_there = |name: &&str| fresh.join("db").join(name).exists();
        if !is_there(&"format") && MADE_ANEW.iter().any(is_there) {
            blocked += 1;
        } else if operations % 7 == 0 && fresh.join("db").exists() {
            let mut hotcopy = Command::new("svnadmin");
            hotcopy.args(["hotcopy", "-q", "--incremental"]).args([&source, &fresh]);
            let done = hotcopy.output().unwrap();
            let said = String::from_utf8_lossy(&done.stderr).into_owned();
            assert!(done.status.success(), "after {operations}: {said}");
            taken_up += 1;
        }
        if fresh.exists() {
            std::fs::remove_dir_all(&fresh).unwrap();
        }
    }
    assert!(taken_up > 3 && blocked < 30, "{taken_up} taken up, {blocked} blocked");
}
