//! Memory for what the caches gain, got in large pieces.
//!
//! The system's allocator gives a thread's memory to it page by page, and each page is a call that
//! stops all other threads which want memory. Room that was there once is there again for nothing:
//! so who fills the caches takes large pieces now and then, only to give them back at once.

use std::cell::Cell;
use std::hint::black_box;

/// Bytes of a piece: less than what the allocator gets from the system, and gives back to it, one by
/// one. It would take longer pieces for a sign that such come and go, and keep more than it needs.
const PIECE: usize = 100 << 10;
/// Pieces that are taken together.
const SOME: usize = 10;
/// A thread that puts fewer bytes into the caches than this takes what it gets.
const FEW: usize = 256 << 10;
/// Pieces that a thread which reads for somebody else begins with.
const FIRST: usize = 64;

thread_local! {
    /// How many bytes this thread may put into the caches before it makes room.
    static LEFT: Cell<usize> = const { Cell::new(FEW) };
}

/// So many bytes are about to stay in the caches.
pub(crate) fn take(bytes: usize) {
    LEFT.with(|left| match left.get().checked_sub(bytes) {
        Some(less) => left.set(less),
        None => {
            // A part is for what is not counted.
            left.set(PIECE * SOME / 4 * 3);
            make(SOME);
        }
    });
}

/// Makes room in the memory of a new thread.
pub(crate) fn begin() {
    make(FIRST);
    LEFT.set(PIECE * FIRST);
}

fn make(count: usize) {
    let pieces: Vec<Vec<u8>> = (0..count).map(|_| Vec::with_capacity(PIECE)).collect();
    drop(black_box(pieces));
}
