//! Revision properties, packed: the manifest of a shard, and the pack files it names.
//!
//! Unpacked ones are plain hash dumps (`sapwood_core::hashdump`).

use std::ops::Range;

use sapwood_core::Revnum;

use crate::error::Result;

/// The manifest of one shard: the name of the pack file of each revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RevpropManifest {
    /// First revision of the first pack file's range and counter, by the pack's own name.
    names: Box<str>,
    /// For each pack file: the first revision in it, and the range of its name.
    packs: Box<[(Revnum, Range<u32>)]>,
    end: Revnum,
}

#[allow(clippy::missing_errors_doc, unused_variables)]
impl RevpropManifest {
    /// Parses the manifest of the shard that begins with revision `shard_start` (of `shard_size`
    /// revisions; revision 0 is never packed).
    pub fn parse(bytes: &[u8], shard_start: Revnum, shard_size: u64) -> Result<Self> {
        todo!()
    }
    /// The name of the pack file that holds a revision, and the range of revisions in it.
    #[must_use]
    pub fn find(&self, revision: Revnum) -> Option<(&str, Range<u64>)> {
        todo!()
    }
    /// All pack files: name and range of revisions.
    pub fn packs(&self) -> impl Iterator<Item = (&str, Range<u64>)> {
        let _ = (&self.names, &self.packs, self.end);
        std::iter::empty()
    }
    /// Bytes of memory it takes, for cache accounting.
    #[must_use]
    pub fn byte_len(&self) -> usize {
        size_of::<Self>() + self.names.len() + self.packs.len() * 24
    }
}

/// One pack file, expanded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RevpropPack {
    first: Revnum,
    data: Box<[u8]>,
    /// Where each revision's hash dump is in `data`.
    ranges: Box<[Range<u32>]>,
}

#[allow(clippy::missing_errors_doc, unused_variables)]
impl RevpropPack {
    /// Parses a whole pack file, compressed or not.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        todo!()
    }
    /// The first revision.
    #[must_use]
    pub const fn first_revision(&self) -> Revnum {
        self.first
    }
    /// How many revisions.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ranges.len()
    }
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }
    /// The hash dump of a revision's properties.
    #[must_use]
    pub fn get(&self, revision: Revnum) -> Option<&[u8]> {
        let at = usize::try_from(revision.0.checked_sub(self.first.0)?).ok()?;
        let range = self.ranges.get(at)?;
        self.data.get(usize::try_from(range.start).ok()?..usize::try_from(range.end).ok()?)
    }
}
