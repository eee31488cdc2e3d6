//! What a bulk writer knows of `rep-cache.db`, so that it need not look up each text and write
//! each revision's rows: rows that are still to be written, and a filter of what the database may hold.
//!
//! The filter answers "certainly not there" for texts that are new, which are most. It knows what
//! was there when it was made and what this writer added; what other programs add later is missed,
//! and their texts are then stored again, which is always right.

use std::collections::HashMap;

use sapwood_core::{Revnum, Sha1};

use sapwood_fs_common::rep_cache::Row;

/// Bits of the filter: 8 MiB. One text in forty is asked for in vain when there are ten million.
const BITS: usize = 1 << 26;
/// Rows that wait to be written, at most.
const WAITING: usize = 4096;
/// Bytes that a row takes in a database, at least.
const ROW_LEN: u64 = 64;
/// How many rows may be read to make the filter, for each look-up that came before.
const READ_PER_LOOKUP: u64 = 64;

/// Rows and filter.
#[derive(Debug, Default)]
pub(super) struct Batch {
    waiting: HashMap<Sha1, Row>,
    filter: Option<Filter>,
    /// Which file the filter was made of.
    inode: Option<u64>,
    lookups: u64,
}

impl Batch {
    /// The row of a text, if it waits here.
    pub(super) fn waiting(&self, sha1: &Sha1) -> Option<&Row> {
        self.waiting.get(sha1)
    }

    /// Whether the database may have a row for a text.
    pub(super) fn may_have(&self, sha1: &Sha1) -> bool {
        self.filter.as_ref().is_none_or(|filter| filter.has(sha1))
    }

    /// Whether it is worth it to make the filter now, for a database of `len` bytes: reading a
    /// large one to add a few texts is not.
    pub(super) fn wants_filter(&mut self, len: u64) -> bool {
        self.lookups += 1;
        let rows = len.checked_div(ROW_LEN).unwrap_or(0);
        self.filter.is_none() && rows <= self.lookups.saturating_mul(READ_PER_LOOKUP)
    }

    /// Takes the filter of what is in the database. What waits here is added to it.
    pub(super) fn set_filter(&mut self, mut filter: Filter) {
        for sha1 in self.waiting.keys() {
            filter.add(sha1);
        }
        self.filter = Some(filter);
    }

    /// Says which file the database is now: when it is another one, what was known is forgotten.
    pub(super) fn is_for(&mut self, inode: Option<u64>) {
        if std::mem::replace(&mut self.inode, inode) != inode {
            self.filter = None;
        }
    }

    /// Adds rows; whether it is time to write them.
    pub(super) fn add(&mut self, rows: &[Row]) -> bool {
        for row in rows {
            if let Some(filter) = &mut self.filter {
                filter.add(&row.sha1);
            }
            self.waiting.entry(row.sha1).or_insert(*row);
        }
        self.is_full()
    }

    /// Whether it is time to write rows.
    fn is_full(&self) -> bool {
        self.waiting.len() >= WAITING
    }

    /// The rows of revisions up to `youngest`, in the order of the database, when it is time to
    /// write them.
    pub(super) fn due(&self, youngest: Revnum) -> Vec<Row> {
        if !self.is_full() {
            return Vec::new();
        }
        let there = self.waiting.values().filter(|row| row.revision <= youngest);
        let mut rows: Vec<Row> = there.copied().collect();
        rows.sort_unstable_by_key(|row| row.sha1.0);
        rows
    }

    /// Forgets rows that are written.
    pub(super) fn forget(&mut self, rows: &[Row]) {
        for row in rows {
            self.waiting.remove(&row.sha1);
        }
    }

    /// Forgets the rows of revisions after `youngest`.
    pub(super) fn drop_after(&mut self, youngest: Revnum) {
        self.waiting.retain(|_, row| row.revision <= youngest);
    }

    /// All rows that wait, in the order of the database.
    pub(super) fn take(&mut self) -> Vec<Row> {
        let mut rows: Vec<Row> = self.waiting.drain().map(|(_, row)| row).collect();
        rows.sort_unstable_by_key(|row| row.sha1.0);
        rows
    }
}

/// A set that sometimes claims to have what it has not (a Bloom filter). SHA-1s need no hashing.
#[derive(Debug)]
pub(super) struct Filter {
    words: Box<[u64]>,
}

impl Filter {
    pub(super) fn new() -> Self {
        Self { words: vec![0; BITS / 64].into_boxed_slice() }
    }

    /// The bits of a text: its word, and the mask in it.
    fn places(sha1: &Sha1) -> impl Iterator<Item = (usize, u64)> {
        sha1.0.chunks_exact(4).take(4).map(|bytes| {
            let mut number = [0; 4];
            number.copy_from_slice(bytes);
            let bit = usize::try_from(u32::from_be_bytes(number)).unwrap_or(0) % BITS;
            (bit / 64, 1u64 << (bit % 64))
        })
    }

    pub(super) fn add(&mut self, sha1: &Sha1) {
        for (word, mask) in Self::places(sha1) {
            if let Some(word) = self.words.get_mut(word) {
                *word |= mask;
            }
        }
    }

    fn has(&self, sha1: &Sha1) -> bool {
        Self::places(sha1).all(|(word, mask)| self.words.get(word).is_some_and(|w| w & mask != 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(n: u32) -> Row {
        let sha1 = Sha1::of(&n.to_be_bytes());
        Row { sha1, revision: Revnum(1), item: 3, size: 1, expanded_size: 1 }
    }

    #[test]
    fn never_denies_what_is_there() {
        let mut batch = Batch::default();
        assert!(batch.may_have(&row(1).sha1));
        assert!(!batch.add(&[row(1)]));
        let mut filter = Filter::new();
        filter.add(&row(2).sha1);
        batch.set_filter(filter);
        batch.add(&[row(3)]);
        for n in [1, 2, 3] {
            assert!(batch.may_have(&row(n).sha1), "{n}");
        }
        let claims = (100..10_100).filter(|n| batch.may_have(&row(*n).sha1)).count();
        assert!(claims < 10, "{claims}");
        assert_eq!(batch.waiting(&row(3).sha1), Some(&row(3)));
        assert_eq!(batch.take().len(), 2);
        assert_eq!(batch.waiting(&row(3).sha1), None);
        assert!(batch.may_have(&row(3).sha1));
    }

    #[test]
    fn a_large_database_is_not_read_for_a_few_texts() {
        let mut batch = Batch::default();
        assert!(batch.wants_filter(0));
        let large = 1000 * ROW_LEN * READ_PER_LOOKUP;
        let waited = (0..).take_while(|_| !batch.wants_filter(large)).count();
        assert!((900..1000).contains(&waited), "{waited}");
    }
}
