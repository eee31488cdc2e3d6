//! One file or directory of a tree.

use std::sync::Arc;

use sapwood_core::paths::SharedFsPath;
use sapwood_core::{CancelToken, FsPath, Md5, NodeKind, PropList, Revnum, Sha1, SvnResult};
use sapwood_delta::Version;

use crate::Relation;
use crate::contents::{Contents, ContentsDelta};
use crate::directory::{DirEntry, Directory, IdOf, NodeId};
use crate::error::{Error, Result};
use crate::filesystem::Filesystem;
use crate::of::{Of, each};

/// One file or directory of a [`crate::Root`], with the path it was reached by.
#[derive(Clone, Debug)]
pub struct Node(pub(crate) Of<sapwood_fsfs::Node, sapwood_fsx::TreeNode>);

/// Two nodes of different engines have nothing in common.
macro_rules! both {
    ($a:expr, $b:expr, ($x:ident, $y:ident) => $do:expr, else $other:expr) => {
        match (&$a.0, &$b.0) {
            (Of::Fsfs($x), Of::Fsfs($y)) => $do,
            (Of::Fsx($x), Of::Fsx($y)) => $do,
            _ => $other,
        }
    };
}

#[allow(clippy::missing_errors_doc)]
impl Node {
    fn of(node: Of<sapwood_fsfs::Node, sapwood_fsx::TreeNode>) -> Self {
        Self(node)
    }

    /// The same node, read by way of another opening of its filesystem.
    #[must_use]
    pub fn by_way_of(&self, fs: &Filesystem) -> Self {
        match (&self.0, &fs.0) {
            (Of::Fsfs(node), Of::Fsfs(fs)) => Self(Of::Fsfs(node.by_way_of(fs))),
            _ => self.clone(),
        }
    }

    /// The fspath by which the node was reached.
    #[must_use]
    pub fn path(&self) -> &FsPath {
        each!(&self.0, node => node.path())
    }

    /// The same, shared.
    #[must_use]
    pub fn shared_path(&self) -> SharedFsPath {
        each!(&self.0, node => node.shared_path())
    }

    /// File or directory.
    #[must_use]
    pub fn kind(&self) -> NodeKind {
        each!(&self.0, node => node.kind())
    }

    /// The node-revision.
    #[must_use]
    pub fn id(&self) -> NodeId {
        NodeId(match &self.0 {
            Of::Fsfs(node) => IdOf::Fsfs(node.id()),
            Of::Fsx(node) => IdOf::Fsx(node.id()),
        })
    }

    /// How this node relates to another of the same filesystem.
    #[must_use]
    pub fn relation(&self, other: &Self) -> Relation {
        match (&self.0, &other.0) {
            (Of::Fsfs(a), Of::Fsfs(b)) => a.relation(b),
            (Of::Fsx(a), Of::Fsx(b)) if a.id() == b.id() => Relation::Unchanged,
            (Of::Fsx(a), Of::Fsx(b)) if a.is_related(b) => Relation::Common,
            _ => Relation::Unrelated,
        }
    }

