//! Writing the two indexes of a revision or pack file with logical addressing (format 7 and 8),
//! and the footer that ends the file.
//!
//! The bytes are those that the reference writes for the same items and page sizes: pages are cut
//! in the same places, so that its verification (which compares the two indexes) and ours hold.

use sapwood_core::Exact;
use sapwood_core::{Md5, Revnum, len64};

use crate::footer::Footer;
use crate::p2l::{self, ItemType, P2lEntry};
use crate::packed_number::{write_signed, write_unsigned};
use crate::{l2p, limits};

/// Offsets of the items of one revision, by item index, while they become known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ItemOffsets {
    /// The offset plus one; 0 for an unused item index.
    slots: Vec<u64>,
}

impl ItemOffsets {
    /// No items yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { slots: Vec::new() }
    }

    /// Notes where the item with index `item` begins. An index beyond
    /// [`limits::ITEMS_PER_REVISION`] is refused with `false`.
    #[must_use]
    pub fn set(&mut self, item: u64, offset: u64) -> bool {
        let (Ok(at), true) = (usize::try_from(item), item < limits::ITEMS_PER_REVISION) else {
            return false;
        };
        if at >= self.slots.len() {
            self.slots.resize(at.plus(1), 0);
        }
        if let Some(slot) = self.slots.get_mut(at) {
            *slot = offset.plus(1);
        }
        true
    }

    /// Where the item with index `item` begins, `None` when that is not known.
    #[must_use]
    pub fn get(&self, item: u64) -> Option<u64> {
        self.slots.get(usize::try_from(item).ok()?)?.checked_sub(1)
    }

    /// The items whose places are known, in the order of their indexes: index and offset.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> {
        let slots = (0..).zip(&self.slots);
        slots.filter_map(|(item, slot)| Some((item, slot.checked_sub(1)?)))
    }

    /// How many item indexes there are, unused ones included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }
}

/// Appends the log-to-phys index of consecutive revisions from `first` on, one [`ItemOffsets`]
/// each, with at most `page_size` items a page (a power of two).
pub fn write_l2p(first: Revnum, page_size: u64, revisions: &[ItemOffsets], out: &mut Vec<u8>) {
    let mut page_counts = Vec::with_capacity(revisions.len());
    let mut page_table = Vec::new();
    let mut body = Vec::new();
    let items_a_page = sapwood_core::exact::clamped(page_size).max(1);
    for revision in revisions {
        let before = page_table.len();
        for page in revision.slots.chunks(items_a_page) {
            let start = body.len();
            let mut last = 0u64;
            for offset in page {
                write_signed(offset.wrapping_sub(last).cast_signed(), &mut body);
                last = *offset;
            }
            page_table.push((body.len().minus(start), page.len()));
        }
        page_counts.push(page_table.len().minus(before));
    }
    out.extend_from_slice(l2p::PREFIX);
    write_unsigned(first.0, out);
    write_unsigned(page_size, out);
    write_len(page_counts.len(), out);
    write_len(page_table.len(), out);
    for count in page_counts {
        write_len(count, out);
    }
    for (bytes, entries) in page_table {
        write_len(bytes, out);
        write_len(entries, out);
    }
    out.extend_from_slice(&body);
}

/// Appends the phys-to-log index of a file that begins with revision `first`, each page
/// describing `page_size` bytes of it (a power of two). `entries` are in the order of their
/// offsets and leave no gap, from the start of the file to the end of its items.
pub fn write_p2l(first: Revnum, page_size: u64, entries: &[P2lEntry], out: &mut Vec<u8>) {
    let page_size = page_size.max(1);
    let file_size = entries.last().map_or(0, P2lEntry::end);
    let mut pages = PageWriter { first, page_size, ..PageWriter::default() };
    for entry in entries {
        pages.add(entry);
    }
    // What is left of the last page is described as unused.
    pages.add(&P2lEntry {
        offset: file_size,
        size: file_size.next_multiple_of(page_size).minus(file_size),
        item_type: ItemType::Unused,
        fnv1: 0,
        revision: if entries.is_empty() { first } else { pages.last_revision },
        item: 0,
    });
    pages.sizes.push(pages.body.len().minus(pages.page_start));

    out.extend_from_slice(p2l::PREFIX);
    write_unsigned(first.0, out);
    write_unsigned(file_size, out);
    write_unsigned(page_size, out);
    write_len(pages.sizes.len(), out);
    for size in pages.sizes {
        write_len(size, out);
    }
    out.extend_from_slice(&pages.body);
}

#[derive(Default)]
struct PageWriter {
    first: Revnum,
    page_size: u64,
    body: Vec<u8>,
    /// Bytes of each finished page's description.
    sizes: Vec<usize>,
    /// Where the present page's description begins in `body`.
    page_start: usize,
    /// Up to where in the file finished pages reach.
    pages_end: u64,
    last_revision: Revnum,
    last_compound: u64,
}

