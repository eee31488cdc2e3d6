//! FSX as an engine of transactions: its ids and node-revisions, as [`sapwood_txn_rules`] asks for them.
//!
//! The number of a node-revision's id is that of its item, so ids of new ones are taken from the numbers of items. Node and
//! copy are said by the node-revision alone.

use std::fmt;

use sapwood_core::exact::signed;
use sapwood_core::{FsPath, NodeKind, Revnum};
use sapwood_fsfs_format::base36::Base36;
use sapwood_fsx_format::directory::Entry;
use sapwood_fsx_format::{ChangeSet, Id, NodeRev, Representation};
use sapwood_txn_rules::{CopyId, Engine, Listing, NewIds, NodeRevision};

use crate::error::Error;
use crate::items::ROOT as ROOT_ITEM;

/// FSX.
#[derive(Clone, Copy, Debug)]
pub struct Fsx;

/// What FSX has in the place of the generic types.
pub(super) type Tree = sapwood_txn_rules::Tree<Fsx>;
pub(super) type Entries = sapwood_txn_rules::Entries<Fsx>;
pub(super) type Change = sapwood_txn_rules::Change<Fsx>;
pub(super) type ChangeList = sapwood_txn_rules::ChangeList<Fsx>;

/// The number of a transaction. `Display` is its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TxnNumber(pub(crate) u64);

impl fmt::Display for TxnNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Base36(self.0).fmt(f)
    }
}

impl TxnNumber {
    /// An id of the transaction.
    pub(super) const fn id(self, number: u64) -> Id {
        Id { change_set: ChangeSet::Txn(self.0), number }
    }
}

/// A node-revision whose copy root may be in the transaction.
#[derive(Clone, Debug)]
pub struct TxnNodeRev {
    /// The node-revision; its copy root is not looked at.
    pub(crate) rev: NodeRev,
    /// The root of the copy that it is part of; no revision when that is in the transaction.
    pub(crate) copy_root: (Option<Revnum>, Box<str>),
}

impl From<NodeRev> for TxnNodeRev {
    fn from(mut rev: NodeRev) -> Self {
        let copy_root = match rev.copy_root.take() {
            Some((revision, path)) => (Some(revision), path),
            None => (rev.id.change_set.revision(), rev.created_path.clone()),
        };
        Self { rev, copy_root }
    }
}

impl Engine for Fsx {
    type Id = Id;
    type Line = (Id, Id);
    type Txn = TxnNumber;
    type Rep = Representation;
    type Node = TxnNodeRev;
    type Directory = Directory;
    type Error = Error;

    const ENTRIES_ARE_NAMES: bool = true;

    fn revision(id: &Id) -> Option<Revnum> {
        id.change_set.revision()
    }

    fn line(_: &Id) -> Option<(Id, Id)> {
        None
    }

    fn is_same_rep(one: Representation, other: Representation) -> bool {
        one.id == other.id
    }

    fn new_root(base: &TxnNodeRev, txn: TxnNumber) -> TxnNodeRev {
        let mut root = base.clone();
        root.rev.id = txn.id(ROOT_ITEM);
        root
    }

    fn new_node(
        parent: &TxnNodeRev,
        kind: NodeKind,
        path: Box<str>,
        ids: &mut NewIds<Self>,
    ) -> TxnNodeRev {
        let node = ids.txn.id(ids.take_node());
        let rev = NodeRev {
            id: ids.txn.id(ids.take_item()),
            node,
            copy: parent.rev.copy,
            kind,
            predecessor: None,
            predecessor_count: 0,
            text: None,
            props: None,
            created_path: path,
            copy_from: None,
            copy_root: None,
            mergeinfo_count: 0,
            has_mergeinfo: false,
        };
        TxnNodeRev { rev, copy_root: parent.copy_root.clone() }
    }

    fn succeed(node: &mut TxnNodeRev, copy: CopyId<'_, TxnNodeRev>, ids: &mut NewIds<Self>) {
        node.rev.copy = match copy {
            CopyId::Own => node.rev.copy,
            CopyId::Parent(parent) => parent.rev.copy,
            CopyId::New => ids.txn.id(ids.take_copy()),
        };
        node.rev.id = ids.txn.id(ids.take_item());
    }
}

impl NodeRevision<Fsx> for TxnNodeRev {
    fn id(&self) -> Id {
        self.rev.id
    }

    fn line(&self) -> (Id, Id) {
        (self.rev.node, self.rev.copy)
    }

    fn kind(&self) -> NodeKind {
        self.rev.kind
    }

    fn predecessor(&self) -> Option<Id> {
        self.rev.predecessor
    }

    fn predecessor_count(&self) -> u64 {
        self.rev.predecessor_count
    }

    fn props(&self) -> Option<Representation> {
        self.rev.props
    }

    fn created_path(&self) -> &FsPath {
        FsPath::trusted(&self.rev.created_path)
    }

    fn copy_root(&self) -> (Option<Revnum>, &FsPath) {
        (self.copy_root.0, FsPath::trusted(&self.copy_root.1))
    }

    fn mergeinfo_count(&self) -> i64 {
        signed(self.rev.mergeinfo_count)
    }

    fn has_mergeinfo(&self) -> bool {
        self.rev.has_mergeinfo
    }

    fn is_same_node(&self, other: &Self) -> bool {
        self.rev.node == other.rev.node
    }

    fn is_same_copy(&self, other: &Self) -> bool {
        self.rev.copy == other.rev.copy
    }

    fn was_never_copied(&self) -> bool {
        self.rev.copy == Id::ROOT
    }

    fn set_predecessor(&mut self, id: Id, count: u64) {
        (self.rev.predecessor, self.rev.predecessor_count) = (Some(id), count);
    }

    fn set_created_path(&mut self, path: Box<str>) {
        self.rev.created_path = path;
    }

    fn set_copy_from(&mut self, source: Option<(Revnum, Box<str>)>) {
        self.rev.copy_from = source;
    }

    fn set_copy_root(&mut self, root: (Option<Revnum>, Box<str>)) {
        self.copy_root = root;
    }

    fn set_mergeinfo_count(&mut self, count: i64) {
        // The rules refuse negative ones.
        self.rev.mergeinfo_count = count.unsigned_abs();
    }

    fn set_has_mergeinfo(&mut self, has: bool) {
        self.rev.has_mergeinfo = has;
    }

    fn set_text(&mut self, rep: Representation) {
        self.rev.text = Some(rep);
    }
}

/// The entries of a directory of a revision, by name.
#[derive(Clone, Debug, Default)]
pub struct Directory(pub(crate) Vec<Entry>);

impl Listing<Fsx> for Directory {
    fn find(&self, name: &str) -> Option<(NodeKind, Id)> {
        let at = self.0.binary_search_by(|entry| (*entry.name).cmp(name)).ok()?;
        self.0.get(at).map(|entry| (entry.kind, entry.id))
    }

    fn iter(&self) -> impl Iterator<Item = (&str, NodeKind, Id)> {
        self.0.iter().map(|entry| (&*entry.name, entry.kind, entry.id))
    }
}
