//! The indexes of a transaction's prototype: which items it has, and what its parts are. Numbers are of 64 bits, the lowest
//! byte first.
//!
//! `index.l2p`: for each item its offset plus one, its number, and its position in a container (0 always). `index.p2l`: for each
//! part its offset, size, type, checksum and the count of its items; for each of these the change set plus one and the number; and where
//! the part ends, as offset and size together.

use sapwood_core::Exact;
use sapwood_core::exact::len64;

use crate::error::{Error, Result};
use crate::id::{ChangeSet, Id};
use crate::l2p::Location;
use crate::limits::{CONTAINER_ITEMS, ITEMS_PER_REVISION};
use crate::p2l::{Entry, ItemType};

struct Numbers<'a>(&'a [u8]);

impl Numbers<'_> {
    fn next(&mut self) -> Result<u64> {
        let (number, rest) =
            self.0.split_first_chunk().ok_or(Error::UnexpectedEnd("index of a transaction"))?;
        self.0 = rest;
        Ok(u64::from_le_bytes(*number))
    }
}

/// The file of the items, by their numbers.
#[must_use]
pub fn write_l2p(items: &[Option<Location>]) -> Vec<u8> {
    let mut out = Vec::new();
    for (number, location) in (0u64..).zip(items) {
        if let Some(location) = location {
            for value in [location.offset.plus(1), number, location.sub_item] {
                out.extend_from_slice(&value.to_le_bytes());
            }
        }
    }
    out
}

/// The items, by their numbers. A later one wins.
///
/// # Errors
/// E160004 when the file is cut off; E160056 for a number out of range.
pub fn parse_l2p(bytes: &[u8]) -> Result<Vec<Option<Location>>> {
    let mut numbers = Numbers(bytes);
    let mut items = Vec::new();
    while !numbers.0.is_empty() {
        let (offset, number, sub_item) = (numbers.next()?, numbers.next()?, numbers.next()?);
        // All zero stands for the next revision, of which a prototype has none.
        let Some(offset) = offset.checked_sub(1) else { continue };
        let at = usize::try_from(number).ok().filter(|_| number < ITEMS_PER_REVISION);
        let at = at.ok_or_else(|| Error::IndexOverflow("Item number out of range".into()))?;
        if items.len() <= at {
            items.resize(at.plus(1), None);
        }
        if let Some(slot) = items.get_mut(at) {
            *slot = Some(Location { offset, sub_item });
        }
    }
    Ok(items)
}

/// The file of the parts.
#[must_use]
pub fn write_p2l(entries: &[Entry]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut put = |value: u64| out.extend_from_slice(&value.to_le_bytes());
    for Entry { offset, size, kind, checksum, items } in entries {
        let count = len64(items.len());
        [*offset, *size, kind.to_disk(), u64::from(*checksum), count]
            .into_iter()
            .for_each(&mut put);
        for id in items {
            // Of no change set, which is -1.
            put(id.change_set.revision().map_or(0, |revision| revision.0.plus(1)));
            put(id.number);
        }
        put(offset.plus(*size));
    }
    out
}

/// The parts.
///
/// # Errors
/// E160004 when the file is cut off or contradicts itself.
pub fn parse_p2l(bytes: &[u8]) -> Result<Vec<Entry>> {
    let mut numbers = Numbers(bytes);
    let mut entries = Vec::new();
    while !numbers.0.is_empty() {
        let (offset, size) = (numbers.next()?, numbers.next()?);
        let wrong = || Error::index("Invalid entry in an index of a transaction");
        let kind = ItemType::from_disk(numbers.next()?).ok_or_else(wrong)?;
        let checksum = u32::try_from(numbers.next()?).map_err(|_| wrong())?;
        let count = numbers.next()?;
        if count > CONTAINER_ITEMS {
            return Err(wrong());
        }
        let mut items = Vec::new();
        for _ in 0..count {
            let (_, number) = (numbers.next()?, numbers.next()?);
            items.push(Id { change_set: ChangeSet::None, number });
        }
        if offset.checked_add(size) != Some(numbers.next()?) {
            return Err(wrong());
        }
        entries.push(Entry { offset, size, kind, checksum, items });
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways() {
        let items = [None, None, None, Some(Location { offset: 0, sub_item: 0 })];
        let file = write_l2p(&items);
        assert_eq!(file.len(), 24);
        assert_eq!(parse_l2p(&file).as_deref(), Ok(&items[..]));
        assert!(parse_l2p(&file[1..]).is_err());
        assert!(parse_l2p(&[0xff; 24]).is_err(), "a number out of range");
        let items = vec![Id { change_set: ChangeSet::None, number: 3 }];
        let entry = Entry { offset: 5, size: 7, kind: ItemType::FileRep, checksum: 9, items };
        let file = write_p2l(std::slice::from_ref(&entry));
        assert_eq!(file.len(), 64);
        assert_eq!(parse_p2l(&file), Ok(vec![entry]));
        assert!(parse_p2l(&file[..60]).is_err());
        assert!(parse_p2l(&[1; 64]).is_err());
    }
}
