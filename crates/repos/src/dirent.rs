//! What is told about one node in listings.

use std::sync::Arc;

use sapwood_core::{NodeKind, PropList, Revnum};
use sapwood_fsfs::{Filesystem, Node, Root};

use crate::error::Result;

/// What `stat`, `get-dir` and `list` tell about a node.
#[derive(Clone, Debug)]
pub struct Dirent {
    /// File or directory.
    pub kind: NodeKind,
    /// Length of a file in bytes; `None` (-1 in the reference) for directories.
    pub size: Option<u64>,
    /// Whether the node has properties.
    pub has_props: bool,
    /// When and by whom the node was last changed.
    pub committed: CommittedInfo,
}

/// When and by whom a node was last changed. Holds the revision's properties as cached.
#[derive(Clone, Debug)]
pub struct CommittedInfo {
    /// The revision.
    pub revision: Revnum,
    /// All of its properties.
    pub revprops: Arc<PropList>,
}

impl CommittedInfo {
    /// `svn:date` as stored.
    #[must_use]
    pub fn date(&self) -> Option<&str> {
        self.revprops.get_str(sapwood_core::props::names::DATE)
    }

    /// `svn:author` as stored.
    #[must_use]
    pub fn author(&self) -> Option<&str> {
        self.revprops.get_str(sapwood_core::props::names::AUTHOR)
    }
}

/// When and by whom `node` (of a revision, not a transaction) was last changed.
///
/// # Errors
/// Corruption and system errors.
#[allow(unused_variables)]
pub fn committed_info(fs: &Filesystem, node: &Node) -> Result<CommittedInfo> {
    todo!()
}

/// What is at `path`; `None` when nothing is.
///
/// # Errors
/// Corruption and system errors.
#[allow(unused_variables)]
pub fn stat(root: &Root, path: &str) -> Result<Option<Dirent>> {
    todo!()
}

/// [`stat`] of a node at hand.
///
/// # Errors
/// Corruption and system errors.
#[allow(unused_variables)]
pub fn stat_node(fs: &Filesystem, node: &Node) -> Result<Dirent> {
    todo!()
}
