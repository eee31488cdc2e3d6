//! The two proto-indexes of a transaction with logical addressing (`index.l2p`, `index.p2l`):
//! what its prototype revision file holds so far.
//!
//! Both are plain lists of little-endian 64-bit numbers without a header, appended to as items are
//! written. Nothing here says to which revision the items will belong: that is known on commit.

use sapwood_core::Revnum;
use sapwood_core::len64;

use crate::error::{Error, Result};
use crate::index_write::ItemOffsets;
use crate::p2l::{ItemType, P2lEntry};

/// How many item indexes of a transaction may be left out, the reserved ones included.
const SLACK: u64 = 1024;

/// Appends the log-to-phys proto-index of a transaction: (offset + 1, item index) pairs.
pub fn write_l2p(offsets: &ItemOffsets, out: &mut Vec<u8>) {
    for (item, offset) in offsets.iter() {
        push(offset.saturating_add(1), out);
        push(item, out);
    }
}

/// Appends the phys-to-log proto-index of a transaction. Entries must be in the order of offsets.
pub fn write_p2l(entries: &[P2lEntry], out: &mut Vec<u8>) {
    for entry in entries {
        push(entry.offset, out);
        push(entry.size, out);
        push(u64::from(entry.item_type.number()), out);
        push(u64::from(entry.fnv1), out);
        // No revision yet.
        push(0, out);
        push(entry.item, out);
    }
}

fn push(number: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(&number.to_le_bytes());
}

/// Reads a transaction's log-to-phys proto-index.
///
/// # Errors
/// E160004 and E160052 for what no transaction has.
pub fn read_l2p(bytes: &[u8]) -> Result<ItemOffsets> {
    let mut offsets = ItemOffsets::new();
    let records = records::<2>(bytes)?;
    // Indexes are given one after the other, from a small number on: memory is taken for as many.
    let limit = len64(records.len()).saturating_add(SLACK);
    for [offset, item] in records {
        // A pair of zeros may mark the beginning; an item without an offset is unused.
        let Some(offset) = offset.checked_sub(1) else { continue };
        if item >= limit || !offsets.set(item, offset) {
            let what = format!("Item index {item} too large in l2p proto index");
            return Err(Error::corrupt(what));
        }
    }
    Ok(offsets)
}

/// Reads a transaction's phys-to-log proto-index. Entries follow each other without gaps.
///
/// # Errors
/// E160004 and E160052 for what no transaction has.
pub fn read_p2l(bytes: &[u8]) -> Result<Vec<P2lEntry>> {
    let wrong = || Error::corrupt("Invalid entry in p2l proto index");
    let records = records::<6>(bytes)?;
    let mut entries = Vec::with_capacity(records.len());
    let mut end = 0u64;
    for [offset, size, item_type, fnv1, _, item] in records {
        if offset != end {
            return Err(wrong());
        }
        end = offset.checked_add(size).ok_or_else(wrong)?;
        entries.push(P2lEntry {
            offset,
            size,
            item_type: ItemType::from_number(item_type).ok_or_else(wrong)?,
            fnv1: u32::try_from(fnv1).map_err(|_| wrong())?,
            revision: Revnum::ZERO,
            item,
        });
    }
    Ok(entries)
}

/// The records of `N` numbers that `bytes` consist of.
fn records<const N: usize>(bytes: &[u8]) -> Result<impl ExactSizeIterator<Item = [u64; N]>> {
    let (numbers, rest) = bytes.as_chunks::<8>();
    let (records, odd) = numbers.as_chunks::<N>();
    if !rest.is_empty() || !odd.is_empty() {
        return Err(Error::UnexpectedEnd("proto index"));
    }
    Ok(records.iter().map(|record| record.map(u64::from_le_bytes)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn there_and_back(sizes in proptest::collection::vec((0u64..1 << 40, any::<u32>()), 0..20)) {
            let (mut offsets, mut entries, mut offset) = (ItemOffsets::new(), Vec::new(), 0);
            for (item, (size, fnv1)) in (3..).zip(sizes) {
                assert!(offsets.set(item, offset));
                let item_type = ItemType::from_number(1 + item % 6).unwrap();
                entries.push(P2lEntry {
                    offset, size, item_type, fnv1, revision: Revnum::ZERO, item,
                });
                offset += size;
            }
            let (mut l2p, mut p2l) = (Vec::new(), Vec::new());
            write_l2p(&offsets, &mut l2p);
            write_p2l(&entries, &mut p2l);
            prop_assert_eq!(read_l2p(&l2p).unwrap(), offsets);
            prop_assert_eq!(read_p2l(&p2l).unwrap(), entries);
        }

        #[test]
        fn any_bytes(bytes in proptest::collection::vec(0u8..4, 0..200)) {
            let _ = read_l2p(&bytes);
            let _ = read_p2l(&bytes);
        }
    }

    #[test]
    fn as_the_reference_writes_it() {
        let mut offsets = ItemOffsets::new();
        assert!(offsets.set(3, 0) && offsets.set(4, 21));
        let mut out = Vec::new();
        write_l2p(&offsets, &mut out);
        let numbers: Vec<u8> = [1u64, 3, 22, 4].iter().flat_map(|n| n.to_le_bytes()).collect();
        assert_eq!(out, numbers);
        assert!(read_l2p(&out[1..]).is_err());
        assert!(read_l2p(&[0xff; 16]).is_err());
        assert!(read_p2l(&[1; 48]).is_err());
    }
}
