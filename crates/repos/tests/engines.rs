//! One history in a repository of each engine: every request gets the same answer of all of them.

use std::fmt::Write as _;

use sapwood_core::props::names::MERGEINFO;
use sapwood_core::{
    CancelToken, Depth, DirentFields, FsPath, NodeKind, RelPath, ReplayRequest, Revnum,
};
use sapwood_fs::txn::Txn;
use sapwood_repos::authorizer::Everything;
use sapwood_repos::dump::{DumpOptions, dump};
use sapwood_repos::list::{ListEntry, ListRequest, list};
use sapwood_repos::load::{LoadOptions, load};
use sapwood_repos::replay::replay;
use sapwood_repos::{
    FileRevsRequest, Inherit, LogRequest, LogRevision, MergeinfoRequest, Repository,
    RevpropSelection, SegmentsRequest,
};
use sapwood_testkit::fspath;

use crate::common::Place;

/// Makes the history in each: what `testkit` makes by chance, and mergeinfo on top of it.
fn places(seed: u64) -> [Place; 3] {
    let stream = sapwood_testkit::random::history(seed, 60).dump(0..=60);
    let places = Place::each();
    for place in &places {
        let input = Box::new(std::io::Cursor::new(stream.clone()));
        let options = LoadOptions { no_flush: true, ..LoadOptions::default() };
        load(&place.repository, input, options, &mut |_| Ok(()), &CancelToken::new()).unwrap();
        let writer = place.writer();
        let mut txn = writer.begin(place.fs().youngest().unwrap()).unwrap();
        txn.props_mut().set("svn:date", "2026-11-27T00:00:00.000000Z");
        txn.keep_date(true);
        merged(&mut txn);
        txn.commit().unwrap();
    }
    places
}

/// Two nodes with mergeinfo.
fn merged(txn: &mut Txn) {
    txn.change_prop(fspath("/"), MERGEINFO, Some(b"/other:1-3")).unwrap();
    txn.make_dir(fspath("/with")).unwrap();
    txn.make_file(fspath("/with/mergeinfo")).unwrap();
    txn.change_prop(fspath("/with/mergeinfo"), MERGEINFO, Some(b"/other/file:2")).unwrap();
}

/// Checks that a question has the same answer in all.
#[track_caller]
fn same(places: &[Place], what: &str, ask: impl Fn(&Repository) -> String) -> String {
    let answers = places.iter().map(|place| (place.fs().engine().name(), ask(&place.repository)));
    let answers: Vec<_> = answers.collect();
    for (engine, answer) in &answers[1..] {
        let (a, b) = (&answers[0].1, answer);
        let at = a.lines().zip(b.lines()).position(|(a, b)| a != b);
        let line = |text: &str| text.lines().nth(at.unwrap_or(0)).unwrap_or("").to_owned();
        assert!(a == b, "{what}, fsfs and {engine}, line {at:?}:\n{}\n{}", line(a), line(b));
    }
    answers[0].1.clone()
}

fn dumped(repository: &Repository, incremental: bool, start: u64) -> String {
    let cancel = CancelToken::new();
    let options = DumpOptions {
        start: Some(Revnum(start)),
        end: None,
        incremental,
        deltas: false,
        changes: true,
        notices: false,
        filter: None,
        cancel: &cancel,
        threads: 1,
    };
    let mut out = Vec::new();
    dump(repository, &options, &mut out, &mut |_| {}).unwrap();
    // UUIDs differ, and the date of r0.
    let text = out.escape_ascii().to_string().replace("\\n", "\n");
    let varies = |line: &&str| !line.starts_with("UUID: ");
    text.lines()
        .filter(varies)
        .skip_while(|line| *line != "Revision-number: 1")
        .collect::<Vec<_>>()
        .join("\n")
}

fn logged(
    repository: &Repository,
    paths: &[&FsPath],
    merged: bool,
    start: u64,
    end: u64,
) -> String {
    let request = LogRequest {
        paths,
        start: Some(Revnum(start)),
        end: Some(Revnum(end)),
        limit: 0,
        changed_paths: true,
        strict_node_history: false,
        include_merged_revisions: merged,
        revprops: RevpropSelection::All,
    };
    let mut out = String::new();
    let mut receiver = |entry: &LogRevision<'_>| {
        let of = (entry.revision, entry.has_children, entry.subtractive_merge);
        let props: Vec<_> = entry.revprops().collect();
        writeln!(out, "{of:?} {props:?}").unwrap();
        for change in entry.changes() {
            writeln!(out, "{change:?}").unwrap();
        }
        Ok(())
    };
    sapwood_repos::log(repository, &request, &Everything, &CancelToken::new(), &mut receiver)
        .unwrap();
    out
}

