//! Directories: a hash dump of names to `file ID` or `dir ID`, and the incremental form that
//! transactions append changes in.

use sapwood_core::NodeKind;

use crate::error::Result;
use crate::id::NodeRevId;

/// One entry, borrowed from the bytes it was parsed from or from a [`Directory`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirEntryRef<'a> {
    /// The name, one path component.
    pub name: &'a str,
    /// File or directory.
    pub kind: NodeKind,
    /// The entry's node-revision.
    pub id: NodeRevId,
}

/// A whole directory in three allocations, sorted bytewise by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Directory {
    names: Box<str>,
    entries: Box<[Slot]>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Slot {
    start: u32,
    len: u32,
    kind: NodeKind,
    id: NodeRevId,
}

#[allow(clippy::missing_errors_doc, unused_variables)]
impl Directory {
    /// Parses the hash dump that is a committed directory's text. Duplicate names, or names that
    /// are not one path component, are corruption.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        todo!()
    }
    /// Parses a transaction's `.children` file: a hash dump, then changes.
    pub fn parse_incremental(bytes: &[u8]) -> Result<Self> {
        todo!()
    }
    /// How many entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
    /// The entry at a position in the order of names.
    #[must_use]
    pub fn get(&self, at: usize) -> Option<DirEntryRef<'_>> {
        todo!()
    }
    /// The entry called `name`, by binary search.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<DirEntryRef<'_>> {
        todo!()
    }
    /// The entries in the bytewise order of their names.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = DirEntryRef<'_>> + DoubleEndedIterator {
        self.entries.iter().map(|slot| -> DirEntryRef<'_> { todo!() })
    }
    /// Appends the hash dump.
    pub fn write(&self, out: &mut Vec<u8>) {
        todo!()
    }
    /// Bytes of memory it takes, for cache accounting.
    #[must_use]
    pub fn byte_len(&self) -> usize {
        size_of::<Self>() + self.names.len() + self.entries.len() * size_of::<Slot>()
    }
}

/// The entries of a directory's hash dump as they are stored, without allocating.
#[derive(Clone, Debug)]
pub struct DirEntries<'a> {
    bytes: &'a [u8],
}

impl<'a> DirEntries<'a> {
    /// Reads the hash dump `bytes`.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }
}

impl<'a> Iterator for DirEntries<'a> {
    type Item = Result<DirEntryRef<'a>>;
    fn next(&mut self) -> Option<Self::Item> {
        let _ = self.bytes;
        todo!()
    }
}
