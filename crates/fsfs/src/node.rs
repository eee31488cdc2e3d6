//! One file or directory of a tree.

use std::sync::Arc;

use sapwood_core::FsPath;
use sapwood_core::paths::SharedFsPath;
use sapwood_core::{ErrorCode, Md5, NodeKind, PropList, Revnum, Sha1};
pub use sapwood_fsfs_format::NodeRevId;
use sapwood_fsfs_format::{DirEntryRef, Directory, NodeRev, RepLocation, Representation};

use crate::contents::Contents;
use crate::error::{Error, Result, part};
use crate::filesystem::Filesystem;

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
pub struct Node {
    pub(crate) fs: Filesystem,
    pub(crate) path: SharedFsPath,
    pub(crate) rev: Arc<NodeRev>,
}

pub(crate) fn not_file<T>(sentence: &str) -> Result<T> {
    Err(Error::new(ErrorCode::FS_NOT_FILE, sentence))
}

impl Filesystem {
    /// The node-revision `id`, which `path` leads to in the revision that made it.
    ///
    /// # Errors
    /// Corruption and system errors.
    pub fn node_at(&self, path: &SharedFsPath, id: &NodeRevId) -> Result<Node> {
        Ok(Node { fs: self.clone(), path: path.clone(), rev: self.fs.node(id)? })
    }
}

#[allow(clippy::missing_errors_doc, reason = "all: `Error` says what its variants mean")]
impl Node {
    /// The same node, read by way of another opening of its filesystem.
    #[must_use]
    pub fn by_way_of(&self, fs: &Filesystem) -> Self {
        Self { fs: fs.clone(), ..self.clone() }
    }

