//! Repositories that the reference made are read: every node of every revision, its text and properties, changed paths
//! and revision properties, against the history that they were made from.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test on input of our own"
)]

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;

use sapwood_core::{FsPath, Revnum};
use sapwood_fsx::{ChangeKind, Filesystem, Node};
use sapwood_testkit::tree::{self, Props};
use sapwood_testkit::{History, fsx, random};

fn root(fs: &Filesystem, revision: Revnum) -> sapwood_fsx::Result<Node> {
    fs.revision_root(revision)?.node(FsPath::ROOT)
}

/// Compares a tree with the model.
fn same(node: &Node, model: &tree::Node, path: &str) {
    let props: Props = node.props().unwrap().as_ref().clone().into_iter().collect();
    assert_eq!(props, model.props, "properties of {path}");
    let Some(entries) = model.entries() else {
        let mut text = Vec::new();
        node.contents().unwrap().read_to_end(&mut text).unwrap();
        assert!(text == **model.text().unwrap(), "text of {path}");
        return;
    };
    let found = node.entries().unwrap();
    let names: Vec<&str> = found.iter().map(|entry| &*entry.name).collect();
    assert_eq!(names, entries.keys().map(String::as_str).collect::<Vec<_>>(), "{path}");
    for (entry, (name, model)) in found.iter().zip(entries) {
        same(&node.child_at(&entry.name, entry.id).unwrap(), model, &format!("{path}/{name}"));
    }
}

fn read_whole(repository: &Path, history: &History) {
    let fs = Filesystem::open(&repository.join("db")).unwrap();
    let number = |at: usize| Revnum(at.try_into().unwrap());
    assert_eq!(fs.youngest().unwrap(), number(history.youngest()));
    for at in 0..=history.youngest() {
        let model = history.revision(at);
        let props: Props = fs.revprops(number(at)).unwrap().into_iter().collect();
        assert_eq!(props, model.props, "r{at}");
        same(&root(&fs, number(at)).unwrap(), &model.root, "");
        for change in fs.changes(number(at)).unwrap().iter() {
            let there = model.root.get(&change.path).is_some();
            assert_eq!(there, change.kind != ChangeKind::Delete, "r{at} {}", change.path);
        }
    }
    let next = number(history.youngest()).next();
    assert!(matches!(root(&fs, next), Err(sapwood_fsx::Error::NoSuchRevision(_))));
    let first = fs.revision_root(Revnum(1)).unwrap();
    assert!(first.node(FsPath::new("/no/such").unwrap()).is_err());
}

#[test]
fn histories_of_the_reference_read_back() {
    let folder = tempfile::tempdir().unwrap();
    for (seed, revisions) in [(11, 40), (12, 40)] {
        let history = random::history(seed, revisions);
        for pack in [false, true] {
            let path = folder.path().join(format!("{seed}-{pack}"));
            fsx::make(&path, &history, 7, pack);
            read_whole(&path, &history);
        }
    }
}

/// Bytes all over a revision, a pack and property files are changed, one at a time: what is read then is an error or what
/// was there, never something else and never a panic.
#[test]
fn damage_is_an_error_or_does_not_matter() {
    let folder = tempfile::tempdir().unwrap();
    let history = random::history(3, 8);
    let path = folder.path().join("repo");
    fsx::make(&path, &history, 4, true);
    let db = path.join("db");
    let read = |fs: &Filesystem| -> Result<Vec<String>, sapwood_fsx::Error> {
        let mut all = Vec::new();
        for revision in 0..=fs.youngest()?.0 {
            all.push(format!("{:?}", fs.revprops(Revnum(revision))?));
            all.push(format!("{:?}", fs.changes(Revnum(revision))?));
            walk(&root(fs, Revnum(revision))?, &mut all)?;
        }
        Ok(all)
    };
    let right = read(&Filesystem::open(&db).unwrap()).unwrap();
    let mut outcomes = BTreeMap::<bool, usize>::new();
    for name in
        ["revs/0.pack/pack", "revs/0.pack/manifest", "revs/0.pack/1.0", "revs/2/r8", "revs/2/p8"]
    {
        let file = db.join(name);
        let step = if name.ends_with("pack") { 23 } else { 5 };
        let bytes = std::fs::read(&file).unwrap_or_else(|e| panic!("{name}: {e}"));
        std::fs::remove_file(&file).unwrap();
        for at in (0..bytes.len()).step_by(step) {
            let mut wrong = bytes.clone();
            wrong[at] ^= 1 << (at % 8);
            std::fs::write(&file, &wrong).unwrap();
            let found = Filesystem::open(&db).and_then(|fs| read(&fs));
            *outcomes.entry(found.is_ok()).or_default() += 1;
            if let Ok(found) = found {
                assert!(found == right, "{name} at {at}");
            }
        }
        std::fs::write(&file, &bytes).unwrap();
    }
    assert!(outcomes[&false] > 100, "{outcomes:?}");
}

fn walk(node: &Node, all: &mut Vec<String>) -> Result<(), sapwood_fsx::Error> {
    all.push(format!("{} {:?}", node.id(), node.props()?));
    if node.kind() == sapwood_core::NodeKind::File {
        let mut text = Vec::new();
        let read = node.contents()?.read_to_end(&mut text);
        read.map_err(sapwood_core::SvnError::from_stream)?;
        all.push(String::from_utf8_lossy(&text).into_owned());
        return Ok(());
    }
    for entry in node.entries()?.iter() {
        all.push(entry.name.to_string());
        walk(&node.child_at(&entry.name, entry.id)?, all)?;
    }
    Ok(())
}
