//! One file or directory of a tree.

use std::sync::Arc;

use sapwood_core::{Md5, NodeKind, PropList, Revnum, Sha1};

use crate::contents::{Contents, ContentsDelta};
use crate::directory::Directory;
use crate::error::Result;

/// The identity of a node-revision, opaque outside this crate; `Display` is the reference's text
/// form (`0.0.r3/45`, `_1.0.t3-1`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NodeRevId {}

impl std::fmt::Display for NodeRevId {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        todo!()
    }
}

/// How two node-revisions relate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// The same node-revision.
    Unchanged,
    /// One history.
    Common,
    /// Nothing in common.
    Unrelated,
}

/// One file or directory of a [`crate::Root`], with the path it was reached by.
#[derive(Clone, Debug)]
pub struct Node {}

#[allow(clippy::missing_errors_doc, unused_variables)]
impl Node {
    /// The fspath by which the node was reached.
    #[must_use]
    pub fn path(&self) -> &str {
        todo!()
    }
    /// File or directory.
    #[must_use]
    pub fn kind(&self) -> NodeKind {
        todo!()
    }
    /// The node-revision.
    #[must_use]
    pub fn id(&self) -> NodeRevId {
        todo!()
    }
    /// How this node relates to another of the same filesystem.
    #[must_use]
    pub fn relation(&self, other: &Self) -> Relation {
        todo!()
    }
    /// The revision in which this node-revision was made; `None` in a transaction.
    #[must_use]
    pub fn created_rev(&self) -> Option<Revnum> {
        todo!()
    }
    /// The path at which this node-revision was made.
    #[must_use]
    pub fn created_path(&self) -> &str {
        todo!()
    }
    /// The properties.
    pub fn props(&self) -> Result<Arc<PropList>> {
        todo!()
    }
    /// Whether there are any properties, without reading them where possible.
    pub fn has_props(&self) -> Result<bool> {
        todo!()
    }
    /// A directory's entries; E160016 for a file.
    pub fn entries(&self) -> Result<Arc<Directory>> {
        todo!()
    }
    /// The child called `name` of a directory.
    pub fn child(&self, name: &str) -> Result<Option<Self>> {
        todo!()
    }
    /// The length of a file's contents in bytes.
    pub fn length(&self) -> Result<u64> {
        todo!()
    }
    /// The MD5 of a file's contents.
    pub fn md5(&self) -> Result<Md5> {
        todo!()
    }
    /// The SHA-1 of a file's contents, where it is recorded.
    pub fn sha1(&self) -> Result<Option<Sha1>> {
        todo!()
    }
    /// A file's contents.
    pub fn contents(&self) -> Result<Contents> {
        todo!()
    }
    /// The delta from `source` (nothing, when `None`) to this file's contents.
    pub fn delta_from(&self, source: Option<&Self>) -> Result<ContentsDelta> {
        todo!()
    }
    /// Whether both are known to have the same contents, by representation (false may still
    /// mean equal texts), as the reference's strict and quick comparisons need it.
    pub fn same_contents_rep(&self, other: &Self) -> bool {
        todo!()
    }
    /// Whether the contents differ, compared in full where representations do not tell.
    pub fn contents_differ(&self, other: &Self) -> Result<bool> {
        todo!()
    }
    /// The same as [`Node::same_contents_rep`] for properties.
    pub fn same_props_rep(&self, other: &Self) -> bool {
        todo!()
    }
    /// Where this very node-revision was copied from.
    #[must_use]
    pub fn copied_from(&self) -> Option<(Revnum, &str)> {
        todo!()
    }
    /// The node-revision before this one (without path knowledge: its path is its created path).
    pub fn predecessor(&self) -> Result<Option<Self>> {
        todo!()
    }
    /// How many predecessors there are.
    #[must_use]
    pub fn predecessor_count(&self) -> u64 {
        todo!()
    }
    /// Whether the node itself has `svn:mergeinfo`.
    #[must_use]
    pub fn has_mergeinfo(&self) -> bool {
        todo!()
    }
    /// How many nodes at and below this one have `svn:mergeinfo`.
    #[must_use]
    pub fn mergeinfo_count(&self) -> u64 {
        todo!()
    }
}
