//! The last line of a revision with physical addressing.

use sapwood_core::Revnum;

use crate::error::Result;

/// Offsets from the start of the revision's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trailer {
    /// Of the root directory's node-revision.
    pub root: u64,
    /// Of the changed paths.
    pub changes: u64,
}

#[allow(clippy::missing_errors_doc, unused_variables)]
impl Trailer {
    /// Parses the trailer at the end of `tail`, the last bytes of the revision (at most
    /// [`crate::limits::TRAILER_LEN`] of them are looked at).
    pub fn parse(tail: &[u8], revision: Revnum) -> Result<Self> {
        todo!()
    }
    /// Appends the line (not the newline before it).
    pub fn write(&self, out: &mut Vec<u8>) {
        todo!()
    }
}
