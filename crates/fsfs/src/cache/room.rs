//! Memory for what the caches gain, got in large pieces.
//!
//! The system's allocator gives a thread's memory to it page by page, and each page is a call that
//! stops all other threads which want memory. Room that was there once is there again for nothing:
//! so who fills the caches takes a large piece now and then, only to give it back at once.

use std::cell::Cell;
use std::hint::black_box;

/// Bytes of a piece.
const PIECE: usize = 1 << 20;
/// A thread that puts fewer bytes into the caches than this takes what it gets.
const FEW: usize = 256 << 10;
/// What a thread that reads for somebody else begins with.
const PIECES: usize = 6;

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
            left.set(PIECE / 4 * 3);
            // The first piece ever may be one that the allocator gives back to the system, and
            // from which it learns that such pieces come and go.
            drop(black_box(Vec::<u8>::with_capacity(PIECE)));
            drop(black_box(Vec::<u8>::with_capacity(PIECE)));
        }
    });
}

/// Makes room in the memory of a new thread.
pub(crate) fn begin() {
    drop(black_box(Vec::<u8>::with_capacity(PIECE)));
    let pieces: Vec<Vec<u8>> = (0..PIECES).map(|_| Vec::with_capacity(PIECE)).collect();
    drop(black_box(pieces));
    LEFT.set(PIECE.saturating_mul(PIECES));
}