    /// The fspath by which the node was reached.
    #[must_use]
    pub fn path(&self) -> &FsPath {
        self.path.as_path()
    }
    /// The same, shared.
    #[must_use]
    pub fn shared_path(&self) -> SharedFsPath {
        self.path.clone()
    }
    /// File or directory.
    #[must_use]
    pub fn kind(&self) -> NodeKind {
        self.rev.kind
    }
    /// The node-revision.
    #[must_use]
    pub fn id(&self) -> NodeRevId {
        self.rev.id
    }
    /// How this node relates to another of the same filesystem.
    #[must_use]
    pub fn relation(&self, other: &Self) -> Relation {
        let (a, b) = (&self.rev.id, &other.rev.id);
        if self.fs.fs.id != other.fs.fs.id || !a.is_related(b) {
            Relation::Unrelated
        } else if a == b {
            Relation::Unchanged
        } else {
            Relation::Common
        }
    }
    /// The revision in which this node-revision was made; `None` in a transaction.
    #[must_use]
    pub fn created_rev(&self) -> Option<Revnum> {
        self.rev.id.revision()
    }
    /// A revision in which the node is at its path: that of its last change, unless it came here by a
    /// copy of a parent after that; then `tree`, the revision that it was looked up in.
    #[must_use]
    pub fn revision_here(&self, tree: Revnum) -> Revnum {
        self.created_rev().filter(|_| self.created_path() == self.path()).unwrap_or(tree)
    }
    /// The path at which this node-revision was made.
    #[must_use]
    pub fn created_path(&self) -> &FsPath {
        self.rev.created_path()
    }
    /// The properties.
    pub fn props(&self) -> Result<Arc<PropList>> {
        self.fs.fs.props(&self.rev)
    }
    /// Whether there are any properties, without reading them where possible.
    pub fn has_props(&self) -> Result<bool> {
        match &self.rev.props {
            None => Ok(false),
            Some(rep) if rep.location == RepLocation::TxnFile => Ok(!self.props()?.is_empty()),
            // An empty list is stored as its terminator, four bytes.
            Some(rep) => Ok(rep.expanded_size > 4),
        }
    }
    /// The filesystem.
    #[must_use]
    pub const fn fs(&self) -> &Filesystem {
        &self.fs
    }
    /// What names the text of a committed file or directory: two nodes with the same one have the same text.
    #[must_use]
    pub fn text_key(&self) -> Option<(Revnum, u64)> {
        match self.rev.text?.location {
            RepLocation::Rev { revision, item } => Some((revision, item)),
            _ => None,
        }
    }
    /// A directory's entries; E160016 for a file.
    pub fn entries(&self) -> Result<Arc<Directory>> {
        if self.rev.kind != NodeKind::Dir {
            let code = ErrorCode::FS_NOT_DIRECTORY;
            return Err(Error::new(code, "Can't get entries of non-directory"));
        }
        self.fs.fs.directory(&self.rev)
    }
    /// The child called `name` of a directory.
    pub fn child(&self, name: &str) -> Result<Option<Self>> {
        let entries = self.entries()?;
        let Some(entry) = entries.find(name) else { return Ok(None) };
        let rev = self.fs.fs.node(&entry.id)?;
        let path = self.path.child(name).into();
        Ok(Some(Self { fs: self.fs.clone(), path, rev }))
    }
    /// The child that an entry of this directory stands for: [`Node::child`] without a look into
    /// the directory.
    pub fn child_of(&self, entry: &DirEntryRef<'_>) -> Result<Self> {
        Ok(self.child_with(entry.name, self.fs.fs.node(&entry.id)?))
    }
    /// The child called `name`, which is `rev`.
    pub(crate) fn child_with(&self, name: &str, rev: Arc<NodeRev>) -> Self {
        let path = self.path.child(name).into();
        Self { fs: self.fs.clone(), path, rev }
    }
    /// The length of a file's contents in bytes.
    pub fn length(&self) -> Result<u64> {
        if self.rev.kind != NodeKind::File {
            return not_file("Attempted to get length of a *non*-file node");
        }
        Ok(self.rev.text.map_or(0, |rep| rep.expanded_size))
    }
    /// The MD5 of a file's contents.
    pub fn md5(&self) -> Result<Md5> {
        if self.rev.kind != NodeKind::File {
            return not_file("Attempted to get checksum of a *non*-file node");
        }
        Ok(crate::contents::md5_of(&self.rev))
    }
    /// The MD5 that is recorded for a file's contents: `None` for a file that never got any
    /// contents, of which dumps say nothing.
    pub fn recorded_md5(&self) -> Result<Option<Md5>> {
        if self.rev.kind != NodeKind::File {
            return not_file("Attempted to get checksum of a *non*-file node");
        }
        Ok(self.rev.text.map(|rep| rep.md5))
    }
    /// The SHA-1 of a file's contents, where it is recorded.
    pub fn sha1(&self) -> Result<Option<Sha1>> {
        if self.rev.kind != NodeKind::File {
            return not_file("Attempted to get checksum of a *non*-file node");
        }
        Ok(self.rev.text.and_then(|rep| rep.sha1))
    }
    /// A file's contents.
    pub fn contents(&self) -> Result<Contents> {
        if self.rev.kind != NodeKind::File {
            return not_file("Attempted to get textual contents of a *non*-file node");
        }
        Ok(Contents::new(&self.fs, &self.rev))
    }
    /// Whether both are known to have the same contents, by representation (false may still
    /// mean equal texts), as the reference's strict and quick comparisons need it.
    #[must_use]
    pub fn same_contents_rep(&self, other: &Self) -> bool {
        same_rep(self.rev.text.as_ref(), other.rev.text.as_ref(), self, other)
    }
    /// Whether the contents differ, compared in full where representations do not decide it.
    pub fn contents_differ(&self, other: &Self) -> Result<bool> {
        for node in [self, other] {
            if node.rev.kind != NodeKind::File {
                return not_file(&format!("'{}' is not a file", node.path));
            }
        }
        let full = |node: &Self| node.rev.text.filter(|rep| rep.expanded_size > 0);
        let (a, b) = match (full(self), full(other)) {
            (None, None) => return Ok(false),
            (Some(a), Some(b)) => (a, b),
            _ => return Ok(true),
        };
        if a.md5 != b.md5 {
            return Ok(true);
        }
        if let (Some(a), Some(b)) = (a.sha1, b.sha1) {
            return Ok(a != b);
        }
        if self.rev.id == other.rev.id {
            return Ok(false);
        }
        streams_differ(&mut self.contents()?, &mut other.contents()?)
    }
    /// The same as [`Node::same_contents_rep`] for properties.
    #[must_use]
    pub fn same_props_rep(&self, other: &Self) -> bool {
        same_rep(self.rev.props.as_ref(), other.rev.props.as_ref(), self, other)
    }
    /// Whether the properties differ, compared in full where representations do not decide it.
    pub fn props_differ(&self, other: &Self) -> Result<bool> {
        let (a, b) = (&self.rev.props, &other.rev.props);
        if let (Some(a), Some(b)) = (a, b)
            && let (RepLocation::Rev { .. }, RepLocation::Rev { .. }) = (a.location, b.location)
        {
            if a.location == b.location {
                return Ok(false);
            }
            if a.md5 != b.md5 {
                return Ok(true);
            }
        }
        if (a.is_none() && b.is_none()) || self.rev.id == other.rev.id {
            return Ok(false);
        }
        Ok(self.props()? != other.props()?)
    }
    /// Where this very node-revision was copied from.
    #[must_use]
    pub fn copied_from(&self) -> Option<(Revnum, &FsPath)> {
        self.rev.copied_from()
    }
    /// The node-revision before this one (without path knowledge: its path is its created path).
    pub fn predecessor(&self) -> Result<Option<Self>> {
        let Some(id) = &self.rev.predecessor else { return Ok(None) };
        let rev = self.fs.fs.node(id)?;
        let path = rev.created_path().into();
        Ok(Some(Self { fs: self.fs.clone(), path, rev }))
    }
    /// How many predecessors there are.
    #[must_use]
    pub fn predecessor_count(&self) -> u64 {
        self.rev.predecessor_count
    }
    /// Whether the node itself has `svn:mergeinfo`.
    #[must_use]
    pub fn has_mergeinfo(&self) -> bool {
        self.rev.has_mergeinfo
    }
    /// How many nodes at and below this one have `svn:mergeinfo`.
    #[must_use]
    pub fn mergeinfo_count(&self) -> u64 {
        u64::try_from(self.rev.mergeinfo_count).unwrap_or(0)
    }
}

