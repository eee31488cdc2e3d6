//! Threads that read for others: how many there may be.

use sapwood_core::Exact;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::cache::Caches;

/// How many threads of a process read ahead.
const MAX_READERS: usize = 2;

/// The right to be one of the few threads of the process that read for another.
#[derive(Debug)]
pub struct ReaderPermit(Arc<Caches>);

impl ReaderPermit {
    /// `None` when there are enough of them.
    #[must_use]
    pub fn take(caches: &Arc<Caches>) -> Option<Self> {
        let more = |n: usize| (n < MAX_READERS).then(|| n.plus(1));
        let readers: &AtomicUsize = &caches.readers;
        readers.fetch_update(Ordering::AcqRel, Ordering::Acquire, more).ok()?;
        Some(Self(Arc::clone(caches)))
    }
}

impl Drop for ReaderPermit {
    fn drop(&mut self) {
        self.0.readers.fetch_sub(1, Ordering::AcqRel);
    }
}
