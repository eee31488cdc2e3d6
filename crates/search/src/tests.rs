//! An index follows its repository, whatever happens to either.

use std::ops::ControlFlow;
use std::path::Path;

use sapwood_core::{CancelToken, Revnum};
use sapwood_repos::Repository;
use sapwood_testkit::{Programs, Shape};

use crate::{Candidates, Error, Index, Progress, Query, Scope};

fn open(path: &Path) -> Repository {
    Repository::open(path, &sapwood_fs::Caches::new(4 << 20), &sapwood_fs::OpenOptions::default())
        .unwrap()
}

fn index(folder: &Path, repository: &Repository, scope: &Scope) -> Index {
    let file = Index::file(folder, repository.path());
    Index::create(&file, &repository.fs().uuid().unwrap(), scope).unwrap()
}

fn complete(index: &mut Index, repository: &Repository, scope: &Scope) -> Revnum {
    loop {
        let done = index.advance(repository, scope, &CancelToken::new()).unwrap();
        if let Progress::Complete(revision) = done {
            while index.older(repository, scope, &CancelToken::new()).unwrap() {}
            return revision;
        }
    }
}

/// The rows of changed lines that have some words.
fn changes(index: &Index, query: &str) -> Vec<(u64, u64)> {
    let (query, mut found) = (Query::parse(query).unwrap(), Vec::new());
    let mut take = |(revision, row): (Revnum, u64)| {
        found.push((revision.0, row));
        Ok::<_, Error>(ControlFlow::Continue(()))
    };
    Candidates { index, query: &query }.changes(None, &mut take).unwrap();
    found
}

fn properties(index: &Index, query: &str) -> Vec<String> {
    let (query, mut found) = (Query::parse(query).unwrap(), Vec::new());
    let mut take = |path: sapwood_core::paths::FsPathBuf| {
        found.push(path.as_str().to_owned());
        Ok::<_, Error>(ControlFlow::Continue(()))
    };
    Candidates { index, query: &query }.properties(None, &mut take).unwrap();
    found.sort_unstable();
    found
}

/// Every path of an index, and whether it has a text.
fn everything(index: &Index) -> Vec<(String, bool, bool)> {
    let sql = "SELECT path, is_dir, id IN (SELECT rowid FROM text_grams) FROM path ORDER BY path";
    index
        .run(|connection| {
            let mut statement = connection.prepare(sql)?;
            let rows = statement.query_map([], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?)))?;
            rows.collect()
        })
        .unwrap()
}

fn texts(index: &Index, query: &str) -> Vec<String> {
    let (query, mut found) = (Query::parse(query).unwrap(), Vec::new());
    let mut take = |path: sapwood_core::paths::FsPathBuf| {
        found.push(path.as_str().to_owned());
        Ok::<_, Error>(ControlFlow::Continue(()))
    };
    Candidates { index, query: &query }.texts(None, &mut take).unwrap();
    found.sort_unstable();
    found
}

fn revisions(index: &Index, query: &str, before: Option<Revnum>) -> Vec<u64> {
    let (query, mut found) = (Query::parse(query).unwrap(), Vec::new());
    let mut take = |revision: Revnum| {
        found.push(revision.0);
        Ok::<_, Error>(ControlFlow::Continue(()))
    };
    Candidates { index, query: &query }.revisions(before, &mut take).unwrap();
    found
}

fn paths(index: &Index, query: &str) -> Vec<String> {
    let query = Query::parse(query).unwrap();
    let found = Candidates { index, query: &query }.paths().unwrap();
    found.into_iter().map(|one| one.path.as_str().to_owned()).collect()
}

/// Some revisions of a repository into another one, by the reference.
fn load(from: &Path, to: &Path, first: u64, last: u64) {
    let reference = Programs::reference();
    let (range, folder) = (format!("{first}:{last}"), tempfile::tempdir().unwrap());
    let file = folder.path().join("dump").display().to_string();
    let (from, to) = (from.display().to_string(), to.display().to_string());
    let dump = ["dump", "-q", "--incremental", "-r", &range, "-F", &file, &from];
    reference.run("svnadmin", dump).expect_success("dump");
    reference.run("svnadmin", ["load", "-q", "-F", &file, &to]).expect_success("load");
}