impl PageWriter {
    fn add(&mut self, entry: &P2lEntry) {
        let mut new_page = self.body.is_empty();
        while entry.end().minus(self.pages_end) > self.page_size {
            self.sizes.push(self.body.len().minus(self.page_start));
            self.page_start = self.body.len();
            self.pages_end = self.pages_end.plus(self.page_size);
            new_page = true;
        }
        if new_page {
            write_unsigned(entry.offset, &mut self.body);
            self.last_revision = self.first;
            self.last_compound = 0;
        }
        write_unsigned(entry.size, &mut self.body);
        let compound = entry.item.wrapping_mul(8).wrapping_add(u64::from(entry.item_type.number()));
        write_signed(compound.wrapping_sub(self.last_compound).cast_signed(), &mut self.body);
        self.last_compound = compound;
        let step = entry.revision.0.wrapping_sub(self.last_revision.0).cast_signed();
        write_signed(step, &mut self.body);
        self.last_revision = entry.revision;
        write_unsigned(u64::from(entry.fnv1), &mut self.body);
    }
}

/// Appends both indexes and the footer: all that follows the items in a file whose items end at
/// `data_len`.
pub fn write_indexes(
    first: Revnum,
    data_len: u64,
    revisions: &[ItemOffsets],
    l2p_page_size: u64,
    entries: &[P2lEntry],
    p2l_page_size: u64,
    out: &mut Vec<u8>,
) {
    let mut l2p = Vec::new();
    write_l2p(first, l2p_page_size, revisions, &mut l2p);
    let mut p2l = Vec::new();
    write_p2l(first, p2l_page_size, entries, &mut p2l);
    let len = |bytes: &[u8]| len64(bytes.len());
    let p2l_offset = data_len.plus(len(&l2p));
    let footer = Footer {
        l2p_offset: data_len,
        l2p_md5: Md5::of(&l2p),
        p2l_offset,
        p2l_md5: Md5::of(&p2l),
        footer_offset: p2l_offset.plus(len(&p2l)),
    };
    out.extend_from_slice(&l2p);
    out.extend_from_slice(&p2l);
    footer.write(out);
}

fn write_len(len: usize, out: &mut Vec<u8>) {
    write_unsigned(len64(len), out);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{L2pHeader, L2pPage, P2lHeader, P2lPage};

    /// The items of a file: their sizes, types and revisions, in file order.
    fn entries() -> impl Strategy<Value = Vec<P2lEntry>> {
        prop::collection::vec((1u64..5000, 1u64..6, 0u64..5, any::<u32>()), 0..200).prop_map(
            |items| {
                let mut offset = 0;
                let mut next_item = [1; 5];
                // Every revision has changed paths, and they are item 1.
                (0..5)
                    .map(|revision| (1, 6, revision, 0))
                    .chain(items)
                    .map(|(size, kind, revision, fnv1)| {
                        let at = usize::try_from(revision).unwrap();
                        let entry = P2lEntry {
                            offset,
                            size,
                            item_type: ItemType::from_number(kind).unwrap(),
                            fnv1,
                            revision: Revnum(100 + revision),
                            item: next_item[at],
                        };
                        next_item[at] += 1;
                        offset += size;
                        entry
                    })
                    .collect()
            },
        )
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(entries in entries(), page_bits in 6u32..14) {
            let first = Revnum(100);
            let mut revisions = vec![ItemOffsets::new(); 5];
            for entry in &entries {
                let at = usize::try_from(entry.revision.0 - 100).unwrap();
                prop_assert!(revisions[at].set(entry.item, entry.offset));
            }
            let page_size = 1u64 << page_bits;
            let data_len = entries.last().unwrap().end();
            let mut bytes = vec![0; usize::try_from(data_len).unwrap()];
            write_indexes(first, data_len, &revisions, 8, &entries, page_size, &mut bytes);

            let file_len = u64::try_from(bytes.len()).unwrap();
            let footer = Footer::parse(&bytes, file_len, first).unwrap();
            let part = |from: u64, to: u64| {
                &bytes[usize::try_from(from).unwrap()..usize::try_from(to).unwrap()]
            };
            let index = part(footer.l2p_offset, footer.p2l_offset);
            prop_assert_eq!(Md5::of(index), footer.l2p_md5);
            let index_len = footer.p2l_offset - footer.l2p_offset;
            let header = L2pHeader::parse(index, index_len, first, 5).unwrap();
            for entry in &entries {
                let slot = header.find(entry.revision, entry.item).unwrap();
                let from = usize::try_from(slot.info.offset).unwrap();
                let page = &index[from..from + usize::try_from(slot.info.size).unwrap()];
                let page = L2pPage::parse(page, &slot.info).unwrap();
                let found = page.offset(&slot, entry.revision, entry.item).unwrap();
                prop_assert_eq!(found, Some(entry.offset));
            }

            let index = part(footer.p2l_offset, footer.footer_offset);
            prop_assert_eq!(Md5::of(index), footer.p2l_md5);
            let index_len = footer.footer_offset - footer.p2l_offset;
            let header = P2lHeader::parse(index, index_len, first, data_len).unwrap();
            for entry in &entries {
                let number = header.page_at(entry.offset).unwrap();
                let range = header.page(number, index_len).unwrap();
                let end = usize::try_from(range.end).unwrap().min(index.len());
                let page = &index[usize::try_from(range.start).unwrap()..end];
                let page = P2lPage::parse(page, &header, number).unwrap();
                prop_assert_eq!(page.find(entry.offset), Some(entry));
            }
        }
    }

    #[test]
    fn unused_items_and_limits() {
        let mut offsets = ItemOffsets::new();
        assert!(offsets.set(2, 7));
        assert_eq!((offsets.get(0), offsets.get(2), offsets.get(3)), (None, Some(7), None));
        assert!(!offsets.set(u64::MAX, 7));
        assert_eq!(offsets.len(), 3);
    }
}
