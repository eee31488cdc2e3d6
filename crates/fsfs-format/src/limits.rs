//! What this program accepts at most: every length read from disk is held against one of these,
//! or against the bytes that are really there, before memory is taken.

/// Bytes of one node-revision's header block.
pub const NODEREV_LEN: usize = 1 << 20;
/// Bytes of the first line of a representation (`DELTA 123 456 789`).
pub const REP_HEADER_LEN: usize = 128;
/// Bytes before the end of a physically addressed revision in which its trailer line lies.
pub const TRAILER_LEN: usize = 64;
/// Bytes before the end of a logically addressed file in which its footer lies, with its length
/// byte.
pub const FOOTER_LEN: usize = 256;
/// Bytes of a path in a change list or node-revision.
pub const PATH_LEN: usize = 1 << 16;
/// Bytes of one file of packed revision properties, expanded.
pub const REVPROP_PACK_LEN: u64 = 1 << 30;
/// Bytes of a directory's or property list's serialised form.
pub const HASH_DUMP_LEN: u64 = 1 << 30;
/// Item indexes in one revision (the reference's are 31 bits wide too, and take as much memory).
pub const ITEMS_PER_REVISION: u64 = 1 << 28;
