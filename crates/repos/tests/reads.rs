//! A request holds what it walks: what is read again and again does not depend on the cache.
//!
//! One large flat directory, a copy of it with changes below, deletions, properties; every request
//! that goes through all of it, with a cache of 1 MiB and with none. No item may be made more often
//! than a few times, however many entries there are.

use crate::common;

use std::fmt::Write as _;
use std::path::Path;

use sapwood_core::FsPath;
use sapwood_core::RelPath;
use sapwood_core::{CancelToken, Depth, DirentFields, NodeKind, ReplayRequest, Revnum};
use sapwood_delta::IgnoreAll;
use sapwood_fs::{Caches, OpenOptions, Reads};
use sapwood_repos::authorizer::Everything;
use sapwood_repos::change_tree::ChangeTree;
use sapwood_repos::create::{RepositoryOptions, create};
use sapwood_repos::dump::{DumpOptions, dump};
use sapwood_repos::list::{ListEntry, ListRequest, list};
use sapwood_repos::load::{LoadOptions, load};
use sapwood_repos::replay::replay;
use sapwood_repos::verify::{VerifyNotice, VerifyOptions, verify};
use sapwood_repos::{
    LogRequest, LogRevision, ReportWalk, Reporter, Repository, RevpropSelection, log,
};
use sapwood_testkit::fspath;

/// A cache that is too small for the entries.
const SMALL_CACHE: usize = 256 << 10;
/// So many entries take more memory than half of it.
const ENTRIES: usize = 1500;
/// No item may be made more often in one request: a few passes, each of which may find that the
/// cache is too small, but not one for each entry.
const OFTEN: u64 = 12;

/// A history: `/d` with many files; every third file changed; a copy `/e` of it with every fourth
/// file changed, every fifth deleted, every seventh replaced by a copy from the first revision.
fn stream() -> Vec<u8> {
    let mut out = String::from("SVN-fs-dump-format-version: 2\n\n");
    let revision = |out: &mut String, n: u32| {
        write!(
            out,
            "Revision-number: {n}\nProp-content-length: 10\nContent-length: 10\n\nPROPS-END\n\n"
        )
        .unwrap();
    };
    let file = |out: &mut String, path: &str, action: &str, text: &str| {
        let len = text.len();
        write!(
            out,
            "Node-path: {path}\nNode-kind: file\nNode-action: {action}\nText-content-length: {len}\n\
             Content-length: {len}\n\n{text}\n\n"
        )
        .unwrap();
    };
    revision(&mut out, 0);
    revision(&mut out, 1);
    out.push_str("Node-path: d\nNode-kind: dir\nNode-action: add\n\n\n");
    for n in 0..ENTRIES {
        file(&mut out, &format!("d/file-{n:06}"), "add", &format!("text {n}\n"));
    }
    revision(&mut out, 2);
    for n in (0..ENTRIES).step_by(3) {
        file(&mut out, &format!("d/file-{n:06}"), "change", &format!("changed {n}\n"));
    }
    revision(&mut out, 3);
    out.push_str(
        "Node-path: e\nNode-kind: dir\nNode-action: add\nNode-copyfrom-rev: 2\n\
         Node-copyfrom-path: d\n\n\n",
    );
    for n in 0..ENTRIES {
        let path = format!("e/file-{n:06}");
        if n % 4 == 0 {
            file(&mut out, &path, "change", &format!("in the copy {n}\n"));
        } else if n % 5 == 0 {
            write!(out, "Node-path: {path}\nNode-action: delete\n\n\n").unwrap();
        } else if n % 7 == 0 {
            write!(
                out,
                "Node-path: {path}\nNode-kind: file\nNode-action: replace\nNode-copyfrom-rev: 1\n\
                 Node-copyfrom-path: d/file-{n:06}\n\n\n"
            )
            .unwrap();
        }
    }
    out.into_bytes()
}

/// One way to go through a repository.
type Walk = fn(&Repository);

fn verify_all(repository: &Repository) {
    let cancel = CancelToken::new();
    let options = VerifyOptions {
        start: None,
        end: None,
        check_normalization: true,
        metadata_only: false,
        notices: true,
        cancel: &cancel,
        threads: 1,
    };
    verify(repository, &options, &mut |notice| match notice {
        VerifyNotice::Error(_, error) => Err(error),
        _ => Ok(()),
    })
    .unwrap();
}

