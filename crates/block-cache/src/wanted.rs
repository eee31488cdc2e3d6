//! What waits to be fetched ahead, and how many threads fetch it.
//!
//! Invariant: at most [`JOBS`] wait, none twice; a thread ends when nothing waits, and not before.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use parking_lot::{Condvar, Mutex};
use sapwood_core::Exact as _;
use sapwood_objects::{Key, Store};

/// Most of them that wait: what is more is not fetched ahead.
const JOBS: usize = 256;

/// Blocks beside each other.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) key: Key,
    /// The length of the object in bytes.
    pub(crate) len: u64,
    /// The bytes of the blocks.
    pub(crate) bytes: Range<u64>,
}

impl Job {
    fn is_same(&self, other: &Self) -> bool {
        let address = |of: &Self| sapwood_objects::Blobs::address(&*of.store).to_owned();
        self.key == other.key && self.bytes == other.bytes && address(self) == address(other)
    }
}

/// All of it.
#[derive(Debug, Default)]
pub(crate) struct RequestCounts {
    queue: Mutex<Queue>,
    idle: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    jobs: VecDeque<Job>,
    threads: usize,
}

impl RequestCounts {
    /// Adds what is not there yet. Whether there was room.
    pub(crate) fn add(&self, job: Job) -> bool {
        let mut queue = self.queue.lock();
        if queue.jobs.iter().any(|known| known.is_same(&job)) {
            return true;
        }
        let has_room = queue.jobs.len() < JOBS;
        if has_room {
            queue.jobs.push_back(job);
        }
        has_room
    }

    /// Counts a thread more, if something waits and there are fewer than so many: then the caller begins it.
    pub(crate) fn begin_thread(&self, most: usize) -> bool {
        let mut queue = self.queue.lock();
        let begins = !queue.jobs.is_empty() && queue.threads < most;
        if begins {
            queue.threads = queue.threads.plus(1);
        }
        begins
    }

    /// What a thread does next; `None`, and the thread counts no more, when nothing waits.
    pub(crate) fn next_or_end(&self) -> Option<Job> {
        let mut queue = self.queue.lock();
        let next = queue.jobs.pop_front();
        if next.is_none() {
            self.ended(&mut queue);
        }
        next
    }

    /// A thread could not begin.
    pub(crate) fn end_thread(&self) {
        self.ended(&mut self.queue.lock());
    }

    fn ended(&self, queue: &mut Queue) {
        queue.threads = queue.threads.minus(1);
        if queue.threads == 0 {
            self.idle.notify_all();
        }
    }

    /// Waits until no thread fetches anything.
    #[cfg(test)]
    pub(crate) fn wait(&self) {
        let mut queue = self.queue.lock();
        while queue.threads > 0 {
            self.idle.wait(&mut queue);
        }
    }
}
