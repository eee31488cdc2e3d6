//! Ids and node-revisions, as the rules of transactions ask for them.

use std::fmt;
use std::sync::Arc;

use sapwood_core::{FsPath, NodeKind, PropList, Revnum};
use sapwood_txn_rules::{CopyId, Engine, Listing, NewIds, NodeRevision, TreeSource};

use super::Filesystem;
use super::state::{Entries, Rep};
use crate::error::{Error, Result};

/// The engine of the rules.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memory;

pub(super) type Tree = sapwood_txn_rules::Tree<Memory>;
pub(super) type ChangeList = sapwood_txn_rules::ChangeList<Memory>;

/// The number of the root directory's node-revision in each revision and transaction.
pub(super) const ROOT_NUMBER: u64 = 0;

/// Where something was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Maker {
    Revision(Revnum),
    Txn(u64),
}

/// Identifies a node-revision, a node or a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Id {
    pub(super) maker: Maker,
    pub(super) number: u64,
}

impl Id {
    pub(super) const fn root(maker: Maker) -> Self {
        Self { maker, number: ROOT_NUMBER }
    }

    pub(super) const fn revision(self) -> Option<Revnum> {
        match self.maker {
            Maker::Revision(revision) => Some(revision),
            Maker::Txn(_) => None,
        }
    }

    /// What it is once its transaction is made this.
    pub(super) const fn made(self, by: Maker) -> Self {
        match self.maker {
            Maker::Revision(_) => self,
            Maker::Txn(_) => Self { maker: by, number: self.number },
        }
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.maker {
            Maker::Revision(revision) => write!(f, "{}.r{revision}", self.number),
            Maker::Txn(number) => write!(f, "{}.t{number}", self.number),
        }
    }
}

/// A node-revision.
#[derive(Clone, Debug)]
pub(crate) struct NodeRev {
    pub(super) id: Id,
    pub(super) node: Id,
    pub(super) copy: Id,
    pub(super) kind: NodeKind,
    pub(super) predecessor: Option<Id>,
    pub(super) predecessor_count: u64,
    /// The text of a file, the entries of a directory.
    pub(super) text: Option<Rep>,
    pub(super) props: Option<Rep>,
    pub(super) created_path: Box<str>,
    pub(super) copy_from: Option<(Revnum, Box<str>)>,
    pub(super) copy_root: (Option<Revnum>, Box<str>),
    pub(super) mergeinfo_count: i64,
    pub(super) has_mergeinfo: bool,
}

impl NodeRev {
    /// The root directory of revision 0.
    pub(super) fn first() -> Self {
        let id = Id::root(Maker::Revision(Revnum::ZERO));
        Self {
            id,
            node: id,
            copy: id,
            kind: NodeKind::Dir,
            predecessor: None,
            predecessor_count: 0,
            text: None,
            props: None,
            created_path: "/".into(),
            copy_from: None,
            copy_root: (Some(Revnum::ZERO), "/".into()),
            mergeinfo_count: 0,
            has_mergeinfo: false,
        }
    }
}

impl Engine for Memory {
    type Id = Id;
    type Line = (Id, Id);
    type Txn = u64;
    type Rep = Rep;
    type Node = NodeRev;
    type Directory = Entries;
    type Error = Error;

    const ENTRIES_ARE_NAMES: bool = false;

    fn revision(id: &Id) -> Option<Revnum> {
        id.revision()
    }

    fn line(_: &Id) -> Option<(Id, Id)> {
        None
    }

    fn is_same_rep(one: Rep, other: Rep) -> bool {
        one == other
    }

    fn new_root(base: &NodeRev, txn: u64) -> NodeRev {
        NodeRev { id: Id::root(Maker::Txn(txn)), ..base.clone() }
    }

    fn new_node(
        parent: &NodeRev,
        kind: NodeKind,
        path: Box<str>,
        ids: &mut NewIds<Self>,
    ) -> NodeRev {
        let maker = Maker::Txn(ids.txn);
        NodeRev {
            id: Id { maker, number: ids.take_item() },
            node: Id { maker, number: ids.take_node() },
            copy: parent.copy,
            kind,
            created_path: path,
            copy_root: parent.copy_root.clone(),
            ..NodeRev::first()
        }
    }

    fn succeed(node: &mut NodeRev, copy: CopyId<'_, NodeRev>, ids: &mut NewIds<Self>) {
        let maker = Maker::Txn(ids.txn);
        node.copy = match copy {
            CopyId::Own => node.copy,
            CopyId::Parent(parent) => parent.copy,
            CopyId::New => Id { maker, number: ids.take_copy() },
        };
        node.id = Id { maker, number: ids.take_item() };
    }
}

impl NodeRevision<Memory> for NodeRev {
    fn id(&self) -> Id {
        self.id
    }

    fn line(&self) -> (Id, Id) {
        (self.node, self.copy)
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

    fn props(&self) -> Option<Rep> {
        self.props
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
        self.node == other.node
    }

    fn is_same_copy(&self, other: &Self) -> bool {
        self.copy == other.copy
    }

    fn was_never_copied(&self) -> bool {
        self.copy == NodeRev::first().copy
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

    fn set_text(&mut self, rep: Rep) {
        self.text = Some(rep);
    }
}

impl Listing<Memory> for Entries {
    fn find(&self, name: &str) -> Option<(NodeKind, Id)> {
        let at = self.position(name).ok()?;
        self.0.get(at).map(|(_, kind, id)| (*kind, *id))
    }

    fn iter(&self) -> impl Iterator<Item = (&str, NodeKind, Id)> {
        self.0.iter().map(|(name, kind, id)| (&**name, *kind, *id))
    }
}

/// Committed nodes, for the rules.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) fs: Filesystem,
    pub(super) uuid: String,
}

impl TreeSource<Memory> for Source {
    fn node(&self, id: &Id) -> Result<Arc<NodeRev>> {
        self.fs.node_rev(*id)
    }

    fn node_at(&self, revision: Revnum, path: &FsPath) -> Result<Arc<NodeRev>> {
        self.fs.root(revision)?.node_at_end(path)
    }

    fn directory(&self, node: &NodeRev) -> Result<Arc<Entries>> {
        self.fs.entries(node)
    }

    fn props(&self, node: &NodeRev) -> Result<Arc<PropList>> {
        self.fs.props(node)
    }

    fn counts_mergeinfo(&self) -> bool {
        true
    }

    fn uuid(&self) -> &str {
        &self.uuid
    }
}

/// The rules' errors are those of this crate.
impl From<sapwood_txn_rules::Error> for Error {
    fn from(error: sapwood_txn_rules::Error) -> Self {
        use sapwood_core::{ErrorCode, SvnError};
        use sapwood_txn_rules::Error as Rules;
        match error {
            Rules::Svn(error) => Self::Svn(error),
            Rules::NotFound { place, path } => Self::NotFound { place, path },
            Rules::NotDirectory { place, path, fs } => {
                super::tree::not_directory(&place, &path, &fs)
            }
            Rules::Corrupt(sentence) => Self::Svn(SvnError::new(ErrorCode::FS_CORRUPT, sentence)),
        }
    }
}