fn dump_all(repository: &Repository, deltas: bool, start: Option<Revnum>) {
    let cancel = CancelToken::new();
    let options = DumpOptions {
        start,
        end: None,
        incremental: false,
        deltas,
        changes: true,
        notices: true,
        filter: None,
        cancel: &cancel,
        threads: 1,
    };
    dump(repository, &options, &mut std::io::sink(), &mut |_| {}).unwrap();
}

fn replay_all(repository: &Repository, low_water_mark: Revnum) {
    for n in 0..=3 {
        let root = repository.fs().revision_root(Revnum(n)).unwrap();
        let request = ReplayRequest { low_water_mark, send_deltas: true };
        replay(&root, RelPath::ROOT, request, &Everything, &CancelToken::new(), &mut IgnoreAll)
            .unwrap();
    }
}

fn by_path(repository: &Repository) {
    let fs = repository.fs();
    let (first, last) =
        (fs.revision_root(Revnum(1)).unwrap(), fs.revision_root(Revnum(3)).unwrap());
    for n in 0..ENTRIES {
        // Two trees and three directories by turns.
        assert_eq!(first.kind(fspath(&format!("/d/file-{n:06}"))).unwrap(), Some(NodeKind::File));
        last.node(fspath(&format!("/d/file-{n:06}"))).unwrap();
        last.kind(fspath(&format!("/e/file-{n:06}"))).unwrap();
    }
}

fn histories(repository: &Repository) {
    let root = repository.fs().revision_root(Revnum(3)).unwrap();
    for n in (0..ENTRIES).step_by(4) {
        let mut history = root.history(fspath(&format!("/e/file-{n:06}"))).unwrap();
        while history.previous(true).unwrap().is_some() {}
    }
}

fn trees_of_changes(repository: &Repository) {
    for n in 1..=3 {
        let root = repository.fs().revision_root(Revnum(n)).unwrap();
        ChangeTree::of(&root, Revnum(n - 1), &CancelToken::new()).unwrap();
    }
}

fn differences(repository: &Repository) {
    let fs = repository.fs();
    for (source, target) in [(0, 3), (1, 2), (2, 1), (3, 0)] {
        let request = sapwood_repos::dir_delta::DirDelta {
            source: &fs.revision_root(Revnum(source)).unwrap(),
            source_parent: fspath("/"),
            source_entry: "",
            target: &fs.revision_root(Revnum(target)).unwrap(),
            target_path: fspath("/"),
            text_deltas: true,
            depth: Depth::Infinity,
            entry_props: true,
            ignore_ancestry: false,
            cancel: &CancelToken::new(),
        };
        sapwood_repos::dir_delta::dir_delta(&request, &Everything, &mut IgnoreAll).unwrap();
    }
}

fn listings(repository: &Repository) {
    let root = repository.fs().revision_root(Revnum(3)).unwrap();
    for (fields, patterns) in [
        (DirentFields { kind: true, ..DirentFields::default() }, None),
        (DirentFields::ALL, None),
        (DirentFields::ALL, Some(["*7"])),
    ] {
        let patterns = patterns.as_ref().map(<[&str; 1]>::as_slice);
        let request = ListRequest {
            path: fspath("/"),
            revision: None,
            patterns,
            depth: Depth::Infinity,
            fields,
        };
        let mut count = 0;
        let mut receiver = |_: &ListEntry<'_>| {
            count += 1;
            Ok(())
        };
        list(&root, &request, &Everything, &CancelToken::new(), &mut receiver).unwrap();
        assert!(count > ENTRIES / 10);
    }
}

/// Reports of a working copy of `/d` in `from` that wants `switch_to` in `to`: an update, a switch,
/// a status (without texts) or a diff.
fn report(repository: &Repository, from: u64, to: u64, switch_to: Option<&FsPath>, texts: bool) {
    let request = ReportWalk {
        revision: Revnum(to),
        anchor: fspath("/d"),
        target: "",
        switch_to,
        text_deltas: texts,
        depth: Depth::Infinity,
        ignore_ancestry: false,
        send_copyfrom_args: true,
    };
    let cancel = CancelToken::new();
    let mut reporter = Reporter::new(repository, &request, &Everything, &cancel).unwrap();
    reporter.set_path("", Some(Revnum(from)), Depth::Infinity, false, None).unwrap();
    // A few files differ from the rest, each somewhere else.
    for n in (0..ENTRIES).step_by(50) {
        let path = format!("file-{n:06}");
        if n % 100 == 0 {
            reporter.set_path(&path, Some(Revnum(1)), Depth::Infinity, false, None).unwrap();
        } else {
            reporter.delete_path(&path).unwrap();
        }
    }
    reporter.finish(&mut IgnoreAll).unwrap();
}