#[test]
fn an_index_that_follows_is_the_same_as_a_new_one() {
    let source = sapwood_testkit::Repository::scripted(&Shape::few()[0]);
    let youngest = open(&source.path()).fs().youngest().unwrap().0;
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("copy");
    Programs::reference().run("svnadmin", ["create", target.to_str().unwrap()]).expect_success("");
    for scope in [Scope::default(), Scope::without(Vec::new())] {
        let repository = open(&target);
        let caches = folder.path().join(format!("caches {}", scope.key().len()));
        let mut follows = index(&caches, &repository, &scope);
        complete(&mut follows, &repository, &scope);
        let known = repository.fs().youngest().unwrap().0;
        for first in known + 1..=youngest {
            load(&source.path(), &target, first, first);
            // Opened each time as a new process does.
            follows = index(&caches, &repository, &scope);
            assert_eq!(complete(&mut follows, &open(&target), &scope), Revnum(first));
        }
        let mut new = index(&folder.path().join("new"), &repository, &scope);
        complete(&mut new, &open(&target), &scope);
        assert_eq!(everything(&follows), everything(&new));
        assert_eq!(texts(&follows, "the"), texts(&new, "the"));
        assert_eq!(revisions(&follows, "tree", None), revisions(&new, "tree", None));
        for word in ["the", "tree", "line", "value", "svn:"] {
            assert_eq!(changes(&follows, word), changes(&new, word), "{word}");
            assert_eq!(properties(&follows, word), properties(&new, word), "{word}");
        }
        assert!(!changes(&new, "the").is_empty() && !properties(&new, "svn:").is_empty());
        assert_eq!(
            (follows.history().unwrap(), new.history().unwrap()),
            (Some(Revnum(1)), Some(Revnum(1)))
        );
        assert_eq!(follows.complete_to().unwrap(), Some(Revnum(youngest)));
    }
}

/// A repository with a few files whose texts are known.
fn small(folder: &Path) -> Repository {
    let path = folder.join("repo");
    let reference = Programs::reference();
    reference.run("svnadmin", ["create", path.to_str().unwrap()]).expect_success("create");
    let url = format!("file://{}", path.display());
    let put = |name: &str, text: &str| {
        let file = folder.join("text");
        std::fs::write(&file, text).unwrap();
        let args = ["put", file.to_str().unwrap(), name, "-m"];
        let message = format!("Wrote {name} because of ticket #{}", text.len());
        let rest = [message.as_str(), "-u", "Ada Lovelace", "-U", &url];
        reference.run("svnmucc", [&args[..], &rest].concat()).expect_success("put");
    };
    put("README", "What this Library is for\n");
    put("parser.rs", "fn parse_header(input: &[u8]) -> Header {\n");
    put("other.txt", "fn  parse_header\nÄrger\n");
    put("binary", "fn parse_header\0\n");
    open(&path)
}

#[test]
fn words_phrases_and_filters_find() {
    let folder = tempfile::tempdir().unwrap();
    let (repository, scope) = (small(folder.path()), Scope::default());
    let mut index = index(folder.path(), &repository, &scope);
    complete(&mut index, &repository, &scope);
    assert_eq!(texts(&index, "PARSE_header"), ["/other.txt", "/parser.rs"]);
    assert_eq!(texts(&index, "parse_header header ext:rs"), ["/parser.rs"]);
    assert_eq!(texts(&index, "\"library is\""), ["/README"]);
    assert_eq!(texts(&index, "ärger"), ["/other.txt"]);
    assert_eq!(texts(&index, "parse_heater"), [""; 0]);
    assert_eq!(revisions(&index, "ticket ada", None), [4, 3, 2, 1]);
    assert_eq!(revisions(&index, "ticket rev:2-3", None), [3, 2]);
    assert_eq!(revisions(&index, "ticket", Some(Revnum(3))), [2, 1]);
    assert_eq!(paths(&index, "pars"), ["/parser.rs"]);
    assert_eq!(paths(&index, "rdme"), ["/README"]);
    assert_eq!(paths(&index, "ext:txt"), ["/other.txt"]);
}

#[test]
fn edited_messages_are_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let (repository, scope) = (small(folder.path()), Scope::default());
    let mut index = index(folder.path(), &repository, &scope);
    complete(&mut index, &repository, &scope);
    let url = format!("file://{}", repository.path().display());
    std::fs::write(repository.path().join("hooks/pre-revprop-change"), "#!/bin/sh\n").unwrap();
    let hook = repository.path().join("hooks/pre-revprop-change");
    let rights = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(hook, rights).unwrap();
    let args = ["propset", "--revprop", "-r2", "svn:log", "a zebra", &url];
    Programs::reference().run("svn", args).expect_success("propset");
    index.message_changed(&open(repository.path()), Revnum(2)).unwrap();
    assert_eq!(
        (revisions(&index, "zebra", None), revisions(&index, "ticket", None)),
        (vec![2], vec![4, 3, 1])
    );
}

