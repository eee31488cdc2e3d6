//! The log-to-phys index: from (revision, item index) to the offset in the file.
//!
//! The header is parsed once a file; pages are parsed on demand, each alone.

use std::ops::Range;

use sapwood_core::Revnum;

use crate::error::{Error, Result};
use crate::packed_number::{self, Reader};

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

#[allow(clippy::missing_errors_doc, reason = "all: `Error` says what is wrong with the bytes")]
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
        let mut reader = packed_number::after_prefix(bytes, PREFIX)?;
        if reader.unsigned()? != first_revision.0 {
            return Err(Error::index("Index rev / pack file revision numbers do not match"));
        }
        let page_size = u32::try_from(reader.unsigned()?).ok().filter(|n| n.is_power_of_two());
        let page_size =
            page_size.ok_or_else(|| Error::index("L2P index page size is not a power of two"))?;
        let revision_count = reader.unsigned()?;
        if revision_count != 1 && revision_count != shard_size {
            return Err(Error::index("Invalid number of revisions in L2P index"));
        }
        let page_count = reader.unsigned()?;
        if page_count < revision_count {
            return Err(Error::index("Fewer L2P index pages than revisions"));
        }
        if page_count > index_len / 2 {
            return Err(Error::index("L2P index page count implausibly large"));
        }
        let page_count = u32::try_from(page_count)
            .map_err(|_| Error::index("L2P index page count implausibly large"))?;

        // Every table entry takes a byte at least: `bytes` bounds what is reserved.
        let reserve = |n: u64| sapwood_core::exact::clamped(n).min(bytes.len());
        let room = reserve(revision_count.saturating_add(1));
        let first_pages = read_first_pages(&mut reader, revision_count, page_count, room)?;
        let room = reserve(u64::from(page_count));
        let mut pages = read_pages(&mut reader, page_count, page_size, room)?;
        let mut offset = sapwood_core::exact::len64(reader.position());
        for page in &mut pages {
            page.offset = offset;
            offset = offset.saturating_add(u64::from(page.size));
            if offset > index_len {
                return Err(Error::index("L2P index page exceeds the index"));
            }
        }
        Ok(Self {
            first_revision,
            page_size,
            first_pages: first_pages.into_boxed_slice(),
            pages: pages.into_boxed_slice(),
        })
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
        let range = || {
            let at = usize::try_from(revision.0.checked_sub(self.first_revision.0)?).ok()?;
            Some(*self.first_pages.get(at)?..*self.first_pages.get(at.checked_add(1)?)?)
        };
        range().ok_or(Error::IndexRevision(revision.0))
    }

    /// How many item indexes a revision has (0 and unused ones included).
    pub fn item_count(&self, revision: Revnum) -> Result<u64> {
        let pages = self.pages_of(revision)?;
        // All pages but the last are full.
        let full = u64::from(pages.end.saturating_sub(pages.start).saturating_sub(1));
        let last = self.page(pages.end.saturating_sub(1), revision)?.entry_count;
        Ok(full.saturating_mul(u64::from(self.page_size)).saturating_add(u64::from(last)))
    }

    /// Where the offset of an item is found. E160055 for a revision that is not covered, E160056
    /// for an item index that is too large.
    pub fn find(&self, revision: Revnum, item: u64) -> Result<L2pSlot> {
        let pages = self.pages_of(revision)?;
        let page_size = u64::from(self.page_size);
        let limit = u64::from(pages.end.saturating_sub(pages.start)).saturating_mul(page_size);
        if item >= limit {
            return Err(Error::IndexOverflow(
                format!("Item index {item} exceeds l2p limit of {limit} for revision {revision}")
                    .into(),
            ));
        }
        let (page, place) = (item / page_size, item % page_size);
        let page = pages.start.saturating_add(u32::try_from(page).unwrap_or(u32::MAX));
        let place = u32::try_from(place).unwrap_or(u32::MAX);
        Ok(L2pSlot { page, info: self.page(page, revision)?, place })
    }

    fn page(&self, page: u32, revision: Revnum) -> Result<L2pPageInfo> {
        let found = usize::try_from(page).ok().and_then(|at| self.pages.get(at));
        found.copied().ok_or(Error::IndexRevision(revision.0))
    }

    /// Bytes of memory it takes, for cache accounting.
    #[must_use]
    pub fn byte_len(&self) -> usize {
        size_of::<Self>() + size_of_val(&*self.first_pages) + size_of_val(&*self.pages)
    }
}

/// For each revision the number of its first page, and then the number of pages. `room` is what is reserved.
fn read_first_pages(
    reader: &mut packed_number::Reader<'_>,
    revision_count: u64,
    page_count: u32,
    room: usize,
) -> Result<Vec<u32>> {
    let mut first_pages = Vec::with_capacity(room);
    let mut first_page = 0u32;
    first_pages.push(first_page);
    for _ in 0..revision_count {
        let count = reader.unsigned()?;
        if count == 0 {
            return Err(Error::index("Revision with no L2P index pages"));
        }
        let next = u64::from(first_page).saturating_add(count);
        first_page = u32::try_from(next)
            .ok()
            .filter(|next| *next <= page_count)
            .ok_or_else(|| Error::index("L2P page table exceeded"))?;
        first_pages.push(first_page);
    }
    if first_page != page_count {
        return Err(Error::index("Revisions do not cover the full L2P index page table"));
    }
    Ok(first_pages)
}

