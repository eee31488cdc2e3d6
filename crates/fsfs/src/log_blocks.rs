//! Log entries as a receiver encodes them, cached in blocks of sixteen neighbouring revisions.
//!
//! A log of everything needs the same of every revision: the list of changed paths, the revision
//! properties, and their encoding in the receiver's form. The result is the same for all users who
//! may read all of these revisions, so it is cached once for all of them; the [form](FormKey) in the
//! key says which users share the other entries. The key also holds the version of the
//! shard's revision properties (see [`crate::revprops`]): each change gives another key.

use sapwood_core::FsPath;
use sapwood_core::paths::FsPathBuf;
use sapwood_core::{Cut, Exact};
use std::sync::Arc;

use sapwood_core::{FormKey, PropList, Revnum};
use sapwood_store::{Caches, Key, Kind};

use crate::cache_kinds::Number;
use crate::changes::ChangedPaths;
use crate::error::Result;
use crate::revprop_shards::StableVersion;
use crate::revprops_snapshot::RevpropsSnapshot;

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
    Number::LogEntries.kind(EncodedEntries::weight).of_neighbours();

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

    pub(crate) fn weight(&self) -> usize {
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

/// Appends the entry of a revision with these changed paths and properties. Returns false
/// when the entry needs more than that.
pub type EncodeEntry =
    dyn Fn(Revnum, &ChangedPaths, Option<&PropList>, &mut Vec<u8>) -> bool + Send + Sync;

/// How a receiver encodes log entries, for threads that read ahead for it.
pub struct SpanEncoder {
    /// The form.
    pub form: FormKey,
    /// What makes an entry.
    pub encode: Box<EncodeEntry>,
}

impl std::fmt::Debug for SpanEncoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SpanEncoder").field("form", &self.form).finish_non_exhaustive()
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

impl RevpropsSnapshot {
    /// The block of `revision`; `None` when nothing may be cached of
    /// it, because its properties changed only just now. Revision 0 is in no block.
    ///
    /// # Errors
    /// System errors.
    pub fn log_span(&mut self, revision: Revnum) -> Result<Option<LogSpan>> {
        let Some(version) = self.stable(revision)? else { return Ok(None) };
        let size = self.fs().format().shard_size.unwrap_or(u64::MAX).max(1);
        Ok(LogSpan::around(revision, size, version.version()))
    }

    /// `revision` alone, for a log of some revisions only; as [`RevpropsSnapshot::log_span`]
    /// otherwise.
    ///
    /// # Errors
    /// System errors.
    pub fn log_span_of_one(&mut self, revision: Revnum) -> Result<Option<LogSpan>> {
        let version = self.stable(revision)?;
        Ok(version.map(|version| LogSpan::of_one(revision, version.version())))
    }

    /// The entries of a block in the form `form`, if they are cached.
    #[must_use]
    pub fn encoded_entries(&self, span: &LogSpan, form: FormKey) -> Option<Arc<EncodedEntries>> {
        let fs = &self.fs().fs;
        span.cached(&fs.caches, fs.id, form)
    }

    /// Caches the entries of a block, made with this snapshot since it returned the block.
    pub fn keep_encoded_entries(&mut self, span: &LogSpan, form: FormKey, entries: EncodedEntries) {
        // If the folder changed in between, what was read may be of either version.
        let is_version = |now: StableVersion| now.version() == span.version;
        if self.stable(span.oldest).is_ok_and(|now| now.is_some_and(is_version)) {
            let fs = &self.fs().fs;
            span.keep(&fs.caches, fs.id, form, entries);
        }
    }

    /// Makes and caches the entries of a block, unless they are cached. Returns their length in bytes.
    /// Their parts are not cached. `None` where they have to be made one by one.
    ///
    /// # Errors
    /// Corruption and system errors.
    pub fn make_entries(
        &mut self,
        span: &LogSpan,
        youngest_first: bool,
        wanted: LogNeeds,
        encoder: &SpanEncoder,
    ) -> Result<Option<usize>> {
        if let Some(known) = self.encoded_entries(span, encoder.form) {
            return Ok(Some(known.weight()));
        }
        let fs = self.fs().clone();
        let none = Arc::new(ChangedPaths::default());
        let mut entries = EncodedEntries::new(youngest_first);
        let count = span.youngest.0.minus(span.oldest.0).plus(1);
        for i in 0..count {
            let revision = Revnum(if youngest_first {
                span.youngest.0.minus(i)
            } else {
                span.oldest.0.plus(i)
            });
            let changes = match wanted.changes {
                true => fs.fs.changed_paths_for_once(revision)?,
                false => Arc::clone(&none),
            };
            let props = if wanted.revprops { Some(self.get_for_once(revision)?) } else { None };
            let mut complete = true;
            entries.push(|out| {
                complete = (encoder.encode)(revision, &changes, props.as_deref(), out);
            });
            if !complete || entries.is_long() {
                return Ok(None);
            }
        }
        let weight = entries.weight();
        self.keep_encoded_entries(span, encoder.form, entries);
        Ok(Some(weight))
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