/// The files and directories of a revision.
fn nodes(repository: &Repository, revision: Revnum) -> Vec<(String, NodeKind)> {
    let root = repository.fs().revision_root(revision).unwrap();
    let mut todo = vec![root.node(fspath("/")).unwrap()];
    let mut found = Vec::new();
    while let Some(node) = todo.pop() {
        found.push((node.path().to_string(), node.kind()));
        if node.kind() == NodeKind::Dir {
            let entries = node.entries().unwrap();
            todo.extend(entries.iter().map(|entry| node.child_of(&entry).unwrap()));
        }
    }
    found.sort();
    found
}

#[test]
fn trees_dumps_and_listings() {
    for seed in [1, 2] {
        let places = places(seed);
        same(&places, "dump", |r| dumped(r, false, 0));
        same(&places, "incremental dump", |r| dumped(r, true, 20));
        same(&places, "verified", |r| {
            let youngest = r.fs().youngest().unwrap();
            let done = r.fs().verify_revision(youngest, &CancelToken::new());
            format!("{youngest} {done:?}")
        });
        same(&places, "list", |r| {
            let root = r.fs().revision_root(Revnum(60)).unwrap();
            let request = ListRequest {
                path: fspath("/"),
                revision: None,
                patterns: None,
                depth: Depth::Infinity,
                fields: DirentFields::ALL,
            };
            let mut out = String::new();
            let mut receiver = |entry: &ListEntry<'_>| {
                let of = entry.dirent.unwrap();
                let by = (of.committed.date(), of.committed.date_author.author());
                let what = (of.kind, of.size, of.has_props, of.committed.revision, by);
                writeln!(out, "{} {what:?}", entry.path).unwrap();
                Ok(())
            };
            list(&root, &request, &Everything, &CancelToken::new(), &mut receiver).unwrap();
            out
        });
        same(&places, "replay", |r| {
            for n in 0..=60 {
                let root = r.fs().revision_root(Revnum(n)).unwrap();
                let request = ReplayRequest { low_water_mark: Revnum::ZERO, send_deltas: true };
                let (all, cancel) = (&Everything, CancelToken::new());
                let editor = &mut sapwood_delta::IgnoreAll;
                replay(&root, RelPath::ROOT, request, all, &cancel, editor).unwrap();
            }
            String::new()
        });
    }
}

#[test]
fn logs_and_histories() {
    for seed in [3, 4] {
        let places = places(seed);
        let paths = nodes(&places[0].repository, Revnum(60));
        for merged in [false, true] {
            for (start, end) in [(61, 0), (0, 61), (40, 10)] {
                same(&places, "log", |r| logged(r, &[], merged, start, end));
            }
        }
        for (path, kind) in &paths {
            let path = fspath(path);
            same(&places, &format!("log of {path}"), |r| logged(r, &[path], false, 60, 0));
            same(&places, &format!("history of {path}"), |r| history(r, path, *kind));
        }
    }
}

/// What is said of one path of r60.
fn history(repository: &Repository, path: &FsPath, kind: NodeKind) -> String {
    let (all, cancel) = (&Everything, CancelToken::new());
    let root = repository.fs().revision_root(Revnum(60)).unwrap();
    let node = root.node(path).unwrap();
    let mut out = format!(
        "{:?} {:?} {} {:?} {:?} {:?}\n",
        node.created_rev(),
        node.copied_from(),
        node.predecessor_count(),
        root.closest_copy(path).unwrap(),
        root.node_origin_rev(path).unwrap(),
        node.props().unwrap(),
    );
    for cross_copies in [true, false] {
        let mut history = root.history(path).unwrap();
        while let Some(place) = history.previous(cross_copies).unwrap() {
            writeln!(out, "{place:?}").unwrap();
        }
    }
    let request = SegmentsRequest { path, peg: Some(Revnum(60)), start: None, end: None };
    sapwood_repos::location_segments(repository, &request, all, &cancel, &mut |segment| {
        writeln!(out, "{segment:?}").unwrap();
        Ok(())
    })
    .unwrap();
    if kind == NodeKind::File {
        let (length, md5, sha1) = (node.length().unwrap(), node.md5().unwrap(), node.sha1());
        writeln!(out, "{length} {md5} {}", sha1.unwrap().is_some_and(|_| true)).unwrap();
        let revisions = [Revnum(1), Revnum(30), Revnum(59)];
        let found =
            sapwood_repos::locations(repository, path, Revnum(60), &revisions, all, &cancel);
        writeln!(out, "{:?}", found.unwrap()).unwrap();
        let request = FileRevsRequest {
            path,
            start: None,
            end: Some(Revnum(60)),
            include_merged_revisions: false,
        };
        let mut ignore = crate::cancelled::IgnoreRevs;
        sapwood_repos::file_revs(repository, &request, all, &cancel, &mut ignore).unwrap();
    }
    out
}

