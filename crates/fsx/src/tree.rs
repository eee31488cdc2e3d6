//! Trees of revisions: look-up by path.

use std::sync::Arc;

use sapwood_core::paths::SharedFsPath;
use sapwood_core::{ErrorCode, Exact, FsPath, NodeKind, Revnum, SvnError};
use sapwood_fsx_format::{ChangeSet, Id, NodeRev};

use crate::error::{Error, Result};
use crate::filesystem::Filesystem;
use crate::items::ROOT;
use crate::node::Node;

/// The tree of a revision or of a transaction on disk. Paths are canonical fspaths.
#[derive(Clone, Debug)]
pub struct Root {
    pub(crate) fs: Filesystem,
    /// That of the tree, or the one that the transaction is based on.
    pub(crate) revision: Revnum,
    txn: Option<Arc<str>>,
    dir: Arc<NodeRev>,
}

/// Why a walk ended early.
enum Miss {
    NotFound,
    /// A parent is a file: the bytes of the path that lead to it.
    NotDirectory(usize),
}

#[allow(clippy::missing_errors_doc, reason = "all: `Error` says what its variants mean")]
impl Filesystem {
    /// The tree of a revision; E160006 when there is no such revision.
    pub fn revision_root(&self, revision: Revnum) -> Result<Root> {
        self.ensure_exists(revision)?;
        let id = Id { change_set: ChangeSet::Revision(revision), number: ROOT };
        Ok(Root { fs: self.clone(), revision, txn: None, dir: self.node_rev(id)? })
    }

    /// The node-revision `id`, which `path` leads to in the revision that made it.
    pub fn node_at(&self, path: &SharedFsPath, id: Id) -> Result<Node> {
        Ok(Node { fs: self.clone(), path: path.clone(), rev: self.node_rev(id)? })
    }
}

#[allow(clippy::missing_errors_doc, reason = "all: `Error` says what its variants mean")]
impl Root {
    pub(crate) fn of_txn(fs: &Filesystem, name: &str, base: Revnum, dir: Arc<NodeRev>) -> Self {
        Self { fs: fs.clone(), revision: base, txn: Some(name.into()), dir }
    }

    /// The filesystem.
    #[must_use]
    pub const fn fs(&self) -> &Filesystem {
        &self.fs
    }

    /// The revision; `None` for a transaction.
    #[must_use]
    pub fn revision(&self) -> Option<Revnum> {
        self.txn.is_none().then_some(self.revision)
    }

    /// The revision, or the one that the transaction is based on.
    #[must_use]
    pub const fn base_revision(&self) -> Revnum {
        self.revision
    }

    /// The transaction's name; `None` for a revision.
    #[must_use]
    pub fn txn_name(&self) -> Option<&str> {
        self.txn.as_deref()
    }

    /// What it is, for messages.
    fn place(&self) -> String {
        match &self.txn {
            Some(name) => format!("transaction '{name}'"),
            None => format!("revision {}", self.revision),
        }
    }

    pub(crate) fn not_found(&self, path: &FsPath) -> Error {
        if self.txn.is_some() {
            let message = format!("File not found: {}, path '{path}'", self.place());
            return Error::new(ErrorCode::FS_NOT_FOUND, message);
        }
        Error::NotFound { revision: self.revision, path: path.as_str().to_owned() }
    }

    fn to_error(&self, path: &FsPath, miss: &Miss) -> Error {
        match miss {
            Miss::NotFound => self.not_found(path),
            Miss::NotDirectory(len) => {
                let file = path.get(..*len).unwrap_or(path.as_str());
                let uuid = self.fs.uuid();
                let message = format!("'{file}' is not a directory in filesystem '{uuid}'");
                Error::Svn(
                    SvnError::new(ErrorCode::FS_NOT_DIRECTORY, message)
                        .context(format!("Failure opening '{file}' in {}", self.place())),
                )
            }
        }
    }

    /// Walks down `path`, showing each node-revision below the root to `visit`. The node-revision
    /// at the end, or how far it went.
    fn walk(
        &self,
        path: &FsPath,
        mut visit: impl FnMut(&Arc<NodeRev>),
    ) -> Result<std::result::Result<Arc<NodeRev>, Miss>> {
        let mut here = Arc::clone(&self.dir);
        let mut done = 0usize;
        for name in path.names() {
            if here.kind != NodeKind::Dir {
                return Ok(Err(Miss::NotDirectory(done)));
            }
            let entries = self.fs.directory(&here)?;
            let Some(entry) = entries.find(name) else { return Ok(Err(Miss::NotFound)) };
            here = self.fs.node_rev(entry.id)?;
            visit(&here);
            done = done.plus(name.len()).plus(1);
        }
        Ok(Ok(here))
    }

    fn located(&self, path: &FsPath, rev: Arc<NodeRev>) -> Node {
        Node { fs: self.fs.clone(), path: path.into(), rev }
    }

    /// The node at `path`; E160013 when there is none, E160016 when a parent is a file.
    pub fn node(&self, path: &FsPath) -> Result<Node> {
        match self.walk(path, |_| {})? {
            Ok(rev) => Ok(self.located(path, rev)),
            Err(miss) => Err(self.to_error(path, &miss)),
        }
    }

    /// The node at `path`, `None` when there is none (also below a file).
    pub fn find(&self, path: &FsPath) -> Result<Option<Node>> {
        Ok(self.walk(path, |_| {})?.ok().map(|rev| self.located(path, rev)))
    }

    /// What `path` leads to.
    pub fn kind(&self, path: &FsPath) -> Result<Option<NodeKind>> {
        Ok(self.walk(path, |_| {})?.ok().map(|rev| rev.kind))
    }

    /// All node-revisions from the root directory down to `path`.
    pub(crate) fn walk_all(&self, path: &FsPath) -> Result<Vec<Arc<NodeRev>>> {
        let mut all = vec![Arc::clone(&self.dir)];
        match self.walk(path, |rev| all.push(Arc::clone(rev)))? {
            Ok(_) => Ok(all),
            Err(miss) => Err(self.to_error(path, &miss)),
        }
    }

    /// The nodes from `path` up to the root directory; E160013 when there is no `path`.
    pub fn upwards(&self, path: &FsPath) -> Result<Vec<Node>> {
        let mut place = path;
        let mut nodes = Vec::new();
        for rev in self.walk_all(path)?.into_iter().rev() {
            nodes.push(self.located(place, rev));
            place = place.parent();
        }
        Ok(nodes)
    }
}
