//! What an incremental hotcopy says that it has copied can be read in the copy at that moment.

#![allow(clippy::unwrap_used)]

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
