//! The phys-to-log index: what is at each offset of a revision or pack file.
//!
//! A page describes a part of the file. An item that crosses the end of a part is described in the page in which it
//! ends; pages that it covers whole are empty.

use sapwood_core::Revnum;

use crate::cursor::{Cursor, put_little, unzigzag, zigzag};
use crate::error::{Error, Result};
use crate::id::{ChangeSet, Id};
use crate::limits::CONTAINER_ITEMS;
use sapwood_core::len64;

/// The first bytes of the index.
pub const PREFIX: &[u8] = b"P2L-INDEX\n";

/// The kind of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ItemType {
    /// Zero bytes.
    Unused,
    /// A file's text.
    FileRep,
    /// A directory's list.
    DirRep,
    /// Properties of a file.
    FileProps,
    /// Properties of a directory.
    DirProps,
    /// A node-revision.
    NodeRev,
    /// A list of changed paths.
    Changes,
    /// A container of change lists.
    ChangesContainer,
    /// A container of node-revisions.
    NodeRevsContainer,
    /// A container of texts.
    RepsContainer,
}

impl ItemType {
    const ALL: [(Self, u64); 10] = [
        (Self::Unused, 0),
        (Self::FileRep, 1),
        (Self::DirRep, 2),
        (Self::FileProps, 3),
        (Self::DirProps, 4),
        (Self::NodeRev, 5),
        (Self::Changes, 6),
        (Self::ChangesContainer, 8),
        (Self::NodeRevsContainer, 9),
        (Self::RepsContainer, 10),
    ];

    pub(crate) fn from_disk(number: u64) -> Option<Self> {
        Self::ALL.iter().find(|(_, n)| *n == number).map(|(kind, _)| *kind)
    }

    pub(crate) fn to_disk(self) -> u64 {
        Self::ALL.iter().find(|(kind, _)| *kind == self).map_or(0, |(_, number)| *number)
    }

    /// Whether it has sub-items.
    #[must_use]
    pub const fn is_container(self) -> bool {
        matches!(self, Self::ChangesContainer | Self::NodeRevsContainer | Self::RepsContainer)
    }
}

/// A part of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Where it begins.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
    /// What it is.
    pub kind: ItemType,
    /// FNV-1a 32x4 of its bytes; 0 for unused ones.
    pub checksum: u32,
    /// The items in it: revision and item number. None for unused parts, one but in containers.
    pub items: Vec<Id>,
}

/// The header of the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The first revision of the file.
    pub first: Revnum,
    /// Bytes of items, which is where the log-to-phys index begins.
    pub data_len: u64,
    /// Bytes of the file that a page describes.
    pub page_size: u64,
    /// Offset, from the first byte of the index, and length of each page.
    pub pages: Vec<(u64, u64)>,
}

impl Header {
    /// Parses the header of an index of `index_len` bytes.
    ///
    /// # Errors
    /// E160054 when the index contradicts itself; E160004 when `bytes` end too early.
    pub fn parse(bytes: &[u8], index_len: u64, first: Revnum) -> Result<Self> {
        let mut cursor = Cursor::new(bytes, "phys-to-log index");
        if cursor.take(len64(PREFIX.len()))? != PREFIX {
            return Err(Error::index("Index stream header prefix mismatch"));
        }
        if cursor.little()? != first.0 {
            return Err(Error::index("Index rev / pack file revision numbers do not match"));
        }
        let (data_len, page_size, count) = (cursor.little()?, cursor.little()?, cursor.little()?);
        if !page_size.is_power_of_two() || count != data_len.div_ceil(page_size) {
            return Err(Error::index("P2L page count does not match rev / pack file size"));
        }
        if count > index_len {
            return Err(Error::index("P2L index with too many pages"));
        }
        let lens = (0..count).map(|_| cursor.little()).collect::<Result<Vec<_>>>()?;
        let mut offset = len64(bytes.len().saturating_sub(cursor.rest().len()));
        let mut pages = Vec::new();
        for len in lens {
            pages.push((offset, len));
            offset = offset.saturating_add(len);
        }
        if offset != index_len {
            return Err(Error::index("P2L index pages do not fill the index"));
        }
        Ok(Self { first, data_len, page_size, pages })
    }
}

