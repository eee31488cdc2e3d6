//! Bulk commits: reported revisions exist, and a crash at any operation leaves some whole revision
//! between the last reported one and the last pending one.

use crate::common;

use std::path::Path;
use std::sync::Arc;

use crate::common::crashing::CrashingStorage;
use crate::common::{Growing, commit, losses, open, open_on, reference_verifies, whole, writer};
use sapwood_core::{PropList, Revnum};
use sapwood_fs::admin::{CreateOptions, FsxOptions, NewFilesystem};
use sapwood_fs::txn::{Bulk, WriteOptions, Writer};
use sapwood_fs::{LocalStorage, WriteStorage};
use sapwood_repos::create::create_of;
use sapwood_testkit::fspath;

/// Commits `count` revisions, each a change of the one before; what is there then and whether all
/// went well.
fn commit_many(writer: &Arc<Writer>, count: u64, settle_after: u64) -> (Revnum, Option<String>) {
    let bulk = match Bulk::new(writer) {
        Ok(bulk) => bulk.unwrap(),
        Err(error) => panic!("{error}"),
    };
    let work = || -> sapwood_fs::Result<()> {
        for number in 0..count {
            let mut txn = bulk.begin()?;
            let base = txn.base_revision();
            let file = format!("/d{base}");
            txn.make_dir(fspath(&file))?;
            let path = "/common";
            let had = txn.kind(fspath(path))?.is_some();
            if !had {
                txn.make_file(fspath(path))?;
            }
            let lines: String =
                (0..100).map(|n| format!("line {n} {}\n", n * base.0 % 7)).collect();
            txn.set_text(fspath(path), &mut lines.as_bytes(), None)?;
            txn.change_prop(fspath("/"), "p", Some(format!("{base} ").repeat(50).as_bytes()))?;
            if had {
                // Of a revision that may not be there yet.
                let root = writer.fs().revision_root(base)?;
                txn.copy(&root, fspath("/common"), fspath(&format!("/d{base}/copy")), true)?;
            }
            let made = bulk.commit(txn)?;
            assert_eq!(made, base.next());
            assert!(bulk.published() <= made);
            assert_eq!(bulk.youngest()?, made);
            if number == settle_after {
                bulk.sync()?;
                assert_eq!(bulk.published(), made);
            }
        }
        bulk.sync()
    };
    let done = work();
    // As loading does: what went wrong with a revision comes before what followed from it.
    let done = bulk.sync().and(done);
    (bulk.published(), done.err().map(|error| error.to_string()))
}

/// What a repository is made as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Made {
    /// FSFS of a format.
    Format(u32),
    Fsx,
}

fn repository(path: &Path, made: Made) {
    let kind = match made {
        Made::Format(format) => NewFilesystem::Fsfs(CreateOptions {
            format,
            shard_size: 4,
            logical_addressing: format == 8,
            ..CreateOptions::default()
        }),
        Made::Fsx => NewFilesystem::Fsx(FsxOptions { shard_size: 4, ..FsxOptions::default() }),
    };
    create_of(path, &kind, None).unwrap();
}

fn bulk_writer(path: &Path, storage: Arc<dyn WriteStorage>) -> Arc<Writer> {
    let options = WriteOptions { numbers_at_once: 64, batch_reps: true, ..WriteOptions::default() };
    Writer::new(&open_on(path, storage).unwrap(), options).unwrap()
}

/// Commits `count` revisions at once, stopped after each `step`th number of operations; after each in
/// long tests.
fn stopped_after_operations(format: Made, count: u64, step: usize) {
    let step = if sapwood_testkit::long() { 1 } else { step };
    let dir = common::memory();
    let path = dir.path().join("repo");
    repository(&path, format);
    commit(&path);
    let growing = Growing::new(&path);
    let mut refused = 0u64;
    for operations in (0..).step_by(step) {
        let mut stopped = false;
        for loss in losses(operations) {
            growing.renew();
            let before = open(&path).youngest().unwrap();
            let storage = CrashingStorage::after(operations);
            let writer = bulk_writer(&path, Arc::new(storage.clone()));
            let (told, failed) = commit_many(&writer, count, operations % 7);
            drop(writer);
            let crashed = storage.crash(loss);
            stopped |= crashed;
            let now = open(&path).youngest().unwrap();
            let what = format!("{format:?}, {loss:?} after {operations}: r{now}");
            assert!(now >= told && now.0 <= before.0 + count, "{what}, told of r{told}");
            assert!(crashed || failed.is_none(), "{what}: {failed:?}");
            // The storage's own error, not that a revision is gone which it did not take.
            let is_first = failed.as_ref().is_none_or(|error| error.contains("stopped"));
            assert!(is_first, "{what}: {failed:?}");
            refused += u64::from(failed.is_some());
            whole(&path);
            assert_eq!(commit(&path), now.next(), "{what}");
        }
        if !stopped {
            println!("{format:?}, {count} at once: {operations} operations");
            break;
        }
    }
    assert!(refused >= 4, "{refused}");
    growing.end();
}