    /// Whether both are of one line of history that no copy lies on.
    #[must_use]
    pub fn same_line(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Of::Fsfs(a), Of::Fsfs(b)) => a.id().same_line(&b.id()),
            (Of::Fsx(a), Of::Fsx(b)) => a.same_line(b),
            _ => false,
        }
    }

    /// The revision in which this node-revision was made; `None` in a transaction.
    #[must_use]
    pub fn created_rev(&self) -> Option<Revnum> {
        each!(&self.0, node => node.created_rev())
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
        each!(&self.0, node => node.created_path())
    }

    /// The properties.
    pub fn props(&self) -> Result<Arc<PropList>> {
        Ok(each!(&self.0, node => node.props()?))
    }

    /// Whether there are any properties, without reading them where possible.
    pub fn has_props(&self) -> Result<bool> {
        Ok(each!(&self.0, node => node.has_props()?))
    }

    /// A directory's entries; E160016 for a file.
    pub fn entries(&self) -> Result<Directory> {
        Ok(Directory(match &self.0 {
            Of::Fsfs(node) => Of::Fsfs(node.entries()?),
            Of::Fsx(node) => Of::Fsx(node.entries()?),
        }))
    }

    /// The child called `name` of a directory.
    pub fn child(&self, name: &str) -> Result<Option<Self>> {
        Ok(match &self.0 {
            Of::Fsfs(node) => node.child(name)?.map(|child| Self(Of::Fsfs(child))),
            Of::Fsx(node) => node.child(name)?.map(|child| Self(Of::Fsx(child))),
        })
    }

    /// The child that an entry of this directory stands for: [`Node::child`] without a look into
    /// the directory.
    pub fn child_of(&self, entry: &DirEntry<'_>) -> Result<Self> {
        Ok(Self::of(match (&self.0, &entry.id.0) {
            (Of::Fsfs(node), IdOf::Fsfs(id)) => {
                let DirEntry { name, kind, .. } = *entry;
                Of::Fsfs(node.child_of(&sapwood_fsfs::DirEntry { name, kind, id: *id })?)
            }
            (Of::Fsx(node), IdOf::Fsx(id)) => Of::Fsx(node.child_at(entry.name, *id)?),
            _ => return Err(crate::filesystem::other_engine()),
        }))
    }

    /// The length of a file's contents in bytes.
    pub fn length(&self) -> Result<u64> {
        Ok(each!(&self.0, node => node.length()?))
    }

    /// The MD5 of a file's contents.
    pub fn md5(&self) -> Result<Md5> {
        Ok(each!(&self.0, node => node.md5()?))
    }

    /// The MD5 that is recorded for a file's contents: `None` for a file that never got any
    /// contents, of which dumps say nothing.
    pub fn recorded_md5(&self) -> Result<Option<Md5>> {
        Ok(each!(&self.0, node => node.recorded_md5()?))
    }

    /// The SHA-1 of a file's contents, where it is recorded.
    pub fn sha1(&self) -> Result<Option<Sha1>> {
        Ok(each!(&self.0, node => node.sha1()?))
    }

    /// A file's contents.
    pub fn contents(&self) -> Result<Contents> {
        Ok(Contents(match &self.0 {
            Of::Fsfs(node) => Of::Fsfs(node.contents()?),
            Of::Fsx(node) => Of::Fsx(node.contents()?),
        }))
    }

    /// The delta from `source` (nothing, when `None`) to this file's contents.
    pub fn delta_from(&self, source: Option<&Self>) -> Result<ContentsDelta> {
        Ok(ContentsDelta(match (&self.0, source.map(|source| &source.0)) {
            (Of::Fsfs(node), None) => Of::Fsfs(node.delta_from(None)?),
            (Of::Fsfs(node), Some(Of::Fsfs(source))) => Of::Fsfs(node.delta_from(Some(source))?),
            (Of::Fsx(node), None) => Of::Fsx(node.delta_from(None)?),
            (Of::Fsx(node), Some(Of::Fsx(source))) => Of::Fsx(node.delta_from(Some(source))?),
            _ => return Err(crate::filesystem::other_engine()),
        }))
    }

    /// Leaves this file's text in the cache as svndiff not newer than `newest`, unless it is long:
    /// how many bytes that is. A hint: an engine that keeps no svndiff does nothing.
    pub fn encode_ahead(&self, newest: Version) -> SvnResult<u64> {
        match &self.0 {
            Of::Fsfs(node) => node.encode_ahead(newest),
            Of::Fsx(_) => Ok(0),
        }
    }

    /// Whether both are known to have the same contents, by representation (false may still
    /// mean equal texts), as the reference's strict and quick comparisons need it.
    #[must_use]
    pub fn same_contents_rep(&self, other: &Self) -> bool {
        both!(self, other, (a, b) => a.same_contents_rep(b), else false)
    }

    /// Whether the contents differ, compared in full where representations do not decide it.
    pub fn contents_differ(&self, other: &Self) -> Result<bool> {
        both!(self, other, (a, b) => Ok(a.contents_differ(b)?), else Err(crate::filesystem::other_engine()))
    }

    /// The same as [`Node::same_contents_rep`] for properties.
    #[must_use]
    pub fn same_props_rep(&self, other: &Self) -> bool {
        both!(self, other, (a, b) => a.same_props_rep(b), else false)
    }

    /// Whether the properties differ, compared in full where representations do not decide it.
    pub fn props_differ(&self, other: &Self) -> Result<bool> {
        both!(self, other, (a, b) => Ok(a.props_differ(b)?), else Ok(self.props()? != other.props()?))
    }

    /// Where this very node-revision was copied from.
    #[must_use]
    pub fn copied_from(&self) -> Option<(Revnum, &FsPath)> {
        each!(&self.0, node => node.copied_from())
    }

    /// The node-revision before this one (without path knowledge: its path is its created path).
    pub fn predecessor(&self) -> Result<Option<Self>> {
        Ok(match &self.0 {
            Of::Fsfs(node) => node.predecessor()?.map(|node| Self(Of::Fsfs(node))),
            Of::Fsx(node) => node.predecessor()?.map(|node| Self(Of::Fsx(node))),
        })
    }

    /// How many predecessors there are.
    #[must_use]
    pub fn predecessor_count(&self) -> u64 {
        each!(&self.0, node => node.predecessor_count())
    }

    /// Whether the node itself has `svn:mergeinfo`.
    #[must_use]
    pub fn has_mergeinfo(&self) -> bool {
        each!(&self.0, node => node.has_mergeinfo())
    }

    /// How many nodes at and below this one have `svn:mergeinfo`.
    #[must_use]
    pub fn mergeinfo_count(&self) -> u64 {
        each!(&self.0, node => node.mergeinfo_count())
    }

    /// An entry below this directory whose node has another kind than the entry says, if there is one: the path, and the kind
    /// of the node.
    pub fn entry_of_wrong_kind(&self, cancel: &CancelToken) -> Result<Option<(String, NodeKind)>> {
        match &self.0 {
            Of::Fsfs(node) => Ok(node.entry_of_wrong_kind(cancel)?),
            Of::Fsx(node) => Ok(node.entry_of_wrong_kind(cancel)?),
        }
    }

    /// A directory's entries, and the way to the nodes of most of them; E160016 for a file.
    pub fn children(&self) -> Result<Children> {
        match &self.0 {
            Of::Fsfs(node) => {
                let children = node.children()?;
                let entries = Directory(Of::Fsfs(Arc::clone(children.entries())));
                Ok(Children { entries, known: Some(children) })
            }
            Of::Fsx(_) => Ok(Children { entries: self.entries()?, known: None }),
        }
    }
}

/// The entries of a directory, and the way to their nodes.
#[derive(Debug, Default)]
pub struct Children {
    entries: Directory,
    known: Option<sapwood_fsfs::Children>,
}

impl Children {
    /// The entries.
    #[must_use]
    pub const fn entries(&self) -> &Directory {
        &self.entries
    }

    /// The node of the entry at a position, `dir` being the directory.
    ///
    /// # Errors
    /// As [`Node::child_of`].
    pub fn node(&mut self, dir: &Node, at: usize) -> Result<Node> {
        if let (Some(known), Of::Fsfs(dir)) = (&mut self.known, &dir.0) {
            return Ok(Node(Of::Fsfs(known.node(dir, at)?)));
        }
        let entry = self.entries.get(at).ok_or_else(|| {
            Error::from(sapwood_fsx::Error::Corrupt(format!(
                "Directory '{}' has no entry {at}",
                dir.path()
            )))
        })?;
        dir.child_of(&entry)
    }
}
