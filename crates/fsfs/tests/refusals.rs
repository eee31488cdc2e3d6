//! Filesystems that are not understood are refused with the reference's own words.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::as_conversions,
    reason = "tests"
)]

use std::path::Path;

use sapwood_core::{Revnum, SvnError};
use sapwood_fsfs::{Caches, Filesystem, OpenOptions};
use sapwood_testkit::fspath;
use sapwood_testkit::{Programs, Repository, Shape};

fn replace(path: &Path, text: &str) {
    let _ = std::fs::remove_file(path);
    std::fs::write(path, text).unwrap();
}

/// `E160043: words` of what the library says, chain joined as the programs print it.
fn ours(repo: &Repository) -> Option<String> {
    let caches = Caches::new(1 << 20);
    let db = repo.path().join("db");
    let result = Filesystem::open(&db, &caches, &OpenOptions::default())
        .and_then(|fs| fs.youngest().and_then(|rev| fs.revision_root(rev).map(|_| ())));
    let error = SvnError::from(result.err()?);
    Some(format!("{}: {}", error.code(), error.message()))
}

#[test]
fn refused_in_the_references_words() {
    let repo = Repository::random(&Shape::new("1.10").shard(7), 1, 8);
    let db = repo.path().join("db");
    let reference = Programs::reference();
    for (file, text) in [
        ("format", "9\nlayout sharded 7\naddressing logical\n"),
        ("format", "5\nlayout sharded 7\n"),
        ("format", "8\nlayout spiral 7\naddressing logical\n"),
        ("format", "8\nlayout sharded 7\naddressing magical\n"),
        ("format", "8\nlayout linear\naddressing logical\n"),
        ("format", "8\nlayout sharded 7\naddressing logical\nshape round\n"),
        ("format", "8x\n"),
        ("format", ""),
        ("fs-type", "kdfs\n"),
        ("current", "x\n"),
        ("current", ""),
        ("current", "7777\n"),
    ] {
        let path = db.join(file);
        let sound = std::fs::read_to_string(&path).unwrap();
        replace(&path, text);
        let out = reference.run("svnlook", ["tree", "-N", &repo.arg()]);
        let said = out.stderr_text();
        let theirs = said.lines().next().unwrap_or_default().trim_start_matches("svnlook: ");
        let ours = ours(&repo).unwrap_or_default();
        assert_eq!(ours.lines().next().unwrap_or_default(), theirs, "{file}: {text:?}");
        replace(&path, &sound);
    }
    assert_eq!(ours(&repo), None);
}

#[test]
fn what_is_not_there() {
    let repo = Repository::random(&Shape::new("1.10").shard(7), 1, 8);
    let caches = Caches::new(1 << 20);
    let db = repo.path().join("db");
    let fs = Filesystem::open(&db, &caches, &OpenOptions::default()).unwrap();
    let youngest = fs.youngest().unwrap();
    let root = fs.revision_root(youngest).unwrap();
    let file = format!("/{}", repo.history.revision(repo.history.youngest()).root.files()[0]);
    let said = |path: &str| SvnError::from(root.node(fspath(path)).unwrap_err()).to_string();
    assert_eq!(
        said("/no such"),
        format!("E160013: File not found: revision {youngest}, path '/no such'")
    );
    for below in ["below", "below/more"] {
        let path = format!("{file}/{below}");
        let uuid = fs.uuid().unwrap();
        assert_eq!(
            said(&path),
            format!(
                "E160016: Failure opening '{file}' in revision {youngest}; \
                 E160016: '{file}' is not a directory in filesystem '{uuid}'"
            )
        );
        assert!(root.find(fspath(&path)).unwrap().is_none());
        assert_eq!(root.kind(fspath(&path)).unwrap(), None);
    }
    let error = SvnError::from(fs.revision_root(Revnum(99)).unwrap_err());
    assert_eq!(error.to_string(), "E160006: No such revision 99");
}
