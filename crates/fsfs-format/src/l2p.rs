//! The log-to-phys index: from (revision, item index) to the offset in the file.
//!
//! The header is parsed once a file; pages are parsed on demand, each alone.

use std::ops::Range;

use sapwood_core::Revnum;

use crate::error::Result;

/// What the index begins with.
pub const PREFIX: &[u8] = b"L2P-INDEX\n";

/// One page in the page table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct L2pPageInfo {
    /// Where the page begins, in bytes from the start of the index (prefix included).
    pub offset: u64,
    /// Its bytes.
    pub size: u32,
    /// How many items it holds.
    pub entry_count: u32,
}

/// Where to find one item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct L2pSlot {
    /// The page's number in the whole index.
    pub page: u32,
    /// The page.
    pub info: L2pPageInfo,
    /// The item's place in the page.
    pub place: u32,
}

/// The header with its tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct L2pHeader {
    first_revision: Revnum,
    page_size: u32,
    /// For each revision the number of its first page; one more at the end.
    first_pages: Box<[u32]>,
    pages: Box<[L2pPageInfo]>,
}

#[allow(clippy::missing_errors_doc, unused_variables)]
impl L2pHeader {
    /// Parses the header at the start of an index of `index_len` bytes. `bytes` may be a first
    /// part of it: [`crate::Error::UnexpectedEnd`] asks for more. `first_revision` is the one that the
    /// file's name says, `shard_size` the number of revisions of a pack file.
    pub fn parse(
        bytes: &[u8],
        index_len: u64,
        first_revision: Revnum,
        shard_size: u64,
    ) -> Result<Self> {
        todo!()
    }
    /// The first revision.
    #[must_use]
    pub const fn first_revision(&self) -> Revnum {
        self.first_revision
    }
    /// How many revisions.
    #[must_use]
    pub fn revision_count(&self) -> u64 {
        u64::try_from(self.first_pages.len().saturating_sub(1)).unwrap_or(0)
    }
    /// Items a page.
    #[must_use]
    pub const fn page_size(&self) -> u32 {
        self.page_size
    }
    /// All pages.
    #[must_use]
    pub fn pages(&self) -> &[L2pPageInfo] {
        &self.pages
    }
    /// The numbers of a revision's pages.
    pub fn pages_of(&self, revision: Revnum) -> Result<Range<u32>> {
        todo!()
    }
    /// How many item indexes a revision has (0 and unused ones included).
    pub fn item_count(&self, revision: Revnum) -> Result<u64> {
        todo!()
    }
    /// Where the offset of an item is found. E160055 for a revision that is not covered, E160056
    /// for an item index that is too large.
    pub fn find(&self, revision: Revnum, item: u64) -> Result<L2pSlot> {
        todo!()
    }
    /// Bytes of memory it takes, for cache accounting.
    #[must_use]
    pub fn byte_len(&self) -> usize {
        size_of::<Self>() + self.first_pages.len() * 4 + self.pages.len() * size_of::<L2pPageInfo>()
    }
}

/// One page: the offsets of its items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct L2pPage {
    /// `u64::MAX` for an unused item index.
    offsets: Box<[u64]>,
}

#[allow(clippy::missing_errors_doc, unused_variables)]
impl L2pPage {
    /// Parses a page from exactly its [`L2pPageInfo::size`] bytes.
    pub fn parse(bytes: &[u8], info: &L2pPageInfo) -> Result<Self> {
        todo!()
    }
    /// The offset of the item at a place: `None` when unused. E160056 beyond the end.
    pub fn offset(&self, slot: &L2pSlot, revision: Revnum, item: u64) -> Result<Option<u64>> {
        todo!()
    }
    /// All offsets, `None` where unused.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Option<u64>> {
        self.offsets.iter().map(|o| (*o != u64::MAX).then_some(*o))
    }
    /// Bytes of memory it takes, for cache accounting.
    #[must_use]
    pub fn byte_len(&self) -> usize {
        size_of::<Self>() + self.offsets.len() * 8
    }
}

/// Looks an item up in a transaction's `index.l2p`. `None` when it is not there.
#[allow(clippy::missing_errors_doc)]
pub fn find_in_proto_index(bytes: &[u8], item: u64) -> Result<Option<u64>> {
    let _ = (bytes, item);
    todo!()
}

/// Item index of the changed paths of every revision.
pub const ITEM_CHANGES: u64 = 1;
/// Item index of the root directory's node-revision of every revision.
pub const ITEM_ROOT: u64 = 2;
