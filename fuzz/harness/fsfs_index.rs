//! The two indexes: headers, every page, every item.

use sapwood_core::Revnum;
use sapwood_fsfs_format::fnv::Fnv1a32x4;
use sapwood_fsfs_format::{L2pHeader, L2pPage, P2lHeader, P2lPage, l2p};

/// Runs one input as either index.
pub fn run(data: &[u8]) {
    let len = u64::try_from(data.len()).unwrap_or(0);
    let (first, shard) = (Revnum(6), 3);
    if let Ok(header) = L2pHeader::parse(data, len, first, shard) {
        for revision in (0..header.revision_count()).map(|n| Revnum(first.0 + n)) {
            let count = header.item_count(revision).expect("a revision of the index");
            for item in (0..count.min(5000)).chain([count, u64::MAX]) {
                let Ok(slot) = header.find(revision, item) else { continue };
                if let Some(bytes) = part(data, slot.info.offset, u64::from(slot.info.size))
                    && let Ok(page) = L2pPage::parse(bytes, &slot.info)
                {
                    let _ = page.offset(&slot, revision, item);
                }
            }
        }
    }
    for file_size in [1, 160, 4096] {
        if let Ok(header) = P2lHeader::parse(data, len, first, file_size) {
            for number in 0..header.page_count() {
                let range = header.page(number, len).expect("a page of the index");
                let Some(bytes) = part(data, range.start, range.end - range.start) else {
                    panic!("a page outside the index")
                };
                if let Ok(page) = P2lPage::parse(bytes, &header, number) {
                    assert!(page.entries().is_sorted_by(|a, b| a.end() <= b.offset));
                }
            }
        }
    }
    let _ = l2p::find_in_proto_index(data, 3);
    let mut sum = Fnv1a32x4::new();
    let (a, b) = data.split_at(data.len() / 3);
    sum.update(a);
    sum.update(b);
    assert_eq!(sum.finish(), Fnv1a32x4::of(data));
}

fn part(data: &[u8], start: u64, len: u64) -> Option<&[u8]> {
    let start = usize::try_from(start).ok()?;
    data.get(start..start.checked_add(usize::try_from(len).ok()?)?)
}
