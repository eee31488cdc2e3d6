//! One file or directory of a tree.

use std::sync::Arc;

use sapwood_core::paths::SharedFsPath;
use sapwood_core::{CancelToken, FsPath, Md5, NodeKind, PropList, Revnum, Sha1, SvnResult};
use sapwood_delta::Version;

use crate::Relation;
use crate::backend::{self, Backend};
use crate::contents::{Contents, ContentsDelta};
use crate::directory::{DirEntry, Directory, NodeId};
use crate::error::Result;
use crate::filesystem::{Filesystem, other_engine};
use crate::of::{Of, both, each, of};

/// One file or directory of a [`crate::Root`], with the path it was reached by.
#[derive(Clone, Debug)]
pub struct Node(pub(crate) of!(Node));

#[allow(clippy::missing_errors_doc, reason = "each fails as its engine does: `Error` says how")]
impl Filesystem {
    /// The node-revision `id`, which `path` leads to in the revision that made it.
    pub fn node_at(&self, path: &SharedFsPath, id: &NodeId) -> Result<Node> {
        both!(&self.0, &id.0, (fs, id), wrap => {
            Ok(Node(wrap(Backend::node_at(fs, path, id)?)))
        }, else Err(other_engine()))
    }
}

#[allow(clippy::missing_errors_doc, reason = "each fails as its engine does: `Error` says how")]
impl Node {
    /// The same node, read by way of another opening of its filesystem.
    #[must_use]
    pub fn by_way_of(&self, fs: &Filesystem) -> Self {
        both!(&self.0, &fs.0, (node, fs), wrap => Self(wrap(backend::Node::by_way_of(node, fs))), else self.clone())
    }

    /// The fspath by which the node was reached.
    #[must_use]
    pub fn path(&self) -> &FsPath {
        each!(&self.0, node => backend::Node::path(node))
    }

    /// The same, shared.
    #[must_use]
    pub fn shared_path(&self) -> SharedFsPath {
        each!(&self.0, node => backend::Node::shared_path(node))
    }

    /// File or directory.
    #[must_use]
    pub fn kind(&self) -> NodeKind {
        each!(&self.0, node => backend::Node::kind(node))
    }

    /// The node-revision.
    #[must_use]
    pub fn id(&self) -> NodeId {
        NodeId(each!(&self.0, node, wrap => wrap(backend::Node::id(node))))
    }

    /// How this node relates to another of the same filesystem.
    #[must_use]
    pub fn relation(&self, other: &Self) -> Relation {
        both!(&self.0, &other.0, (a, b) => backend::Node::relation(a, b), else Relation::Unrelated)
    }

    /// Whether both are of one line of history that no copy lies on.
    #[must_use]
    pub fn same_line(&self, other: &Self) -> bool {
        both!(&self.0, &other.0, (a, b) => backend::Node::same_line(a, b), else false)
    }

    /// The revision in which this node-revision was made; `None` in a transaction.
    #[must_use]
    pub fn created_rev(&self) -> Option<Revnum> {
        each!(&self.0, node => backend::Node::created_rev(node))
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
        each!(&self.0, node => backend::Node::created_path(node))
    }

    /// The properties.
    pub fn props(&self) -> Result<Arc<PropList>> {
        each!(&self.0, node => backend::Node::props(node))
    }

    /// Whether there are any properties, without reading them where possible.
    pub fn has_props(&self) -> Result<bool> {
        each!(&self.0, node => backend::Node::has_props(node))
    }

    /// A directory's entries; E160016 for a file.
    pub fn entries(&self) -> Result<Directory> {
        Ok(Directory(each!(&self.0, node, wrap => wrap(backend::Node::entries(node)?))))
    }

    /// The child called `name` of a directory.
    pub fn child(&self, name: &str) -> Result<Option<Self>> {
        Ok(each!(&self.0, node, wrap => backend::Node::child(node, name)?.map(wrap)).map(Self))
    }

    /// The child that an entry of this directory stands for: [`Node::child`] without a look into
    /// the directory.
    pub fn child_of(&self, entry: &DirEntry<'_>) -> Result<Self> {
        both!(&self.0, &entry.id.0, (node, id), wrap => {
            Ok(Self(wrap(backend::Node::child_at(node, entry.name, id)?)))
        }, else Err(other_engine()))
    }

    /// The length of a file's contents in bytes.
    pub fn length(&self) -> Result<u64> {
        each!(&self.0, node => backend::Node::length(node))
    }

    /// The MD5 of a file's contents.
    pub fn md5(&self) -> Result<Md5> {
        each!(&self.0, node => backend::Node::md5(node))
    }

    /// The MD5 that is recorded for a file's contents: `None` for a file that never got any
    /// contents, of which dumps say nothing.
    pub fn recorded_md5(&self) -> Result<Option<Md5>> {
        each!(&self.0, node => backend::Node::recorded_md5(node))
    }

