//! Directories, and what stands for a node-revision in them.

use std::sync::Arc;

use sapwood_core::{NodeKind, Revnum};
use sapwood_fs_common::history::Nodes;

use crate::backend;
use crate::of::{Of, OfId, both, each, of};

/// A node-revision. Two of the same filesystem are the same node-revision if, and only if, they are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NodeId(pub(crate) OfId);

impl NodeId {
    /// The revision that made it; `None` in a transaction.
    #[must_use]
    pub fn revision(&self) -> Option<Revnum> {
        match &self.0 {
            Of::Fsfs(id) => sapwood_fsfs::Filesystem::revision(id),
            Of::Fsx(id) => sapwood_fsx::Filesystem::revision(id),
            #[cfg(feature = "memory")]
            Of::Memory(id) => crate::memory::Filesystem::revision(id),
        }
    }
}

/// An engine's own ids.
pub(crate) trait OwnId: Nodes {
    /// The id, if it is of this engine.
    fn own(id: &NodeId) -> Option<Self::Id>;
}

macro_rules! own_id {
    ($engine:ty, $of:ident) => {
        impl OwnId for $engine {
            fn own(id: &NodeId) -> Option<Self::Id> {
                match id.0 {
                    Of::$of(id) => Some(id),
                    _ => None,
                }
            }
        }
    };
}
own_id!(sapwood_fsfs::Filesystem, Fsfs);
own_id!(sapwood_fsx::Filesystem, Fsx);
#[cfg(feature = "memory")]
own_id!(crate::memory::Filesystem, Memory);

/// Those of some ids that are of the engine of a filesystem.
pub(crate) fn own_ids<F: OwnId>(_: &F, ids: &[NodeId]) -> impl Iterator<Item = F::Id> {
    ids.iter().filter_map(F::own)
}

/// The form in which `svnlook` shows it, which is the engine's own.
impl std::fmt::Display for NodeId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        each!(&self.0, id => id.fmt(f))
    }
}

/// One entry of a directory, borrowed from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirEntry<'a> {
    /// The name, one path component.
    pub name: &'a str,
    /// File or directory.
    pub kind: NodeKind,
    /// The entry's node-revision.
    pub id: NodeId,
}

/// The entries of a directory, sorted bytewise by name. Clones share them.
#[derive(Clone, Debug)]
pub struct Directory(pub(crate) of!(Directory));

impl Default for Directory {
    fn default() -> Self {
        Self(Of::Fsfs(Arc::default()))
    }
}

/// What an entry is above the engine.
fn shown<T>((name, kind, id): (&str, NodeKind, T), wrap: impl Fn(T) -> OfId) -> DirEntry<'_> {
    DirEntry { name, kind, id: NodeId(wrap(id)) }
}

impl Directory {
    /// How many entries there are.
    #[must_use]
    pub fn len(&self) -> usize {
        each!(&self.0, entries => backend::Directory::len(entries))
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether both are known to be the same one.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        both!(&self.0, &other.0, (a, b) => backend::Directory::is_same(a, b), else false)
    }

    /// The entry at a position.
    #[must_use]
    pub fn get(&self, at: usize) -> Option<DirEntry<'_>> {
        each!(&self.0, entries, wrap => {
            backend::Directory::get(entries, at).map(|entry| shown(entry, wrap))
        })
    }

    /// The entry called `name`.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<DirEntry<'_>> {
        each!(&self.0, entries, wrap => {
            backend::Directory::find(entries, name).map(|entry| shown(entry, wrap))
        })
    }

    /// The entry called `name`. `hint` is the position at which it is looked for first, and is set to the one behind it:
    /// those who ask in the order of names ask with the same one again.
    pub fn find_next(&self, name: &str, hint: &mut usize) -> Option<DirEntry<'_>> {
        each!(&self.0, entries, wrap => {
            backend::Directory::find_next(entries, name, hint).map(|entry| shown(entry, wrap))
        })
    }

    /// The entries.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = DirEntry<'_>> + DoubleEndedIterator {
        Entries { of: self, at: 0..self.len() }
    }

    /// Bytes of memory that they take.
    #[must_use]
    pub fn byte_len(&self) -> usize {
        each!(&self.0, entries => backend::Directory::byte_len(entries))
    }
}

/// The entries at some positions.
struct Entries<'a> {
    of: &'a Directory,
    at: std::ops::Range<usize>,
}

impl<'a> Iterator for Entries<'a> {
    type Item = DirEntry<'a>;

    fn next(&mut self) -> Option<DirEntry<'a>> {
        self.of.get(self.at.next()?)
    }

    fn nth(&mut self, n: usize) -> Option<DirEntry<'a>> {
        self.of.get(self.at.nth(n)?)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.at.size_hint()
    }
}

impl DoubleEndedIterator for Entries<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.of.get(self.at.next_back()?)
    }
}

impl ExactSizeIterator for Entries<'_> {}
