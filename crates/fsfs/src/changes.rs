//! Changed paths of a revision or transaction.

use sapwood_core::{NodeKind, Revnum};

use crate::node::NodeRevId;

/// What happened to a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// Contents or properties changed.
    Modify,
    /// Added (perhaps as a copy).
    Add,
    /// Deleted.
    Delete,
    /// Deleted and added again.
    Replace,
}

/// One changed path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedPath {
    /// The path, an fspath.
    pub path: String,
    /// What happened.
    pub kind: ChangeKind,
    /// File or directory; `None` when an old revision does not say (formats before 4).
    pub node_kind: Option<NodeKind>,
    /// Whether the text changed.
    pub text_mod: bool,
    /// Whether properties changed.
    pub prop_mod: bool,
    /// Whether `svn:mergeinfo` changed; `None` when the revision does not say (formats before 7).
    pub mergeinfo_mod: Option<bool>,
    /// Where it was copied from.
    pub copy_from: Option<(Revnum, String)>,
    /// The node-revision after the change.
    pub id: NodeRevId,
}

/// The changed paths of one revision, sorted by [`sapwood_core::path::compare`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangedPaths {
    /// The entries.
    pub entries: Box<[ChangedPath]>,
}
