//! Chains of deltas that are longer than what is kept of them.

use sapwood_fs_common::TxnEdit as _;

use super::*;
use crate::{Caches, Filesystem, OpenOptions};
use sapwood_core::{Md5, NodeKind, Revnum};
use sapwood_testkit::fspath;
use sapwood_testkit::{Repository, Shape};

#[test]
fn windows_that_were_not_held_are_read_again() {
    let repo = Repository::random(&Shape::new("1.8").shard(7), 7, 60);
    let db = repo.path().join("db");
    let open = || Filesystem::open(&db, &Caches::new(0), &OpenOptions::default()).unwrap();
    let mut deep = 0;
    for number in 1..=60 {
        for change in open().changed_paths(Revnum(number)).unwrap().iter() {
            // Nothing is in the caches of a filesystem that was just opened.
            let fs = open();
            let root = fs.revision_root(Revnum(number)).unwrap();
            let Some(node) = root.find(change.path).unwrap() else { continue };
            let Some(rep) = node.rev.text.filter(|_| node.kind() == NodeKind::File) else {
                continue;
            };
            let mut chain = Chain::open(&fs.fs, &rep, None).unwrap();
            chain.hold = 0;
            let mut text = Vec::new();
            for part in 0.. {
                let Some(window) = chain.window(&fs.fs, part).unwrap() else { break };
                text.extend_from_slice(&window.bytes);
            }
            deep = deep.max(chain.levels.len());
            assert_eq!(Md5::of(&text), rep.md5);
        }
    }
    assert!(deep > 2, "{deep}");
}

/// A file of several windows through many revisions, and its texts.
fn long_history(db: &std::path::Path) -> (Filesystem, Vec<Vec<u8>>) {
    use crate::txn::{WriteOptions, Writer};
    let options = crate::CreateOptions { flush_to_disk: false, ..Default::default() };
    crate::create::create(&sapwood_store::LocalStorage, db, &options).unwrap();
    let fs = Filesystem::open(db, &Caches::new(8 << 20), &OpenOptions::default()).unwrap();
    let options = WriteOptions { flush_to_disk: false, ..WriteOptions::default() };
    let writer = Writer::new(&fs, options).unwrap();
    let mut rng = sapwood_core::rng::Rng::new(5);
    let mut text = rng.lines(14_000);
    assert!(text.len() > 3 * WINDOW);
    let mut texts = vec![Vec::new()];
    for number in 0..70 {
        let mut txn = writer.begin(Revnum(number)).unwrap();
        if number == 0 {
            txn.make_file(fspath("/f")).unwrap();
        }
        let at = rng.below(text.len());
        let line = rng.line();
        text.splice(at..at, line.bytes());
        txn.set_text(fspath("/f"), &mut text.as_slice(), None).unwrap();
        txn.commit().unwrap();
        texts.push(text.clone());
    }
    (fs, texts)
}

/// A text that does not fit into the cache leaves none of its windows there, whatever is asked for.
#[test]
fn what_does_not_fit_is_not_kept() {
    use crate::txn::{WriteOptions, Writer};
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("db");
    let options = crate::CreateOptions { flush_to_disk: false, ..Default::default() };
    crate::create::create(&sapwood_store::LocalStorage, &db, &options).unwrap();
    let open = || Filesystem::open(&db, &Caches::new(2 << 20), &OpenOptions::default()).unwrap();
    let options = WriteOptions { flush_to_disk: false, ..WriteOptions::default() };
    let mut txn = Writer::new(&open(), options).unwrap().begin(Revnum(0)).unwrap();
    let text = sapwood_core::rng::Rng::new(7).lines(100_000);
    assert!(text.len() > 2 << 20);
    for (path, text) in [("/long", &text[..]), ("/short", &text[..1 << 20])] {
        txn.make_file(fspath(path)).unwrap();
        txn.set_text(fspath(path), &mut &*text, None).unwrap();
    }
    txn.commit().unwrap();
    for (path, is_kept) in [("/long", false), ("/short", true)] {
        let fs = open();
        let rep =
            fs.revision_root(Revnum(1)).unwrap().node(fspath(path)).unwrap().rev.text.unwrap();
        for keep in [None, Some(Keep::All), Some(Keep::Bottom)] {
            let mut chain = Chain::open(&fs.fs, &rep, None).unwrap();
            keep.into_iter().for_each(|keep| chain.set_keep(keep));
            for number in 0.. {
                let Some(window) = chain.window(&fs.fs, number).unwrap() else { break };
                let key = text_key(&fs.fs, &chain.levels[0].data, number).unwrap();
                drop(window);
                let found = fs.fs.caches.get(key).is_some();
                assert!(!found || is_kept, "{path}: window {number}, {keep:?}");
                assert!(found || !is_kept || keep.is_some() || number > 0, "{path}");
            }
        }
    }
}

#[test]
fn joined_deltas_make_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let (fs, texts) = long_history(&folder.path().join("db"));
    let mut joined = 0;
    for (keep, hold) in [
        (Keep::Nothing, HOLD),
        (Keep::Nothing, 600),
        (Keep::Bottom, HOLD),
        (Keep::Bottom, 0),
        (Keep::All, HOLD),
    ] {
        for (number, expected) in texts.iter().enumerate().skip(1) {
            let root = fs.revision_root(Revnum(u64::try_from(number).unwrap())).unwrap();
            let rep = root.node(fspath("/f")).unwrap().rev.text.unwrap();
            let mut chain = Chain::open(&fs.fs, &rep, None).unwrap();
            chain.set_keep(keep);
            chain.hold = hold;
            let mut text = Vec::new();
            for part in 0.. {
                let Some(window) = chain.window(&fs.fs, part).unwrap() else { break };
                text.extend_from_slice(&window.bytes);
            }
            assert!(text == *expected, "{number} {keep:?} {hold}");
            let mut deltas = Vec::new();
            for level in &mut chain.levels {
                deltas.push(level.window(&fs.fs, 0).unwrap());
            }
            let before = deltas.len();
            joined += before.saturating_sub(chain.joined(deltas).len());
        }
    }
    assert!(joined > 1_000, "{joined}");
}
