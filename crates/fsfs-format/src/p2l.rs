//! The phys-to-log index: what lies where in the file.
//!
//! The header is parsed once a file; pages are parsed on demand. A page describes the items that
//! begin in its part of the file; the item that covers the start of the part may be described by
//! an earlier page, and [`P2lHeader::page`] says what to read so that a part is covered whole.

use std::ops::Range;

use sapwood_core::Revnum;

use crate::error::Result;

/// What the index begins with.
pub const PREFIX: &[u8] = b"P2L-INDEX\n";

/// What an item is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ItemType {
    /// Nothing.
    Unused,
    /// Contents of a file.
    FileRep,
    /// Contents of a directory.
    DirRep,
    /// Properties of a file.
    FileProps,
    /// Properties of a directory.
    DirProps,
    /// A node-revision.
    NodeRev,
    /// Changed paths.
    Changes,
}

impl ItemType {
    /// The number on disk.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::Unused => 0,
            Self::FileRep => 1,
            Self::DirRep => 2,
            Self::FileProps => 3,
            Self::DirProps => 4,
            Self::NodeRev => 5,
            Self::Changes => 6,
        }
    }
    /// The inverse of [`ItemType::number`].
    #[must_use]
    pub const fn from_number(number: u64) -> Option<Self> {
        Some(match number {
            0 => Self::Unused,
            1 => Self::FileRep,
            2 => Self::DirRep,
            3 => Self::FileProps,
            4 => Self::DirProps,
            5 => Self::NodeRev,
            6 => Self::Changes,
            _ => return None,
        })
    }
}

/// One item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct P2lEntry {
    /// Where it begins in the file.
    pub offset: u64,
    /// Its bytes.
    pub size: u64,
    /// What it is.
    pub item_type: ItemType,
    /// [`crate::fnv`] of its bytes; 0 when unused or empty.
    pub fnv1: u32,
    /// The revision it belongs to.
    pub revision: Revnum,
    /// Its item index there.
    pub item: u64,
}

impl P2lEntry {
    /// Where it ends.
    #[must_use]
    pub const fn end(&self) -> u64 {
        self.offset.saturating_add(self.size)
    }
}

/// The header with its page table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct P2lHeader {
    first_revision: Revnum,
    file_size: u64,
    page_size: u64,
    /// For each page where it begins, from the start of the index (prefix included); one more.
    offsets: Box<[u64]>,
}

#[allow(clippy::missing_errors_doc, unused_variables)]
impl P2lHeader {
    /// Parses the header at the start of an index of `index_len` bytes. `bytes` may be a first
    /// part of it: [`crate::Error::UnexpectedEnd`] asks for more. `data_len` is the footer's
    /// `l2p_offset`, which is where items end.
    pub fn parse(
        bytes: &[u8],
        index_len: u64,
        first_revision: Revnum,
        data_len: u64,
    ) -> Result<Self> {
        todo!()
    }
    /// The first revision.
    #[must_use]
    pub const fn first_revision(&self) -> Revnum {
        self.first_revision
    }
    /// Where the items end.
    #[must_use]
    pub const fn file_size(&self) -> u64 {
        self.file_size
    }
    /// Bytes of the file that each page describes.
    #[must_use]
    pub const fn page_size(&self) -> u64 {
        self.page_size
    }
    /// How many pages.
    #[must_use]
    pub fn page_count(&self) -> u64 {
        u64::try_from(self.offsets.len().saturating_sub(1)).unwrap_or(0)
    }
    /// The page that describes `offset`; `None` beyond the last.
    #[must_use]
    pub fn page_at(&self, offset: u64) -> Option<u64> {
        offset.checked_div(self.page_size).filter(|page| *page < self.page_count())
    }
    /// The bytes of the index that [`P2lPage::parse`] needs for a page: from the page's start to
    /// the end of the first entry behind it. The range's end may lie up to
    /// [`P2lHeader::MAX_ENTRY_LEN`] bytes behind the page, or at the end of the index.
    #[must_use]
    pub fn page(&self, page: u64, index_len: u64) -> Option<Range<u64>> {
        todo!()
    }
    /// Bytes of memory it takes, for cache accounting.
    #[must_use]
    pub fn byte_len(&self) -> usize {
        size_of::<Self>() + self.offsets.len() * 8
    }
    /// The most bytes an offset and one entry can take.
    pub const MAX_ENTRY_LEN: u64 = 50;
}

/// The entries that cover one page's part of the file: the first may begin before it, the last
/// may end behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct P2lPage {
    entries: Box<[P2lEntry]>,
}

#[allow(clippy::missing_errors_doc, unused_variables)]
impl P2lPage {
    /// Parses page number `page` from the bytes that [`P2lHeader::page`] names.
    pub fn parse(bytes: &[u8], header: &P2lHeader, page: u64) -> Result<Self> {
        todo!()
    }
    /// The entries, in the order of their offsets.
    #[must_use]
    pub fn entries(&self) -> &[P2lEntry] {
        &self.entries
    }
    /// The entry that begins at exactly `offset`.
    #[must_use]
    pub fn find(&self, offset: u64) -> Option<&P2lEntry> {
        let at = self.entries.binary_search_by_key(&offset, |e| e.offset).ok()?;
        self.entries.get(at)
    }
    /// Bytes of memory it takes, for cache accounting.
    #[must_use]
    pub fn byte_len(&self) -> usize {
        size_of::<Self>() + self.entries.len() * size_of::<P2lEntry>()
    }
}
