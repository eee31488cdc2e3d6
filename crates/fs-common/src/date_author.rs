//! Date and author of a revision, for neighbouring revisions together.
//!
//! Listings, checkouts and single look-ups need two of a revision's properties, for thousands of
//! revisions. A property list for each would be a look-up for each, and several cold cache lines,
//! so date and author of 64 revisions are one item of the cache. Its key holds
//! the version of the shard's revision properties, as the engine has it: any change
//! gives another key. It holds those revisions that were requested.

use sapwood_core::Exact;
use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::sync::Arc;

use sapwood_core::props::names::{AUTHOR, DATE};
use sapwood_core::{PropList, Revnum};
use sapwood_store::{Key, Kind, PassThrough};

use crate::kinds;

/// Revisions in a block.
const LEN: u64 = 64;
/// The most bytes of date and author together that are cached.
const TEXT_LEN: usize = 58;
/// The length that stands for a missing property.
const ABSENT: u8 = u8::MAX;

/// Date and author as they are stored.
#[derive(Clone, Copy, Debug)]
pub struct DateAuthorRecord {
    date: u8,
    author: u8,
    text: [u8; TEXT_LEN],
}

impl DateAuthorRecord {
    /// Those of a revision with these properties; `None` when they are too long.
    #[must_use]
    pub fn new(props: &PropList) -> Option<Self> {
        let mut record = Self { date: ABSENT, author: ABSENT, text: [0; TEXT_LEN] };
        let mut used = 0usize;
        for (name, len) in [(DATE, &mut record.date), (AUTHOR, &mut record.author)] {
            if let Some(value) = props.get(name) {
                let end = used.checked_add(value.len())?;
                record.text.get_mut(used..end)?.copy_from_slice(value);
                *len = u8::try_from(value.len()).ok()?;
                used = end;
            }
        }
        Some(record)
    }

    fn date(&self) -> Option<&[u8]> {
        (self.date != ABSENT).then_some(self.text.get(..usize::from(self.date))?)
    }

    fn author(&self) -> Option<&[u8]> {
        let start = if self.date == ABSENT { 0 } else { usize::from(self.date) };
        let end = start.checked_add(usize::from(self.author))?;
        (self.author != ABSENT).then_some(self.text.get(start..end)?)
    }
}

/// Date and author of some of [`LEN`] neighbouring revisions.
#[derive(Clone, Debug, Default)]
pub struct DateAuthorBlock {
    /// Which ones: the lowest bit is the first revision's.
    present: u64,
    /// Theirs, in the same order.
    records: Vec<DateAuthorRecord>,
}

impl DateAuthorBlock {
    /// Bytes of memory.
    #[must_use]
    pub fn weight(&self) -> usize {
        self.records.capacity().times(size_of::<DateAuthorRecord>())
    }

    /// Where the record of the revision at `bit` is, or belongs.
    fn at(&self, bit: u64) -> usize {
        let before = self.present & bit.wrapping_sub(1);
        sapwood_core::exact::clamped(before.count_ones())
    }

    /// Those of the revision at `bit`, if they are in it.
    #[must_use]
    pub fn get(&self, bit: u64) -> Option<DateAuthorRecord> {
        if self.present & bit == 0 {
            return None;
        }
        self.records.get(self.at(bit)).copied()
    }

    /// Whether the revision at `bit` is in it.
    #[must_use]
    pub const fn has(&self, bit: u64) -> bool {
        self.present & bit != 0
    }

    /// For the cache, which counts what is allocated.
    pub fn shrink_to_fit(&mut self) {
        self.records.shrink_to_fit();
    }

    /// Adds those of the revision at `bit`.
    pub fn insert(&mut self, bit: u64, record: DateAuthorRecord) {
        if self.present & bit == 0 {
            self.records.insert(self.at(bit), record);
            self.present |= bit;
        }
    }
}

/// Date and author of neighbouring revisions: first revision, version of the shard.
const DATE_AUTHOR: Kind<DateAuthorBlock> = Kind::new(kinds::DATE_AUTHOR, DateAuthorBlock::weight);

/// Date and author of a revision, as one request found them.
#[derive(Clone, Debug)]
pub struct DateAuthor(pub CachedProps);

/// Where they are.
#[derive(Clone, Debug)]
pub enum CachedProps {
    /// In a record.
    Record(DateAuthorRecord),
    /// Too long for a record.
    Props(Arc<PropList>),
}

