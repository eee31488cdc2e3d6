//! Dump streams, byte for byte beside the reference's, of repositories in every format.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod common;

use std::process::Stdio;

use common::Both;
use sapwood_testkit::compare::assert_same;
use sapwood_testkit::{Output, Repository, Shape};

/// Loads a dump stream into a new repository of the reference's, and gives its dump.
fn loaded(both: &Both, dump: &[u8]) -> Output {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("loaded");
    let path = path.to_str().unwrap();
    both.reference.run("svnadmin", ["create", path]).expect_success("create");
    let mut load = both.reference.command("svnadmin");
    let file = dir.path().join("dump");
    std::fs::write(&file, dump).unwrap();
    load.args(["load", "-q", "--force-uuid", path])
        .stdin(Stdio::from(std::fs::File::open(&file).unwrap()));
    Output::of(&mut load).expect_success("load");
    both.reference.run("svnadmin", ["dump", "-q", path])
}

#[test]
fn the_same_bytes_in_every_shape() {
    let both = Both::new();
    for shape in Shape::few() {
        for repository in [Repository::scripted(&shape), Repository::random(&shape, 7, 60)] {
            let path = repository.arg();
            both.same("svnadmin", &["dump", &path]);
            both.same("svnadmin", &["dump-revprops", &path]);
        }
    }
}

#[test]
fn deltas_load_to_the_same_repository() {
    let both = Both::new();
    // Old formats do not record all that a new repository does, so the reference's dump of the
    // original goes through one, too. Loading is slow; every shape has the same contents.
    let mut expected = None;
    for shape in Shape::few() {
        let repository = Repository::random(&shape, 8, 60);
        let path = repository.arg();
        let ours = both
            .ours
            .run("svnadmin", ["dump", "--deltas", "-q", &path])
            .expect_success("dump --deltas");
        let expected = expected.get_or_insert_with(|| {
            loaded(&both, &both.reference.run("svnadmin", ["dump", "-q", &path]).stdout)
        });
        assert_same(&repository.name(), expected, &loaded(&both, &ours.stdout));
    }
    let repository = Repository::scripted(&Shape::new("1.10").shard(7));
    let ours = both.ours.run("svnadmin", ["dump", "--deltas", "-q", &repository.arg()]);
    let reference = both.reference.run("svnadmin", ["dump", "-q", &repository.arg()]);
    assert_same(&repository.name(), &reference, &loaded(&both, &ours.stdout));
}

#[test]
fn every_option() {
    let both = Both::new();
    let shape = Shape::new("1.10").shard(7);
    for repository in [Repository::scripted(&shape), Repository::random(&shape, 9, 80)] {
        let path = repository.arg();
        let youngest = repository.history.youngest().to_string();
        for args in [
            &["-r", "0"][..],
            &["-r", "1"],
            &["-r", "5"],
            &["-r", "HEAD"],
            &["-r", "3:HEAD"],
            &["-r", "3:HEAD", "--incremental"],
            &["-r", &youngest, "--incremental"],
            &["-q", "-r4:6"],
            &["-r", "6:4"],
            &["-r", "100000"],
            &["-r", "{2000-01-01}:HEAD", "-q"],
            &["--exclude", "/trunk"],
            &["--exclude", "/branches", "--exclude", "/tags"],
            &["--include", "/trunk", "--include", "/"],
            &["--include", "/trunk"],
            &["--exclude", "*a*", "--pattern"],
            &["--include", "/*/*", "--pattern", "-r", "2:9", "--incremental"],
            &["--include", "/trunk", "-r", "4:9"],
            &["--include", "/a", "--exclude", "/b"],
            &["-F", "/nonexistent/dir/file"],
            &["extra"],
        ] {
            let mut all = vec!["dump", path.as_str()];
            all.extend_from_slice(args);
            both.same("svnadmin", &all);
        }
    }
}
