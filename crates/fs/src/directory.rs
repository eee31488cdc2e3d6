//! Directories, and what stands for a node-revision in them.

use std::sync::Arc;

use sapwood_core::{NodeKind, Revnum};

use crate::of::{Of, each};

/// A node-revision. Two of the same filesystem are the same node-revision if, and only if, they are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NodeId(pub(crate) IdOf);

/// As an engine names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum IdOf {
    Fsfs(sapwood_fsfs::NodeRevId),
    Fsx(sapwood_fsx::Id),
}

impl NodeId {
    /// The revision that made it; `None` in a transaction.
    #[must_use]
    pub const fn revision(&self) -> Option<Revnum> {
        match &self.0 {
            IdOf::Fsfs(id) => id.revision(),
            IdOf::Fsx(id) => id.change_set.revision(),
        }
    }
}

/// The form in which `svnlook` shows it, which is the engine's own.
impl std::fmt::Display for NodeId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            IdOf::Fsfs(id) => id.fmt(f),
            IdOf::Fsx(id) => id.fmt(f),
        }
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

impl<'a> From<sapwood_fsfs::DirEntry<'a>> for DirEntry<'a> {
    fn from(entry: sapwood_fsfs::DirEntry<'a>) -> Self {
        Self { name: entry.name, kind: entry.kind, id: NodeId(IdOf::Fsfs(entry.id)) }
    }
}

impl<'a> From<&'a sapwood_fsx::Entry> for DirEntry<'a> {
    fn from(entry: &'a sapwood_fsx::Entry) -> Self {
        Self { name: &entry.name, kind: entry.kind, id: NodeId(IdOf::Fsx(entry.id)) }
    }
}

/// The entries of a directory, sorted bytewise by name. Clones share them.
#[derive(Clone, Debug)]
pub struct Directory(pub(crate) Of<Arc<sapwood_fsfs::Directory>, Arc<sapwood_fsx::Directory>>);

impl Default for Directory {
    fn default() -> Self {
        Self(Of::Fsfs(Arc::default()))
    }
}

impl Directory {
    /// How many entries there are.
    #[must_use]
    pub fn len(&self) -> usize {
        each!(&self.0, entries => entries.len())
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether both are known to be the same one.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Of::Fsfs(a), Of::Fsfs(b)) => Arc::ptr_eq(a, b),
            (Of::Fsx(a), Of::Fsx(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }

    /// The entry at a position.
    #[must_use]
    pub fn get(&self, at: usize) -> Option<DirEntry<'_>> {
        each!(&self.0, entries => entries.get(at).map(DirEntry::from))
    }

    /// The entry called `name`.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<DirEntry<'_>> {
        each!(&self.0, entries => entries.find(name).map(DirEntry::from))
    }

    /// The entry called `name`. `hint` is the position at which it is looked for first, and is set to the one behind it:
    /// those who ask in the order of names ask with the same one again.
    pub fn find_next(&self, name: &str, hint: &mut usize) -> Option<DirEntry<'_>> {
        each!(&self.0, entries => entries.find_next(name, hint).map(DirEntry::from))
    }

    /// The entries.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = DirEntry<'_>> + DoubleEndedIterator {
        match &self.0 {
            Of::Fsfs(entries) => Entries::Fsfs(entries.iter().map(DirEntry::from)),
            Of::Fsx(entries) => Entries::Fsx(entries.iter().map(DirEntry::from)),
        }
    }

    /// Bytes of memory that they take.
    #[must_use]
    pub fn byte_len(&self) -> usize {
        each!(&self.0, entries => entries.byte_len())
    }
}

/// Entries of one of the engines.
enum Entries<A, B> {
    Fsfs(A),
    Fsx(B),
}

impl<'a, A, B> Iterator for Entries<A, B>
where
    A: Iterator<Item = DirEntry<'a>>,
    B: Iterator<Item = DirEntry<'a>>,
{
    type Item = DirEntry<'a>;

    fn next(&mut self) -> Option<DirEntry<'a>> {
        match self {
            Self::Fsfs(entries) => entries.next(),
            Self::Fsx(entries) => entries.next(),
        }
    }

    fn nth(&mut self, n: usize) -> Option<DirEntry<'a>> {
        match self {
            Self::Fsfs(entries) => entries.nth(n),
            Self::Fsx(entries) => entries.nth(n),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match self {
            Self::Fsfs(entries) => entries.size_hint(),
            Self::Fsx(entries) => entries.size_hint(),
        }
    }
}

impl<'a, A, B> DoubleEndedIterator for Entries<A, B>
where
    A: DoubleEndedIterator<Item = DirEntry<'a>>,
    B: DoubleEndedIterator<Item = DirEntry<'a>>,
{
    fn next_back(&mut self) -> Option<DirEntry<'a>> {
        match self {
            Self::Fsfs(entries) => entries.next_back(),
            Self::Fsx(entries) => entries.next_back(),
        }
    }
}

impl<'a, A, B> ExactSizeIterator for Entries<A, B>
where
    A: ExactSizeIterator<Item = DirEntry<'a>>,
    B: ExactSizeIterator<Item = DirEntry<'a>>,
{
}
