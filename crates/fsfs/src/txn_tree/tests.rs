//! The rules on trees that are in memory, without a file or an engine.
#![allow(clippy::unwrap_used, reason = "tests")]

use sapwood_core::FsPath;
use sapwood_core::{ErrorCode, NodeKind, SvnError};
use sapwood_fsfs_format::{DirEntryRef, DirectoryBuilder};
use sapwood_testkit::fspath;

use super::*;
use crate::error::Error;

/// Committed node-revisions, with the entries of directories; the last is the youngest root.
#[derive(Clone, Debug, Default)]
struct Memory(Vec<(Arc<NodeRev>, Arc<Directory>)>);

/// A node-revision of `revision`, the `number`th of it; its node has the number.
fn committed(revision: u64, number: u64, kind: NodeKind, path: &FsPath) -> NodeRev {
    let part = IdPart::new(Revnum(0), number);
    NodeRev {
        id: NodeRevId {
            node: part,
            copy: IdPart::ROOT,
            location: Location::Rev { revision: Revnum(revision), item: number },
        },
        kind,
        predecessor: None,
        predecessor_count: 0,
        text: None,
        props: None,
        created_path: path.into(),
        copy_from: None,
        copy_root: Some((Some(Revnum(1)), "/".into())),
        is_fresh_txn_root: false,
        mergeinfo_count: 0,
        has_mergeinfo: false,
    }
}

impl Memory {
    fn add(&mut self, node: NodeRev, entries: &[(&str, &NodeRev)]) {
        let mut directory = DirectoryBuilder::new(entries.len(), 0);
        for (name, child) in entries {
            let entry = DirEntryRef { name, kind: child.kind, id: child.id };
            directory.write(&entry, &mut Vec::new(), &mut Vec::new()).unwrap();
        }
        self.0.push((Arc::new(node), Arc::new(directory.finish())));
    }

    fn find(&self, id: &NodeRevId) -> &(Arc<NodeRev>, Arc<Directory>) {
        self.0.iter().find(|(node, _)| node.id == *id).unwrap()
    }
}

impl TreeSource for Memory {
    fn node(&self, id: &NodeRevId) -> Result<Arc<NodeRev>> {
        Ok(Arc::clone(&self.find(id).0))
    }

    fn node_at(&self, revision: Revnum, path: &FsPath) -> Result<Arc<NodeRev>> {
        let is_it = |node: &NodeRev| *node.created_path == *path;
        let found = self.0.iter().rev().find(|(node, _)| {
            is_it(node) && node.id.revision().is_some_and(|made| made <= revision)
        });
        Ok(Arc::clone(&found.unwrap().0))
    }

    fn directory(&self, node: &NodeRev) -> Result<Arc<Directory>> {
        // A node of the transaction still has the text of the one that it follows.
        let id = if node.id.revision().is_some() { Some(node.id) } else { node.predecessor };
        Ok(Arc::clone(&self.find(&id.unwrap()).1))
    }

    fn props(&self, _: &NodeRev) -> Result<Arc<PropList>> {
        Ok(Arc::default())
    }

    fn counts_mergeinfo(&self) -> bool {
        true
    }

    fn uuid(&self) -> &str {
        "memory"
    }
}

/// r1 has `/d/f` and `/e`.
fn source() -> Memory {
    let mut memory = Memory::default();
    let file = committed(1, 5, NodeKind::File, fspath("/d/f"));
    let dirs = [
        committed(1, 3, NodeKind::Dir, fspath("/d")),
        committed(1, 4, NodeKind::Dir, fspath("/e")),
    ];
    let root = committed(1, 0, NodeKind::Dir, fspath("/"));
    memory.add(root.clone(), &[("d", &dirs[0]), ("e", &dirs[1])]);
    memory.add(dirs[0].clone(), &[("f", &file)]);
    memory.add(dirs[1].clone(), &[]);
    memory.add(file, &[]);
    memory
}

fn tree(memory: &Memory) -> Tree {
    let id = TxnId { base: Revnum(1), number: 7 };
    let root = memory.node_at(Revnum(1), fspath("/")).unwrap();
    Tree::of_revision(Box::new(memory.clone()), (id, Revnum(1)), &root)
}

