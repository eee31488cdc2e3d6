//! The rules on trees that are in memory, without a file or an engine.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::fmt;
use std::sync::Arc;

use sapwood_core::{ErrorCode, FsPath, NodeKind, PropList, Revnum};
use sapwood_testkit::fspath;

use crate::*;

/// An engine that has nothing but what the rules ask for.
#[derive(Debug)]
pub(crate) struct Plain;

/// A node-revision: node, copy, and the revision; 0 is the transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Id {
    pub(crate) node: u64,
    pub(crate) copy: u64,
    pub(crate) revision: u64,
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.node, self.copy, self.revision)
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Node {
    id: Id,
    kind: NodeKind,
    predecessor: Option<Id>,
    predecessor_count: u64,
    created_path: Box<str>,
    copy_from: Option<(Revnum, Box<str>)>,
    copy_root: (Option<Revnum>, Box<str>),
    mergeinfo_count: i64,
    has_mergeinfo: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Names(Vec<(String, NodeKind, Id)>);

impl Listing<Plain> for Names {
    fn find(&self, name: &str) -> Option<(NodeKind, Id)> {
        self.0.iter().find(|(n, ..)| n == name).map(|(_, kind, id)| (*kind, *id))
    }

    fn iter(&self) -> impl Iterator<Item = (&str, NodeKind, Id)> {
        self.0.iter().map(|(name, kind, id)| (name.as_str(), *kind, *id))
    }
}

/// Numbers of the transaction's nodes and copies begin here.
const IN_TXN: u64 = 1000;

impl Engine for Plain {
    type Id = Id;
    type Line = (u64, u64);
    type Txn = u64;
    type Rep = u64;
    type Node = Node;
    type Directory = Names;
    type Error = Error;

    const ENTRIES_ARE_NAMES: bool = false;

    fn revision(id: &Id) -> Option<Revnum> {
        (id.revision > 0).then_some(Revnum(id.revision))
    }

    fn line(id: &Id) -> Option<(u64, u64)> {
        // The line is asked of the node where the id does not say it: both ways are gone here.
        id.node.is_multiple_of(2).then_some((id.node, id.copy))
    }

    fn is_same_rep(one: u64, other: u64) -> bool {
        one == other
    }

    fn new_root(base: &Node, _: u64) -> Node {
        Node { id: Id { revision: 0, ..base.id }, ..base.clone() }
    }

    fn new_node(parent: &Node, kind: NodeKind, path: Box<str>, ids: &mut NewIds<Self>) -> Node {
        let id = Id { node: IN_TXN + ids.take_node(), copy: parent.id.copy, revision: 0 };
        Node { id, ..committed(0, 0, kind, FsPath::trusted(&path)) }
    }

    fn succeed(node: &mut Node, copy: CopyId<'_, Node>, ids: &mut NewIds<Self>) {
        node.id.revision = 0;
        node.id.copy = match copy {
            CopyId::Own => node.id.copy,
            CopyId::Parent(parent) => parent.id.copy,
            CopyId::New => IN_TXN + ids.take_copy(),
        };
    }
}

impl NodeRevision<Plain> for Node {
    fn id(&self) -> Id {
        self.id
    }
    fn line(&self) -> (u64, u64) {
        (self.id.node, self.id.copy)
    }
    fn kind(&self) -> NodeKind {
        self.kind
    }
    fn predecessor(&self) -> Option<Id> {
        self.predecessor
    }
    fn predecessor_count(&self) -> u64 {
        self.predecessor_count
    }
    fn props(&self) -> Option<u64> {
        None
    }
    fn created_path(&self) -> &FsPath {
        FsPath::trusted(&self.created_path)
    }
    fn copy_root(&self) -> (Option<Revnum>, &FsPath) {
        (self.copy_root.0, FsPath::trusted(&self.copy_root.1))
    }
    fn mergeinfo_count(&self) -> i64 {
        self.mergeinfo_count
    }
    fn has_mergeinfo(&self) -> bool {
        self.has_mergeinfo
    }
    fn is_same_node(&self, other: &Self) -> bool {
        self.id.node == other.id.node
    }
    fn is_same_copy(&self, other: &Self) -> bool {
        self.id.copy == other.id.copy
    }
    fn was_never_copied(&self) -> bool {
        self.id.copy == 0
    }
    fn set_predecessor(&mut self, id: Id, count: u64) {
        (self.predecessor, self.predecessor_count) = (Some(id), count);
    }
    fn set_created_path(&mut self, path: Box<str>) {
        self.created_path = path;
    }
    fn set_copy_from(&mut self, source: Option<(Revnum, Box<str>)>) {
        self.copy_from = source;
    }
    fn set_copy_root(&mut self, root: (Option<Revnum>, Box<str>)) {
        self.copy_root = root;
    }
    fn set_mergeinfo_count(&mut self, count: i64) {
        self.mergeinfo_count = count;
    }
    fn set_has_mergeinfo(&mut self, has: bool) {
        self.has_mergeinfo = has;
    }
    fn set_text(&mut self, _: u64) {}
}

/// Committed node-revisions, with the entries of directories; the last is the youngest root.
#[derive(Clone, Debug, Default)]
struct Memory(Vec<(Arc<Node>, Arc<Names>)>);

/// A node-revision of `revision`, whose node is `number`.
fn committed(revision: u64, number: u64, kind: NodeKind, path: &FsPath) -> Node {
    Node {
        id: Id { node: number, copy: 0, revision },
        kind,
        predecessor: None,
        predecessor_count: 0,
        created_path: path.into(),
        copy_from: None,
        copy_root: (Some(Revnum(1)), "/".into()),
        mergeinfo_count: 0,
        has_mergeinfo: false,
    }
}

impl Memory {
    fn add(&mut self, node: Node, entries: &[(&str, &Node)]) {
        let names = entries.iter().map(|(name, child)| ((*name).to_owned(), child.kind, child.id));
        self.0.push((Arc::new(node), Arc::new(Names(names.collect()))));
    }

    fn find(&self, id: &Id) -> &(Arc<Node>, Arc<Names>) {
        self.0.iter().find(|(node, _)| node.id == *id).unwrap()
    }
}

impl TreeSource<Plain> for Memory {
    fn node(&self, id: &Id) -> Result<Arc<Node>, Plain> {
        Ok(Arc::clone(&self.find(id).0))
    }

    fn node_at(&self, revision: Revnum, path: &FsPath) -> Result<Arc<Node>, Plain> {
        let is_it = |node: &Node| *node.created_path == *path;
        let found =
            self.0.iter().rev().find(|(node, _)| is_it(node) && node.id.revision <= revision.0);
        Ok(Arc::clone(&found.unwrap().0))
    }

    fn directory(&self, node: &Node) -> Result<Arc<Names>, Plain> {
        // A node of the transaction still has the text of the one that it follows.
        let id = if node.id.revision > 0 { Some(node.id) } else { node.predecessor };
        Ok(Arc::clone(&self.find(&id.unwrap()).1))
    }

    fn props(&self, _: &Node) -> Result<Arc<PropList>, Plain> {
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

fn tree(memory: &Memory) -> Tree<Plain> {
    let root = memory.node_at(Revnum(1), fspath("/")).unwrap();
    Tree::of_revision(Box::new(memory.clone()), (7, Revnum(1)), &root)
}

fn code(error: Error) -> ErrorCode {
    match error {
        Error::Svn(error) => error.code(),
        Error::NotFound { .. } => ErrorCode::FS_NOT_FOUND,
        Error::NotDirectory { .. } => ErrorCode::FS_NOT_DIRECTORY,
        Error::Corrupt(_) => ErrorCode::FS_CORRUPT,
    }
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

    for change in [Tree::<Plain>::make_file, Tree::<Plain>::make_dir] {
        let mut ours = tree(&memory);
        change(&mut ours, fspath("/e/theirs")).unwrap();
        assert_eq!(code(ours.merge_to(Revnum(2)).unwrap_err()), ErrorCode::FS_CONFLICT);
    }
}
