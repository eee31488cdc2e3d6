//! Repositories of 1.14 go into stores and come back the same, whatever stops an import on its way.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failure is a failed test"
)]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;

use sapwood_core::{CancelToken, ErrorCode, SvnError, len64};
use sapwood_fs_common::rep_cache::{RepCache, Row};
use sapwood_objects::testing::{Cheat, Cheater, Fault, Faulty};
use sapwood_objects::{Folder, Memory, Store};
use sapwood_repo_log::{RepositoryLog, verify};
use sapwood_testkit::{Packing, Programs, Repository, Shape, random, repository};

use crate::error::Error;
use crate::{export, import};
use sapwood_repo_log::container::{join, split};

/// Shards of seven revisions of the newest format.
fn shape(packing: Packing) -> Shape {
    Shape::new("1.10").shard(7).pack(packing)
}

/// What a program of 1.14 prints.
fn reference(program: &str, args: &[&str]) -> String {
    let output = Programs::reference().run(program, args);
    output.expect_success(program).stdout_text()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// All files below a folder, with whether they can be executed, but for the cache of representations.
fn files(root: &Path) -> BTreeMap<String, (bool, Vec<u8>)> {
    fn walk(at: &Path, root: &Path, found: &mut BTreeMap<String, (bool, Vec<u8>)>) {
        for entry in fs::read_dir(at).unwrap() {
            let path = entry.unwrap().path();
            let name = text(path.strip_prefix(root).unwrap()).to_owned();
            if path.is_dir() {
                walk(&path, root, found);
            } else if !name.starts_with("db/rep-cache.db") {
                let executable = fs::metadata(&path).unwrap().permissions().mode() & 0o111 != 0;
                found.insert(name, (executable, fs::read(&path).unwrap()));
            }
        }
    }
    let mut found = BTreeMap::new();
    walk(root, root, &mut found);
    found
}

fn memory() -> Arc<dyn Store> {
    Arc::new(Memory::new())
}

fn brought(from: &Path, store: &Arc<dyn Store>) -> RepositoryLog {
    import(from, Arc::clone(store), &CancelToken::new()).unwrap()
}

/// What 1.14 says of a repository: nothing, if it is not packed. Its own pack may make indexes that it does not take itself
/// (`docs/formats/fsfs-packs.md`).
fn verified(folder: &Path) -> String {
    let output = Programs::reference().run("svnadmin", ["verify", "-q", text(folder)]);
    let said = output.stderr_text();
    let is_packed = !folder.join("db/revs/0").exists();
    assert!(said.is_empty() || is_packed && said.contains("E160058"), "{said}");
    said.replace(text(folder), "")
}

/// The rows of a folder's database of representations.
fn reps(folder: &Path) -> Vec<Row> {
    let path = folder.join("db/rep-cache.db");
    if !path.exists() {
        return Vec::new();
    }
    RepCache::open_read_only(path).unwrap().rows_after(None, 100_000).unwrap()
}

/// Exports a store, compares with the folder that it was made of, and lets 1.14 verify it.
fn same_as(folder: &Path, store: &Arc<dyn Store>) {
    let target = tempfile::tempdir().unwrap();
    let back = target.path().join("back");
    export(Arc::clone(store), &back, &CancelToken::new()).unwrap();
    let (expected, found) = (files(folder), files(&back));
    assert_eq!(expected.keys().collect::<Vec<_>>(), found.keys().collect::<Vec<_>>());
    for (name, contents) in &expected {
        assert!(found[name] == *contents, "{name} differs");
    }
    assert_eq!(verified(&back), verified(folder));
    assert_eq!(reps(&back), reps(folder));
    let again = memory();
    let sum = |store| RepositoryLog::open(Arc::clone(store)).unwrap().unwrap().state().contents();
    brought(&back, &again);
    assert_eq!(sum(&again), sum(store), "what comes back is the same for a store");
}

#[test]
fn repositories_come_back_byte_for_byte() {
    for packing in [Packing::None, Packing::Half, Packing::All] {
        let made = Repository::random(&shape(packing), 11, 30);
        let dir = tempfile::tempdir().unwrap();
        let store: Arc<dyn Store> = Arc::new(Folder::new(dir.path()));
        let log = brought(&made.path(), &store);
        assert_eq!(log.state().packs.is_empty(), packing == Packing::None);
        same_as(&made.path(), &store);
        verify(&store).unwrap();
    }
}

#[test]
fn what_is_new_is_brought() {
    let dir = tempfile::tempdir().unwrap();
    let repo = dir.path().join("repo");
    repository::make(&shape(Packing::None), &random::history(3, 9), &repo);
    let url = |name: &str| format!("file://{}/{name}", repo.display());
    let store = memory();
    let first = brought(&repo, &store).entries();
    same_as(&repo, &store);
    assert_eq!(brought(&repo, &store).entries(), first, "nothing new is no entry");

    fs::write(repo.join("hooks/pre-revprop-change"), "#!/bin/sh\n").unwrap();
    fs::set_permissions(repo.join("hooks/pre-revprop-change"), fs::Permissions::from_mode(0o755))
        .unwrap();
    fs::remove_file(repo.join("hooks/post-commit.tmpl")).unwrap();
    let large = dir.path().join("large");
    let mut state = 1_u32;
    let noise: Vec<u8> = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state.to_le_bytes()
    })
    .flatten()
    .take(5 << 20)
    .collect();
    fs::write(&large, noise).unwrap();
    reference("svnmucc", &["-m", "", "put", text(&large), &url("large")]);
    reference("svn", &["lock", "-m", "mine", &url("large")]);
    reference("svn", &["propset", "--revprop", "-r", "2", "svn:log", "other", &url("")]);
    let log = brought(&repo, &store);
    assert!(log.entries() > first);
    same_as(&repo, &store);
    let tables = len64(log.state().reps.tables().count());
    let objects = verify(&store).unwrap().objects;
    assert_eq!(objects, 1 + tables, "a large revision is an object, as tables are");

    reference("svnadmin", &["pack", "-q", text(&repo)]);
    brought(&repo, &store);
    same_as(&repo, &store);
    // Properties that are packed, and the lock, change.
    reference("svn", &["propset", "--revprop", "-r", "1", "svn:log", "new", &url("")]);
    reference("svn", &["unlock", "--force", &url("large")]);
    for name in ["x", "y", "z", "v", "w"] {
        reference("svnmucc", &["-m", "", "mkdir", &url(name)]);
    }
    // Some revisions of the next pack were there before, and others come with it.
    reference("svnadmin", &["pack", "-q", text(&repo)]);
    let log = brought(&repo, &store);
    assert_eq!(log.state().packs.len(), 2);
    same_as(&repo, &store);
    verify(&store).unwrap();
}

