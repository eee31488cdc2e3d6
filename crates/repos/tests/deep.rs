//! Trees as deep as paths can be long: every walk through one comes to its end, without the
//! thread's stack and without asking for the same thing again at each level.
//!
//! A chain of directories, doubled by copies, so that a few short revisions make it: that is all
//! that a user who may commit has to send.

use crate::common;

use std::fmt::Write as _;
use std::path::Path;

use sapwood_core::FsPath;
use sapwood_core::{CancelToken, Depth, DirentFields, NodeKind, Revnum};
use sapwood_fs::{Caches, OpenOptions, Reads};
use sapwood_repos::authorizer::Everything;
use sapwood_repos::change_tree::ChangeTree;
use sapwood_repos::create::{RepositoryOptions, create};
use sapwood_repos::dump::{DumpOptions, dump};
use sapwood_repos::list::{ListEntry, ListRequest, list};
use sapwood_repos::load::{LoadOptions, load};
use sapwood_repos::verify::{VerifyNotice, VerifyOptions, verify};
use sapwood_repos::{Inherit, MergeinfoRequest, Repository, inherited_props, mergeinfo_catalog};
use sapwood_testkit::fspath;

/// The directory at a depth.
fn at(depth: usize) -> String {
    "/a".repeat(depth)
}

/// A chain of `depth` directories with a file at its end and mergeinfo on the lowest one, all
/// changed in one more revision.
fn stream(depth: usize) -> String {
    let mut out = String::from("SVN-fs-dump-format-version: 2\n\n");
    let mut number = 0;
    let mut revision = |out: &mut String| {
        let lengths = "Prop-content-length: 10\nContent-length: 10";
        write!(out, "Revision-number: {number}\n{lengths}\n\nPROPS-END\n\n").unwrap();
        number += 1;
        number - 2
    };
    let relative = |depth| at(depth).split_off(1);
    revision(&mut out);
    revision(&mut out);
    out.push_str("Node-path: a\nNode-kind: dir\nNode-action: add\n\n\n");
    let mut here = 1;
    while here < depth {
        let take = here.min(depth - here);
        let before = revision(&mut out);
        let (path, source) = (relative(here + 1), relative(here - take + 1));
        write!(
            out,
            "Node-path: {path}\nNode-kind: dir\nNode-action: add\nNode-copyfrom-rev: {before}\n\
             Node-copyfrom-path: {source}\n\n\n"
        )
        .unwrap();
        here += take;
    }
    revision(&mut out);
    let path = relative(depth);
    write!(
        out,
        "Node-path: {path}/f\nNode-kind: file\nNode-action: add\nText-content-length: 3\n\
         Content-length: 3\n\nhi\n\n\n"
    )
    .unwrap();
    let props = "K 13\nsvn:mergeinfo\nV 4\n/x:1\nPROPS-END\n";
    let len = props.len();
    write!(
        out,
        "Node-path: {path}\nNode-kind: dir\nNode-action: change\nProp-content-length: {len}\n\
         Content-length: {len}\n\n{props}\n\n"
    )
    .unwrap();
    out
}

fn open(path: &Path) -> (Repository, std::sync::Arc<Caches>) {
    let caches = Caches::counting(256 << 20);
    (Repository::open(path, &caches, &OpenOptions::default()).unwrap(), caches)
}

/// A way to go through a tree of a depth.
type Walk = fn(&Repository, usize);

fn verify_all(repository: &Repository, _: usize) {
    let cancel = CancelToken::new();
    let options = VerifyOptions {
        start: None,
        end: None,
        check_normalization: false,
        metadata_only: false,
        notices: false,
        cancel: &cancel,
        threads: 1,
    };
    verify(repository, &options, &mut |notice| match notice {
        VerifyNotice::Error(_, error) => Err(error),
        _ => Ok(()),
    })
    .unwrap();
}

fn dump_all(repository: &Repository, _: usize) {
    let cancel = CancelToken::new();
    let options = DumpOptions {
        start: None,
        end: None,
        incremental: false,
        deltas: false,
        changes: true,
        notices: false,
        filter: None,
        cancel: &cancel,
        threads: 1,
    };
    dump(repository, &options, &mut std::io::sink(), &mut |_| {}).unwrap();
}

