//! Pack, upgrade, recover, load-index and setuuid, stopped at every single file operation,
//! with contents and names lost that were not synced: the repository is what it was or what it was to
//! become, whole, and the same command run again brings it there.

use crate::common;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::common::crashing::{CrashingStorage, Loss};
use crate::common::{commit, copy_tree, everywhere, open, open_on, read_all};
use crate::common::{reference_verifies, repository_on, text, whole, writer};
use sapwood_core::{CancelToken, Revnum};
use sapwood_fs::LocalStorage;
use sapwood_fs::admin::CreateOptions;
use sapwood_fs::admin::maintenance::MaintenanceOptions;
use sapwood_fs::admin::pack::PackOptions;
use sapwood_fs::fsfs::P2lEntry;
use sapwood_fs::{Storage, WriteStorage};
use sapwood_repos::create::{RepositoryOptions, create};

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
        let storage = CrashingStorage::after(left);
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
