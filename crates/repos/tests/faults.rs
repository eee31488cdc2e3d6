//! Commits that are stopped at every single file operation: afterwards the old or the new revision
//! is there, whole, and the next commit works.

#![allow(clippy::unwrap_used)]

mod common;

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use common::stopping::{Faulty, Stopping};
use sapwood_core::Revnum;
use sapwood_fsfs::txn::{WriteOptions, Writer};
use sapwood_fsfs::{Caches, CreateOptions, Filesystem, LocalStorage, OpenOptions, WriteStorage};
use sapwood_repos::create::{RepositoryOptions, create};

fn open(path: &Path) -> Filesystem {
    Filesystem::open(&path.join("db"), &Caches::new(4 << 20), &OpenOptions::default()).unwrap()
}

/// Commits a change of everything a commit can change; how it ended.
fn commit(
    path: &Path,
    storage: Arc<dyn WriteStorage>,
    large: bool,
) -> sapwood_fsfs::Result<Revnum> {
    let fs = open(path);
    let options = WriteOptions { storage, ..WriteOptions::default() };
    let writer = Writer::new(&fs, options)?;
    let base = fs.youngest()?;
    let mut txn = writer.begin(base)?;
    let file = format!("/f{base}");
    txn.make_file(&file)?;
    txn.set_text(&file, &mut "text ".repeat(200).as_bytes(), None)?;
    txn.change_prop("/", "p", Some(format!("{base} ").repeat(50).as_bytes()))?;
    if large {
        // So large that it goes to the disk before the commit.
        let block: Vec<u8> = (0u8..=255).flat_map(|n| [n, n.wrapping_mul(31), 7, n ^ 85]).collect();
        let text = block.repeat(5000);
        txn.make_file("/large")?;
        txn.set_text("/large", &mut text.as_slice(), None)?;
    }
    txn.commit()
}

/// Reads the whole youngest revision.
fn read_youngest(path: &Path) -> (Revnum, usize) {
    let fs = open(path);
    let youngest = fs.youngest().unwrap();
    let mut todo = vec![fs.revision_root(youngest).unwrap().node("/").unwrap()];
    let mut count = 0;
    while let Some(node) = todo.pop() {
        count += 1;
        node.props().unwrap();
        if node.kind() == sapwood_core::NodeKind::File {
            std::io::copy(&mut node.contents().unwrap(), &mut std::io::sink()).unwrap();
        } else {
            for entry in node.entries().unwrap().iter() {
                todo.push(node.child(entry.name).unwrap().unwrap());
            }
        }
    }
    fs.revprops(youngest).unwrap();
    (youngest, count)
}

fn stop_everywhere(lose: bool) {
    // The shard size makes the second commit begin a new shard.
    let fs = CreateOptions { shard_size: 2, ..CreateOptions::default() };
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("repo");
    create(&path, &RepositoryOptions { fs, compatible_minor: None }).unwrap();
    commit(&path, Arc::new(LocalStorage), false).unwrap();

    let (mut young, mut files) = read_youngest(&path);
    let mut refused = 0u64;
    for operations in 0.. {
        let stopping = Stopping::after(operations, lose);
        let done = commit(&path, Arc::new(Faulty(Arc::clone(&stopping))), false);
        let (now, now_files) = read_youngest(&path);
        let committed = now == young.next() && now_files == files + 1;
        assert!(committed || (now == young && now_files == files), "after {operations}: r{now}");
        match done {
            Ok(revision) => assert_eq!(revision, now, "after {operations}"),
            Err(_) => refused += 1,
        }
        (young, files) = (now, now_files);
        if !stopping.has_stopped() {
            break;
        }
    }
    // There was something to stop at: creating, writing, syncing, moving, four files at least.
    assert!(refused >= 15, "{refused}");
    commit(&path, Arc::new(LocalStorage), false).unwrap();
    let verified = Command::new("svnadmin").args(["verify", "-q"]).arg(&path).output().unwrap();
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stderr));
}

#[test]
fn stopped_while_a_large_text_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("repo");
    create(&path, &RepositoryOptions::default()).unwrap();
    // Three operations name the transaction; then the prototype is created and written.
    for operations in 4..12 {
        let stopping = Stopping::after(operations, true);
        commit(&path, Arc::new(Faulty(stopping)), true).unwrap_err();
        assert_eq!(read_youngest(&path), (Revnum(0), 1));
    }
    commit(&path, Arc::new(LocalStorage), true).unwrap();
    assert_eq!(read_youngest(&path), (Revnum(1), 3));
}

#[test]
fn stopped_at_every_operation() {
    stop_everywhere(false);
}

#[test]
fn stopped_at_every_operation_and_unsynced_data_lost() {
    stop_everywhere(true);
}
