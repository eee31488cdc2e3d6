//! How much work is done: files and bytes, counted where they pass and read by the program that shows
//! them to a person. Counting costs one relaxed addition; nothing waits for anything.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Files and bytes that are done. Clones count together.
#[derive(Clone, Debug, Default)]
pub struct Meter {
    counts: Arc<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    files: AtomicU64,
    bytes: AtomicU64,
}

impl Meter {
    /// A file is done.
    pub fn add_file(&self) {
        self.counts.files.fetch_add(1, Ordering::Relaxed);
    }

    /// So many bytes of texts have passed.
    pub fn add_bytes(&self, bytes: usize) {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        self.counts.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Files and bytes so far.
    #[must_use]
    pub fn read(&self) -> (u64, u64) {
        (self.counts.files.load(Ordering::Relaxed), self.counts.bytes.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_count_together() {
        let meter = Meter::default();
        let other = meter.clone();
        meter.add_file();
        other.add_bytes(7);
        other.add_bytes(5);
        assert_eq!((meter.read(), other.read()), ((1, 12), (1, 12)));
    }
}
