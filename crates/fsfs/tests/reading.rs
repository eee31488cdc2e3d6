//! Every revision of repositories in all formats, read back and compared with the model that they
//! were made from, and with what the reference's programs say.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::as_conversions,
    reason = "tests"
)]

use std::collections::BTreeMap;
use std::io::Read as _;

use sapwood_core::paths::FsPathBuf;
use sapwood_core::props::names::MERGEINFO;
use sapwood_core::{Md5, NodeKind, Revnum, Sha1};
use sapwood_delta::{TextDelta as _, Version};
use sapwood_fsfs::{Caches, ChangeKind, Filesystem, Node, OpenOptions};
use sapwood_testkit::fspath;
use sapwood_testkit::tree::{Content, Node as Model};
use sapwood_testkit::{Programs, Repository, Shape};

fn open(repo: &Repository, bytes: usize) -> Filesystem {
    let caches = Caches::new(bytes);
    Filesystem::open(&repo.path().join("db"), &caches, &OpenOptions::default()).unwrap()
}

fn read_all(node: &Node) -> Vec<u8> {
    let mut out = Vec::new();
    node.contents().unwrap().read_to_end(&mut out).unwrap();
    out
}

/// The text that a delta makes of `source`.
fn expand(node: &Node, source: Option<&Node>) -> Vec<u8> {
    let old = source.map(read_all).unwrap_or_default();
    let mut delta = node.delta_from(source).unwrap();
    let mut out = Vec::new();
    while let Some(window) = delta.next_window().unwrap() {
        let at = window.source_offset as usize;
        window.apply(&old[at..at + window.source_len], &mut out).unwrap();
    }
    out
}

/// The text that a delta makes of `source`, through the stored bytes where they can be had.
fn expand_encoded(node: &Node, source: Option<&Node>) -> Option<Vec<u8>> {
    let old = source.map(read_all).unwrap_or_default();
    let mut delta = node.delta_from(source).unwrap();
    let encoded = delta.encoded(Version::V2)?;
    let mut decoder = sapwood_delta::Decoder::new();
    let mut out = Vec::new();
    while let Some(bytes) = encoded.next_bytes().unwrap() {
        decoder.push(bytes);
        while let Some(window) = decoder.next_window().unwrap() {
            let at = window.source_offset as usize;
            window.apply(&old[at..at + window.source_len], &mut out).unwrap();
        }
    }
    decoder.finish().unwrap();
    Some(out)
}

fn compare(what: &str, node: &Node, model: &Model) {
    let what = format!("{what} {}", node.path());
    let props: BTreeMap<String, Vec<u8>> =
        node.props().unwrap().iter().map(|(k, v)| (k.to_owned(), v.to_vec())).collect();
    // Loading a dump may write mergeinfo in another form.
    let blur = |mut props: BTreeMap<String, Vec<u8>>| {
        props.entry(MERGEINFO.to_owned()).and_modify(Vec::clear);
        props
    };
    assert!(props.contains_key(MERGEINFO) || !node.has_mergeinfo(), "{what}");
    assert_eq!(blur(props), blur(model.props.clone()), "{what}");
    assert_eq!(node.has_props().unwrap(), !model.props.is_empty(), "{what}");
    match &model.content {
        Content::File(text) => {
            assert_eq!(node.kind(), NodeKind::File, "{what}");
            assert_eq!(node.length().unwrap(), text.len() as u64, "{what}");
            assert_eq!(node.md5().unwrap(), Md5::of(text), "{what}");
            if let Some(sha1) = node.sha1().unwrap() {
                assert_eq!(sha1, Sha1::of(text), "{what}");
            }
            assert!(read_all(node) == **text, "{what}");
            assert!(expand(node, None) == **text, "{what}");
            if let Some(out) = expand_encoded(node, None) {
                assert!(out == **text, "{what}");
            }
            if let Some(older) = node.predecessor().unwrap() {
                assert!(expand(node, Some(&older)) == **text, "{what}");
                if let Some(out) = expand_encoded(node, Some(&older)) {
                    assert!(out == **text, "{what}");
                }
            }
        }
        Content::Dir(entries) => {
            assert_eq!(node.kind(), NodeKind::Dir, "{what}");
            let list = node.entries().unwrap();
            let names: Vec<&str> = list.iter().map(|e| e.name).collect();
            assert!(names.iter().copied().eq(entries.keys().map(String::as_str)), "{what}");
            for (name, model) in entries {
                compare(&what, &node.child(name).unwrap().unwrap(), model);
            }
        }
    }
}

fn check_shape(shape: &Shape, repo: &Repository, cache: usize) {
    let what = format!("{} cache {cache}", shape.name());
    let fs = open(repo, cache);
    let youngest = repo.history.youngest();
    assert_eq!(fs.youngest().unwrap(), Revnum(youngest as u64));
    let mut revprops = fs.revprops_snapshot();
    for number in (0..=youngest).rev().chain(0..=youngest) {
        let revision = repo.history.revision(number);
        let root = fs.revision_root(Revnum(number as u64)).unwrap();
        compare(&format!("{what} r{number}"), &root.node(fspath("/")).unwrap(), &revision.root);
        let props: BTreeMap<String, Vec<u8>> = revprops
            .get(Revnum(number as u64))
            .unwrap()
            .iter()
            .map(|(k, v)| (k.to_owned(), v.to_vec()))
            .collect();
        assert_eq!(props, revision.props, "{what} r{number}");
    }
    assert!(fs.revision_root(Revnum(youngest as u64 + 1)).is_err());
}

