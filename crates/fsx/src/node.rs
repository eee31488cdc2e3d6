//! One file or directory of a tree, with the path that leads to it.

use std::io::Read;
use std::sync::Arc;

use sapwood_core::paths::SharedFsPath;
use sapwood_core::{
    CancelToken, ErrorCode, FsPath, Md5, NodeKind, PropList, Revnum, Sha1, SvnError,
};
use sapwood_fsx_format::{Id, NodeRev, Representation, directory, proplist};

use crate::contents::Contents;
use crate::delta::ContentsDelta;
use crate::directory::Directory;
use crate::error::{Error, Result};
use crate::filesystem::Filesystem;
use crate::items::txn_of;

/// The longest directory or property list that is read.
const LIST: u64 = 1 << 30;

/// One file or directory of a [`crate::Root`], with the path it was reached by.
#[derive(Clone, Debug)]
pub struct Node {
    pub(crate) fs: Filesystem,
    pub(crate) path: SharedFsPath,
    pub(crate) rev: Arc<NodeRev>,
}

fn wrong(rev: &NodeRev, error: &sapwood_fsx_format::Error) -> Error {
    Error::Corrupt(format!("Corrupt node-revision '{}': {error}", rev.id))
}

fn not_file<T>(sentence: &str) -> Result<T> {
    Err(SvnError::new(ErrorCode::FS_NOT_FILE, sentence).into())
}

impl Filesystem {
    /// The node-revision `id`, shared.
    pub(crate) fn node_rev(&self, id: Id) -> Result<Arc<NodeRev>> {
        self.0.cached.node_rev(id, || match txn_of(id) {
            Some(txn) => self.txn_node_rev(txn, id),
            None => self.0.noderev(id),
        })
    }

    /// The entries of a directory.
    pub(crate) fn directory(&self, rev: &NodeRev) -> Result<Arc<Directory>> {
        let Some(rep) = &rev.text else { return Ok(Arc::default()) };
        if let Some(txn) = txn_of(rep.id) {
            return Ok(Arc::new(Directory::new(self.txn_entries(txn, rev)?)));
        }
        self.0.cached.directory(rep, || {
            let text = self.whole(rev.text, LIST)?;
            let entries = directory::parse(&text).map_err(|error| wrong(rev, &error))?;
            Ok(Directory::new(entries))
        })
    }

    fn props(&self, rev: &NodeRev) -> Result<Arc<PropList>> {
        let Some(rep) = &rev.props else { return Ok(Arc::default()) };
        if let Some(txn) = txn_of(rep.id) {
            return Ok(Arc::new(self.txn_node_props(txn, rev)?));
        }
        self.0.cached.props(rep, || {
            let list = self.whole(rev.props, LIST)?;
            proplist::parse(&list).map_err(|error| wrong(rev, &error))
        })
    }
}

#[allow(clippy::missing_errors_doc, reason = "all: `Error` says what its variants mean")]
impl Node {
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

    /// The identifier of the node-revision.
    #[must_use]
    pub fn id(&self) -> Id {
        self.rev.id
    }

    /// Whether both are node-revisions of one node.
    #[must_use]
    pub fn is_related(&self, other: &Self) -> bool {
        self.rev.node == other.rev.node
    }

    /// Whether both are node-revisions of one node, with no copy between them.
    #[must_use]
    pub fn same_line(&self, other: &Self) -> bool {
        self.is_related(other) && self.rev.copy == other.rev.copy
    }

    /// The revision in which this node-revision was made.
    #[must_use]
    pub fn created_rev(&self) -> Option<Revnum> {
        self.rev.id.change_set.revision()
    }

    /// The path at which this node-revision was made.
    #[must_use]
    pub fn created_path(&self) -> &FsPath {
        // Paths of node-revisions were found canonical when they were read.
        FsPath::trusted(&self.rev.created_path)
    }

    /// The properties.
    pub fn props(&self) -> Result<Arc<PropList>> {
        self.fs.props(&self.rev)
    }