#[test]
fn stopped_at_every_operation() {
    for (format, step) in [(2, 17), (3, 13), (8, 5)] {
        stopped_after_operations(Made::Format(format), 9, step);
    }
}

/// Thirty are so many that their file system is synced as a whole.
#[test]
fn thirty_stopped_at_every_operation() {
    for (format, step) in [(2, 29), (3, 29), (8, 13)] {
        stopped_after_operations(Made::Format(format), 30, step);
    }
}

#[test]
fn fsx_stopped_at_every_operation() {
    stopped_after_operations(Made::Fsx, 9, 5);
    stopped_after_operations(Made::Fsx, 30, 23);
}

/// The same revisions as one by one, byte for byte, but for dates.
#[test]
fn the_same_files_as_one_by_one() {
    for format in [Made::Format(1), Made::Format(4), Made::Format(6), Made::Format(8), Made::Fsx] {
        let dir = common::memory();
        let (bulk, single) = (dir.path().join("bulk"), dir.path().join("single"));
        for path in [&bulk, &single] {
            repository(path, format);
        }
        let writer = bulk_writer(&bulk, Arc::new(LocalStorage));
        assert_eq!(commit_many(&writer, 40, 20), (Revnum(40), None));
        let other = bulk_writer(&single, Arc::new(LocalStorage));
        for _ in 0..40 {
            let (told, failed) = commit_many(&other, 1, 0);
            assert!(failed.is_none() && told > Revnum::ZERO);
        }
        drop((writer, other));
        for revision in 1..=40 {
            let name = match format {
                Made::Format(1) => format!("db/revs/{revision}"),
                Made::Format(_) => format!("db/revs/{}/{revision}", revision / 4),
                Made::Fsx => format!("db/revs/{}/r{revision}", revision / 4),
            };
            let read = |path: &Path| std::fs::read(path.join(&name)).unwrap();
            assert_eq!(read(&bulk), read(&single), "{format:?}, r{revision}");
        }
        reference_verifies(&bulk);
    }
}

/// Others commit in between: no client's revision is lost.
#[test]
fn beside_others() {
    for made in [Made::Format(8), Made::Fsx] {
        others_commit(made);
    }
}

fn others_commit(made: Made) {
    let dir = common::memory();
    let path = dir.path().join("repo");
    repository(&path, made);
    let (bulk, single) = std::thread::scope(|scope| {
        let bulk = scope.spawn(|| {
            let writer = bulk_writer(&path, Arc::new(LocalStorage));
            let bulk = Bulk::new(&writer).unwrap().unwrap();
            let mut made = Vec::new();
            for number in 0..200 {
                let mut txn = bulk.begin().unwrap();
                txn.make_file(fspath(&format!("/bulk{number}"))).unwrap();
                made.push(bulk.commit(txn).unwrap());
                if number % 50 == 0 {
                    bulk.sync().unwrap();
                }
            }
            drop(bulk);
            made
        });
        let single = scope.spawn(|| {
            let mut made = Vec::new();
            for number in 0..10 {
                let writer = writer(&path, Arc::new(LocalStorage)).unwrap();
                let mut txn = writer.begin(writer.fs().youngest().unwrap()).unwrap();
                txn.make_file(fspath(&format!("/single{number}"))).unwrap();
                *txn.props_mut() = PropList::new();
                made.push(txn.commit().unwrap());
            }
            made
        });
        (bulk.join().unwrap(), single.join().unwrap())
    });
    let mut all: Vec<Revnum> = bulk.into_iter().chain(single).collect();
    all.sort_unstable();
    assert!(all.iter().map(|r| r.0).eq(1..=210));
    whole(&path);
    reference_verifies(&path);
}
