//! Log entries as a receiver encodes them, cached in blocks of sixteen neighbouring revisions.
//!
//! A log of everything needs the same of every revision: the list of changed paths, the revision
//! properties, and their encoding in the receiver's form. The result is the same for all users who
//! may read all of these revisions, so it is cached once for all of them; the [form](FormKey) in the
//! key says which users share the other entries. The key also holds the version of the
//! shard's revision properties, as the engine has it: each change gives another key.

use std::sync::Arc;

use sapwood_core::paths::FsPathBuf;
use sapwood_core::{Cut, Exact, FormKey, FsPath, Revnum};
use sapwood_store::{Caches, Key, Kind};

use crate::kinds;

/// What a request needs of each revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogNeeds {
    /// Its changed paths.
    pub changes: bool,
    /// Its revision properties.
    pub revprops: bool,
}

/// Revisions in a block.
const LEN: u64 = 16;

/// The most bytes that are cached of the encoded entries of a block.
const LIMIT: usize = 256 << 10;

/// The encoded log entries of the revisions of a [`LogSpan`], in one of the two directions.
#[derive(Debug)]
pub struct EncodedEntries {
    youngest_first: bool,
    bytes: Vec<u8>,
    /// Where each entry ends.
    ends: Vec<usize>,
    for_all: bool,
    /// Paths, each with the number of the entry that it is left out of.
    refused: Vec<(usize, FsPathBuf)>,
}

/// Encoded log entries: first revision, form, version of the shard.
const LOG_ENTRIES: Kind<EncodedEntries> =
    Kind::new(kinds::LOG_ENTRIES, EncodedEntries::weight).of_neighbours();

impl EncodedEntries {
    /// No entries yet of a block whose revisions come `youngest_first`, or oldest first.
    #[must_use]
    pub const fn new(youngest_first: bool) -> Self {
        Self {
            youngest_first,
            bytes: Vec::new(),
            ends: Vec::new(),
            for_all: false,
            refused: Vec::new(),
        }
    }

    /// A marker for the entries of users who may read everything: cached under the form of a
    /// user who sees as much of these revisions as they do.
    #[must_use]
    pub fn as_for_all() -> Self {
        Self { for_all: true, ..Self::new(true) }
    }

    /// Whether the entries are those that users get from whom nothing is hidden, and are to be
    /// looked for in their form.
    #[must_use]
    pub const fn is_as_for_all(&self) -> bool {
        self.for_all
    }

    /// Notes which paths were refused when the next entry was made.
    pub fn push_refused(&mut self, refused: impl IntoIterator<Item = FsPathBuf>) {
        let entry = self.ends.len();
        self.refused.extend(refused.into_iter().map(|path| (entry, path)));
    }

    /// The paths that were noted as refused, entry by entry in the wanted direction.
    pub fn refused(&self, youngest_first: bool) -> impl Iterator<Item = &FsPath> {
        let together = youngest_first == self.youngest_first;
        let count = if self.refused.is_empty() { 0 } else { self.ends.len() };
        (0..count).flat_map(move |at| {
            let entry = if together { at } else { count.saturating_sub(at).saturating_sub(1) };
            self.refused.iter().filter(move |(of, _)| *of == entry).map(|(_, path)| path.as_path())
        })
    }

    /// Appends the next revision's entry, which is what `encode` appends, and shows it.
    pub fn push(&mut self, encode: impl FnOnce(&mut Vec<u8>)) -> &[u8] {
        let start = self.bytes.len();
        encode(&mut self.bytes);
        self.ends.push(self.bytes.len());
        self.bytes.tail(start)
    }

    /// Whether the entries are too long to be cached.
    #[must_use]
    pub const fn is_long(&self) -> bool {
        self.bytes.len() > LIMIT
    }

    /// All entries, in the direction in which they were made.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// [`EncodedEntries::bytes`], if that is the wanted direction.
    #[must_use]
    pub fn whole(&self, youngest_first: bool) -> Option<&[u8]> {
        (youngest_first == self.youngest_first).then_some(&*self.bytes)
    }