/// Parses a page.
///
/// # Errors
/// E160054 when it is malformed.
pub fn parse_page(bytes: &[u8], first: Revnum) -> Result<Vec<Entry>> {
    let mut entries = Vec::new();
    if bytes.is_empty() {
        return Ok(entries);
    }
    let mut cursor = Cursor::new(bytes, "phys-to-log index page");
    let mut offset = cursor.little()?;
    while !cursor.is_at_end() {
        let entry = parse_entry(&mut cursor, offset, first)?;
        offset = offset
            .checked_add(entry.size)
            .ok_or_else(|| Error::IndexOverflow("P2L entry offset out of range".into()))?;
        entries.push(entry);
    }
    Ok(entries)
}

fn parse_entry(cursor: &mut Cursor<'_>, offset: u64, first: Revnum) -> Result<Entry> {
    let wrong = |what: &str| Error::index(format!("P2L entry at offset {offset}: {what}"));
    let (size, compound, checksum) = (cursor.little()?, cursor.little()?, cursor.little()?);
    let (kind, count) = (compound & 15, compound >> 4);
    let kind = ItemType::from_disk(kind).ok_or_else(|| wrong("invalid item type"))?;
    let checksum = u32::try_from(checksum).map_err(|_| wrong("invalid checksum"))?;
    let fits = match kind {
        ItemType::Unused => count == 0 && checksum == 0,
        _ if kind.is_container() => (1..=CONTAINER_ITEMS).contains(&count),
        _ => count == 1,
    };
    // Each item takes two bytes at least.
    if !fits || count > len64(cursor.rest().len()) {
        return Err(wrong("invalid number of items"));
    }
    let mut numbers = |from: i64| {
        let mut before = from;
        let read = (0..count).map(|_| {
            before = before.wrapping_add(unzigzag(cursor.little()?));
            Ok(before)
        });
        read.collect::<Result<Vec<i64>>>()
    };
    let revisions = numbers(i64::try_from(first.0).map_err(|_| wrong("invalid revision"))?)?;
    let numbers = numbers(0)?;
    let items = revisions.iter().zip(numbers).map(|(revision, number)| {
        let number = u64::try_from(number).map_err(|_| wrong("invalid item number"))?;
        match ChangeSet::from_disk(*revision) {
            change_set @ ChangeSet::Revision(_) => Ok(Id { change_set, number }),
            ChangeSet::None | ChangeSet::Txn(_) => Err(wrong("invalid revision")),
        }
    });
    Ok(Entry { offset, size, kind, checksum, items: items.collect::<Result<_>>()? })
}

/// Writes the index of a file whose items are `entries`, without gaps, from its first byte to `data_len`.
///
/// # Errors
/// E160056 for entries that do not follow each other, for ids outside of revisions, and for a page size that is no power of two.
pub fn write(
    first: Revnum,
    entries: &[Entry],
    data_len: u64,
    page_size: u64,
    out: &mut Vec<u8>,
) -> Result<()> {
    let wrong = |what: &'static str| Error::IndexOverflow(what.into());
    if !page_size.is_power_of_two() {
        return Err(wrong("P2L page size is no power of two"));
    }
    let page_count = data_len.div_ceil(page_size);
    let mut pages =
        vec![Vec::new(); usize::try_from(page_count).map_err(|_| wrong("file too large"))?];
    let covered = entries.iter().try_fold(0u64, |end, entry| {
        if entry.offset == end { end.checked_add(entry.size) } else { None }
    });
    let mut rest = data_len.checked_sub(covered.ok_or_else(|| wrong("P2L entries with gaps"))?);
    // The last entry reaches to the end of the last page, beyond the file.
    rest = rest.and_then(|rest| {
        rest.checked_add(page_count.checked_mul(page_size)?.checked_sub(data_len)?)
    });
    let last = Entry {
        offset: covered.unwrap_or_default(),
        size: rest.ok_or_else(|| wrong("P2L entries beyond the file"))?,
        kind: ItemType::Unused,
        checksum: 0,
        items: Vec::new(),
    };
    let last = Some(&last).filter(|last| last.size > 0);
    for entry in entries.iter().chain(last) {
        let end = entry.offset.saturating_add(entry.size).saturating_sub(1);
        let number = end.checked_div(page_size).and_then(|number| usize::try_from(number).ok());
        let page = number.and_then(|number| pages.get_mut(number));
        write_entry(entry, first, page.ok_or_else(|| wrong("P2L entry beyond the file"))?)?;
    }
    out.extend_from_slice(PREFIX);
    for number in [first.0, data_len, page_size, page_count] {
        put_little(out, number);
    }
    pages.iter().for_each(|page| put_little(out, len64(page.len())));
    pages.iter().for_each(|page| out.extend_from_slice(page));
    Ok(())
}

