//! One tree: a revision, or a transaction. And the history of what is in it.

use std::sync::Arc;

use sapwood_core::paths::{FsPathBuf, SharedFsPath};
use sapwood_core::{CancelToken, FsPath, NodeKind, Revnum};

use crate::ChangedPaths;
use crate::backend::{self, Backend};
use crate::callbacks::ReadProps;
use crate::directory::NodeId;
use crate::error::Result;
use crate::filesystem::Filesystem;
use crate::node::Node;
use crate::of::{OfHistory, each, of};

/// The tree of a revision or of a transaction. Paths are canonical fspaths.
#[derive(Clone, Debug)]
pub struct Root {
    pub(crate) fs: Filesystem,
    pub(crate) of: of!(Root),
}

#[allow(clippy::missing_errors_doc, reason = "each fails as its engine does: `Error` says how")]
impl Filesystem {
    /// The tree of a revision; E160006 when there is no such revision.
    pub fn revision_root(&self, revision: Revnum) -> Result<Root> {
        let of = each!(&self.0, fs, wrap => wrap(Backend::revision_root(fs, revision)?));
        Ok(Root { fs: self.clone(), of })
    }

    /// The tree of a transaction; E160007 when there is none of that name.
    pub fn txn_root(&self, name: &str) -> Result<Root> {
        let of = each!(&self.0, fs, wrap => wrap(Backend::txn_root(fs, name)?));
        Ok(Root { fs: self.clone(), of })
    }
}

#[allow(clippy::missing_errors_doc, reason = "each fails as its engine does: `Error` says how")]
impl Root {
    /// The filesystem.
    #[must_use]
    pub const fn fs(&self) -> &Filesystem {
        &self.fs
    }

    /// The revision; `None` for a transaction.
    #[must_use]
    pub fn revision(&self) -> Option<Revnum> {
        each!(&self.of, root => backend::Root::revision(root))
    }

    /// The revision, or the one that the transaction is based on.
    #[must_use]
    pub fn base_revision(&self) -> Revnum {
        each!(&self.of, root => backend::Root::base_revision(root))
    }

    /// The transaction's name; `None` for a revision.
    #[must_use]
    pub fn txn_name(&self) -> Option<&str> {
        each!(&self.of, root => backend::Root::txn_name(root))
    }

    /// Drops the large directories on the path to the last look-up. While a request
    /// goes on they are held, whatever the cache does, because the next path is mostly beside the
    /// last one; a caller that keeps a root for as long as a client is connected calls this in between.
    pub fn rest(&self) {
        each!(&self.of, root => backend::Root::rest(root));
    }

    /// The node at `path`; E160013 when there is none, E160016 when a parent is a file.
    pub fn node(&self, path: &FsPath) -> Result<Node> {
        Ok(Node(each!(&self.of, root, wrap => wrap(backend::Root::node(root, path)?))))
    }

    /// The node at `path`, `None` when there is none (also below a file).
    pub fn find(&self, path: &FsPath) -> Result<Option<Node>> {
        Ok(each!(&self.of, root, wrap => backend::Root::find(root, path)?.map(wrap)).map(Node))
    }

    /// What `path` leads to.
    pub fn kind(&self, path: &FsPath) -> Result<Option<NodeKind>> {
        each!(&self.of, root => backend::Root::kind(root, path))
    }

    /// The node at `path` or above it that is the nearest with explicit mergeinfo, of `path` itself
    /// or only of its parents; `None` when there is none, E160013 when there is no `path`.
    pub fn nearest_mergeinfo(&self, path: &FsPath, parents_only: bool) -> Result<Option<Node>> {
        let found = each!(&self.of, root, wrap => {
            backend::Root::nearest_mergeinfo(root, path, parents_only)?.map(wrap)
        });
        Ok(found.map(Node))
    }

    /// Shows the parents of `path` to `each`, the nearest first: the fspath, and a way to its
    /// properties. E160013 when there is no parent.
    pub fn parents(
        &self,
        path: &FsPath,
        each: &mut dyn FnMut(&FsPath, ReadProps<'_>) -> Result<()>,
    ) -> Result<()> {
        each!(&self.of, root => backend::Root::parents(root, path, each))
    }

    /// What this revision or transaction changed.
    pub fn changed_paths(&self) -> Result<Arc<ChangedPaths>> {
        each!(&self.of, root => backend::Root::changed_paths(root))
    }

    /// Explicit `svn:mergeinfo` at and below `path`: calls `found` with each fspath and value,
    /// reading only subtrees that have any.
    pub fn mergeinfo_below(
        &self,
        path: &FsPath,
        cancel: &CancelToken,
        found: &mut dyn FnMut(&FsPath, &[u8]) -> Result<()>,
    ) -> Result<()> {
        each!(&self.of, root => backend::Root::mergeinfo_below(root, path, cancel, found))
    }

    /// Checks the tree's structure: kinds, ids and counts of what lies below.
    pub fn verify(&self) -> Result<()> {
        each!(&self.of, root => backend::Root::verify(root))
    }

    /// The history of `path`, starting here. Only for revisions.
    pub fn history(&self, path: &FsPath) -> Result<History> {
        Ok(History(each!(&self.of, root, wrap => wrap(backend::Root::history(root, path)?))))
    }

    /// The youngest copy at or above `path` in its history: revision and path of the copy's
    /// target (`svn_fs_closest_copy`).
    pub fn closest_copy(&self, path: &FsPath) -> Result<Option<(Revnum, FsPathBuf)>> {
        each!(&self.of, root => backend::Root::closest_copy(root, path))
    }

    /// The revision in which the line of history of the node at `path` began. E160023 for a node
    /// that was made in this transaction.
    pub fn node_origin_rev(&self, path: &FsPath) -> Result<Revnum> {
        each!(&self.of, root => backend::Root::node_origin_rev(root, path))
    }
}

/// The history of one path, interesting places only, youngest first.
#[derive(Debug)]
pub struct History(OfHistory);

impl History {
    /// The next older place: the path there, and the revision. `None` at the end, and, unless
    /// `cross_copies`, where the node was copied from another path.
    ///
    /// # Errors
    /// Corruption and system errors.
    pub fn previous(&mut self, cross_copies: bool) -> Result<Option<(FsPathBuf, Revnum)>> {
        Ok(self.step(cross_copies)?.map(|(path, revision)| (path.as_path().to_owned(), revision)))
    }

    /// As [`History::previous`], the path shared instead of copied.
    ///
    /// # Errors
    /// Corruption and system errors.
    pub fn step(&mut self, cross_copies: bool) -> Result<Option<(SharedFsPath, Revnum)>> {
        Ok(each!(&mut self.0, history => history.step(cross_copies)?))
    }

    /// The node-revision at the place that was returned last, when it is known without a walk from the
    /// root: that is so wherever no copy is near.
    #[must_use]
    pub fn id(&self) -> Option<NodeId> {
        Some(NodeId(each!(&self.0, history, wrap => wrap(history.id()?))))
    }
}
