//! Commits that are stopped at every single file operation: afterwards the old or the new revision
//! is there, whole, and the next commit works.

use crate::common;

use std::path::Path;
use std::sync::Arc;

use crate::common::crashing::{CrashingStorage, Loss};
use crate::common::{Growing, commit, commit_to, losses, open, read_all, whole, writer};
use sapwood_core::Revnum;
use sapwood_fs::admin::CreateOptions;
use sapwood_fs::{LocalStorage, WriteStorage};
use sapwood_repos::create::{RepositoryOptions, create};
use sapwood_testkit::fspath;

/// Commits a text so large that it goes to the disk before the commit.
fn commit_large(path: &Path, storage: Arc<dyn WriteStorage>) -> sapwood_fs::Result<Revnum> {
    let writer = writer(path, storage)?;
    let mut txn = writer.begin(writer.fs().youngest()?)?;
    let block: Vec<u8> = (0u8..=255).flat_map(|n| [n, n.wrapping_mul(31), 7, n ^ 85]).collect();
    txn.make_file(fspath("/large"))?;
    txn.set_text(fspath("/large"), &mut block.repeat(5000).as_slice(), None)?;
    txn.commit()
}

#[test]
fn stopped_while_a_large_text_is_written() {
    let dir = common::memory();
    let path = dir.path().join("repo");
    create(&path, &RepositoryOptions::default()).unwrap();
    // Three operations name the transaction; then the prototype is created and written.
    for operations in 4..12 {
        for loss in losses(operations) {
            let storage = CrashingStorage::after(operations);
            commit_large(&path, Arc::new(storage.clone())).unwrap_err();
            storage.crash(loss);
            assert_eq!(read_all(&path), (Revnum(0), 1));
        }
    }
    commit_large(&path, Arc::new(LocalStorage)).unwrap();
    assert_eq!(read_all(&path), (Revnum(1), 3));
}

#[test]
fn stopped_at_every_operation() {
    for format in [1, 3, 4, 6, 8] {
        // The shard size makes every second commit begin a new shard.
        let logical_addressing = format == 8;
        let fs =
            CreateOptions { format, shard_size: 2, logical_addressing, ..CreateOptions::default() };
        let dir = common::memory();
        let path = dir.path().join("repo");
        create(&path, &RepositoryOptions { fs, compatible_minor: None }).unwrap();
        commit(&path);
        let growing = Growing::new(&path);
        let mut refused = 0u64;
        for operations in 0.. {
            let mut stopped = false;
            for loss in losses(operations) {
                growing.renew();
                // One begins a shard, the other does not.
                for _ in 0..2 {
                    let young = open(&path).youngest().unwrap();
                    let storage = CrashingStorage::after(operations);
                    let done = commit_to(&path, Arc::new(storage.clone()));
                    stopped |= storage.crash(loss);
                    let what = format!("format {format}, {loss:?} after {operations}");
                    let now = open(&path).youngest().unwrap();
                    assert!(now == young || now == young.next(), "{what}: r{now}");
                    match done {
                        Ok(revision) => assert_eq!(revision, now, "{what}"),
                        Err(error) => {
                            refused += 1;
                            // A failure that leaves a revision behind says so, and only such a one.
                            let there = now != young;
                            let told = error.to_string().contains("is committed, but");
                            let kept = matches!(loss, Loss::Nothing | Loss::Contents);
                            assert!(told == there || told && !kept, "{what}: {error}");
                        }
                    }
                    whole(&path);
                    assert_eq!(commit(&path), now.next(), "{what}");
                    if now != young {
                        commit(&path);
                    }
                }
            }
            if !stopped {
                println!("format {format}: {operations} operations");
                break;
            }
        }
        // There was something to stop at: creating, writing, syncing, moving, four files at least.
        assert!(refused >= 30, "{refused}");
        growing.end();
    }
}

/// A commit that was reported outlives a crash, whatever is lost.
#[test]
fn what_was_told_stays() {
    let dir = common::memory();
    let path = dir.path().join("repo");
    create(&path, &RepositoryOptions::default()).unwrap();
    for number in 0..20 {
        let storage = CrashingStorage::after(u64::MAX);
        commit_to(&path, Arc::new(storage.clone())).unwrap();
        let told = commit_to(&path, Arc::new(storage.clone())).unwrap();
        storage.crash(if number == 0 { Loss::Everything } else { Loss::Some(number) });
        assert_eq!(open(&path).youngest().unwrap(), told);
        whole(&path);
    }
}