    /// Whether there are any properties.
    pub fn has_props(&self) -> Result<bool> {
        // An empty list is a zero for its count.
        match self.rev.props {
            Some(rep) if txn_of(rep.id).is_some() => Ok(!self.props()?.is_empty()),
            props => Ok(props.is_some_and(|rep| rep.expanded_size > 1)),
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
        let rep = self.rev.text?;
        Some((rep.id.change_set.revision()?, rep.id.number))
    }

    /// A directory's entries; E160016 for a file.
    pub fn entries(&self) -> Result<Arc<Directory>> {
        if self.rev.kind != NodeKind::Dir {
            let message = "Can't get entries of non-directory";
            return Err(SvnError::new(ErrorCode::FS_NOT_DIRECTORY, message).into());
        }
        self.fs.directory(&self.rev)
    }

    /// The child called `name` of a directory.
    pub fn child(&self, name: &str) -> Result<Option<Self>> {
        let entries = self.entries()?;
        entries.find(name).map(|entry| self.child_at(name, entry.id)).transpose()
    }

    /// The child called `name`, which is the node-revision `id`.
    pub fn child_at(&self, name: &str, id: Id) -> Result<Self> {
        let path = self.path.child(name).into();
        Ok(Self { fs: self.fs.clone(), path, rev: self.fs.node_rev(id)? })
    }

    /// The representation of a file's text.
    fn text(&self, sentence: &str) -> Result<Option<Representation>> {
        if self.rev.kind == NodeKind::File { Ok(self.rev.text) } else { not_file(sentence) }
    }

    /// The length of a file's contents in bytes.
    pub fn length(&self) -> Result<u64> {
        let text = self.text("Attempted to get length of a *non*-file node")?;
        Ok(text.map_or(0, |rep| rep.expanded_size))
    }

    /// The MD5 of a file's contents.
    pub fn md5(&self) -> Result<Md5> {
        Ok(self.recorded_md5()?.unwrap_or_else(|| Md5::of(b"")))
    }

    /// The MD5 that is recorded for a file's contents: `None` for a file that never got any.
    pub fn recorded_md5(&self) -> Result<Option<Md5>> {
        let text = self.text("Attempted to get checksum of a *non*-file node")?;
        Ok(text.map(|rep| rep.md5))
    }

    /// The SHA-1 of a file's contents, where it is recorded.
    pub fn sha1(&self) -> Result<Option<Sha1>> {
        let text = self.text("Attempted to get checksum of a *non*-file node")?;
        Ok(text.and_then(|rep| rep.sha1))
    }

    /// A file's contents.
    pub fn contents(&self) -> Result<Contents> {
        let text = self.text("Attempted to get textual contents of a *non*-file node")?;
        self.fs.contents(text)
    }

    /// The delta from `source` (nothing, when `None`) to this file's contents.
    pub fn delta_from(&self, source: Option<&Self>) -> Result<ContentsDelta> {
        let sentence = "Attempted to get textual contents of a *non*-file node";
        let source = source.map(|source| source.text(sentence)).transpose()?;
        Ok(ContentsDelta::new(&self.fs, source, self.text(sentence)?))
    }

    /// Whether both are known to have the same contents. Other than in FSFS a text that was written again is the same:
    /// the reference compares checksums here.
    #[must_use]
    pub fn same_contents_rep(&self, other: &Self) -> bool {
        let full = |node: &Self| node.rev.text.filter(|rep| rep.expanded_size > 0);
        match (full(self), full(other)) {
            (None, None) => true,
            (Some(a), Some(b)) => a.id == b.id || (a.md5, a.sha1) == (b.md5, b.sha1),
            _ => false,
        }
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
        if a.md5 != b.md5 || a.expanded_size != b.expanded_size {
            return Ok(true);
        }
        if let (Some(a), Some(b)) = (a.sha1, b.sha1) {
            return Ok(a != b);
        }
        if a.id == b.id {
            return Ok(false);
        }
        streams_differ(&mut self.contents()?, &mut other.contents()?)
    }

    /// The same as [`Node::same_contents_rep`] for properties. Those of a transaction, whose checksum is not known yet,
    /// count as others.
    #[must_use]
    pub fn same_props_rep(&self, other: &Self) -> bool {
        let is_committed = |rep: &Representation| txn_of(rep.id).is_none();
        match (&self.rev.props, &other.rev.props) {
            (None, None) => true,
            (Some(a), Some(b)) if is_committed(a) && is_committed(b) => a.md5 == b.md5,
            _ => self.rev.id == other.rev.id,
        }
    }

    /// Whether the properties differ, compared in full where representations do not decide it.
    pub fn props_differ(&self, other: &Self) -> Result<bool> {
        if self.same_props_rep(other) || self.rev.id == other.rev.id {
            return Ok(false);
        }
        Ok(self.props()? != other.props()?)
    }

    /// Where this very node-revision was copied from.
    #[must_use]
    pub fn copied_from(&self) -> Option<(Revnum, &FsPath)> {
        self.rev.copy_from.as_ref().map(|(revision, path)| (*revision, FsPath::trusted(path)))
    }

    /// The node-revision before this one (without path knowledge: its path is its created path).
    pub fn predecessor(&self) -> Result<Option<Self>> {
        let Some(id) = self.rev.predecessor else { return Ok(None) };
        let rev = self.fs.node_rev(id)?;
        let path = FsPath::trusted(&rev.created_path).into();
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
        self.rev.mergeinfo_count
    }

    /// The first entry of a directory that leads to a node of another kind than the entry says:
    /// name and kind of the entry. E160016 for a file; E200015 when cancelled.
    pub fn entry_of_wrong_kind(&self, cancel: &CancelToken) -> Result<Option<(String, NodeKind)>> {
        for entry in &*self.entries()? {
            cancel.check()?;
            if self.fs.node_rev(entry.id)?.kind != entry.kind {
                return Ok(Some((entry.name.to_string(), entry.kind)));
            }
        }
        Ok(None)
    }
}

fn streams_differ(a: &mut Contents, b: &mut Contents) -> Result<bool> {
    let read = |from: &mut Contents, into: &mut Vec<u8>| -> Result<()> {
        into.clear();
        let taken = from.by_ref().take(64 << 10).read_to_end(into);
        taken.map_err(|error| Error::Svn(SvnError::from_stream(error)))?;
        Ok(())
    };
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    loop {
        read(a, &mut ours)?;
        read(b, &mut theirs)?;
        if ours != theirs || ours.is_empty() {
            return Ok(ours != theirs);
        }
    }
}
