//! How much work is done: files (nodes, of a merge) and bytes, counted where they pass, and the revisions of a
//! merge; read by the program that shows them to a person. Counting costs one relaxed addition; nothing waits
//! for anything.

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
    /// The first and last revision under way, and the first and last of all; 0 without revisions.
    revisions: [AtomicU64; 4],
}

impl Meter {
    /// A file is done.
    pub fn add_file(&self) {
        self.counts.files.fetch_add(1, Ordering::Relaxed);
    }

    /// So many bytes of texts have passed.
    pub fn add_bytes(&self, bytes: usize) {
        let bytes = crate::exact::len64(bytes);
        self.counts.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// A merge comes to a range of revisions, of all that it is about.
    pub fn set_revisions(&self, now: (u64, u64), all: (u64, u64)) {
        for (place, value) in self.counts.revisions.iter().zip([now.0, now.1, all.0, all.1]) {
            place.store(value, Ordering::Relaxed);
        }
    }

    /// The revisions that [`Meter::set_revisions`] was given last.
    #[must_use]
    pub fn revisions(&self) -> Option<[(u64, u64); 2]> {
        let [a, b, c, d] = &self.counts.revisions;
        let [a, b, c, d] = [a, b, c, d].map(|place| place.load(Ordering::Relaxed));
        (d > 0).then_some([(a, b), (c, d)])
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
        assert_eq!(meter.revisions(), None);
        other.set_revisions((4, 7), (4, 40));
        assert_eq!(meter.revisions(), Some([(4, 7), (4, 40)]));
    }
}
