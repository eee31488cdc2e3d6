//! Hotcopy, of both engines, stopped at every single file operation, with contents and names lost that were not synced: a copy is what
//! it was or what it was to become, whole, and the same command run again, by ours or by the reference's program, brings it there.

use crate::common;

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use crate::common::crashing::{CrashingStorage, Loss};
use crate::common::{
    commit, copy_tree, everywhere, losses, open, read_all, reference_commits, reference_verifies,
};
use crate::common::{repository, repository_on, text, whole, writer};
use sapwood_core::{CancelToken, Depth, Revnum};
use sapwood_fs::admin::hotcopy::HotcopyOptions;
use sapwood_fs::admin::pack::PackOptions;
use sapwood_fs::admin::{CreateOptions, FsxOptions, NewFilesystem};
use sapwood_fs::{Engine, LocalStorage, LockOptions, LockTarget};
use sapwood_fs::{Storage, WriteStorage};
use sapwood_repos::create::create_of;
use sapwood_testkit::fspath;

/// Both engines.
const ENGINES: [Engine; 2] = [Engine::Fsfs, Engine::Fsx];

/// A repository with some revisions in shards of two.
fn make(dir: &Path, engine: Engine, revisions: u64) -> PathBuf {
    let path = dir.join("repo");
    let kind = match engine {
        Engine::Fsfs => {
            NewFilesystem::Fsfs(CreateOptions { shard_size: 2, ..CreateOptions::default() })
        }
        _ => NewFilesystem::Fsx(FsxOptions { shard_size: 2, ..FsxOptions::default() }),
    };
    create_of(&path, &kind, None).unwrap();
    for _ in 0..revisions {
        commit(&path);
    }
    path
}

fn pack(path: &Path) {
    let options = PackOptions { threads: false, ..PackOptions::default() };
    open(path).pack(&options, &CancelToken::new(), &mut |_| Ok(())).unwrap();
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
    ENGINES.into_iter().for_each(while_others_commit_and_pack);
}

fn while_others_commit_and_pack(engine: Engine) {
    let dir = common::memory();
    let source = make(dir.path(), engine, 6);
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
                pack(&source);
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
    incremental(Engine::Fsfs);
}

#[test]
fn hotcopy_of_fsx() {
    incremental(Engine::Fsx);
}

fn incremental(engine: Engine) {
    for packed in [false, true] {
        let dir = common::memory();
        let source = make(dir.path(), engine, 6);
        let early = dir.path().join("early");
        if packed {
            pack(&source);
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
            pack(&source);
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
                is_usable(path, &source, new);
            }
        });
        assert_eq!(links.get() > 2, packed);
        let plain = early.with_extension("plain");
        copy_tree(&early, &plain);
        copy(&source, &plain, Arc::new(CrashingStorage::without_links()), true).unwrap();
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

/// The reference reads a copy and commits to it, ours does, and the reference brings it to what the source is.
#[track_caller]
fn is_usable(path: &Path, source: &Path, new: (Revnum, usize)) {
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
    hotcopy.args(["hotcopy", "--incremental"]).args([source, &used]);
    assert!(hotcopy.status().unwrap().success());
    assert!(!used.join("db/current").is_symlink());
    assert_eq!(read_all(&used), new);
    std::fs::remove_dir_all(&used).unwrap();
}

/// A new copy that was stopped is no repository, and an incremental one completes it.
#[test]
fn hotcopy_anew() {
    anew(Engine::Fsfs);
}

#[test]
fn hotcopy_of_fsx_anew() {
    anew(Engine::Fsx);
}

fn anew(engine: Engine) {
    for packed in [false, true] {
        let dir = common::memory();
        let source = make(dir.path(), engine, 2);
        if packed {
            pack(&source);
        }
        lock(&source, "/f0");
        let all = read_all(&source);
        for operations in 0.. {
            let mut stopped = false;
            for loss in losses(operations) {
                let fresh = dir.path().join(format!("fresh {operations} {loss:?}"));
                let storage = CrashingStorage::after(operations);
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
                assert!(operations > 50, "{operations}");
                break;
            }
        }
    }
}

/// A new copy that was killed is taken up by the reference, but for a moment at the very end: it
/// makes some files anew, and fails if they are there.
#[test]
fn the_reference_takes_up_a_new_copy() {
    ENGINES.into_iter().for_each(taken_up_by_the_reference);
}

fn taken_up_by_the_reference(engine: Engine) {
    const MADE_ANEW: [&str; 8] = [
        "write-lock",
        "current",
        "min-unpacked-rev",
        "txn-current",
        "txn-current-lock",
        "revprop-generation",
        "fsfs.conf",
        "fsx.conf",
    ];
    let uuid = if engine == Engine::Fsx { Some("uuid") } else { None };
    let dir = common::memory();
    let source = make(dir.path(), engine, 6);
    pack(&source);
    let (mut blocked, mut taken_up) = (0, 0);
    for operations in 0.. {
        let fresh = dir.path().join(format!("fresh {operations}"));
        let storage = CrashingStorage::after(operations);
        let _ = copy(&source, &fresh, Arc::new(storage.clone()), true);
        if !storage.crash(Loss::Nothing) {
            break;
        }
        let is_there = |name: &&str| fresh.join("db").join(name).exists();
        if !is_there(&"format") && MADE_ANEW.iter().chain(&uuid).any(is_there) {
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
    assert!(taken_up > 3 && blocked < 45, "{taken_up} taken up, {blocked} blocked");
}
