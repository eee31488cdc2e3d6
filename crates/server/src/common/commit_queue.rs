//! Repositories with new commits, for the one thread that keeps their search indexes.
//!
//! Invariants: those who commit do not wait; a repository is in the queue once, and no more than [`MOST`] are.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Instant;

use parking_lot::{Condvar, Mutex};

/// The most repositories of a queue, and of a look at all.
pub(crate) const MOST: usize = 10_000;

/// What is in the queue, and whether its thread has ended.
#[derive(Debug, Default)]
struct Content {
    committed: BTreeSet<PathBuf>,
    ends: bool,
}

/// Repositories with commits that their search indexes have not yet.
#[derive(Debug, Default)]
pub(crate) struct CommitQueue {
    content: Mutex<Content>,
    changed: Condvar,
}

impl CommitQueue {
    /// A commit was made.
    pub(crate) fn add(&self, repository: &Path) {
        let mut content = self.content.lock();
        if content.committed.len() < MOST {
            content.committed.insert(repository.to_owned());
        }
        self.changed.notify_all();
    }

    pub(crate) fn end(&self) {
        self.content.lock().ends = true;
        self.changed.notify_all();
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.content.lock().ends
    }

    /// A repository with a commit; waits for one, until a time. `None` where there is none, or at the end.
    pub(crate) fn next(&self, until: Instant) -> Option<PathBuf> {
        let mut content = self.content.lock();
        while content.committed.is_empty() && !content.ends {
            if self.changed.wait_until(&mut content, until).timed_out() {
                return None;
            }
        }
        if content.ends { None } else { content.committed.pop_first() }
    }
}