fn mergeinfo(repository: &Repository, depth: usize) {
    let (deep, file) = (at(depth), at(depth) + "/f");
    for (paths, expected) in [([fspath("/")], 1), ([fspath(&deep)], 1), ([fspath(&file)], 1)] {
        for inherit in [Inherit::Inherited, Inherit::NearestAncestor] {
            let request = MergeinfoRequest {
                paths: &paths,
                revision: None,
                inherit,
                include_descendants: true,
            };
            let mut count = 0;
            let mut found = |_: &FsPath, _: &sapwood_core::mergeinfo::Mergeinfo| {
                count += 1;
                Ok(())
            };
            let cancel = CancelToken::new();
            mergeinfo_catalog(repository, &request, &Everything, &cancel, &mut found).unwrap();
            let own = inherit == Inherit::Inherited || *paths[0] != deep;
            assert_eq!(count, if own { expected } else { 0 }, "{inherit:?}");
        }
    }
}

fn inherited(repository: &Repository, depth: usize) {
    let root = repository.fs().revision_root(repository.fs().youngest().unwrap()).unwrap();
    let path = at(depth) + "/f";
    let found =
        inherited_props(&root, fspath(&path), None, &Everything, &CancelToken::new()).unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(root.kind(fspath(&path)).unwrap(), Some(NodeKind::File));
}

fn tree_of_changes(repository: &Repository, _: usize) {
    let youngest = repository.fs().youngest().unwrap();
    let root = repository.fs().revision_root(youngest).unwrap();
    ChangeTree::of(&root, Revnum(youngest.0 - 1), &CancelToken::new()).unwrap();
}

fn listing(repository: &Repository, depth: usize) {
    let root = repository.fs().revision_root(repository.fs().youngest().unwrap()).unwrap();
    let request = ListRequest {
        path: fspath("/"),
        revision: None,
        patterns: None,
        depth: Depth::Infinity,
        fields: DirentFields::ALL,
    };
    let mut count = 0;
    let mut receiver = |_: &ListEntry<'_>| {
        count += 1;
        Ok(())
    };
    list(&root, &request, &Everything, &CancelToken::new(), &mut receiver).unwrap();
    assert_eq!(count, depth + 2);
}

fn rep_cache(repository: &Repository, _: usize) {
    let last = repository.fs().youngest().unwrap();
    let cancel = CancelToken::new();
    let fs = repository.fs();
    fs.build_rep_cache(Revnum(1), last, &cancel, &mut |_| Ok(())).unwrap();
}

#[test]
fn deep_trees_are_walked_to_the_end_and_each_level_once() {
    let dir = common::memory();
    let walks: [(&str, Walk); 8] = [
        ("verify", verify_all),
        ("dump", dump_all),
        ("mergeinfo", mergeinfo),
        ("inherited properties", inherited),
        ("tree of changes", tree_of_changes),
        ("list", listing),
        ("build-repcache", rep_cache),
        ("verify again", verify_all),
    ];
    // The deeper one is deeper than a recursion would get.
    let depths = if sapwood_testkit::long() { [1250, 5000] } else { [600, 2400] };
    let [few, many] = depths.map(|depth| {
        let path = dir.path().join(depth.to_string());
        create(&path, &RepositoryOptions::default()).unwrap();
        let input = Box::new(std::io::Cursor::new(stream(depth).into_bytes()));
        let (repository, _) = open(&path);
        let cancel = CancelToken::new();
        load(&repository, input, LoadOptions::default(), &mut |_| Ok(()), &cancel).unwrap();
        walks.map(|(what, walk)| {
            let (repository, caches) = open(&path);
            // Debug builds have large frames: what recursed would end the test here.
            std::thread::scope(|scope| {
                let thread = std::thread::Builder::new().stack_size(1 << 20);
                thread.spawn_scoped(scope, || walk(&repository, depth)).unwrap();
            });
            (what, caches.reads())
        })
    });
    for ((what, few), (_, many)) in few.iter().zip(&many) {
        let allowed = |few: &Reads| few.items * 6 + 200;
        assert!(many.items <= allowed(few), "{what}: {few:?}, four times as deep {many:?}");
        assert!(many.most <= 12, "{what}: {many:?}");
    }
}
