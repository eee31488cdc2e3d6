//! The manifest of a packed shard with physical addressing: where each revision begins.

use crate::error::Result;

/// Offsets of revisions in a pack file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    offsets: Box<[u64]>,
}

#[allow(clippy::missing_errors_doc, unused_variables)]
impl Manifest {
    /// Parses a manifest that must hold `shard_size` numbers, ascending.
    pub fn parse(bytes: &[u8], shard_size: u64) -> Result<Self> {
        todo!()
    }
    /// Where the revision at a place in the shard (0 for its first) begins.
    #[must_use]
    pub fn offset(&self, place: u64) -> Option<u64> {
        usize::try_from(place).ok().and_then(|at| self.offsets.get(at)).copied()
    }
    /// How many revisions.
    #[must_use]
    pub fn len(&self) -> usize {
        self.offsets.len()
    }
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.offsets.is_empty()
    }
    /// Appends the text form.
    pub fn write(&self, out: &mut Vec<u8>) {
        todo!()
    }
}

impl FromIterator<u64> for Manifest {
    fn from_iter<I: IntoIterator<Item = u64>>(iter: I) -> Self {
        Self { offsets: iter.into_iter().collect() }
    }
}
