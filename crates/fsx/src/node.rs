//! Files and directories of revisions.

use std::sync::Arc;

use sapwood_core::{ErrorCode, FsPath, Md5, NodeKind, PropList, Revnum, Sha1, SvnError};
use sapwood_fsx_format::directory::{self, Entry};
use sapwood_fsx_format::{ChangeSet, Id, NodeRev, proplist};

use crate::contents::Contents;
use crate::error::{Error, Result};
use crate::filesystem::Filesystem;
use crate::items::{LIST, ROOT};

/// A file or directory of a revision.
#[derive(Clone, Debug)]
pub struct Node {
    fs: Filesystem,
    rev: Arc<NodeRev>,
}

impl Filesystem {
    /// The root directory of a revision.
    ///
    /// # Errors
    /// E160006 for a revision that does not exist; corruption, and errors of the system.
    pub fn root(&self, revision: Revnum) -> Result<Node> {
        self.ensure_exists(revision)?;
        self.node(Id { change_set: ChangeSet::Revision(revision), number: ROOT })
    }

    fn node(&self, id: Id) -> Result<Node> {
        Ok(Node { fs: self.clone(), rev: Arc::new(self.0.noderev(id)?) })
    }

    /// The node at a path of a revision.
    ///
    /// # Errors
    /// E160013 when there is none; as [`Filesystem::root`].
    pub fn lookup(&self, revision: Revnum, path: &FsPath) -> Result<Node> {
        let mut node = self.root(revision)?;
        for name in sapwood_core::path::components(path) {
            let child = if node.kind() == NodeKind::Dir { node.child(name)? } else { None };
            node = child.ok_or_else(|| Error::NotFound { revision, path: path.to_string() })?;
        }
        Ok(node)
    }
}

#[allow(clippy::missing_errors_doc, reason = "all: `Error` says what its variants mean")]
impl Node {
    /// File or directory.
    #[must_use]
    pub fn kind(&self) -> NodeKind {
        self.rev.kind
    }

    /// The identifier of the node-revision.
    #[must_use]
    pub fn id(&self) -> Id {
        self.rev.id
    }

    /// The revision in which the node-revision was made.
    #[must_use]
    pub fn created_rev(&self) -> Option<Revnum> {
        self.rev.id.change_set.revision()
    }

    /// A directory's entries, by name; E160016 for a file.
    pub fn entries(&self) -> Result<Vec<Entry>> {
        if self.rev.kind != NodeKind::Dir {
            let message = "Can't get entries of non-directory";
            return Err(SvnError::new(ErrorCode::FS_NOT_DIRECTORY, message).into());
        }
        if self.rev.text.is_none() {
            return Ok(Vec::new());
        }
        let text = self.fs.whole(self.rev.text, LIST)?;
        directory::parse(&text).map_err(|error| self.wrong(&error))
    }

    fn wrong(&self, error: &sapwood_fsx_format::Error) -> Error {
        Error::Corrupt(format!("Corrupt node-revision '{}': {error}", self.rev.id))
    }

    /// The node of an entry of this directory.
    pub fn child_of(&self, entry: &Entry) -> Result<Self> {
        self.fs.node(entry.id)
    }

    /// The child called `name` of a directory.
    pub fn child(&self, name: &str) -> Result<Option<Self>> {
        let entries = self.entries()?;
        let found = entries.binary_search_by(|entry| (*entry.name).cmp(name)).ok();
        found.and_then(|at| entries.get(at)).map(|entry| self.child_of(entry)).transpose()
    }

    /// The properties.
    pub fn props(&self) -> Result<PropList> {
        if self.rev.props.is_none() {
            return Ok(PropList::new());
        }
        let list = self.fs.whole(self.rev.props, LIST)?;
        proplist::parse(&list).map_err(|error| self.wrong(&error))
    }

    /// The MD5 of a file's text.
    #[must_use]
    pub fn md5(&self) -> Md5 {
        self.rev.text.map_or_else(|| Md5::of(b""), |rep| rep.md5)
    }

    /// The SHA-1 of a file's text, where it is recorded.
    #[must_use]
    pub fn sha1(&self) -> Option<Sha1> {
        self.rev.text.and_then(|rep| rep.sha1)
    }

    /// The length of a file's text in bytes.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.rev.text.map_or(0, |rep| rep.expanded_size)
    }

    /// A file's text; E160017 for a directory.
    pub fn contents(&self) -> Result<Contents> {
        if self.rev.kind != NodeKind::File {
            let message = "Attempted to get textual contents of a *non*-file node";
            return Err(SvnError::new(ErrorCode::FS_NOT_FILE, message).into());
        }
        self.fs.contents(self.rev.text)
    }
}
