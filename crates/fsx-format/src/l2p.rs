//! The log-to-phys index: from revision and item number to an offset and the position in the container there.

use sapwood_core::Revnum;

use crate::cursor::{Cursor, put_little};
use crate::error::{Error, Result};
use crate::limits::ITEMS_PER_REVISION;
use sapwood_core::len64;

/// The first bytes of the index.
pub const PREFIX: &[u8] = b"L2P-INDEX\n";

/// Where an item is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location {
    /// Offset in the file.
    pub offset: u64,
    /// Position in the container at that offset; 0 for an item by itself.
    pub sub_item: u64,
}

/// A page of a revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// Offset from the first byte of the index.
    pub offset: u64,
    /// Bytes.
    pub len: u64,
    /// Item numbers.
    pub entries: u64,
}

/// The header of the index: which pages each revision has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The first revision of the file.
    pub first: Revnum,
    /// Item numbers in a full page.
    pub page_size: u64,
    /// For each revision, the first of its pages; one more at the end.
    starts: Vec<usize>,
    pages: Vec<Page>,
}

impl Header {
    /// Parses the header of an index of `index_len` bytes. `revisions` is how many revisions the file must have: 1, or a
    /// shard's.
    ///
    /// # Errors
    /// E160054 when the index contradicts itself or the file; E160004 when `bytes` end too early.
    pub fn parse(bytes: &[u8], index_len: u64, first: Revnum, revisions: u64) -> Result<Self> {
        let mut cursor = Cursor::new(bytes, "log-to-phys index");
        if cursor.take(len64(PREFIX.len()))? != PREFIX {
            return Err(Error::index("Index stream header prefix mismatch"));
        }
        if (cursor.little()?, cursor.little()?) != (first.0, revisions) {
            return Err(Error::index("L2P index of other revisions than its file"));
        }
        let (page_size, page_count) = (cursor.little()?, cursor.little()?);
        // Every page takes a byte and is described by two.
        if !page_size.is_power_of_two()
            || page_count > index_len
            || revisions > index_len.saturating_mul(1 << 14)
        {
            return Err(Error::index("L2P index with impossible sizes"));
        }
        let starts = page_starts(&mut cursor, revisions, page_count)?;
        let mut pages = Vec::new();
        for _ in 0..page_count {
            let (len, entries) = (cursor.little()?, cursor.little()?);
            if entries > page_size || entries > ITEMS_PER_REVISION {
                return Err(Error::index("L2P index page with too many entries"));
            }
            pages.push(Page { offset: 0, len, entries });
        }
        let mut offset = len64(bytes.len().saturating_sub(cursor.rest().len()));
        for page in &mut pages {
            page.offset = offset;
            offset = offset.saturating_add(page.len);
        }
        if offset != index_len {
            return Err(Error::index("L2P index pages do not fill the index"));
        }
        Ok(Self { first, page_size, starts, pages })
    }

    /// The page of an item, and the item's position in it.
    ///
    /// # Errors
    /// E160055 for a revision that the index does not cover, E160056 for an item number that the revision has not.
    pub fn page(&self, revision: Revnum, item: u64) -> Result<(Page, u64)> {
        let pages = self.pages_of(revision)?;
        let overflow = || {
            Error::IndexOverflow(
                format!("Item index {item} too large in revision {revision}").into(),
            )
        };
        let number = item.checked_div(self.page_size).and_then(|page| usize::try_from(page).ok());
        let page = number.and_then(|number| pages.get(number)).ok_or_else(overflow)?;
        let at = item.checked_rem(self.page_size).filter(|at| *at < page.entries);
        Ok((*page, at.ok_or_else(overflow)?))
    }

    /// All pages of a revision, in the order of item numbers.
    ///
    /// # Errors
    /// E160055 for a revision that the index does not cover.
    pub fn pages_of(&self, revision: Revnum) -> Result<&[Page]> {
        let find = || {
            let at = usize::try_from(revision.0.checked_sub(self.first.0)?).ok()?;
            self.pages.get(*self.starts.get(at)?..*self.starts.get(at.checked_add(1)?)?)
        };
        find().ok_or(Error::IndexRevision(revision.0))
    }
}

/// Page counts of all revisions, as the first page of each. A number stands for itself; 0 and a number `n` stand for
/// `n + 1` times 1.
fn page_starts(cursor: &mut Cursor<'_>, revisions: u64, pages: u64) -> Result<Vec<usize>> {
    let wrong = || Error::index("L2P index page counts do not add up");
    let mut starts = vec![0usize];
    let mut sum = 0u64;
    let mut left = revisions;
    while left > 0 {
        let (count, times) = match cursor.little()? {
            0 => (1, cursor.little()?.saturating_add(1)),
            count => (count, 1),
        };
        left = left.checked_sub(times).ok_or_else(wrong)?;
        for _ in 0..times {
            sum = sum.checked_add(count).filter(|sum| *sum <= pages).ok_or_else(wrong)?;
            starts.push(usize::try_from(sum).map_err(|_| wrong())?);
        }
    }
    if sum == pages { Ok(starts) } else { Err(wrong()) }
}

