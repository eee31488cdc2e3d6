//! The phys-to-log index: what lies where in the file.
//!
//! The header is parsed once a file; pages are parsed on demand. A page describes the items that
//! end in its part of the file. The item that covers the end of the part is described first in a
//! later page, so [`P2lHeader::page`] says what to read to have the part covered whole.

use std::ops::Range;

use sapwood_core::Revnum;

use crate::error::{Error, Result};
use crate::l2p::ITEM_CHANGES;
use crate::packed_number::{self, Reader};

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

#[allow(clippy::missing_errors_doc, reason = "all: `Error` says what is wrong with the bytes")]
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
        let mut reader = packed_number::after_prefix(bytes, PREFIX)?;
        if reader.unsigned()? != first_revision.0 {
            return Err(Error::index("Index rev / pack file revision numbers do not match"));
        }
        let file_size = reader.unsigned()?;
        if file_size != data_len {
            return Err(Error::index("Index offset and rev / pack file size do not match"));
        }
        let page_size = reader.unsigned()?;
        if !page_size.is_power_of_two() {
            return Err(Error::index("P2L index page size is not a power of two"));
        }
        let page_count = reader.unsigned()?;
        // An empty file never happens; the reference's arithmetic wraps around there.
        if file_size == 0 || page_count != file_size.div_ceil(page_size) {
            return Err(Error::index("P2L page count does not match rev / pack file size"));
        }
        // A page's length takes a byte at least.
        if page_count > index_len {
            return Err(Error::index("P2L page count exceeds the index"));
        }
        let reserve = sapwood_core::exact::clamped(page_count).min(bytes.len());
        let mut offsets = Vec::with_capacity(reserve.saturating_add(1));
        let mut offset = 0u64;
        offsets.push(offset);
        for _ in 0..page_count {
            offset = offset.saturating_add(reader.unsigned()?);
            offsets.push(offset);
        }
        let start = sapwood_core::exact::len64(reader.position());
        if start.saturating_add(offset) > index_len {
            return Err(Error::index("P2L index pages exceed the index"));
        }
        offsets.iter_mut().for_each(|o| *o = o.saturating_add(start));
        Ok(Self { first_revision, file_size, page_size, offsets: offsets.into_boxed_slice() })
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
        let (start, end) = self.bounds(page)?;
        Some(start..end.saturating_add(Self::MAX_ENTRY_LEN).min(index_len).max(end))
    }

    fn bounds(&self, page: u64) -> Option<(u64, u64)> {
        let at = usize::try_from(page).ok()?;
        Some((*self.offsets.get(at)?, *self.offsets.get(at.checked_add(1)?)?))
    }

    /// Bytes of memory it takes, for cache accounting.
    #[must_use]
    pub fn byte_len(&self) -> usize {
        size_of::<Self>() + size_of_val(&*self.offsets)
    }
    /// The most bytes an offset and one entry can take.
    pub(crate) const MAX_ENTRY_LEN: u64 = 50;
}

/// The entries that cover one page's part of the file: the first may begin before it, the last
/// may end behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct P2lPage {
    entries: Box<[P2lEntry]>,
}

#[allow(clippy::missing_errors_doc, reason = "all: `Error` says what is wrong with the bytes")]
impl P2lPage {
    /// Parses page number `page` from the bytes that [`P2lHeader::page`] names.
    pub fn parse(bytes: &[u8], header: &P2lHeader, page: u64) -> Result<Self> {
        let (start, end) = header
            .bounds(page)
            .ok_or_else(|| Error::index("P2L page beyond the end of the index"))?;
        let len = sapwood_core::exact::clamped(end.saturating_sub(start));
        // The last page ends at a multiple of the page size, behind the last item.
        let page_end = page.saturating_add(1).saturating_mul(header.page_size);
        let mut run = EntryRun::begin(bytes, header.first_revision)?;
        // Five bytes an entry at least.
        let mut entries = Vec::with_capacity(len.min(bytes.len()) / 5);
        if len == 0 {
            // The first item of the next page that has any covers this one whole.
            entries.push(run.entry()?);
            return Self::within(header, entries);
        }
        while run.reader.position() < len {
            entries.push(run.entry()?);
        }
        if run.reader.position() != len {
            return Err(Error::index("P2L page description overlaps with next page description"));
        }
        if run.offset < page_end {
            let rest = bytes.get(len..).unwrap_or_default();
            let mut next = EntryRun::begin(rest, header.first_revision)?;
            if next.offset != run.offset {
                return Err(Error::index("P2L page descriptions leave a gap or overlap"));
            }
            entries.push(next.entry()?);
        }
        Self::within(header, entries)
    }

    /// A page, if its last entry ends within the last page.
    fn within(header: &P2lHeader, entries: Vec<P2lEntry>) -> Result<Self> {
        let end = header.page_count().saturating_mul(header.page_size);
        if entries.last().is_some_and(|last| last.end() > end) {
            let revision = header.first_revision;
            let message = format!(
                "Last P2L index entry extends beyond the last page in revision {revision}."
            );
            return Err(Error::IndexOverflow(message.into()));
        }
        Ok(Self { entries: entries.into_boxed_slice() })
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
        size_of::<Self>() + size_of_val(&*self.entries)
    }
}

/// A run of entries, each stored as differences to the one before.
struct EntryRun<'a> {
    reader: Reader<'a>,
    offset: u64,
    compound: u64,
    revision: u64,
}