#[test]
fn scripted_history_reads_back() {
    for shape in Shape::few() {
        let repo = Repository::scripted(&shape);
        check_shape(&shape, &repo, 64 << 20);
    }
}

#[test]
fn random_history_reads_back() {
    for shape in Shape::few() {
        let repo = Repository::random(&shape, 7, 60);
        check_shape(&shape, &repo, 64 << 20);
        // And with next to no cache.
        let fs = open(&repo, 1);
        let head = repo.history.youngest();
        let root = fs.revision_root(Revnum(head as u64)).unwrap();
        compare("no cache", &root.node(fspath("/")).unwrap(), &repo.history.revision(head).root);
    }
}

/// One line of `svnlook changed --copy-info`.
fn changed_line(change: &sapwood_fsfs::ChangedPath<'_>, kind: NodeKind) -> String {
    let (first, second) = match change.kind {
        ChangeKind::Add => ('A', ' '),
        ChangeKind::Delete => ('D', ' '),
        _ => (if change.text_mod { 'U' } else { '_' }, if change.prop_mod { 'U' } else { ' ' }),
    };
    let slash = if kind == NodeKind::Dir { "/" } else { "" };
    format!("{first}{second}{}{slash}", &change.path[1..])
}

#[test]
fn changed_paths_are_those_of_svnlook() {
    let reference = Programs::reference();
    for shape in Shape::few() {
        let repo = Repository::random(&shape, 7, 60);
        let fs = open(&repo, 64 << 20);
        for number in 1..=repo.history.youngest() as u64 {
            let said = reference
                .run("svnlook", ["changed", "-r", &number.to_string(), &repo.arg()])
                .expect_success("svnlook")
                .stdout_text();
            let mut theirs: Vec<String> =
                said.lines().map(|l| format!("{}{}", &l[..2], l[2..].trim_start())).collect();
            let root = fs.revision_root(Revnum(number)).unwrap();
            let before = fs.revision_root(Revnum(number - 1)).unwrap();
            let changes = fs.changed_paths(Revnum(number)).unwrap();
            let mut ours = Vec::new();
            for change in changes.iter() {
                let kind = change.node_kind.unwrap_or_else(|| {
                    let root = if change.kind == ChangeKind::Delete { &before } else { &root };
                    root.kind(change.path).unwrap().unwrap()
                });
                if change.kind == ChangeKind::Replace {
                    // svnlook distinguishes the two halves.
                    let half = |kind| sapwood_fsfs::ChangedPath { kind, ..change };
                    ours.push(changed_line(&half(ChangeKind::Delete), kind));
                    ours.push(changed_line(&half(ChangeKind::Add), kind));
                } else {
                    ours.push(changed_line(&change, kind));
                }
            }
            // Changes below a copied or deleted directory are not all shown by svnlook.
            theirs.retain(|line| !line.is_empty());
            for line in &theirs {
                let path = line[2..].trim_end_matches('/');
                assert!(
                    changes.find(fspath(&format!("/{path}"))).is_some(),
                    "{} r{number}: {line} not in {ours:?}",
                    shape.name()
                );
            }
        }
    }
}

#[test]
fn history_is_that_of_svnlook() {
    let reference = Programs::reference();
    for shape in [Shape::new("1.1"), Shape::new("1.8").shard(7), Shape::new("1.10")] {
        let repo = Repository::scripted(&shape);
        let fs = open(&repo, 64 << 20);
        let youngest = repo.history.youngest() as u64;
        for number in [youngest, youngest / 2] {
            let root = fs.revision_root(Revnum(number)).unwrap();
            for (path, _) in repo.history.revision(number as usize).root.walk() {
                let path = format!("/{path}");
                let mut args = vec!["history", "-r"];
                let (rev, arg) = (number.to_string(), repo.arg());
                args.extend([rev.as_str(), &arg, &path]);
                let said = reference.run("svnlook", args).expect_success("svnlook").stdout_text();
                let theirs: Vec<(u64, FsPathBuf)> = said
                    .lines()
                    .skip(2)
                    .map(|l| l.trim_start().split_once("   ").unwrap())
                    .map(|(rev, path)| (rev.parse().unwrap(), fspath(path).to_owned()))
                    .collect();
                let mut history = root.history(fspath(&path)).unwrap();
                let mut ours = Vec::new();
                while let Some((path, rev)) = history.step(true).unwrap() {
                    ours.push((rev.0, path.as_path().to_owned()));
                }
                assert_eq!(ours, theirs, "{} r{number} {path}", shape.name());
            }
        }
    }
}

#[test]
#[ignore = "takes minutes"]
fn all_shapes_read_back() {
    for shape in Shape::all() {
        check_shape(&shape, &Repository::scripted(&shape), 64 << 20);
        check_shape(&shape, &Repository::random(&shape, 11, 40), 2 << 20);
    }
}