fn reports(repository: &Repository) {
    report(repository, 1, 3, None, true);
    report(repository, 2, 1, None, true);
    report(repository, 2, 3, None, false);
}

fn switches(repository: &Repository) {
    report(repository, 2, 3, Some(fspath("/e")), true);
}

/// Of a whole working copy in `from`, with or without texts, with ancestry and without.
fn diffs(repository: &Repository) {
    for (from, to, versus) in [(1, 3, "/d"), (3, 1, "/d"), (2, 3, "/e")] {
        for (text_deltas, ignore_ancestry) in [(false, false), (true, true)] {
            let request = ReportWalk {
                revision: Revnum(to),
                anchor: fspath("/d"),
                target: "",
                switch_to: Some(fspath(versus)),
                text_deltas,
                depth: Depth::Infinity,
                ignore_ancestry,
                send_copyfrom_args: false,
            };
            let cancel = CancelToken::new();
            let mut reporter = Reporter::new(repository, &request, &Everything, &cancel).unwrap();
            reporter.set_path("", Some(Revnum(from)), Depth::Infinity, false, None).unwrap();
            reporter.finish(&mut IgnoreAll).unwrap();
        }
    }
}

fn logs(repository: &Repository) {
    let names: Vec<String> = (0..ENTRIES).step_by(4).map(|n| format!("/e/file-{n:06}")).collect();
    let many: Vec<&FsPath> = names.iter().map(|name| fspath(name)).collect();
    for paths in [&[][..], &[fspath("/d")], &[fspath("/e")], &many] {
        for include_merged_revisions in [false, true] {
            let request = LogRequest {
                paths,
                start: Some(Revnum(3)),
                end: Some(Revnum(0)),
                limit: 0,
                changed_paths: true,
                strict_node_history: false,
                include_merged_revisions,
                revprops: RevpropSelection::All,
            };
            let mut receiver = |_: &LogRevision<'_>| Ok(());
            log(repository, &request, &Everything, &CancelToken::new(), &mut receiver).unwrap();
        }
    }
}

fn load_into(path: &Path, stream: &[u8], cache: usize) -> Reads {
    create(path, &RepositoryOptions::default()).unwrap();
    let caches = Caches::counting(cache);
    let repository = Repository::open(path, &caches, &OpenOptions::default()).unwrap();
    let options = LoadOptions::default();
    let input = Box::new(std::io::Cursor::new(stream.to_vec()));
    load(&repository, input, options, &mut |_| Ok(()), &CancelToken::new()).unwrap();
    caches.reads()
}

#[test]
fn no_item_is_read_for_each_entry() {
    let dir = common::memory();
    let path = dir.path().join("repo");
    let stream = stream();
    let mut wrong = Vec::new();
    let mut check = |what: &str, cache: usize, reads: &Reads| {
        // Each entry has a node, a text, a few blocks; and there are two directories.
        let enough = u64::try_from(ENTRIES * 40).unwrap();
        if reads.most > OFTEN || reads.items > enough || reads.blocks > enough {
            wrong.push(format!("{what} with a cache of {cache} bytes: {reads:?}"));
        }
    };
    for cache in [SMALL_CACHE, 0] {
        let path = dir.path().join(format!("loaded-{cache}"));
        check("load", cache, &load_into(&path, &stream, cache));
    }
    load_into(&path, &stream, 64 << 20);
    let walks: [(&str, Walk); 15] = [
        ("verify", verify_all),
        ("dump", |r| dump_all(r, false, None)),
        ("dump --deltas", |r| dump_all(r, true, None)),
        ("dump from revision 3 on", |r| dump_all(r, false, Some(Revnum(3)))),
        ("replay", |r| replay_all(r, Revnum::ZERO)),
        ("replay of copies as additions", |r| replay_all(r, Revnum(3))),
        ("tree of changes", trees_of_changes),
        ("differences", differences),
        ("look-ups by path", by_path),
        ("histories", histories),
        ("list", listings),
        ("update, backdate and status", reports),
        ("switch", switches),
        ("diff", diffs),
        ("log", logs),
    ];
    for cache in [SMALL_CACHE, 0] {
        for (what, walk) in &walks {
            let caches = Caches::counting(cache);
            let repository = Repository::open(&path, &caches, &OpenOptions::default()).unwrap();
            walk(&repository);
            check(what, cache, &caches.reads());
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
