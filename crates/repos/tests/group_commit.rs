//! Commits of several threads at once, which become revisions together: each is there, in whatever
//! order; a commit in conflict with one before is refused alone; and when the storage stops at any
//! operation, a client that got a revision number finds that revision.

use crate::common;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::common::crashing::CrashingStorage;
use crate::common::{losses, open, open_on, reference_verifies as verify, whole};
use sapwood_core::{ErrorCode, Revnum, SvnError};
use sapwood_fs::admin::CreateOptions;
use sapwood_fs::txn::{Txn, WriteOptions, Writer};
use sapwood_fs::{Filesystem, LocalStorage, WriteStorage as _};
use sapwood_repos::create::{RepositoryOptions, create};
use sapwood_testkit::fspath;

const THREADS: usize = 6;

/// A transaction that makes one file below `/` and, with `also`, another one that all make.
fn begin(fs: &Filesystem, file: &str, also: bool) -> sapwood_fs::Result<Txn> {
    let mut txn = Writer::new(fs, WriteOptions::default())?.begin(fs.youngest()?)?;
    for path in std::iter::once(file).chain(also.then_some("/same")) {
        txn.make_file(fspath(path))?;
        txn.set_text(fspath(path), &mut format!("{file} ").repeat(50).as_bytes(), None)?;
    }
    Ok(txn)
}

/// Commits all transactions at once: how each ended. While the write lock is held outside, they
/// gather behind the first.
fn commit_together(path: &Path, txns: Vec<Txn>) -> Vec<sapwood_fs::Result<Revnum>> {
    let lock = LocalStorage.lock(&path.join("db/write-lock")).unwrap();
    let threads: Vec<_> =
        txns.into_iter().map(|txn| std::thread::spawn(move || txn.commit())).collect();
    std::thread::sleep(Duration::from_millis(20));
    drop(lock);
    threads.into_iter().map(|thread| thread.join().unwrap()).collect()
}

fn files(fs: &Filesystem, revision: Revnum) -> Vec<String> {
    let root = fs.revision_root(revision).unwrap().node(fspath("/")).unwrap();
    let entries = root.entries().unwrap();
    for entry in entries.iter() {
        let node = root.child(entry.name).unwrap().unwrap();
        std::io::copy(&mut node.contents().unwrap(), &mut std::io::sink()).unwrap();
    }
    entries.iter().map(|entry| format!("/{}", entry.name)).collect()
}

#[test]
fn all_are_there_and_share_the_move_of_current() {
    let dir = common::memory();
    for format in [None, Some(3)] {
        let path = dir.path().join(format!("repo{format:?}"));
        let options =
            RepositoryOptions { compatible_minor: format, ..RepositoryOptions::default() };
        create(&path, &options).unwrap();
        let fs = open(&path);
        let mut done = Vec::new();
        let mut shared = false;
        for round in 0..50 {
            // Each operation is counted: commits that share need fewer of them.
            let counting = CrashingStorage::after(u64::MAX);
            let counted = open_on(&path, Arc::new(counting.clone())).unwrap();
            let names: Vec<String> = (0..THREADS).map(|n| format!("/f{round}-{n}")).collect();
            let begin = |name: &String| begin(&counted, name, false).unwrap();
            let txns: Vec<Txn> = names.iter().map(begin).collect();
            let moves = counting.moves_of("current");
            let revisions: Vec<Revnum> =
                commit_together(&path, txns).into_iter().map(Result::unwrap).collect();
            shared |= counting.moves_of("current") - moves < THREADS;
            done.extend(names.into_iter().zip(revisions));
            if shared && round > 2 {
                break;
            }
        }
        assert!(shared, "nobody ever shared anything");
        for (name, revision) in &done {
            assert!(files(&fs, *revision).contains(name));
            let before = Revnum(revision.0 - 1);
            assert!(!files(&fs, before).contains(name));
        }
        let youngest = open(&path).youngest().unwrap();
        assert_eq!(usize::try_from(youngest.0).unwrap(), done.len());
        verify(&path);
    }
}

#[test]
fn who_is_in_conflict_is_refused_alone() {
    let dir = common::memory();
    let path = dir.path().join("repo");
    create(&path, &RepositoryOptions::default()).unwrap();
    let fs = open(&path);
    let names: Vec<String> = (0..THREADS).map(|n| format!("/f{n}")).collect();
    let txns = (0..THREADS).map(|n| begin(&fs, &names[n], n % 2 == 0).unwrap()).collect();
    let done = commit_together(&path, txns);
    let mut present: Vec<&str> = vec!["/same"];
    let mut refused = 0;
    for (name, done) in names.iter().zip(done) {
        match done {
            Ok(_) => present.push(name),
            Err(error) => {
                assert_eq!(SvnError::from(error).code(), ErrorCode::FS_CONFLICT);
                refused += 1;
            }
        }
    }
    // One of those that made the same file came first.
    assert_eq!(refused, THREADS / 2 - 1);
    let mut found = files(&fs, fs.youngest().unwrap());
    found.sort_unstable();
    present.sort_unstable();
    assert_eq!(found, present);
    verify(&path);
}

#[test]
fn stopped_at_every_operation() {
    let options = CreateOptions { shard_size: 4, ..CreateOptions::default() };
    let dir = common::memory();
    let path = dir.path().join("repo");
    create(&path, &RepositoryOptions { fs: options, compatible_minor: None }).unwrap();
    let mut refused = 0;
    for operations in 0.. {
        let mut stopped = false;
        for (turn, loss) in losses(operations).into_iter().chain(losses(operations + 1)).enumerate()
        {
            let crashing = CrashingStorage::after(operations);
            let fs = open_on(&path, Arc::new(crashing.clone())).unwrap();
            let names: Vec<String> = (0..3).map(|n| format!("/f{operations}-{turn}-{n}")).collect();
            let txns: sapwood_fs::Result<Vec<Txn>> =
                names.iter().map(|name| begin(&fs, name, false)).collect();
            let before = fs.youngest().unwrap();
            let Ok(txns) = txns else {
                stopped = crashing.crash(loss);
                assert_eq!(open(&path).youngest().unwrap(), before);
                continue;
            };
            let done = commit_together(&path, txns);
            let what = format!("{loss:?} after {operations}");
            let check = |fs: &Filesystem| {
                let youngest = fs.youngest().unwrap();
                for revision in before.0..=youngest.0 {
                    files(fs, Revnum(revision));
                    fs.revprops(Revnum(revision)).unwrap();
                }
                for (name, done) in names.iter().zip(&done) {
                    let Ok(revision) = done else { continue };
                    assert!(*revision <= youngest && *revision > before, "{what}");
                    assert!(files(fs, *revision).contains(name), "{what}");
                }
            };
            // As this process sees it, and as another does after the crash.
            check(&fs);
            stopped = crashing.crash(loss);
            check(&open(&path));
            refused += done.iter().filter(|done| done.is_err()).count();
        }
        if !stopped {
            break;
        }
    }
    assert!(refused >= 40, "{refused}");
    // A failure must not be cached.
    let fs = open(&path);
    begin(&fs, "/last", false).unwrap().commit().unwrap();
    whole(&path);
    verify(&path);
}