    /// The entries in the wanted direction, in as few pieces as can be.
    pub fn pieces(&self, youngest_first: bool) -> impl Iterator<Item = &[u8]> {
        let all = self.whole(youngest_first);
        let count = if all.is_some() { 0 } else { self.ends.len() };
        let each = (0..count).rev().filter_map(|at| {
            let start = at.checked_sub(1).and_then(|before| self.ends.get(before));
            self.bytes.get(start.copied().unwrap_or(0)..*self.ends.get(at)?)
        });
        all.into_iter().chain(each)
    }

    /// Bytes of memory.
    #[must_use]
    pub fn weight(&self) -> usize {
        let ends = self.ends.capacity().times(size_of::<usize>());
        let refused = self.refused.iter().map(|refused| refused.1.len().plus(size_of_val(refused)));
        self.bytes.capacity().plus(ends).plus(refused.sum())
    }

    fn shrink_to_fit(&mut self) {
        self.bytes.shrink_to_fit();
        self.ends.shrink_to_fit();
        self.refused.shrink_to_fit();
    }
}

/// A block: neighbouring revisions whose log entries are cached together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogSpan {
    /// The oldest.
    pub oldest: Revnum,
    /// The youngest.
    pub youngest: Revnum,
    /// The state of the revision properties that the entries are made of.
    version: u64,
}

impl LogSpan {
    /// The block of `revision`; `None` for revision 0. `version` is a number that no other state of the revision properties in the shard
    /// has, in shards of `shard_size` revisions.
    #[must_use]
    pub fn around(revision: Revnum, shard_size: u64, version: u64) -> Option<Self> {
        // Never across the end of a shard, because the version is the shard's.
        let first = revision.0.minus(revision.0.checked_rem(shard_size).unwrap_or(revision.0));
        let start = revision.0.minus(revision.0.minus(first) % LEN);
        let end = start.plus(LEN).min(first.plus(shard_size));
        let oldest = Revnum(start.max(1));
        let youngest = Revnum(end.minus(1));
        (revision >= oldest).then_some(Self { oldest, youngest, version })
    }

    /// One revision alone.
    #[must_use]
    pub const fn of_one(revision: Revnum, version: u64) -> Self {
        Self { oldest: revision, youngest: revision, version }
    }

    /// The state of the revision properties.
    #[must_use]
    pub const fn version(&self) -> u64 {
        self.version
    }

    /// The entries of the block in the form `form`, if they are in the caches under the number of a filesystem.
    #[must_use]
    pub fn cached(&self, caches: &Caches, fs: u32, form: FormKey) -> Option<Arc<EncodedEntries>> {
        caches.get(self.key(fs, form))
    }

    /// Caches the entries of the block. They were made while the version of the properties was the block's.
    pub fn keep(&self, caches: &Caches, fs: u32, form: FormKey, mut entries: EncodedEntries) {
        entries.shrink_to_fit();
        caches.put(self.key(fs, form), entries);
    }

    fn key(&self, fs: u32, form: FormKey) -> Key<EncodedEntries> {
        let form = (form.number() << 1) | u64::from(self.oldest == self.youngest);
        LOG_ENTRIES.key(fs, self.oldest.0, form, self.version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sapwood_testkit::fspath;

    #[test]
    fn entries_in_both_directions() {
        let mut entries = EncodedEntries::new(true);
        for entry in ["three", "", "one"] {
            let shown = entries.push(|out| out.extend_from_slice(entry.as_bytes())).to_vec();
            assert_eq!(shown, entry.as_bytes());
        }
        let joined = |youngest_first| entries.pieces(youngest_first).collect::<Vec<_>>().concat();
        assert_eq!((joined(true), joined(false)), (b"threeone".to_vec(), b"onethree".to_vec()));
        assert_eq!(entries.pieces(true).count(), 1);
        assert_eq!(entries.refused(true).count(), 0);
    }

    #[test]
    fn refused_paths_in_both_directions() {
        let mut entries = EncodedEntries::new(false);
        for refused in [&["/a", "/b"][..], &[], &["/c"]] {
            entries.push_refused(refused.iter().map(|path| fspath(path).to_owned()));
            entries.push(|out| out.push(b'e'));
        }
        let joined = |youngest_first| {
            entries.refused(youngest_first).map(FsPath::as_str).collect::<Vec<_>>().join(" ")
        };
        assert_eq!((joined(false), joined(true)), ("/a /b /c".to_owned(), "/c /a /b".to_owned()));
    }
}
