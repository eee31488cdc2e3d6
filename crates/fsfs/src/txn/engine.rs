//! FSFS as an engine of transactions: its ids and node-revisions, as [`sapwood_txn_rules`] asks for them.
//!
//! An id names the node, the line of copies, and the item of a revision or the transaction.

use sapwood_core::{FsPath, NodeKind, Revnum};
use sapwood_fsfs_format::{Directory, IdPart, Location, NodeRev, NodeRevId, Representation, TxnId};
use sapwood_txn_rules::{CopyId, Engine, Listing, NewIds, NodeRevision};

use crate::error::Error;

/// FSFS.
#[derive(Clone, Copy, Debug)]
pub struct Fsfs;

/// What FSFS has in the place of the generic types.
pub(super) type Tree = sapwood_txn_rules::Tree<Fsfs>;
pub(super) type TxnNode = sapwood_txn_rules::TxnNode<Fsfs>;
pub(super) type Entries = sapwood_txn_rules::Entries<Fsfs>;
pub(super) type Change = sapwood_txn_rules::Change<Fsfs>;
pub(super) type ChangeList = sapwood_txn_rules::ChangeList<Fsfs>;

impl Engine for Fsfs {
    type Id = NodeRevId;
    type Line = (IdPart, IdPart);
    type Txn = TxnId;
    type Rep = Representation;
    type Node = NodeRev;
    type Directory = Directory;
    type Error = Error;

    const ENTRIES_ARE_NAMES: bool = false;

    fn revision(id: &NodeRevId) -> Option<Revnum> {
        id.revision()
    }

    fn line(id: &NodeRevId) -> Option<(IdPart, IdPart)> {
        Some((id.node, id.copy))
    }

    fn is_same_rep(one: Representation, other: Representation) -> bool {
        one.location == other.location
    }

    fn new_root(base: &NodeRev, txn: TxnId) -> NodeRev {
        let id = NodeRevId { location: Location::Txn(txn), ..base.id };
        NodeRev { id, ..base.clone() }
    }

    fn new_node(
        parent: &NodeRev,
        kind: NodeKind,
        path: Box<str>,
        ids: &mut NewIds<Self>,
    ) -> NodeRev {
        let node = IdPart::in_txn(ids.take_node());
        let (revision, root) = parent.copy_root();
        NodeRev {
            id: NodeRevId { node, copy: parent.id.copy, location: Location::Txn(ids.txn) },
            kind,
            predecessor: None,
            predecessor_count: 0,
            text: None,
            props: None,
            created_path: path,
            copy_from: None,
            copy_root: Some((revision, root.into())),
            is_fresh_txn_root: false,
            mergeinfo_count: 0,
            has_mergeinfo: false,
        }
    }

    fn succeed(node: &mut NodeRev, copy: CopyId<'_, NodeRev>, ids: &mut NewIds<Self>) {
        node.id.copy = match copy {
            CopyId::Own => node.id.copy,
            CopyId::Parent(parent) => parent.id.copy,
            CopyId::New => IdPart::in_txn(ids.take_copy()),
        };
        node.id.location = Location::Txn(ids.txn);
        node.is_fresh_txn_root = false;
    }
}

impl NodeRevision<Fsfs> for NodeRev {
    fn id(&self) -> NodeRevId {
        self.id
    }

    fn line(&self) -> (IdPart, IdPart) {
        (self.id.node, self.id.copy)
    }

    fn kind(&self) -> NodeKind {
        self.kind
    }

    fn predecessor(&self) -> Option<NodeRevId> {
        self.predecessor
    }

    fn predecessor_count(&self) -> u64 {
        self.predecessor_count
    }

    fn props(&self) -> Option<Representation> {
        self.props
    }

    fn created_path(&self) -> &FsPath {
        Self::created_path(self)
    }

    fn copy_root(&self) -> (Option<Revnum>, &FsPath) {
        Self::copy_root(self)
    }

    fn mergeinfo_count(&self) -> i64 {
        self.mergeinfo_count
    }

    fn has_mergeinfo(&self) -> bool {
        self.has_mergeinfo
    }

    fn is_same_node(&self, other: &Self) -> bool {
        self.id.is_related(&other.id)
    }

    fn is_same_copy(&self, other: &Self) -> bool {
        self.id.copy == other.id.copy
    }

    fn was_never_copied(&self) -> bool {
        self.id.copy.is_root()
    }

    fn set_predecessor(&mut self, id: NodeRevId, count: u64) {
        (self.predecessor, self.predecessor_count) = (Some(id), count);
    }

    fn set_created_path(&mut self, path: Box<str>) {
        self.created_path = path;
    }

    fn set_copy_from(&mut self, source: Option<(Revnum, Box<str>)>) {
        self.copy_from = source;
    }

    fn set_copy_root(&mut self, root: (Option<Revnum>, Box<str>)) {
        self.copy_root = Some(root);
    }

    fn set_mergeinfo_count(&mut self, count: i64) {
        self.mergeinfo_count = count;
    }

    fn set_has_mergeinfo(&mut self, has: bool) {
        self.has_mergeinfo = has;
    }

    fn set_text(&mut self, rep: Representation) {
        self.text = Some(rep);
    }
}

impl Listing<Fsfs> for Directory {
    fn find(&self, name: &str) -> Option<(NodeKind, NodeRevId)> {
        Self::find(self, name).map(|entry| (entry.kind, entry.id))
    }

    fn iter(&self) -> impl Iterator<Item = (&str, NodeKind, NodeRevId)> {
        Self::iter(self).map(|entry| (entry.name, entry.kind, entry.id))
    }
}
