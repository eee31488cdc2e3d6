//! The nodes of a transaction: those that were changed, in memory, and those of revisions that
//! it still shares.

use std::collections::BTreeMap;
use std::sync::Arc;

use sapwood_core::{NodeKind, PropList};

use crate::engine::{Engine, Listing};

/// A node-revision that was made in a transaction.
#[derive(Debug)]
pub struct TxnNode<E: Engine> {
    /// The node-revision.
    pub node: E::Node,
    /// A directory's entries, once they were changed.
    pub entries: Option<Entries<E>>,
    /// The properties, once they were changed.
    pub props: Option<PropList>,
    /// Its id in the new revision, while that is being written.
    pub final_id: Option<E::Id>,
}

impl<E: Engine> TxnNode<E> {
    /// One whose entries and properties were not changed.
    pub const fn new(node: E::Node) -> Self {
        Self { node, entries: None, props: None, final_id: None }
    }
}

impl<E: Engine> Clone for TxnNode<E> {
    fn clone(&self) -> Self {
        Self {
            node: self.node.clone(),
            entries: self.entries.clone(),
            props: self.props.clone(),
            final_id: self.final_id,
        }
    }
}

/// What became of an entry: its node, or nothing.
pub type EntryNow<E> = Option<(NodeKind, <E as Engine>::Id)>;

/// The entries of a changed directory: those it had, and what became of some of them.
#[derive(Debug)]
pub struct Entries<E: Engine> {
    /// The directory that the node's text is, as long as that is one of a revision.
    pub base: Arc<E::Directory>,
    /// What became of entries, by name.
    pub changed: BTreeMap<Box<str>, EntryNow<E>>,
}

impl<E: Engine> Default for Entries<E> {
    fn default() -> Self {
        Self { base: Arc::default(), changed: BTreeMap::new() }
    }
}

impl<E: Engine> Clone for Entries<E> {
    fn clone(&self) -> Self {
        Self { base: Arc::clone(&self.base), changed: self.changed.clone() }
    }
}

impl<E: Engine> Entries<E> {
    /// The entry called `name`.
    #[must_use]
    pub fn find(&self, name: &str) -> EntryNow<E> {
        match self.changed.get(name) {
            Some(changed) => *changed,
            None => self.base.find(name),
        }
    }

    /// All entries, in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, NodeKind, E::Id)> {
        MergedEntries { base: self.base.iter().peekable(), changed: self.changed.iter().peekable() }
    }
}

/// Both lists, in the order of names; changes win.
struct MergedEntries<B: Iterator, C: Iterator> {
    base: std::iter::Peekable<B>,
    changed: std::iter::Peekable<C>,
}

impl<'a, I: Copy + 'a, B, C> Iterator for MergedEntries<B, C>
where
    B: Iterator<Item = (&'a str, NodeKind, I)>,
    C: Iterator<Item = (&'a Box<str>, &'a Option<(NodeKind, I)>)>,
{
    type Item = (&'a str, NodeKind, I);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let order = match (self.base.peek(), self.changed.peek()) {
                (None, None) => return None,
                (Some(_), None) => std::cmp::Ordering::Less,
                (None, Some(_)) => std::cmp::Ordering::Greater,
                (Some((base, ..)), Some((name, _))) => (**base).cmp(name),
            };
            if order.is_le() {
                let base = self.base.next();
                if order.is_lt() {
                    return base;
                }
            }
            if let Some((name, Some((kind, id)))) = self.changed.next() {
                return Some((name, *kind, *id));
            }
        }
    }
}

/// A node that a path of the transaction leads to.
#[derive(Debug)]
pub enum Dag<E: Engine> {
    /// One of a revision.
    Rev(Arc<E::Node>),
    /// One of the transaction: its place.
    Txn(usize),
}

impl<E: Engine> Clone for Dag<E> {
    fn clone(&self) -> Self {
        match self {
            Self::Rev(node) => Self::Rev(Arc::clone(node)),
            Self::Txn(at) => Self::Txn(*at),
        }
    }
}
