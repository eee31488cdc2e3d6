//! An operation on many nodes as few transactions.
//!
//! The changes of up to [`MOST`] nodes are committed together; then what they queued is run, and after that they are
//! reported. Invariant: nothing is reported before it is committed. What a kill leaves is what it leaves of one node
//! after the other: the first of them changed, the others not, and what waits in the queue for `cleanup`.

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

use sapwood_core::notify::{KeptNotify, Notify};
use sapwood_core::paths::RelPath;
use sapwood_core::{CancelToken, len64};

use crate::error::{Error, Result};
use crate::locks::{Lock, owns_lock};
use crate::root::WorkingCopy;

/// How many changes are committed together.
const MOST: u32 = 1000;
/// How long changes wait for others at most: another program that wants to write waits meanwhile.
const LONGEST: Duration = Duration::from_secs(2);

/// Called for everything that happens.
pub type Notifier<'t> = dyn Fn(&Notify<'_>) + 't;

/// Changes that are made together.
pub struct GatheredChanges<'g> {
    wc: &'g WorkingCopy,
    cancel: &'g CancelToken,
    notify: &'g Notifier<'g>,
    /// What is to be reported after the next commit.
    kept: RefCell<Vec<KeptNotify>>,
    locks: RefCell<Vec<Lock>>,
    since: Cell<Instant>,
    /// Whether an outer operation gathers already, and does the rest.
    nested: bool,
}

impl std::fmt::Debug for GatheredChanges<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GatheredChanges").field("root", &self.wc.root()).finish_non_exhaustive()
    }
}

/// As [`WorkingCopy::gather`].
pub(crate) fn gather<T, E: From<Error>>(
    wc: &WorkingCopy,
    cancel: &CancelToken,
    notify: &Notifier<'_>,
    work: impl FnOnce(&GatheredChanges<'_>) -> std::result::Result<T, E>,
) -> std::result::Result<T, E> {
    wc.db().released(|| {
        let gathered = GatheredChanges {
            wc,
            cancel,
            notify,
            kept: RefCell::default(),
            locks: RefCell::default(),
            since: Cell::new(Instant::now()),
            nested: !wc.db().begin_gathering(),
        };
        let result = work(&gathered);
        let ended = gathered.end();
        let value = result?;
        ended?;
        Ok(value)
    })
}

impl GatheredChanges<'_> {
    /// The working copy.
    #[must_use]
    pub const fn wc(&self) -> &WorkingCopy {
        self.wc
    }

    /// Reports something when the changes so far are committed.
    pub fn notify(&self, value: &Notify<'_>) {
        if self.nested {
            (self.notify)(value);
        } else {
            self.kept.borrow_mut().push(value.into());
        }
    }

    /// Locks a directory and all below it until the changes are made.
    ///
    /// # Errors
    /// As [`WorkingCopy::lock`].
    pub fn lock(&self, relpath: &RelPath) -> Result<()> {
        if !owns_lock(self.wc, relpath) {
            let lock = self.wc.lock(relpath, -1)?;
            self.locks.borrow_mut().push(lock);
        }
        Ok(())
    }

    /// Called after each node of an operation: commits when enough was gathered. The locks stay.
    ///
    /// # Errors
    /// That the operation was cancelled; those of commits and of the queue.
    pub fn step(&self) -> Result<()> {
        if self.cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        if self.is_enough() { self.commit() } else { Ok(()) }
    }

    /// As [`GatheredChanges::step`], between targets that have locks of their own.
    ///
    /// # Errors
    /// As there.
    pub fn next_target(&self) -> Result<()> {
        if self.is_enough() { self.finish() } else { Ok(()) }
    }

    /// Makes the changes so far, reports them, and releases the locks.
    ///
    /// # Errors
    /// Those of commits and of the queue.
    pub fn let_go(&self) -> Result<()> {
        if self.nested { Ok(()) } else { self.finish() }
    }

    /// Makes the changes so far, and keeps the locks.
    ///
    /// # Errors
    /// Those of commits and of the queue.
    pub(crate) fn commit_now(&self) -> Result<()> {
        if self.nested { Ok(()) } else { self.commit() }
    }

    fn is_enough(&self) -> bool {
        let changes = self.wc.db().gathered();
        let is_late = || self.since.get().elapsed() > LONGEST;
        // Where there is much to say and nothing to commit, what is said does not wait for the end.
        let is_long = || len64(self.kept.borrow().len()) >= u64::from(MOST);
        !self.nested && (changes >= MOST || if changes > 0 { is_late() } else { is_long() })
    }

    /// Commits the changes, runs what they queued, and reports them.
    fn commit(&self) -> Result<()> {
        let done = self.wc.db().end_gathering().and_then(|()| self.wc.run_queue(self.cancel));
        if done.is_ok() {
            self.report();
        }
        self.wc.db().begin_gathering();
        self.since.set(Instant::now());
        done
    }

    /// Makes the changes, and releases the locks: in the same transaction, if nothing is queued.
    fn finish(&self) -> Result<()> {
        if self.wc.db().has_work()? {
            self.commit()?;
        }
        let locks = std::mem::take(&mut *self.locks.borrow_mut());
        locks.into_iter().try_for_each(Lock::release)?;
        self.commit()
    }

    fn end(&self) -> Result<()> {
        if self.nested {
            return Ok(());
        }
        let finished = self.finish();
        let ended = self.wc.db().end_gathering();
        finished.and(ended)
    }

    fn report(&self) {
        for value in std::mem::take(&mut *self.kept.borrow_mut()) {
            (self.notify)(&value.notify());
        }
    }
}

#[cfg(test)]
mod tests {
    use sapwood_core::notify::Action;

    use super::*;
    use crate::Options;

    /// How many notices were kept at most, of `count` that come after each other; all of them are reported.
    fn most_kept(count: u32) -> usize {
        let folder = tempfile::tempdir().unwrap();
        let wc = WorkingCopy::create(folder.path(), Options::default()).unwrap();
        let (reported, mut most) = (Cell::new(0), 0);
        let notify = |_: &Notify<'_>| reported.set(reported.get() + 1);
        let gathered = wc.gather(&CancelToken::new(), &notify, |gathered| {
            for _ in 0..count {
                gathered.notify(&Notify::new(Action::Revert, "f"));
                most = most.max(gathered.kept.borrow().len());
                gathered.step()?;
            }
            Ok::<_, Error>(())
        });
        gathered.unwrap();
        assert_eq!(reported.get(), count);
        most
    }

    #[test]
    fn notices_of_what_is_committed_do_not_wait() {
        assert_eq!(most_kept(10), 10);
        let most = usize::try_from(MOST).unwrap();
        assert_eq!([most_kept(MOST * 2), most_kept(MOST * 8)], [most; 2]);
    }
}
