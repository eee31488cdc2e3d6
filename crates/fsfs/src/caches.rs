//! The process-wide caches: raw blocks, parsed items, open files.

use std::sync::Arc;

/// One budget of memory shared by every filesystem that is opened with it.
#[derive(Debug)]
pub struct Caches {}

/// How the caches fared since they were made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheStats {
    /// Bytes held now.
    pub bytes: usize,
    /// Entries held now.
    pub entries: usize,
    /// Look-ups that found something.
    pub hits: u64,
    /// Look-ups that found nothing.
    pub misses: u64,
    /// Blocks that were read from files.
    pub block_reads: u64,
    /// Files that were opened.
    pub opens: u64,
}

impl Caches {
    /// Caches that together hold at most `bytes` bytes.
    #[must_use]
    pub fn new(bytes: usize) -> Arc<Self> {
        let _ = bytes;
        todo!()
    }

    /// How the caches fared.
    #[must_use]
    pub fn stats(&self) -> CacheStats {
        todo!()
    }
}
