//! What an incremental hotcopy says that it has copied can be read in the copy at that moment; what the copy has already is not
//! written again.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use crate::common;

use sapwood_core::{CancelToken, Revnum};
use sapwood_fs::admin::hotcopy::HotcopyOptions;
use sapwood_repos::create::{RepositoryOptions, create};

#[test]
fn notices_come_when_the_copy_has_it() {
    let dir = common::memory();
    let (from, to) = (dir.path().join("from"), dir.path().join("to"));
    create(&from, &RepositoryOptions::default()).unwrap();
    std::fs::create_dir(&to).unwrap();
    let copy = |incremental| {
        let options = HotcopyOptions { incremental, ..HotcopyOptions::default() };
        let mut told = Vec::new();
        let mut notify = |_: Revnum, last: Revnum| {
            let current = std::fs::read_to_string(to.join("current")).unwrap_or_default();
            told.push((last, current.trim().parse().unwrap_or(0)));
            Ok(())
        };
        let source = common::open(&from);
        source.hotcopy(&to, &options, &CancelToken::new(), &mut notify).unwrap();
        told
    };
    common::commit(&from);
    copy(false);
    for _ in 0..4 {
        common::commit(&from);
    }
    let told = copy(true);
    assert!(!told.is_empty());
    for (last, current) in told {
        assert!(last.0 <= current, "r{last} was told of when the youngest was {current}");
    }
}

/// The small files that each copy has, below the repository.
const SMALL: [&str; 7] = [
    "format",
    "db/format",
    "db/fs-type",
    "db/fsfs.conf",
    "db/min-unpacked-rev",
    "db/current",
    "db/txn-current",
];

#[test]
fn what_the_copy_has_is_not_written_again() {
    let dir = common::memory();
    let (from, to) = (dir.path().join("from"), dir.path().join("to"));
    create(&from, &RepositoryOptions::default()).unwrap();
    let source = common::repository(&from);
    let copy = |incremental| {
        let options = HotcopyOptions { incremental, ..HotcopyOptions::default() };
        let (token, mut quiet) = (CancelToken::new(), |_, _| Ok(()));
        sapwood_repos::hotcopy::hotcopy(&source, &to, &options, &token, &mut quiet).unwrap();
    };
    // A file that is replaced is another one.
    let files = |root: &Path| SMALL.map(|name| root.join(name).metadata().unwrap().ino());
    let replaced = |before: [u64; 7]| {
        let pairs = SMALL.into_iter().zip(before.into_iter().zip(files(&to)));
        pairs.filter(|(_, (old, new))| old != new).map(|(name, _)| name).collect::<Vec<_>>()
    };
    common::commit(&from);
    copy(false);
    let before = files(&to);
    copy(true);
    assert_eq!(replaced(before), [""; 0]);
    common::commit(&from);
    copy(true);
    assert_eq!(replaced(before), ["db/current", "db/txn-current"]);
}