impl<'a> EntryRun<'a> {
    fn begin(bytes: &'a [u8], first_revision: Revnum) -> Result<Self> {
        let mut reader = Reader::new(bytes);
        let offset = reader.unsigned()?;
        Ok(Self { reader, offset, compound: 0, revision: first_revision.0 })
    }

    fn entry(&mut self) -> Result<P2lEntry> {
        let size = self.reader.unsigned()?;
        self.compound = self.compound.wrapping_add_signed(self.reader.signed()?);
        let item_type = ItemType::from_number(self.compound & 7)
            .ok_or_else(|| Error::index("Invalid item type in P2L index"))?;
        let item = self.compound >> 3;
        if item_type == ItemType::Changes && item != ITEM_CHANGES {
            return Err(Error::index("Changed path list must have item number 1"));
        }
        self.revision = self.revision.wrapping_add_signed(self.reader.signed()?);
        let fnv1 = u32::try_from(self.reader.unsigned()?)
            .map_err(|_| Error::index("Invalid FNV1 checksum in P2L index"))?;
        if item_type == ItemType::Unused && (item != 0 || fnv1 != 0) {
            return Err(Error::index("Empty regions must have item number 0 and checksum 0"));
        }
        let offset = self.offset;
        self.offset = offset
            .checked_add(size)
            .filter(|end| i64::try_from(*end).is_ok())
            .ok_or_else(|| Error::IndexOverflow("P2L index entry size overflow.".into()))?;
        Ok(P2lEntry { offset, size, item_type, fnv1, revision: Revnum(self.revision), item })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index_write::write_p2l;

    fn sample() -> (Vec<P2lEntry>, Vec<u8>) {
        let mut offset = 0;
        let sizes = [10, 5, 70, 0, 43, 1, 1, 30];
        let entries: Vec<_> = sizes
            .iter()
            .zip(2..)
            .map(|(size, item)| {
                let entry = P2lEntry {
                    offset,
                    size: *size,
                    item_type: ItemType::from_number(1 + item % 5).unwrap(),
                    fnv1: u32::try_from(item * 77_777).unwrap(),
                    revision: Revnum(6 + item % 2),
                    item,
                };
                offset += size;
                entry
            })
            .collect();
        let mut out = Vec::new();
        write_p2l(Revnum(6), 16, &entries, &mut out);
        (entries, out)
    }

    fn parse(bytes: &[u8]) -> Result<P2lHeader> {
        P2lHeader::parse(bytes, u64::try_from(bytes.len()).unwrap(), Revnum(6), 160)
    }

    fn page(bytes: &[u8], header: &P2lHeader, page: u64) -> Result<P2lPage> {
        let range = header.page(page, u64::try_from(bytes.len()).unwrap()).unwrap();
        let range = usize::try_from(range.start).unwrap()..usize::try_from(range.end).unwrap();
        P2lPage::parse(&bytes[range], header, page)
    }

    #[test]
    fn every_item_is_found_and_pages_are_covered() {
        let (entries, bytes) = sample();
        let header = parse(&bytes).unwrap();
        assert_eq!((header.page_count(), header.file_size()), (10, 160));
        for entry in entries.iter().filter(|e| e.size > 0) {
            let at = header.page_at(entry.offset).unwrap();
            let page = page(&bytes, &header, at).unwrap();
            assert!(page.entries().contains(entry), "{entry:?}");
        }
        for at in 0..header.page_count() {
            let page = page(&bytes, &header, at).unwrap();
            assert!(page.entries().first().unwrap().offset <= at * 16);
            assert!(page.entries().last().unwrap().end() >= (at + 1) * 16);
        }
        assert_eq!(header.page_at(160), None);
    }

    #[test]
    fn no_item_ends_behind_the_last_page() {
        let mut out = Vec::new();
        let entry = P2lEntry {
            offset: 0,
            size: 20,
            item_type: ItemType::FileRep,
            fnv1: 0,
            revision: Revnum(6),
            item: 3,
        };
        write_p2l(Revnum(6), 16, &[entry], &mut out);
        let header = P2lHeader::parse(&out, 1000, Revnum(6), 20).unwrap();
        let (start, _) = header.bounds(0).unwrap();
        let mut bytes = out[usize::try_from(start).unwrap()..].to_vec();
        assert_eq!(P2lPage::parse(&bytes, &header, 0).unwrap().entries().len(), 1);
        // Its size.
        bytes[1] = 33;
        let error = P2lPage::parse(&bytes, &header, 0).unwrap_err();
        assert_eq!(error.code(), sapwood_core::ErrorCode::FS_INDEX_OVERFLOW, "{error}");
    }

    #[test]
    fn a_first_part_asks_for_more_and_damage_never_panics() {
        let (_, bytes) = sample();
        let len = u64::try_from(bytes.len()).unwrap();
        for cut in 0..PREFIX.len() + 4 {
            let part = P2lHeader::parse(&bytes[..cut], len, Revnum(6), 160);
            assert_eq!(part, Err(Error::UnexpectedEnd("index")), "{cut}");
        }
        for at in 0..bytes.len() {
            for byte in 0..=255 {
                let mut bad = bytes.clone();
                bad[at] = byte;
                if let Ok(header) = parse(&bad) {
                    for at in 0..header.page_count() {
                        let _ = page(&bad, &header, at);
                    }
                }
            }
        }
    }
}