#[test]
fn what_cannot_be_used_is_made_anew() {
    let folder = tempfile::tempdir().unwrap();
    let (repository, scope) = (small(folder.path()), Scope::default());
    let file = Index::file(folder.path(), repository.path());
    let uuid = repository.fs().uuid().unwrap();
    assert!(Index::open(&file, &uuid).unwrap().is_none());
    let build = || {
        let mut index = index(folder.path(), &repository, &scope);
        complete(&mut index, &repository, &scope);
    };
    build();
    assert!(Index::open(&file, &uuid).unwrap().is_some());
    assert!(Index::open(&file, "another").unwrap().is_none());
    // Damage at the beginning, and everywhere.
    let good = std::fs::read(&file).unwrap();
    for damaged in [b"not a database, but long enough to be one".to_vec(), vec![7; good.len()]] {
        std::fs::write(&file, damaged).unwrap();
        assert!(Index::open(&file, &uuid).unwrap().is_none());
        build();
        let index = Index::open(&file, &uuid).unwrap().unwrap();
        assert_eq!(texts(&index, "library"), ["/README"]);
    }
    // A repository that was taken back to an older state.
    let older = folder.path().join("older");
    let reference = Programs::reference();
    reference.run("svnadmin", ["create", older.to_str().unwrap()]).expect_success("create");
    load(repository.path(), &older, 0, 2);
    std::fs::remove_dir_all(repository.path()).unwrap();
    std::fs::rename(&older, repository.path()).unwrap();
    reference
        .run("svnadmin", ["setuuid", repository.path().to_str().unwrap(), &uuid])
        .expect_success("setuuid");
    let repository = open(repository.path());
    let mut index = index(folder.path(), &repository, &scope);
    assert_eq!(complete(&mut index, &repository, &scope), Revnum(2));
    assert_eq!(everything(&index).len(), 2);
    assert_eq!(texts(&index, "ärger"), [""; 0]);
}

/// An index that has its greatest size gets no older lines; new ones take the place of the oldest.
#[test]
fn the_size_of_an_index_has_an_end() {
    let folder = tempfile::tempdir().unwrap();
    let (repository, scope) = (small(folder.path()), Scope::default());
    let mut index = index(folder.path(), &repository, &scope);
    index.most_bytes = 1;
    complete(&mut index, &repository, &scope);
    assert_eq!((index.history().unwrap(), changes(&index, "parse_header")), (None, Vec::new()));
    let url = format!("file://{}", repository.path().display());
    let more = |name: &str| {
        let args = ["mkdir", "-m", "m", &format!("{name}-dir"), "rm", "parser.rs", "-U", &url];
        Programs::reference().run("svnmucc", args).expect_success("svnmucc");
    };
    more("a");
    let repository = open(repository.path());
    complete(&mut index, &repository, &scope);
    // The newest one is there, even so.
    assert_eq!(index.history().unwrap(), Some(Revnum(5)));
    assert_eq!(changes(&index, "parse_header"), [(5, 0)]);
    index.most_bytes = u64::MAX;
    complete(&mut index, &repository, &scope);
    assert_eq!(changes(&index, "parse_header"), [(5, 0), (3, 0), (2, 0)]);
    index.most_bytes = 1;
    let args = ["mkdir", "-m", "m", "b-dir", "-U", &url];
    Programs::reference().run("svnmucc", args).expect_success("svnmucc");
    complete(&mut index, &open(repository.path()), &scope);
    assert_eq!(index.history().unwrap(), Some(Revnum(2)));
    assert_eq!(changes(&index, "library"), []);
}

/// A process that ends between two transactions loses nothing of the first.
#[test]
fn the_first_tree_goes_on_where_it_ended() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("repo");
    let files = folder.path().join("files");
    for dir in ["a", "a-b", "a/x", "b"] {
        std::fs::create_dir_all(files.join(dir)).unwrap();
        for number in 0..700 {
            std::fs::write(files.join(dir).join(format!("f{number}")), "text").unwrap();
        }
    }
    let reference = Programs::reference();
    reference.run("svnadmin", ["create", path.to_str().unwrap()]).expect_success("create");
    let url = format!("file://{}", path.display());
    let args = ["import", "-q", "-m", "all", files.to_str().unwrap(), &url];
    reference.run("svn", args).expect_success("import");
    let (repository, scope) = (open(&path), Scope::default());
    let mut steps = 0;
    loop {
        let mut index = index(folder.path(), &repository, &scope);
        if index.advance(&repository, &scope, &CancelToken::new()).unwrap()
            == Progress::Complete(Revnum(1))
        {
            assert_eq!(everything(&index).len(), 4 * 700 + 4);
            assert_eq!(texts(&index, "text path:/a-b").len(), 700);
            break;
        }
        assert_eq!(index.complete_to().unwrap(), None);
        steps += 1;
    }
    assert!(steps >= 3, "{steps}");
}