/// The lengths of the pages, whose offsets follow from them. `room` is what is reserved.
fn read_pages(
    reader: &mut packed_number::Reader<'_>,
    page_count: u32,
    page_size: u32,
    room: usize,
) -> Result<Vec<L2pPageInfo>> {
    let mut pages = Vec::with_capacity(room);
    for _ in 0..page_count {
        let size = reader.unsigned()?;
        if size == 0 {
            return Err(Error::index("Empty L2P index page"));
        }
        let size =
            u32::try_from(size).map_err(|_| Error::index("L2P index page exceeds the index"))?;
        let entry_count = u32::try_from(reader.unsigned()?).ok().filter(|n| *n <= page_size);
        let entry_count =
            entry_count.ok_or_else(|| Error::index("Page exceeds L2P index page size"))?;
        pages.push(L2pPageInfo { offset: 0, size, entry_count });
    }
    Ok(pages)
}

/// One page: the offsets of its items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct L2pPage {
    /// `u64::MAX` for an unused item index.
    offsets: Box<[u64]>,
}

#[allow(clippy::missing_errors_doc, reason = "all: `Error` says what is wrong with the bytes")]
impl L2pPage {
    /// Parses a page from exactly its [`L2pPageInfo::size`] bytes.
    pub fn parse(bytes: &[u8], info: &L2pPageInfo) -> Result<Self> {
        let wrong = || Error::index("L2P actual page size does not match page table value.");
        let count = sapwood_core::exact::clamped(info.entry_count);
        if bytes.len() != sapwood_core::exact::clamped(info.size) || count > bytes.len() {
            return Err(wrong());
        }
        let mut reader = Reader::new(bytes);
        let mut offsets = Vec::with_capacity(count);
        let mut last = 0u64;
        for _ in 0..count {
            // A page that ends too early is one of another length than the table says.
            let step = reader.signed().map_err(|error| match error {
                Error::UnexpectedEnd(_) => wrong(),
                other => other,
            })?;
            last = last.wrapping_add_signed(step);
            // Stored is the offset plus 1, and 0 for none.
            offsets.push(last.wrapping_sub(1));
        }
        if reader.position() != bytes.len() {
            return Err(wrong());
        }
        Ok(Self { offsets: offsets.into_boxed_slice() })
    }

    /// The offset of one item, out of the bytes of a page that need not be read to its end. As
    /// [`L2pPage::offset`] of the parsed page.
    pub fn find(bytes: &[u8], slot: &L2pSlot, revision: Revnum, item: u64) -> Result<Option<u64>> {
        if slot.place >= slot.info.entry_count {
            return Err(beyond(revision, item));
        }
        let mut reader = Reader::new(bytes);
        let mut last = 0u64;
        for _ in 0..=slot.place {
            last = last.wrapping_add_signed(reader.signed()?);
        }
        Ok(last.checked_sub(1))
    }

    /// The offset of the item at a place: `None` when unused. E160056 beyond the end.
    pub fn offset(&self, slot: &L2pSlot, revision: Revnum, item: u64) -> Result<Option<u64>> {
        let place = sapwood_core::exact::clamped(slot.place);
        let offset = self.offsets.get(place).ok_or_else(|| beyond(revision, item))?;
        Ok((*offset != u64::MAX).then_some(*offset))
    }

    /// All offsets, `None` where unused.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Option<u64>> {
        self.offsets.iter().map(|o| (*o != u64::MAX).then_some(*o))
    }
    /// Bytes of memory it takes, for cache accounting.
    #[must_use]
    pub fn byte_len(&self) -> usize {
        size_of::<Self>() + size_of_val(&*self.offsets)
    }
}

fn beyond(revision: Revnum, item: u64) -> Error {
    Error::IndexOverflow(format!("Item index {item} too large in revision {revision}").into())
}

/// Looks an item up in a transaction's `index.l2p`: pairs of 64-bit numbers, lowest byte first,
/// the offset plus 1 and the item index. `None` when it is not there.
#[allow(clippy::missing_errors_doc, reason = "all: `Error` says what is wrong with the bytes")]
pub fn find_in_proto_index(bytes: &[u8], item: u64) -> Result<Option<u64>> {
    let (numbers, rest) = bytes.as_chunks::<8>();
    let (pairs, odd) = numbers.as_chunks::<2>();
    if !rest.is_empty() || !odd.is_empty() {
        return Err(Error::UnexpectedEnd("proto index"));
    }
    let found = pairs.iter().find(|[_, index]| u64::from_le_bytes(*index) == item);
    Ok(found.and_then(|[offset, _]| u64::from_le_bytes(*offset).checked_sub(1)))
}

