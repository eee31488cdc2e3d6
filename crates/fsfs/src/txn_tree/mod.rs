//! The tree of a transaction, and the rules by which it changes: adding, copying, deleting, properties, merging
//! with what was committed since, and the list of changed paths.
//!
//! All of it is values in memory. What is committed is asked of a [`TreeSource`]; nothing here knows of files,
//! prototypes or texts, so that an engine brings only its own bytes: [`crate::txn`] stores texts, writes revisions
//! and transactions on disk, and asks for changes here.
//!
//! Rules that are kept: a node-revision is changed only in its transaction; to change one, all directories above
//! it are made changeable first, each a successor of what it was; node ids, copy ids, copy roots and predecessors
//! follow the reference's rules, because readers walk history by them.

mod changes;
mod merge;
mod nodes;
mod rules;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use sapwood_core::FsPath;
use sapwood_core::{PropList, Revnum};
use sapwood_fsfs_format::{Directory, IdPart, Location, NodeRev, NodeRevId, TxnId};

pub(crate) use self::changes::{Change, ChangeList};
pub(crate) use self::nodes::{Entries, TxnNode};
pub(crate) use self::rules::not_file;
use crate::error::Result;

/// The root directory's place among the nodes.
pub(crate) const ROOT: usize = 0;

/// What the rules ask of an engine: committed nodes.
pub(crate) trait TreeSource: Send + Sync + fmt::Debug {
    /// A node-revision of a revision.
    fn node(&self, id: &NodeRevId) -> Result<Arc<NodeRev>>;

    /// The node-revision at a path of a revision.
    fn node_at(&self, revision: Revnum, path: &FsPath) -> Result<Arc<NodeRev>>;

    /// The entries of a directory.
    fn directory(&self, node: &NodeRev) -> Result<Arc<Directory>>;

    /// The properties of a node.
    fn props(&self, node: &NodeRev) -> Result<Arc<PropList>>;

    /// Whether node-revisions count the `svn:mergeinfo` below them.
    fn counts_mergeinfo(&self) -> bool;

    /// The filesystem's UUID, which messages name.
    fn uuid(&self) -> &str;
}

/// The tree of a transaction.
#[derive(Debug)]
pub(crate) struct Tree {
    source: Box<dyn TreeSource>,
    pub(crate) id: TxnId,
    /// The revision it is based on now: merging moves it.
    pub(crate) base: Revnum,
    pub(crate) nodes: Vec<TxnNode>,
    /// Places in `nodes` by node id and copy id.
    pub(crate) by_id: HashMap<(IdPart, IdPart), usize>,
    pub(crate) changes: ChangeList,
    pub(crate) next_node: u64,
    pub(crate) next_copy: u64,
}

impl Tree {
    /// A tree without nodes, based on a revision.
    pub(crate) fn empty(source: Box<dyn TreeSource>, id: TxnId, base: Revnum) -> Self {
        Self {
            source,
            id,
            base,
            nodes: Vec::new(),
            by_id: HashMap::new(),
            changes: ChangeList::default(),
            next_node: 0,
            next_copy: 0,
        }
    }

    /// The tree of a revision whose root is `root`, to be changed.
    pub(crate) fn of_revision(
        source: Box<dyn TreeSource>,
        (id, base): (TxnId, Revnum),
        base_root: &NodeRev,
    ) -> Self {
        let mut tree = Self::empty(source, id, base);
        let mut root = base_root.clone();
        root.copy_root = Some(owned_copy_root(base_root));
        root.predecessor = Some(base_root.id);
        root.predecessor_count = base_root.predecessor_count.saturating_add(1);
        root.copy_from = None;
        root.id.location = Location::Txn(id);
        tree.add_node(root);
        tree
    }

    /// The next node id. Uniquifiers are taken from the same numbers.
    pub(crate) const fn take_node_number(&mut self) -> u64 {
        let number = self.next_node;
        self.next_node = number.saturating_add(1);
        number
    }

    const fn take_copy_id(&mut self) -> IdPart {
        let number = self.next_copy;
        self.next_copy = number.saturating_add(1);
        IdPart::in_txn(number)
    }

    /// An id in this transaction.
    const fn txn_id(&self, node: IdPart, copy: IdPart) -> NodeRevId {
        NodeRevId { node, copy, location: Location::Txn(self.id) }
    }
}

/// A copy root that says what an absent one stands for.
fn owned_copy_root(node: &NodeRev) -> (Option<Revnum>, Box<str>) {
    let (revision, path) = node.copy_root();
    (revision, path.into())
}

#[cfg(test)]
mod tests;
