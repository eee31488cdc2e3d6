//! `current`, `min-unpacked-rev` and `txn-current`: files of one line.

use sapwood_core::Revnum;

use crate::error::Result;

/// What `current` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Current {
    /// The youngest revision.
    pub youngest: Revnum,
    /// The next node id and copy id, in formats 1 and 2.
    pub next_ids: Option<(u64, u64)>,
}

#[allow(clippy::missing_errors_doc, unused_variables)]
impl Current {
    /// Parses `current`. From format 3 on anything after the revision is ignored: an upgraded
    /// repository may still have the ids there.
    pub fn parse(bytes: &[u8], format: u32) -> Result<Self> {
        todo!()
    }
    /// Appends the line.
    pub fn write(&self, out: &mut Vec<u8>) {
        todo!()
    }
}

/// Parses `min-unpacked-rev`.
#[allow(clippy::missing_errors_doc)]
pub fn parse_min_unpacked_rev(bytes: &[u8]) -> Result<Revnum> {
    let _ = bytes;
    todo!()
}

/// Parses `txn-current`: the number of the next transaction.
#[allow(clippy::missing_errors_doc)]
pub fn parse_txn_current(bytes: &[u8]) -> Result<u64> {
    let _ = bytes;
    todo!()
}
