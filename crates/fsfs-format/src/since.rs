//! From which format on something exists.

/// `layout` option, `txn-current`, `txn-protorevs`, ids with revisions, mergeinfo counts.
pub const LAYOUT: u32 = 3;
/// Packing of revisions, sharing of representations, kinds in changed paths, `fsfs.conf`.
pub const PACKING: u32 = 4;
/// Packing of revision properties.
pub const REVPROP_PACKING: u32 = 6;
/// Logical addressing, `pack-lock`, instance ids, mergeinfo flags in changed paths.
pub const LOGICAL: u32 = 7;
/// Svndiff 2, `-` in representation values, rep-cache schema 2.
pub const SVNDIFF2: u32 = 8;
/// The youngest format there is.
pub const YOUNGEST: u32 = 8;
/// Never released.
pub const REFUSED: u32 = 5;