fn code(error: Error) -> ErrorCode {
    SvnError::from(error).code()
}

#[test]
fn changes_make_successors() {
    let memory = source();
    let mut tree = tree(&memory);
    tree.change_prop(fspath("/d/f"), "p", Some(b"v")).unwrap();
    tree.make_dir(fspath("/e/new")).unwrap();
    tree.delete(fspath("/d/f")).unwrap();
    assert_eq!(tree.kind(fspath("/d/f")).unwrap(), None);
    assert_eq!(tree.kind(fspath("/e/new")).unwrap(), Some(NodeKind::Dir));
    // The directories above are successors of what they were; nothing else was touched.
    assert_eq!(tree.node_revision(fspath("/d")).unwrap(), None);
    let dir = tree.look_up(fspath("/d")).unwrap().unwrap();
    let (old, new) =
        (memory.node_at(Revnum(1), fspath("/d")).unwrap(), tree.noderev(&dir).unwrap());
    assert_eq!((new.predecessor, new.id.node), (Some(old.id), old.id.node));
    let paths: Vec<&str> = tree.changes.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(paths, ["/d/f", "/e/new"]);

    assert_eq!(code(tree.make_dir(fspath("/e/new")).unwrap_err()), ErrorCode::FS_ALREADY_EXISTS);
    assert_eq!(code(tree.delete(fspath("/d/f")).unwrap_err()), ErrorCode::FS_NOT_FOUND);
    assert_eq!(code(tree.delete(fspath("/")).unwrap_err()), ErrorCode::FS_ROOT_DIR);
}

#[test]
fn copies_know_where_they_are_from() {
    let memory = source();
    let mut tree = tree(&memory);
    let from = memory.node_at(Revnum(1), fspath("/d")).unwrap();
    tree.copy((Revnum(1), fspath("/d")), &from, fspath("/e/copy"), true).unwrap();
    let copy = tree.look_up(fspath("/e/copy")).unwrap().unwrap();
    let node = tree.noderev(&copy).unwrap();
    assert_eq!(node.copy_from, Some((Revnum(1), "/d".into())));
    assert_eq!(node.predecessor_count, 1);
    // What is below is shared until it changes.
    assert_eq!(tree.node_revision(fspath("/e/copy/f")).unwrap(), Some(Revnum(1)));
    tree.change_prop(fspath("/e/copy/f"), "p", Some(b"v")).unwrap();
    assert_eq!(tree.node_revision(fspath("/e/copy/f")).unwrap(), None);
    assert_eq!(tree.node_revision(fspath("/d/f")).unwrap(), Some(Revnum(1)));
}

/// r2 changed `/e`: that is merged, unless the transaction changed it as well.
#[test]
fn merging() {
    let mut memory = source();
    let added = committed(2, 6, NodeKind::File, fspath("/e/theirs"));
    let mut dir = committed(2, 4, NodeKind::Dir, fspath("/e"));
    dir.predecessor = Some(memory.node_at(Revnum(1), fspath("/e")).unwrap().id);
    let (root, other) =
        (committed(2, 0, NodeKind::Dir, fspath("/")), memory.node_at(Revnum(1), fspath("/d")));
    memory.add(root, &[("d", &*other.unwrap()), ("e", &dir)]);
    memory.add(dir, &[("theirs", &added)]);
    memory.add(added, &[]);

    let mut ours = tree(&memory);
    ours.delete(fspath("/d")).unwrap();
    ours.make_file(fspath("/e/ours")).unwrap();
    ours.merge_to(Revnum(2)).unwrap();
    assert_eq!(ours.base, Revnum(2));
    assert_eq!(ours.kind(fspath("/e/theirs")).unwrap(), Some(NodeKind::File));
    assert_eq!(
        (ours.kind(fspath("/e/ours")).unwrap().is_some(), ours.kind(fspath("/d")).unwrap()),
        (true, None)
    );

    for change in [Tree::make_file, Tree::make_dir] {
        let mut ours = tree(&memory);
        change(&mut ours, fspath("/e/theirs")).unwrap();
        assert_eq!(code(ours.merge_to(Revnum(2)).unwrap_err()), ErrorCode::FS_CONFLICT);
    }
}
