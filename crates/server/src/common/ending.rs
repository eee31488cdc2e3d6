//! The end of a server: what writes finishes, and nothing that writes begins.
//!
//! Invariant: a commit that was begun before the end was requested is not cut off, unless it takes longer than
//! [`MOST`] or the administrator asks a second time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use sapwood_core::exact::Exact as _;

/// How long what writes may take to finish: less than the 90 seconds after which systemd kills.
const MOST: Duration = Duration::from_secs(60);
/// How often it is checked whether clients are in the middle of a commit of several requests.
const LOOK: Duration = Duration::from_millis(50);

/// Whether a server ends, and what it waits for.
#[derive(Debug, Default)]
pub struct Shutdown {
    begun: AtomicBool,
    given_up: AtomicBool,
    /// How many requests write.
    writes: Mutex<usize>,
    changed: Condvar,
}

/// A request that writes; it is finished when this is dropped.
#[derive(Debug)]
pub struct WriteInProgress(Arc<Shutdown>);

impl Drop for WriteInProgress {
    fn drop(&mut self) {
        let mut writes = self.0.writes.lock();
        *writes = writes.minus(1);
        drop(writes);
        self.0.changed.notify_all();
    }
}

impl Shutdown {
    /// The server is to end. The second time it does not wait any more.
    pub(super) fn begin(&self) {
        if self.begun.swap(true, Ordering::SeqCst) {
            self.given_up.store(true, Ordering::SeqCst);
            self.changed.notify_all();
        }
    }

    /// Whether the server is to end.
    #[must_use]
    pub(crate) fn has_begun(&self) -> bool {
        self.begun.load(Ordering::SeqCst)
    }

    /// Begins something that writes, which a client may do; `None` when the server ends.
    #[must_use]
    pub(crate) fn begin_write(self: &Arc<Self>) -> Option<WriteInProgress> {
        let mut writes = self.writes.lock();
        // Under the lock, so that who waits for the last one sees this one.
        if self.has_begun() {
            return None;
        }
        *writes = writes.plus(1);
        Some(WriteInProgress(Arc::clone(self)))
    }

    /// Begins a request of a commit that is in progress.
    #[must_use]
    pub(crate) fn go_on_writing(self: &Arc<Self>) -> WriteInProgress {
        let mut writes = self.writes.lock();
        *writes = writes.plus(1);
        WriteInProgress(Arc::clone(self))
    }

    /// Waits until nothing writes and `is_between` says that no client is between two requests of a commit.
    pub(super) fn wait(&self, is_between: impl Fn() -> bool) {
        let begun = Instant::now();
        let mut writes = self.writes.lock();
        while !self.given_up.load(Ordering::SeqCst) && begun.elapsed() < MOST {
            // The protocols have locks of their own.
            let is_done =
                *writes == 0 && !parking_lot::MutexGuard::unlocked(&mut writes, &is_between);
            if is_done && *writes == 0 {
                break;
            }
            self.changed.wait_for(&mut writes, LOOK);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_writes_finishes_and_nothing_more_begins() {
        let ending = Arc::new(Shutdown::default());
        let write = ending.begin_write().unwrap();
        ending.begin();
        assert!(ending.begin_write().is_none());
        let of_the_same_commit = ending.go_on_writing();
        let waiter = {
            let ending = Arc::clone(&ending);
            std::thread::spawn(move || ending.wait(|| false))
        };
        drop(write);
        assert!(!waiter.is_finished());
        drop(of_the_same_commit);
        waiter.join().unwrap();
    }

    #[test]
    fn the_second_request_to_end_waits_for_nothing() {
        let ending = Arc::new(Shutdown::default());
        let _write = ending.begin_write().unwrap();
        ending.begin();
        ending.begin();
        ending.wait(|| true);
    }
}
