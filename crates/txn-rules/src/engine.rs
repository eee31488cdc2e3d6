//! What the rules ask of an engine: ids, node-revisions, and what is committed.

use std::fmt::{Debug, Display};
use std::hash::Hash;
use std::sync::Arc;

use sapwood_core::{FsPath, NodeKind, PropList, Revnum};

use crate::error::Error;

/// Results of this crate: errors are the engine's.
pub type Result<T, E> = std::result::Result<T, <E as Engine>::Error>;

/// The types of an engine, and how it makes ids.
pub trait Engine: Debug + Sized + 'static {
    /// Identifies a node-revision, of a revision or of a transaction.
    type Id: Copy + Eq + Hash + Debug + Display + Send + Sync;
    /// What all node-revisions of a node on one branch have in common.
    type Line: Eq;
    /// Identifies a transaction.
    type Txn: Copy + Debug + Display + Send + Sync;
    /// Says where a text or property list is stored.
    type Rep: Copy + Debug + Send + Sync;
    /// A node-revision, of a revision or of a transaction.
    type Node: NodeRevision<Self>;
    /// The entries of a directory of a revision.
    type Directory: Listing<Self>;
    /// The engine's errors.
    type Error: From<Error>;

    /// Whether a merge takes a directory to have the same entries as before when their names are the same, whatever nodes they
    /// lead to: as the reference's engine of this name does it. Otherwise they must lead to revisions of the same nodes.
    const ENTRIES_ARE_NAMES: bool;

    /// The revision in which a node-revision was made; `None` for one of a transaction.
    fn revision(id: &Self::Id) -> Option<Revnum>;

    /// The line of history that a node-revision is on, where its id says that.
    fn line(id: &Self::Id) -> Option<Self::Line>;

    /// Whether both are stored at the same place.
    fn is_same_rep(one: Self::Rep, other: Self::Rep) -> bool;

    /// The root of a new transaction: as it is in the revision, but with an id in the transaction.
    fn new_root(base: &Self::Node, txn: Self::Txn) -> Self::Node;

    /// An empty node made at `path` in the directory `parent`: it has no predecessor, and copy id and copy root of the parent.
    fn new_node(
        parent: &Self::Node,
        kind: NodeKind,
        path: Box<str>,
        ids: &mut NewIds<Self>,
    ) -> Self::Node;

    /// Makes a copy of a node-revision a successor in the transaction: the same node, a new id, and this copy id.
    fn succeed(node: &mut Self::Node, copy: CopyId<'_, Self::Node>, ids: &mut NewIds<Self>);
}

/// Which copy id a successor gets.
#[derive(Clone, Copy, Debug)]
pub enum CopyId<'a, N> {
    /// It keeps its own.
    Own,
    /// That of its parent.
    Parent(&'a N),
    /// A new one.
    New,
}

/// Numbers of a transaction that are free for new ids.
#[derive(Debug)]
pub struct NewIds<E: Engine> {
    /// The transaction.
    pub txn: E::Txn,
    /// The next node.
    pub node: u64,
    /// The next copy.
    pub copy: u64,
    /// The next item, in engines whose node-revisions are numbered by their items.
    pub item: u64,
}

impl<E: Engine> Clone for NewIds<E> {
    fn clone(&self) -> Self {
        let Self { txn, node, copy, item } = *self;
        Self { txn, node, copy, item }
    }
}

impl<E: Engine> NewIds<E> {
    /// Takes the number of a new node.
    pub const fn take_node(&mut self) -> u64 {
        let number = self.node;
        self.node = number.saturating_add(1);
        number
    }

    /// Takes the number of a new copy.
    pub const fn take_copy(&mut self) -> u64 {
        let number = self.copy;
        self.copy = number.saturating_add(1);
        number
    }

    /// Takes the number of a new item.
    pub const fn take_item(&mut self) -> u64 {
        let number = self.item;
        self.item = number.saturating_add(1);
        number
    }
}

/// A node-revision.
pub trait NodeRevision<E: Engine>: Clone + Debug + Send + Sync {
    /// Its id.
    fn id(&self) -> E::Id;
    /// The line of history that it is on.
    fn line(&self) -> E::Line;
    /// File or directory.
    fn kind(&self) -> NodeKind;
    /// The node-revision before it.
    fn predecessor(&self) -> Option<E::Id>;
    /// How many came before it.
    fn predecessor_count(&self) -> u64;
    /// Where its properties are stored.
    fn props(&self) -> Option<E::Rep>;
    /// The path at which it was made.
    fn created_path(&self) -> &FsPath;
    /// The root of the youngest copy that it is part of; no revision when that is in the transaction.
    fn copy_root(&self) -> (Option<Revnum>, &FsPath);
    /// How many nodes at and below it have `svn:mergeinfo`.
    fn mergeinfo_count(&self) -> i64;
    /// Whether it has that itself.
    fn has_mergeinfo(&self) -> bool;
    /// Whether both are revisions of one node.
    fn is_same_node(&self, other: &Self) -> bool;
    /// Whether both have the same copy id.
    fn is_same_copy(&self, other: &Self) -> bool;
    /// Whether its copy id is that of what was never copied.
    fn was_never_copied(&self) -> bool;

    /// Sets the node-revision before it, and how many came before.
    fn set_predecessor(&mut self, id: E::Id, count: u64);
    /// Sets the path at which it was made.
    fn set_created_path(&mut self, path: Box<str>);
    /// Sets the source of the copy that it is the target of.
    fn set_copy_from(&mut self, source: Option<(Revnum, Box<str>)>);
    /// Sets the root of the copy that it is part of.
    fn set_copy_root(&mut self, root: (Option<Revnum>, Box<str>));
    /// Sets how many nodes at and below it have `svn:mergeinfo`; never negative.
    fn set_mergeinfo_count(&mut self, count: i64);
    /// Sets whether it has that itself.
    fn set_has_mergeinfo(&mut self, has: bool);
    /// Sets where its text is stored.
    fn set_text(&mut self, rep: E::Rep);
}

/// The entries of a directory of a revision.
pub trait Listing<E: Engine>: Default + Debug + Send + Sync {
    /// The entry called `name`.
    fn find(&self, name: &str) -> Option<(NodeKind, E::Id)>;

    /// All entries, in the bytewise order of names.
    fn iter(&self) -> impl Iterator<Item = (&str, NodeKind, E::Id)>;
}

/// What the rules ask of a filesystem: committed nodes.
pub trait TreeSource<E: Engine>: Send + Sync + Debug {
    /// A node-revision of a revision.
    ///
    /// # Errors
    /// Corruption and system errors.
    fn node(&self, id: &E::Id) -> Result<Arc<E::Node>, E>;

    /// The node-revision at a path of a revision.
    ///
    /// # Errors
    /// As [`TreeSource::node`].
    fn node_at(&self, revision: Revnum, path: &FsPath) -> Result<Arc<E::Node>, E>;

    /// The entries of a directory. A node of a transaction has those of the text that it has not changed.
    ///
    /// # Errors
    /// As [`TreeSource::node`].
    fn directory(&self, node: &E::Node) -> Result<Arc<E::Directory>, E>;

    /// The properties of a node, as [`TreeSource::directory`].
    ///
    /// # Errors
    /// As [`TreeSource::node`].
    fn props(&self, node: &E::Node) -> Result<Arc<PropList>, E>;

    /// Whether node-revisions count the `svn:mergeinfo` below them.
    fn counts_mergeinfo(&self) -> bool;

    /// The filesystem's UUID, which messages name.
    fn uuid(&self) -> &str;
}
