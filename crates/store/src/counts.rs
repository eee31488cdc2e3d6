//! What each thread had to read and to make: how a request learns that it is cold.
//!
//! Counted by thread, so that asking costs nothing: a request looks at the counters of the thread that
//! it runs on, before and after.

use std::cell::Cell;

thread_local! {
    static READS: Cell<u64> = const { Cell::new(0) };
}

/// Counts a read of a file by this thread.
pub fn note_read() {
    READS.with(|reads| reads.set(reads.get().wrapping_add(1)));
}

/// How many reads this thread made.
#[must_use]
pub fn reads() -> u64 {
    READS.get()
}

thread_local! {
    static MADE: Cell<u64> = const { Cell::new(0) };
}

/// Counts a node-revision or directory that this thread had to put together, because it was in no
/// cache.
pub fn note_made() {
    MADE.with(|made| made.set(made.get().wrapping_add(1)));
}

/// How many of these this thread put together.
#[must_use]
pub fn made() -> u64 {
    MADE.get()
}