#[test]
fn mergeinfo_at_and_below() {
    let places = places(5);
    for (path, inherit, below) in [
        ("/", Inherit::Explicit, true),
        ("/with", Inherit::Inherited, true),
        ("/with/mergeinfo", Inherit::NearestAncestor, false),
    ] {
        let found = same(&places, path, |r| {
            let request = MergeinfoRequest {
                paths: &[fspath(path)],
                revision: None,
                inherit,
                include_descendants: below,
            };
            let mut out = String::new();
            let (all, cancel) = (&Everything, CancelToken::new());
            sapwood_repos::mergeinfo_catalog(r, &request, all, &cancel, &mut |path, info| {
                writeln!(out, "{path} {info:?}").unwrap();
                Ok(())
            })
            .unwrap();
            out
        });
        assert!(found.contains("other"), "{path}: {found}");
    }
}

#[test]
fn transactions_are_seen_by_others() {
    for place in Place::each() {
        let name = place.fs().engine().name();
        let writer = place.writer();
        let mut txn = writer.begin(Revnum::ZERO).unwrap();
        txn.props_mut().set("svn:log", "message");
        txn.make_dir(fspath("/d")).unwrap();
        txn.make_file(fspath("/d/f")).unwrap();
        txn.set_text(fspath("/d/f"), &mut &b"text"[..], None).unwrap();
        txn.publish().unwrap();
        let of = txn.name();
        assert_eq!(place.fs().transactions().unwrap(), [&*of], "{name}");
        let root = place.fs().txn_root(&of).unwrap();
        assert_eq!(root.node(fspath("/d/f")).unwrap().length().unwrap(), 4, "{name}");
        assert_eq!(root.node(fspath("/d/f")).unwrap().created_rev(), None, "{name}");
        let changes = root.changed_paths().unwrap();
        let paths: Vec<_> = changes.iter().map(|change| change.path.to_string()).collect();
        assert_eq!(paths, ["/d", "/d/f"], "{name}");
        // A hook changes the message.
        writer.change_txn_props(&of, &[("svn:log", Some(b"better"))]).unwrap();
        txn.refresh().unwrap();
        assert_eq!(txn.props().get("svn:log"), Some(&b"better"[..]), "{name}");

        // Left there, taken up, and committed.
        let of = txn.suspend().unwrap();
        let mut txn = writer.open_txn(&of).unwrap();
        txn.make_dir(fspath("/d/e")).unwrap();
        assert_eq!(txn.commit().unwrap(), Revnum(1), "{name}");
        assert_eq!(place.fs().transactions().unwrap(), [""; 0], "{name}");
        assert_eq!(nodes(&place.repository, Revnum(1)).len(), 4, "{name}");
        assert_eq!(place.fs().revprops(Revnum(1)).unwrap().get("svn:log"), Some(&b"better"[..]));

        // Given up.
        let mut txn = writer.begin(Revnum(1)).unwrap();
        txn.publish().unwrap();
        let of = txn.name();
        txn.abort().unwrap();
        assert!(writer.open_txn(&of).is_err(), "{name}");
        writer.change_revision_prop(Revnum(1), "p", None, Some(b"v")).unwrap();
        assert!(writer.change_revision_prop(Revnum(1), "p", None, Some(b"w")).is_err(), "{name}");
        assert_eq!(place.fs().revprops(Revnum(1)).unwrap().get("p"), Some(&b"v"[..]), "{name}");
    }
}
