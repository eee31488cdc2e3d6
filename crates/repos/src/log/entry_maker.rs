//! A second thread for logs of paths that have to read: while the request searches the histories
//! for the next revisions, the thread makes the entries of those that were found.
//!
//! The entries go through the cache ([`sapwood_fs::log_blocks`]); an entry that is not there when the
//! request needs it (because of damage, or because it may change at any time) the request makes
//! itself, as without the thread.

use std::sync::Arc;

use parking_lot::{Condvar, Mutex};
use sapwood_core::Revnum;
use sapwood_fs::read_ahead::{Helper, LogNeeds};
use sapwood_fs::{Filesystem, SpanEncoder};

use crate::error::Result;

/// The thread, and how many revisions it was given. It ends when this is dropped.
pub(super) struct EntryMaker {
    shared: Arc<SharedQueue>,
    // Joined after `drop` has marked `shared` as over.
    _helper: Helper,
    given: u64,
}

#[derive(Default)]
struct SharedQueue {
    state: Mutex<State>,
    /// Signalled when there are revisions, or at the end.
    more: Condvar,
    /// Signalled when the revision that the request waits for is done.
    done: Condvar,
}

#[derive(Default)]
struct State {
    /// Revisions that the thread has not started.
    found: Vec<Revnum>,
    /// How many it has finished.
    made: u64,
    /// Which one, counted from 1, the request waits for; 0 when it does not wait.
    wanted: u64,
    /// The request, or the thread, has ended.
    over: bool,
}

impl EntryMaker {
    /// `None` when no reader permit is free.
    pub(super) fn start(fs: &Filesystem, wanted: LogNeeds, encoder: SpanEncoder) -> Option<Self> {
        let shared = Arc::new(SharedQueue::default());
        let theirs = Arc::clone(&shared);
        let helper = Helper::start(fs, "log-entries", move |fs, _| {
            let _over = SetAtEnd(&theirs);
            make(fs, wanted, &encoder, &theirs)
        })?;
        Some(Self { shared, _helper: helper, given: 0 })
    }

    /// Appends revisions to the queue.
    pub(super) fn give(&self, found: impl Iterator<Item = Revnum>) {
        self.shared.state.lock().found.extend(found);
        self.shared.more.notify_one();
    }

    /// Waits until the thread has finished the next of the revisions that it was given.
    pub(super) fn next(&mut self) {
        self.given += 1;
        let mut state = self.shared.state.lock();
        while state.made < self.given && !state.over {
            state.wanted = self.given;
            self.shared.done.wait(&mut state);
        }
        state.wanted = 0;
    }
}

impl Drop for EntryMaker {
    fn drop(&mut self) {
        self.shared.end();
    }
}

impl SharedQueue {
    fn end(&self) {
        self.state.lock().over = true;
        self.more.notify_all();
        self.done.notify_all();
    }

    /// Takes all revisions in the queue, as soon as there are any; `None` at the end.
    fn take(&self) -> Option<Vec<Revnum>> {
        let mut state = self.state.lock();
        while state.found.is_empty() && !state.over {
            self.more.wait(&mut state);
        }
        (!state.over).then(|| std::mem::take(&mut state.found))
    }

    /// Marks one more as done. Returns whether to go on.
    fn finish_one(&self) -> bool {
        let mut state = self.state.lock();
        state.made += 1;
        let (wakes, goes_on) = (state.made == state.wanted, !state.over);
        drop(state);
        if wakes {
            self.done.notify_one();
        }
        goes_on
    }
}

/// The request does not wait for a thread that has ended, however it did.
struct SetAtEnd<'a>(&'a SharedQueue);

impl Drop for SetAtEnd<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

fn make(
    fs: &Filesystem,
    wanted: LogNeeds,
    encoder: &SpanEncoder,
    shared: &SharedQueue,
) -> Result<()> {
    let mut revprops = fs.revprops_snapshot();
    while let Some(found) = shared.take() {
        for revision in &found {
            fs.will_need_revision(*revision, wanted, &mut revprops);
        }
        for revision in found {
            if let Some(span) = revprops.log_span_of_one(revision)? {
                // An error in a revision is found again, and reported, by the request.
                let _ = revprops.make_entries(&span, true, wanted, encoder);
            }
            if !shared.finish_one() {
                return Ok(());
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use sapwood_fs::{Caches, OpenOptions};
    use sapwood_testkit::{Repository, Shape};

    #[test]
    fn nobody_waits_for_what_cannot_be_made() {
        let repo = Repository::random(&Shape::new("1.10"), 4, 12);
        let db = repo.path().join("db");
        let caches = Caches::new(8 << 20);
        let fs = Filesystem::open(&db, &caches, &OpenOptions::default()).unwrap();
        let wanted = LogNeeds { changes: true, revprops: true };
        let form = sapwood_core::FormKey::new(99).unwrap();
        let encoder = || SpanEncoder { form, encode: Box::new(|_, _, _, _| false) };
        let mut maker = EntryMaker::start(&fs, wanted, encoder()).unwrap();
        maker.give([Revnum(3), Revnum(7)].into_iter());
        maker.next();
        maker.next();
        // There is no such revision, whatever becomes of the thread.
        maker.give([Revnum(700), Revnum(2)].into_iter());
        maker.next();
        maker.next();
        drop(maker);
        // Given something, and dropped at once.
        EntryMaker::start(&fs, wanted, encoder()).unwrap().give((1..12).map(Revnum));
    }
}
