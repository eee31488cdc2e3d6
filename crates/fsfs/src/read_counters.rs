//! What one opening of a filesystem has had to do: how a request learns that it is cold, and a thread
//! that reads ahead for it in which form texts are wanted.
//!
//! An opening is what one connection or request has to itself; a thread that reads ahead for it gets
//! another ([`crate::Filesystem::for_helper`]), so that what it reads does not count as the request's. The
//! record goes where the opening goes, from thread to thread too.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use sapwood_delta::Version;

/// The record. Numbers only grow; they are compared with what they were before.
#[derive(Debug, Default)]
pub(crate) struct Work {
    reads: AtomicU64,
    made: AtomicU64,
    /// 0 for none, else one more than the number in its header.
    svndiff: AtomicU8,
}

impl Work {
    /// A file is read.
    pub(crate) fn note_read(&self) {
        self.reads.fetch_add(1, Ordering::Relaxed);
    }

    /// How many reads there were.
    pub(crate) fn reads(&self) -> u64 {
        self.reads.load(Ordering::Relaxed)
    }

    /// A node-revision or directory is put together, because it was in no cache.
    pub(crate) fn note_made(&self) {
        self.made.fetch_add(1, Ordering::Relaxed);
    }

    /// How many of these were put together.
    pub(crate) fn count(&self) -> u64 {
        self.made.load(Ordering::Relaxed)
    }

    /// A text was requested as svndiff of at most this version.
    pub(crate) fn note_svndiff(&self, newest: Version) {
        let number = match newest {
            Version::V0 => 1,
            Version::V1 => 2,
            Version::V2 => 3,
        };
        self.svndiff.store(number, Ordering::Relaxed);
    }

    /// The newest svndiff of the last request.
    pub(crate) fn svndiff(&self) -> Option<Version> {
        match self.svndiff.load(Ordering::Relaxed) {
            1 => Some(Version::V0),
            2 => Some(Version::V1),
            3 => Some(Version::V2),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_done_is_known() {
        let work = Work::default();
        assert_eq!((work.reads(), work.count(), work.svndiff()), (0, 0, None));
        work.note_read();
        work.note_made();
        work.note_made();
        assert_eq!((work.reads(), work.count()), (1, 2));
        for version in [Version::V0, Version::V1, Version::V2] {
            work.note_svndiff(version);
            assert_eq!(work.svndiff(), Some(version));
        }
    }
}
