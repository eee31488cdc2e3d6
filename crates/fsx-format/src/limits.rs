//! The largest lengths and counts that this program accepts from disk.

/// Bytes of a packed-data frame after decompression: one container, manifest or pack of revision properties.
pub(crate) const PACKED_LEN: u64 = 1 << 28;
/// Streams in one packed-data frame, with their sub-streams. FSX uses at most 30.
pub const STREAMS: usize = 64;
/// Levels of sub-streams. FSX uses two.
pub(crate) const STREAM_DEPTH: usize = 4;
/// Items of one container: node-revisions, change lists or texts.
pub(crate) const CONTAINER_ITEMS: u64 = 1 << 22;
/// Bytes of one string after its parts are joined.
pub(crate) const STRING_LEN: usize = 1 << 16;
/// Instructions that one text of a representations container may take, with those that they refer to.
pub(crate) const INSTRUCTIONS: u64 = 1 << 22;
/// Item numbers in one revision.
pub const ITEMS_PER_REVISION: u64 = 1 << 28;
/// Bytes of a path.
pub const PATH_LEN: usize = 4096;
