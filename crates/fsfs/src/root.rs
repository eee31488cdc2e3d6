//! One tree: a revision, or a transaction.

use std::sync::Arc;

use sapwood_core::{NodeKind, Revnum};

use crate::changes::ChangedPaths;
use crate::error::Result;
use crate::filesystem::Filesystem;
use crate::history::History;
use crate::node::Node;

/// The tree of a revision or of a transaction. Paths are canonical fspaths.
#[derive(Clone, Debug)]
pub struct Root {}

#[allow(clippy::missing_errors_doc, unused_variables)]
impl Root {
    /// The filesystem.
    #[must_use]
    pub fn fs(&self) -> &Filesystem {
        todo!()
    }
    /// The revision; `None` for a transaction.
    #[must_use]
    pub fn revision(&self) -> Option<Revnum> {
        todo!()
    }
    /// The revision, or the one that the transaction is based on.
    #[must_use]
    pub fn base_revision(&self) -> Revnum {
        todo!()
    }
    /// The transaction's name; `None` for a revision.
    #[must_use]
    pub fn txn_name(&self) -> Option<&str> {
        todo!()
    }
    /// The node at `path`; E160013 when there is none, E160016 when a parent is a file.
    pub fn node(&self, path: &str) -> Result<Node> {
        todo!()
    }
    /// The node at `path`, `None` when there is none (also below a file).
    pub fn find(&self, path: &str) -> Result<Option<Node>> {
        todo!()
    }
    /// What `path` leads to.
    pub fn kind(&self, path: &str) -> Result<Option<NodeKind>> {
        todo!()
    }
    /// What this revision or transaction changed.
    pub fn changed_paths(&self) -> Result<Arc<ChangedPaths>> {
        todo!()
    }
    /// The history of `path`, starting here. Only for revisions.
    pub fn history(&self, path: &str) -> Result<History> {
        todo!()
    }
    /// The youngest copy at or above `path` in its history: revision and path of the copy's
    /// target (`svn_fs_closest_copy`).
    pub fn closest_copy(&self, path: &str) -> Result<Option<(Revnum, String)>> {
        todo!()
    }
    /// The revision in which the line of history of the node at `path` began.
    pub fn node_origin_rev(&self, path: &str) -> Result<Revnum> {
        todo!()
    }
    /// Explicit `svn:mergeinfo` at and below `path`: calls `found` with each fspath and value,
    /// reading only subtrees that have any.
    pub fn mergeinfo_below(
        &self,
        path: &str,
        found: &mut dyn FnMut(&str, &[u8]) -> Result<()>,
    ) -> Result<()> {
        todo!()
    }
}