/// Parses a page: where its items are, `None` for numbers that are not used.
///
/// # Errors
/// E160054 when the page is not exactly as long as it should be, or refers to no container.
pub fn parse_page(bytes: &[u8], entries: u64) -> Result<Vec<Option<Location>>> {
    let wrong = || Error::index("Malformed L2P index page");
    // Each entry takes a byte at least.
    if entries > len64(bytes.len()) {
        return Err(wrong());
    }
    let mut cursor = Cursor::new(bytes, "log-to-phys index page");
    let count = cursor.little()?;
    let mut containers = Vec::new();
    let mut next = 0u64;
    for _ in 0..count {
        next = next.checked_add(cursor.little()?).ok_or_else(wrong)?;
        containers.push(next.checked_sub(1).ok_or_else(wrong)?);
    }
    let mut items = Vec::new();
    for _ in 0..entries {
        let value = cursor.little()?;
        items.push(match value.checked_sub(1) {
            None => None,
            Some(at) => Some(match usize::try_from(at).ok().and_then(|at| containers.get(at)) {
                Some(offset) => Location { offset: *offset, sub_item: cursor.little()? },
                None => {
                    let offset = at.checked_sub(count).ok_or_else(wrong)?;
                    Location { offset, sub_item: 0 }
                }
            }),
        });
    }
    cursor.finish().map_err(|_| wrong())?;
    Ok(items)
}

/// Writes the index of consecutive revisions: for each, where its items are by their numbers. Items of one container
/// have the same offset.
///
/// # Errors
/// E160056 for a page size that is no power of two.
pub fn write(
    first: Revnum,
    revisions: &[Vec<Option<Location>>],
    page_size: usize,
    out: &mut Vec<u8>,
) -> Result<()> {
    if !page_size.is_power_of_two() {
        return Err(Error::IndexOverflow("L2P page size is no power of two".into()));
    }
    let (mut counts, mut pages) = (Vec::new(), Vec::new());
    for items in revisions {
        let chunks: Vec<_> = items.chunks(page_size).collect();
        counts.push(chunks.len());
        for chunk in chunks {
            let mut page = Vec::new();
            write_page(chunk, &mut page);
            pages.push((page, chunk.len()));
        }
    }
    out.extend_from_slice(PREFIX);
    for number in [first.0, len64(revisions.len()), len64(page_size), len64(pages.len())] {
        put_little(out, number);
    }
    for group in counts.chunk_by(|a, b| (*a, *b) == (1, 1)) {
        if let [1, more @ ..] = group
            && !more.is_empty()
        {
            put_little(out, 0);
            put_little(out, len64(more.len()));
        } else {
            group.iter().for_each(|count| put_little(out, len64(*count)));
        }
    }
    for (page, entries) in &pages {
        put_little(out, len64(page.len()));
        put_little(out, len64(*entries));
    }
    pages.iter().for_each(|(page, _)| out.extend_from_slice(page));
    Ok(())
}

fn write_page(items: &[Option<Location>], out: &mut Vec<u8>) {
    let used = items.iter().flatten();
    let mut containers: Vec<u64> =
        used.filter(|item| item.sub_item > 0).map(|item| item.offset).collect();
    containers.sort_unstable();
    containers.dedup();
    put_little(out, len64(containers.len()));
    let mut before = 0;
    for offset in &containers {
        let next = offset.saturating_add(1);
        put_little(out, next.saturating_sub(before));
        before = next;
    }
    for item in items {
        let Some(Location { offset, sub_item }) = *item else {
            put_little(out, 0);
            continue;
        };
        match containers.binary_search(&offset) {
            Ok(at) => {
                put_little(out, len64(at).saturating_add(1));
                put_little(out, sub_item);
            }
            Err(_) => {
                put_little(out, offset.saturating_add(1).saturating_add(len64(containers.len())))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways() {
        let at = |offset, sub_item| Some(Location { offset, sub_item });
        let revisions = [
            vec![None, at(0, 0), at(70, 0), at(70, 1), at(900, 0)],
            vec![at(5, 0)],
            vec![at(6, 0)],
            vec![at(0, 1), at(0, 2), None],
        ];
        let mut index = Vec::new();
        write(Revnum(20), &revisions, 4, &mut index).unwrap();
        let header = Header::parse(&index, len64(index.len()), Revnum(20), 4).unwrap();
        for (revision, items) in (20..).zip(&revisions) {
            for (item, expected) in (0..).zip(items) {
                let (page, at) = header.page(Revnum(revision), item).unwrap();
                let start = usize::try_from(page.offset).unwrap();
                let end = start + usize::try_from(page.len).unwrap();
                let page = parse_page(&index[start..end], page.entries).unwrap();
                assert_eq!(page[usize::try_from(at).unwrap()], *expected, "r{revision} {item}");
            }
        }
        assert!(matches!(header.page(Revnum(20), 5), Err(Error::IndexOverflow(_))));
        assert_eq!(header.page(Revnum(24), 0), Err(Error::IndexRevision(24)));
        assert!(Header::parse(&index, len64(index.len()) + 1, Revnum(20), 4).is_err());
        assert!(Header::parse(&index, len64(index.len()), Revnum(21), 4).is_err());
    }

    #[test]
    fn every_change_of_a_byte_is_an_error_or_a_value() {
        let mut index = Vec::new();
        let item = Some(Location { offset: 300, sub_item: 1 });
        write(Revnum(0), &vec![vec![item; 3]; 5], 2, &mut index).unwrap();
        for at in 0..index.len() {
            let mut wrong = index.clone();
            wrong[at] ^= 0x7f;
            let _ = Header::parse(&wrong, len64(wrong.len()), Revnum(0), 5);
            let _ = parse_page(&wrong[at..], 2);
        }
    }
}
