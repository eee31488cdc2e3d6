//! The process-wide caches: raw blocks, parsed items, open files.

use std::sync::Arc;

/// One budget of memory shared by every filesystem that is opened with it.
#[derive(Debug)]
pub struct Caches {}

impl Caches {
    /// Caches that together hold at most `bytes` bytes.
    #[must_use]
    pub fn new(bytes: usize) -> Arc<Self> {
        let _ = bytes;
        todo!()
    }
}
