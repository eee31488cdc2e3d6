//! The history of one path: what [`sapwood_fs_common::history`] asks of this engine, and where lines of history began.

use std::sync::Arc;

use sapwood_core::FsPath;
use sapwood_core::paths::FsPathBuf;
use sapwood_core::{ErrorCode, Revnum};
use sapwood_fs_common::history::{self, Nodes, Origin};
use sapwood_fsfs_format::{NodeRev, NodeRevId};

use crate::error::{Error, Result};
use crate::filesystem::Filesystem;
use crate::root::Root;

/// The history of one path.
pub type History = history::History<Filesystem>;

#[allow(clippy::missing_errors_doc, reason = "all: `Error` says what its variants mean")]
impl Root {
    /// The history of `path`, starting here. Only for revisions.
    pub fn history(&self, path: &FsPath) -> Result<History> {
        let Some(revision) = self.revision() else {
            return Err(Error::new(ErrorCode::FS_NOT_REVISION_ROOT, ""));
        };
        if self.kind(path)?.is_none() {
            return Err(self.not_found(path));
        }
        Ok(History::new(&self.fs, path, revision))
    }

    /// See [`history::closest_copy`].
    pub fn closest_copy(&self, path: &FsPath) -> Result<Option<(Revnum, FsPathBuf)>> {
        history::closest_copy(&self.fs, &self.walk_all(path)?, path)
    }

    /// The revision in which the line of history of the node at `path` began. E160023 for a node
    /// that was made in this transaction.
    pub fn node_origin_rev(&self, path: &FsPath) -> Result<Revnum> {
        node_origin_rev(self, path)
    }
}

impl Nodes for Filesystem {
    type Id = NodeRevId;
    type NodeRev = Arc<NodeRev>;
    type Error = Error;

    fn revision(id: &NodeRevId) -> Option<Revnum> {
        id.revision()
    }

    fn origin(node: &Arc<NodeRev>) -> Origin<'_, NodeRevId> {
        Origin {
            id: node.id,
            predecessor: node.predecessor,
            created_path: node.created_path(),
            copy_root: node.copy_root(),
            copied_from: node.copied_from(),
        }
    }

    fn is_same_node(one: &Arc<NodeRev>, other: &Arc<NodeRev>) -> bool {
        one.id.is_related(&other.id)
    }

    fn node(&self, id: &NodeRevId) -> Result<Arc<NodeRev>> {
        self.fs.node(id)
    }

    fn chain(&self, revision: Revnum, path: &FsPath) -> Result<Vec<Arc<NodeRev>>> {
        self.revision_root(revision)?.walk_all(path)
    }

    fn find(&self, revision: Revnum, path: &FsPath) -> Result<Option<Arc<NodeRev>>> {
        Ok(self.revision_root(revision)?.find(path)?.map(|node| node.rev))
    }
}

/// Where the node at `at_path` was before the closest copy.
fn before_copy(root: &Root, at_path: &FsPath) -> Result<Option<(Revnum, FsPathBuf)>> {
    let Some((copy_rev, copy_path)) = root.closest_copy(at_path)? else { return Ok(None) };
    let target = root.fs.revision_root(copy_rev)?.node(&copy_path)?;
    let found = target.copied_from().zip(at_path.below(&copy_path));
    Ok(found.map(|((revision, source), below)| (revision, source.join(below))))
}

/// See [`Root::node_origin_rev`].
fn node_origin_rev(root: &Root, at_path: &FsPath) -> Result<Revnum> {
    let node = root.node(at_path)?;
    let id = node.rev.id.node;
    let Some(made) = id.revision() else {
        return Err(Error::new(ErrorCode::FS_NOT_REVISION_ROOT, ""));
    };
    if made != Revnum::ZERO || id.number() == 0 {
        return Ok(made);
    }
    // An id of formats 1 and 2 lacks it. It may be known already.
    let fs = &root.fs.fs;
    let path = fs.file(&sapwood_fsfs_format::Layout::node_origins_file(id));
    if let Ok(bytes) = fs.storage.read(&path, 1 << 26)
        && let Ok(Some(origin)) = sapwood_fsfs_format::node_origins::find(&bytes, id)
        && let Some(revision) = origin.revision()
    {
        return Ok(revision);
    }
    // Copies of parents are rarer than changes: go back by copies first.
    let mut now = root.clone();
    let mut now_path = at_path.to_owned();
    while let Some((revision, path)) = before_copy(&now, &now_path)? {
        if revision >= now.base_revision() {
            return Err(Error::Corrupt(format!("'{now_path}' is copied from its own future")));
        }
        now = root.fs.revision_root(revision)?;
        now_path = path;
    }
    let mut rev = now.node(&now_path)?.rev;
    while let Some(id) = rev.predecessor {
        let older = fs.node(&id)?;
        if older.predecessor_count >= rev.predecessor_count {
            return Err(Error::Corrupt(format!("Predecessors of '{}' go round", rev.id)));
        }
        rev = older;
    }
    rev.id
        .revision()
        .ok_or_else(|| Error::Corrupt(format!("Predecessor '{}' is in a transaction", rev.id)))
}
