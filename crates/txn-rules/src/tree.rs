//! The tree of a transaction: its nodes, its list of changes, and the numbers that are free in it.

use std::collections::HashMap;

use sapwood_core::{Exact, FsPath, Revnum};

use crate::changes::ChangeList;
use crate::engine::{Engine, NewIds, NodeRevision, Result, TreeSource};
use crate::error::Error;
use crate::nodes::TxnNode;

/// The root directory's place among the nodes.
pub const ROOT: usize = 0;

/// The tree of a transaction.
#[derive(Debug)]
pub struct Tree<E: Engine> {
    pub(crate) source: Box<dyn TreeSource<E>>,
    /// The transaction, and the numbers that are free in it.
    pub ids: NewIds<E>,
    /// The revision it is based on now: merging moves it.
    pub base: Revnum,
    /// The nodes that the transaction made; the first is the root.
    pub nodes: Vec<TxnNode<E>>,
    /// Places in `nodes` by ids.
    by_id: HashMap<E::Id, usize>,
    /// What was changed.
    pub changes: ChangeList<E>,
}

/// A tree of a transaction as it was at some time.
#[derive(Debug)]
pub struct SavedTree<E: Engine> {
    ids: NewIds<E>,
    base: Revnum,
    nodes: Vec<TxnNode<E>>,
    by_id: HashMap<E::Id, usize>,
    changes: ChangeList<E>,
}

impl<E: Engine> Tree<E> {
    /// A tree without nodes, based on a revision.
    #[must_use]
    pub fn empty(source: Box<dyn TreeSource<E>>, txn: E::Txn, base: Revnum) -> Self {
        Self {
            source,
            ids: NewIds { txn, node: 0, copy: 0, item: 0 },
            base,
            nodes: Vec::new(),
            by_id: HashMap::new(),
            changes: ChangeList::default(),
        }
    }

    /// The tree of a revision whose root is `base_root`, to be changed.
    #[must_use]
    pub fn of_revision(
        source: Box<dyn TreeSource<E>>,
        (txn, base): (E::Txn, Revnum),
        base_root: &E::Node,
    ) -> Self {
        let mut tree = Self::empty(source, txn, base);
        let mut root = E::new_root(base_root, txn);
        root.set_copy_root(owned_copy_root(base_root));
        root.set_predecessor(base_root.id(), base_root.predecessor_count().saturating_add(1));
        root.set_copy_from(None);
        tree.add_node(root);
        tree
    }

    /// The transaction.
    #[must_use]
    pub const fn txn(&self) -> E::Txn {
        self.ids.txn
    }

    /// Adds a node: its place.
    pub fn add_node(&mut self, node: E::Node) -> usize {
        let at = self.nodes.len();
        self.by_id.insert(node.id(), at);
        self.nodes.push(TxnNode::new(node));
        at
    }

    /// The tree as it is now, to go back to.
    #[must_use]
    pub fn save(&self) -> SavedTree<E> {
        SavedTree {
            ids: self.ids.clone(),
            base: self.base,
            nodes: self.nodes.clone(),
            by_id: self.by_id.clone(),
            changes: self.changes.clone(),
        }
    }

    /// Makes it again what it was when it was saved.
    pub fn restore(&mut self, saved: SavedTree<E>) {
        let SavedTree { ids, base, nodes, by_id, changes } = saved;
        (self.ids, self.base) = (ids, base);
        (self.nodes, self.by_id, self.changes) = (nodes, by_id, changes);
    }

    /// Forgets nodes and changes, which are written: what a revision that waits to be published still needs is not here.
    pub fn forget_nodes(&mut self) {
        self.nodes = Vec::new();
        self.by_id = HashMap::new();
        self.changes = ChangeList::default();
    }

    /// Refuses a root with another number of predecessors than one more than that of the revision before.
    ///
    /// # Errors
    /// E160004 says both numbers; those of the source.
    pub fn check_root_count(&self, found: u64) -> Result<(), E> {
        let before = self.source.node_at(self.base, FsPath::ROOT)?.predecessor_count();
        if before.checked_add(1) == Some(found) {
            return Ok(());
        }
        Err(Error::Corrupt(format!(
            "predecessor count for the root node-revision is wrong: found ({before}+1 != {found}), \
             committing r{}",
            self.base.next()
        ))
        .into())
    }

    /// The place of a node-revision of the transaction.
    #[must_use]
    pub fn place_of(&self, id: &E::Id) -> Option<usize> {
        self.by_id.get(id).copied()
    }

    /// The transaction's nodes that are part of its tree, children before parents.
    ///
    /// # Errors
    /// E160004 for a node that is below itself.
    pub fn post_order(&self) -> Result<Vec<usize>, E> {
        let mut order = Vec::new();
        let mut todo = vec![(ROOT, false)];
        while let Some((at, seen)) = todo.pop() {
            if seen {
                order.push(at);
                continue;
            }
            todo.push((at, true));
            let Some(entries) = &self.txn_node(at)?.entries else { continue };
            for (_, id) in entries.changed.values().rev().flatten() {
                if let Some(child) = self.place_of(id) {
                    todo.push((child, false));
                }
            }
            // Each node has one place in the tree, or the tree is none.
            if order.len().plus(todo.len()) > self.nodes.len().times(2) {
                return Err(Error::Corrupt("Transaction's tree has a cycle".into()).into());
            }
        }
        Ok(order)
    }
}

/// A copy root that says what an absent one stands for.
pub(crate) fn owned_copy_root<E: Engine>(
    node: &impl NodeRevision<E>,
) -> (Option<Revnum>, Box<str>) {
    let (revision, path) = node.copy_root();
    (revision, path.into())
}
