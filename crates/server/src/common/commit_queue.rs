//! Repositories with new commits or edited log messages, for the one thread that keeps their search indexes.
//!
//! Invariants: those who commit do not wait; a repository is in the queue once, and no more than [`MOST`] are, with no more
//! than [`MOST_EDITED`] revisions each.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Instant;

use parking_lot::{Condvar, Mutex};
use sapwood_core::Revnum;

/// The most repositories of a queue, and of a look at all.
pub(crate) const MOST: usize = 10_000;
/// The most revisions of one repository whose messages were edited.
const MOST_EDITED: usize = 1_000;

/// The revisions whose messages were edited.
pub(crate) type EditedRevprops = BTreeSet<Revnum>;

/// What is in the queue, and whether its thread is to end.
#[derive(Debug, Default)]
struct Content {
    changed: BTreeMap<PathBuf, EditedRevprops>,
    ends: bool,
}

/// Repositories with changes that their search indexes have not yet.
#[derive(Debug, Default)]
pub(crate) struct CommitQueue {
    content: Mutex<Content>,
    changed: Condvar,
}

impl CommitQueue {
    /// A commit was made, or the message of a revision was edited.
    pub(crate) fn add(&self, repository: &Path, edited: Option<Revnum>) {
        let mut content = self.content.lock();
        if content.changed.len() < MOST {
            let all = content.changed.entry(repository.to_owned()).or_default();
            if all.len() < MOST_EDITED {
                all.extend(edited);
            }
        }
        self.changed.notify_all();
    }

    /// Ends the wait of the thread.
    pub(crate) fn end(&self) {
        self.content.lock().ends = true;
        self.changed.notify_all();
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.content.lock().ends
    }

    /// A repository with changes; waits for one, until a time. `None` where there is none, or at the end.
    pub(crate) fn next(&self, until: Instant) -> Option<(PathBuf, EditedRevprops)> {
        let mut content = self.content.lock();
        while content.changed.is_empty() && !content.ends {
            if self.changed.wait_until(&mut content, until).timed_out() {
                return None;
            }
        }
        if content.ends { None } else { content.changed.pop_first() }
    }
}