/// Whether two representations are one and the same.
fn same_rep(
    a: Option<&Representation>,
    b: Option<&Representation>,
    of_a: &Node,
    of_b: &Node,
) -> bool {
    match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => {
            let same_place = match a.location {
                RepLocation::Rev { .. } => true,
                RepLocation::ProtoRev { .. } => of_a.rev.id.txn() == of_b.rev.id.txn(),
                RepLocation::TxnFile => of_a.rev.id == of_b.rev.id,
            };
            same_place && a.location == b.location && a.uniquifier == b.uniquifier
        }
        _ => false,
    }
}

fn streams_differ(a: &mut Contents, b: &mut Contents) -> Result<bool> {
    let mut kept: Vec<u8> = Vec::new();
    let mut buf = vec![0; 64 << 10];
    loop {
        let Some(piece) = a.next_piece()? else {
            return Ok(b.read_some(&mut buf)? > 0);
        };
        kept.clear();
        kept.extend_from_slice(piece);
        let mut left = kept.as_slice();
        while !left.is_empty() {
            let most = buf.len().min(left.len());
            let read = b.read_some(
                buf.get_mut(..most)
                    .ok_or_else(|| Error::internal("a part is not within its whole"))?,
            )?;
            if read == 0 || left.get(..read) != buf.get(..read) {
                return Ok(true);
            }
            left = part(left, read..)?;
        }
    }
}