impl DateAuthor {
    /// `svn:date` as stored.
    #[must_use]
    pub fn date(&self) -> Option<&[u8]> {
        match &self.0 {
            CachedProps::Record(record) => record.date(),
            CachedProps::Props(props) => props.get(DATE),
        }
    }

    /// `svn:date`, when it is text.
    #[must_use]
    pub fn date_text(&self) -> Option<&str> {
        std::str::from_utf8(self.date()?).ok()
    }

    /// `svn:author` as stored.
    #[must_use]
    pub fn author(&self) -> Option<&[u8]> {
        match &self.0 {
            CachedProps::Record(record) => record.author(),
            CachedProps::Props(props) => props.get(AUTHOR),
        }
    }
}

/// The blocks that a request used.
#[derive(Debug, Default)]
pub struct DateAuthorBlocks {
    /// By their first revisions.
    pub used: HashMap<u64, BlockInUse, BuildHasherDefault<PassThrough>>,
}

/// A block that a request used.
#[derive(Debug)]
pub struct BlockInUse {
    /// The block.
    pub block: Arc<DateAuthorBlock>,
    /// The version of the properties in it.
    pub version: u64,
    /// Whether the cache lacks some of it.
    pub is_changed: bool,
}

impl DateAuthorBlocks {
    /// Forgets what may be out of date.
    pub fn clear(&mut self) {
        self.used.clear();
    }
}

/// The first revision of a block, and the revision's bit in it. No block lies in two shards, whose
/// version it has; and revision 0, which is never packed, is not in one with others.
#[must_use]
pub fn place(revision: Revnum, shard_size: u64) -> (u64, u64) {
    let in_shard = revision.0.checked_rem(shard_size).unwrap_or(revision.0);
    let in_block = in_shard % LEN;
    let first = revision.0.saturating_sub(in_block).max(u64::from(revision.0 > 0));
    (first, 1u64 << in_block)
}

/// The key of a block.
#[must_use]
pub fn date_author_key(fs: u32, first: u64, version: u64) -> Key<DateAuthorBlock> {
    DATE_AUTHOR.key(fs, first, version, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn props(date: Option<&str>, author: Option<&[u8]>) -> PropList {
        let mut props = PropList::default();
        if let Some(date) = date {
            props.set(DATE, date.as_bytes());
        }
        if let Some(author) = author {
            props.set(AUTHOR, author);
        }
        props
    }

    #[test]
    fn lines_hold_what_fits() {
        let date = "2022-04-05T06:07:08.000009Z";
        for author in [None, Some(&b""[..]), Some(b"jr\xff"), Some(&[b'x'; 31])] {
            for date in [None, Some(date), Some("")] {
                let record = DateAuthorRecord::new(&props(date, author)).unwrap();
                assert_eq!((record.date(), record.author()), (date.map(str::as_bytes), author));
            }
        }
        assert!(DateAuthorRecord::new(&props(Some(date), Some(&[b'x'; 32]))).is_none());
        assert!(DateAuthorRecord::new(&props(Some(&"9".repeat(300)), None)).is_none());
    }

    #[test]
    fn blocks_keep_the_order() {
        let mut block = DateAuthorBlock::default();
        for n in [5u64, 0, 63, 7, 5] {
            let author = n.to_string();
            let record = DateAuthorRecord::new(&props(None, Some(author.as_bytes()))).unwrap();
            block.insert(1 << n, record);
        }
        for n in 0..64u64 {
            let found = block.get(1 << n).map(|record| record.author().unwrap().to_vec());
            let wanted = [0, 5, 7, 63].contains(&n).then(|| n.to_string().into_bytes());
            assert_eq!(found, wanted);
        }
        assert_eq!(block.records.len(), 4);
    }

    #[test]
    fn blocks_end_with_their_shard() {
        assert_eq!(place(Revnum(0), 1000), (0, 1));
        assert_eq!(place(Revnum(1), 1000), (1, 2));
        assert_eq!(place(Revnum(63), 1000), (1, 1 << 63));
        assert_eq!(place(Revnum(1), 1), (1, 1));
        assert_eq!(place(Revnum(999), 1000), (960, 1 << 39));
        assert_eq!(place(Revnum(1000), 1000), (1000, 1));
        assert_eq!(place(Revnum(130), 0), (128, 4));
        assert_eq!(place(Revnum(5), 2), (4, 2));
    }
}