#[test]
fn what_stops_an_import_harms_nothing() {
    let made = Repository::random(&shape(Packing::Half), 5, 12);
    let whole = brought(&made.path(), &memory()).state().contents();
    let counting = Arc::new(Faulty::counting(memory()));
    let counted: Arc<dyn Store> = Arc::<Faulty>::clone(&counting);
    brought(&made.path(), &counted);
    let operations = counting.operations();
    assert!(operations > 30, "only {operations} operations");
    for fault in [Fault::StopBefore, Fault::StopAfter, Fault::AnswerLost, Fault::Delayed(3)] {
        for at in 0..operations {
            let below = memory();
            let faulty = Arc::new(Faulty::new(Arc::clone(&below), at, fault));
            let store: Arc<dyn Store> = Arc::<Faulty>::clone(&faulty);
            let first = import(&made.path(), store, &CancelToken::new());
            if let Ok(log) = first {
                assert_eq!(log.state().contents(), whole, "{fault:?} at {at}");
            }
            // Whatever is there is a repository that is whole.
            if RepositoryLog::open(Arc::clone(&below)).unwrap().is_some() {
                verify(&below).unwrap();
            }
            faulty.let_all_arrive();
            let log = brought(&made.path(), &below);
            assert_eq!(log.state().contents(), whole, "{fault:?} at {at}");
            verify(&below).unwrap();
        }
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let refused = |folder: &Path, store: &Arc<dyn Store>| {
        SvnError::from(import(folder, Arc::clone(store), &CancelToken::new()).unwrap_err())
    };
    let store = memory();
    for (name, options) in [
        ("old", ["--compatible-version", "1.8"]),
        ("seven", ["--compatible-version", "1.9"]),
        ("fsx", ["--fs-type", "fsx"]),
    ] {
        let repo = dir.path().join(name);
        reference("svnadmin", &["create", options[0], options[1], text(&repo)]);
        let error = refused(&repo, &store);
        assert_eq!(error.code(), ErrorCode::FS_UNSUPPORTED_FORMAT, "{error}");
        let way_out = format!("'sapwood convert {} NEW'", repo.display());
        assert!(error.message().contains(&way_out), "{error}");
    }
    assert!(RepositoryLog::open(Arc::clone(&store)).unwrap().is_none(), "nothing was begun");
    assert_eq!(refused(dir.path(), &store).code(), ErrorCode::REPOS_BAD_ARGS);

    // Another repository, and one that went another way.
    let (one, two) = (dir.path().join("one"), dir.path().join("two"));
    repository::make(&shape(Packing::None), &random::history(3, 4), &one);
    reference("svnadmin", &["hotcopy", text(&one), text(&two)]);
    for (repo, message) in [(&one, "a"), (&two, "b"), (&two, "c")] {
        let url = format!("file://{}/new", repo.display());
        reference("svnmucc", &["-m", message, "mkdir", &format!("{url}{message}")]);
    }
    brought(&one, &store);
    let error = refused(&two, &store);
    assert!(error.message().contains(" differs"), "{error}");
    repository::make(&shape(Packing::None), &random::history(4, 9), &dir.path().join("other"));
    let error = refused(&dir.path().join("other"), &store);
    assert!(error.message().contains("their UUIDs differ"), "{error}");

    let cheater: Arc<dyn Store> = Arc::new(Cheater::new(Cheat::IgnoresTheCondition, 8));
    assert_eq!(refused(&one, &cheater).code(), ErrorCode::UNSUPPORTED_FEATURE);
    let full = export(store, &one, &CancelToken::new());
    assert!(matches!(full, Err(Error::Unfit { .. })), "nothing is written over");
}

#[test]
fn several_files_are_one_object() {
    let files = BTreeMap::from([
        ("manifest".to_owned(), b"1.0\n1.0\n".to_vec()),
        ("1.0".to_owned(), vec![0, b'\n', 255]),
        ("empty".to_owned(), Vec::new()),
    ]);
    let bytes = join(&files);
    let back: BTreeMap<String, Vec<u8>> = split(&bytes)
        .unwrap()
        .into_iter()
        .map(|(name, contents)| (name.to_owned(), contents.to_vec()))
        .collect();
    assert_eq!(back, files);
    for bad in [&b"1 x"[..], b"2 x\na", b"x\n", b"1 ../x\na", b"1 a/b\na", b"-1 x\n", b"1 \na"] {
        assert_eq!(split(bad), None, "{}", String::from_utf8_lossy(bad));
    }
}