fn write_entry(entry: &Entry, first: Revnum, page: &mut Vec<u8>) -> Result<()> {
    let wrong = || Error::IndexOverflow("P2L item number out of range".into());
    if page.is_empty() {
        put_little(page, entry.offset);
    }
    put_little(page, entry.size);
    put_little(page, (len64(entry.items.len()) << 4) | entry.kind.to_disk());
    put_little(page, entry.checksum.into());
    let mut before = i64::try_from(first.0).map_err(|_| wrong())?;
    for item in &entry.items {
        let revision = item.change_set.revision().ok_or_else(wrong)?;
        let revision = i64::try_from(revision.0).map_err(|_| wrong())?;
        put_little(page, zigzag(revision.wrapping_sub(before)));
        before = revision;
    }
    before = 0;
    for item in &entry.items {
        let number = i64::try_from(item.number).map_err(|_| wrong())?;
        put_little(page, zigzag(number.wrapping_sub(before)));
        before = number;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries() -> Vec<Entry> {
        let id =
            |revision, number| Id { change_set: ChangeSet::Revision(Revnum(revision)), number };
        let sizes =
            [(10, ItemType::FileRep), (300, ItemType::NodeRevsContainer), (6, ItemType::Changes)];
        let mut offset = 0;
        let entry = |(size, kind): (u64, ItemType)| {
            offset += size;
            let items =
                if kind.is_container() { vec![id(25, 7), id(20, 2)] } else { vec![id(21, 4)] };
            Entry { offset: offset - size, size, kind, checksum: 77, items }
        };
        sizes.map(entry).to_vec()
    }

    #[test]
    fn both_ways() {
        let mut index = Vec::new();
        write(Revnum(20), &entries(), 316, 64, &mut index).unwrap();
        let header = Header::parse(&index, len64(index.len()), Revnum(20)).unwrap();
        assert_eq!((header.data_len, header.pages.len()), (316, 5));
        let mut found = Vec::new();
        for (offset, len) in &header.pages {
            let start = usize::try_from(*offset).unwrap();
            let page = &index[start..start + usize::try_from(*len).unwrap()];
            found.extend(parse_page(page, Revnum(20)).unwrap());
        }
        let last = found.pop().unwrap();
        assert_eq!((last.kind, last.offset, last.size), (ItemType::Unused, 316, 4));
        assert_eq!(found, entries());
        assert_eq!(header.pages[1].1, 0, "a page that an item covers whole is empty");
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let mut out = Vec::new();
        let mut gap = entries();
        gap.remove(1);
        assert!(write(Revnum(20), &gap, 316, 64, &mut out).is_err());
        assert!(write(Revnum(20), &entries(), 300, 64, &mut out).is_err());
        let mut index = Vec::new();
        write(Revnum(20), &entries(), 316, 64, &mut index).unwrap();
        assert!(Header::parse(&index, len64(index.len()), Revnum(21)).is_err());
        for at in 0..index.len() {
            let mut wrong = index.clone();
            wrong[at] ^= 0xff;
            let _ = Header::parse(&wrong, len64(wrong.len()), Revnum(20));
            let _ = parse_page(&wrong[at..], Revnum(20));
        }
    }
}