    /// The SHA-1 of a file's contents, where it is recorded.
    pub fn sha1(&self) -> Result<Option<Sha1>> {
        each!(&self.0, node => backend::Node::sha1(node))
    }

    /// A file's contents.
    pub fn contents(&self) -> Result<Contents> {
        Ok(Contents(each!(&self.0, node, wrap => wrap(backend::Node::contents(node)?))))
    }

    /// The delta from `source` (nothing, when `None`) to this file's contents.
    pub fn delta_from(&self, source: Option<&Self>) -> Result<ContentsDelta> {
        Ok(ContentsDelta(match source {
            None => each!(&self.0, node, wrap => wrap(backend::Node::delta_from(node, None)?)),
            Some(source) => both!(&self.0, &source.0, (node, source), wrap => {
                wrap(backend::Node::delta_from(node, Some(source))?)
            }, else return Err(other_engine())),
        }))
    }

    /// Leaves this file's text in the cache as svndiff not newer than `newest`, unless it is long:
    /// how many bytes that is. A hint: an engine that keeps no svndiff does nothing.
    pub fn encode_ahead(&self, newest: Version) -> SvnResult<u64> {
        each!(&self.0, node => backend::Node::encode_ahead(node, newest))
    }

    /// Whether both are known to have the same contents, by representation (false may still
    /// mean equal texts), as the reference's strict and quick comparisons need it.
    #[must_use]
    pub fn same_contents_rep(&self, other: &Self) -> bool {
        both!(&self.0, &other.0, (a, b) => backend::Node::same_contents_rep(a, b), else false)
    }

    /// Whether the contents differ, compared in full where representations do not decide it.
    pub fn contents_differ(&self, other: &Self) -> Result<bool> {
        both!(&self.0, &other.0, (a, b) => backend::Node::contents_differ(a, b), else Err(other_engine()))
    }

    /// The same as [`Node::same_contents_rep`] for properties.
    #[must_use]
    pub fn same_props_rep(&self, other: &Self) -> bool {
        both!(&self.0, &other.0, (a, b) => backend::Node::same_props_rep(a, b), else false)
    }

    /// Whether the properties differ, compared in full where representations do not decide it.
    pub fn props_differ(&self, other: &Self) -> Result<bool> {
        both!(&self.0, &other.0, (a, b) => backend::Node::props_differ(a, b), else Ok(self.props()? != other.props()?))
    }

    /// Where this very node-revision was copied from.
    #[must_use]
    pub fn copied_from(&self) -> Option<(Revnum, &FsPath)> {
        each!(&self.0, node => backend::Node::copied_from(node))
    }

    /// The node-revision before this one (without path knowledge: its path is its created path).
    pub fn predecessor(&self) -> Result<Option<Self>> {
        Ok(each!(&self.0, node, wrap => backend::Node::predecessor(node)?.map(wrap)).map(Self))
    }

    /// How many predecessors there are.
    #[must_use]
    pub fn predecessor_count(&self) -> u64 {
        each!(&self.0, node => backend::Node::predecessor_count(node))
    }

    /// Whether the node itself has `svn:mergeinfo`.
    #[must_use]
    pub fn has_mergeinfo(&self) -> bool {
        each!(&self.0, node => backend::Node::has_mergeinfo(node))
    }

    /// How many nodes at and below this one have `svn:mergeinfo`.
    #[must_use]
    pub fn mergeinfo_count(&self) -> u64 {
        each!(&self.0, node => backend::Node::mergeinfo_count(node))
    }

    /// An entry below this directory whose node has another kind than the entry says, if there is one: the path, and the kind
    /// of the node.
    pub fn entry_of_wrong_kind(&self, cancel: &CancelToken) -> Result<Option<(String, NodeKind)>> {
        each!(&self.0, node => backend::Node::entry_of_wrong_kind(node, cancel))
    }

    /// A directory's entries, and the way to the nodes of most of them; E160016 for a file.
    pub fn children(&self) -> Result<Children> {
        let of = each!(&self.0, node, wrap => wrap(backend::Node::children(node)?));
        let entries = each!(&of, children, wrap => wrap(backend::Children::entries(children)));
        Ok(Children { entries: Directory(entries), of })
    }
}

/// The entries of a directory, and the way to their nodes.
#[derive(Debug)]
pub struct Children {
    entries: Directory,
    of: of!(Children),
}

impl Default for Children {
    fn default() -> Self {
        Self { entries: Directory::default(), of: Of::Fsfs(sapwood_fsfs::Children::default()) }
    }
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
        both!(&mut self.of, &dir.0, (children, node), wrap => {
            Ok(Node(wrap(backend::Children::node(children, node, at)?)))
        }, else Err(other_engine()))
    }
}