/// Item index of the changed paths of every revision.
pub const ITEM_CHANGES: u64 = 1;
/// Item index of the root directory's node-revision of every revision.
pub const ITEM_ROOT: u64 = 2;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index_write::{ItemOffsets, write_l2p};

    fn sample() -> (Vec<Vec<Option<u64>>>, Vec<u8>) {
        let revisions = vec![
            vec![None, Some(0), Some(900), Some(17), Some(18)],
            vec![None, Some(1 << 40)],
            vec![None, Some(5), Some(4), Some(3), Some(2)],
        ];
        let offsets = |offsets: &Vec<Option<u64>>| {
            let mut all = ItemOffsets::new();
            for (item, offset) in (0..).zip(offsets) {
                assert!(offset.is_none_or(|offset| all.set(item, offset)));
            }
            all
        };
        let all: Vec<ItemOffsets> = revisions.iter().map(offsets).collect();
        let mut out = Vec::new();
        write_l2p(Revnum(6), 4, &all, &mut out);
        (revisions, out)
    }

    fn parse(bytes: &[u8]) -> Result<L2pHeader> {
        L2pHeader::parse(bytes, u64::try_from(bytes.len()).unwrap(), Revnum(6), 3)
    }

    #[test]
    fn every_item_is_found() {
        let (revisions, bytes) = sample();
        let header = parse(&bytes).unwrap();
        assert_eq!((header.revision_count(), header.page_size()), (3, 4));
        for (at, offsets) in revisions.iter().enumerate() {
            let revision = Revnum(6 + u64::try_from(at).unwrap());
            assert_eq!(header.item_count(revision), Ok(u64::try_from(offsets.len()).unwrap()));
            for (item, offset) in offsets.iter().enumerate() {
                let item = u64::try_from(item).unwrap();
                let slot = header.find(revision, item).unwrap();
                let start = usize::try_from(slot.info.offset).unwrap();
                let end = start + usize::try_from(slot.info.size).unwrap();
                let page = L2pPage::parse(&bytes[start..end], &slot.info).unwrap();
                assert_eq!(page.offset(&slot, revision, item), Ok(*offset));
            }
        }
    }

    #[test]
    fn out_of_range() {
        let (_, bytes) = sample();
        let header = parse(&bytes).unwrap();
        assert_eq!(header.find(Revnum(5), 1), Err(Error::IndexRevision(5)));
        assert_eq!(header.find(Revnum(9), 1), Err(Error::IndexRevision(9)));
        let error = header.find(Revnum(7), 4).unwrap_err().to_string();
        assert_eq!(error, "Item index 4 exceeds l2p limit of 4 for revision 7");
        let slot = header.find(Revnum(7), 3).unwrap();
        let start = usize::try_from(slot.info.offset).unwrap();
        let size = usize::try_from(slot.info.size).unwrap();
        let page = L2pPage::parse(&bytes[start..start + size], &slot.info).unwrap();
        let error = page.offset(&slot, Revnum(7), 3).unwrap_err().to_string();
        assert_eq!(error, "Item index 3 too large in revision 7");
        let bytes = &bytes[start..=start + size];
        assert!(L2pPage::parse(bytes, &slot.info).is_err());
        assert_eq!(L2pPage::find(bytes, &slot, Revnum(7), 3), page.offset(&slot, Revnum(7), 3));
        for place in 0..2 {
            let slot = L2pSlot { place, ..slot };
            let want = page.offset(&slot, Revnum(7), u64::from(place));
            assert_eq!(L2pPage::find(bytes, &slot, Revnum(7), u64::from(place)), want);
        }
    }

    #[test]
    fn a_first_part_asks_for_more_and_damage_never_panics() {
        let (_, bytes) = sample();
        let len = u64::try_from(bytes.len()).unwrap();
        let header_len = usize::try_from(parse(&bytes).unwrap().pages()[0].offset).unwrap();
        for cut in 0..header_len {
            let part = L2pHeader::parse(&bytes[..cut], len, Revnum(6), 3);
            assert_eq!(part, Err(Error::UnexpectedEnd("index")), "{cut}");
        }
        assert!(L2pHeader::parse(&bytes[..header_len], len, Revnum(6), 3).is_ok());
        for at in 0..header_len {
            for byte in 0..=255 {
                let mut bad = bytes.clone();
                bad[at] = byte;
                if let Ok(header) = parse(&bad) {
                    for page in header.pages() {
                        let end = page.offset + u64::from(page.size);
                        assert!(end <= len);
                    }
                }
            }
        }
        assert!(L2pHeader::parse(&bytes, len, Revnum(6), 4).is_err());
        assert!(L2pHeader::parse(&bytes, len, Revnum(7), 3).is_err());
    }

    #[test]
    fn proto_index() {
        let bytes: Vec<u8> = [0u64, 0, 11, 1, 1, 2].iter().flat_map(|n| n.to_le_bytes()).collect();
        assert_eq!(find_in_proto_index(&bytes, 1), Ok(Some(10)));
        assert_eq!(find_in_proto_index(&bytes, 2), Ok(Some(0)));
        assert_eq!(find_in_proto_index(&bytes, 3), Ok(None));
        assert!(find_in_proto_index(&bytes[1..], 3).is_err());
    }
}
