//! The history of one path: what [`sapwood_fs_common::history`] asks of this engine.

use std::sync::Arc;

use sapwood_core::paths::FsPathBuf;
use sapwood_core::{ErrorCode, FsPath, Revnum, SvnError};
use sapwood_fs_common::history::{self, Nodes, Origin};
use sapwood_fsx_format::{Id, NodeRev};

use crate::error::{Error, Result};
use crate::filesystem::Filesystem;
use crate::tree::Root;

/// The history of one path.
pub type History = history::History<Filesystem>;

#[allow(clippy::missing_errors_doc, reason = "all: `Error` says what its variants mean")]
impl Root {
    /// The history of `path`, starting here.
    pub fn history(&self, path: &FsPath) -> Result<History> {
        if self.kind(path)?.is_none() {
            return Err(self.not_found(path));
        }
        Ok(History::new(&self.fs, path, self.revision))
    }

    /// See [`history::closest_copy`].
    pub fn closest_copy(&self, path: &FsPath) -> Result<Option<(Revnum, FsPathBuf)>> {
        history::closest_copy(&self.fs, &self.walk_all(path)?, path)
    }

    /// The revision in which the line of history of the node at `path` began.
    pub fn node_origin_rev(&self, path: &FsPath) -> Result<Revnum> {
        let node = self.node(path)?.rev.node;
        node.change_set
            .revision()
            .ok_or_else(|| SvnError::new(ErrorCode::FS_NOT_REVISION_ROOT, "").into())
    }
}

impl Nodes for Filesystem {
    type Id = Id;
    type NodeRev = Arc<NodeRev>;
    type Error = Error;

    fn revision(id: &Id) -> Option<Revnum> {
        id.change_set.revision()
    }

    fn origin(node: &Arc<NodeRev>) -> Origin<'_, Id> {
        // Paths of node-revisions were found canonical when they were read.
        let created_path = FsPath::trusted(&node.created_path);
        let copied_from = node.copy_from.as_ref();
        Origin {
            id: node.id,
            predecessor: node.predecessor,
            created_path,
            copy_root: match &node.copy_root {
                Some((revision, path)) => (Some(*revision), FsPath::trusted(path)),
                None => (node.id.change_set.revision(), created_path),
            },
            copied_from: copied_from.map(|(revision, path)| (*revision, FsPath::trusted(path))),
        }
    }

    fn is_same_node(one: &Arc<NodeRev>, other: &Arc<NodeRev>) -> bool {
        one.node == other.node
    }

    fn node(&self, id: &Id) -> Result<Arc<NodeRev>> {
        self.node_rev(*id)
    }

    fn chain(&self, revision: Revnum, path: &FsPath) -> Result<Vec<Arc<NodeRev>>> {
        self.revision_root(revision)?.walk_all(path)
    }

    fn find(&self, revision: Revnum, path: &FsPath) -> Result<Option<Arc<NodeRev>>> {
        Ok(self.revision_root(revision)?.find(path)?.map(|node| node.rev))
    }
}
