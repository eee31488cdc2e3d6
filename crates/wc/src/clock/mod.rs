//! Time stamps of files, and the clock of the file system that gives them.
//!
//! A file that is changed within the clock tick in which its time was recorded would look unchanged. So a recorded
//! time is reliable only when the file system's clock has moved on from it: operations that recorded times wait for
//! that at their end ([`RecordedTimes::wait`]), and the time of a file that was changed in the last tick is not
//! recorded ([`FileClock::is_past`]). A tick may be a nanosecond or two seconds (FAT), and the clock may be that of
//! another machine. So the times of files are compared with the time of a probe file that is written for this
//! purpose ([`source`]), and with the system's clock only if no file can be written.
//!
//! Invariant: [`granularity`] never returns less than the true granularity of the file system that gave a time;
//! where several are possible, it returns the coarsest.

mod source;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sapwood_core::Exact as _;

use source::{ProbeFile, Source, system_nanoseconds};

const SECOND: i64 = 1_000_000_000;
/// Granularities of file systems, in nanoseconds, the longest first: FAT; ext2, ext3 and HFS+; exFAT and the
/// ticks of kernels; then those of servers and disk formats.
const STEPS: [i64; 9] =
    [2 * SECOND, SECOND, 100_000_000, EXFAT, 1_000_000, 100_000, 10_000, 1_000, 100];
/// The granularity of exFAT, in nanoseconds.
const EXFAT: i64 = 10_000_000;
/// Kernels take time stamps from a clock that ticks at least this often, in nanoseconds, however fine the stamps
/// are.
const TICK: i64 = 10_000_000;
/// The delay between reads of the clock at first, and after [`SOON`], in milliseconds.
const STEP: u64 = 1;
const LATER_STEP: u64 = 10;
const SOON: u64 = 20;
/// The longest wait, in milliseconds: a clock that stands still has to be repaired by the administrator.
const LONGEST: u64 = 3000;
/// Times that are further ahead of the clock than this, in nanoseconds, do not belong to files that were written
/// now: the clock does not reach them while a program waits.
const AHEAD: i64 = 2 * SECOND;
/// The greatest age of the last reading of the clock, in nanoseconds, when a file's time is ahead of it.
const RECENT: i64 = SECOND;

/// Adds nanoseconds to a time; a result beyond the 23rd century is cut to the limit.
const fn moved(time: i64, by: i64) -> i64 {
    time.saturating_add(by)
}

/// A time in microseconds since 1970, as it is recorded, in nanoseconds.
const fn in_nanoseconds(recorded: i64) -> i64 {
    recorded.saturating_mul(1000)
}

/// The coarsest granularity, in nanoseconds, of a clock that could have given this time (nanoseconds
/// since 1970).
fn granularity(time: i64) -> i64 {
    STEPS.into_iter().find(|step| time.checked_rem(*step) == Some(0)).unwrap_or(1)
}

/// Whether a file that is changed when the clock shows `now` or later gets another time than `recorded`. Both are
/// nanoseconds since 1970; the recorded time is known only in microseconds.
fn is_over(recorded: i64, now: i64) -> bool {
    let now = moved(now, -now.rem_euclid(1000));
    let step = granularity(recorded);
    // A clock as coarse as the time has ticked when it shows a later time. A time that is coarser than the clock
    // may come from another file system that is mounted below: then a whole step must have passed. (Steps of
    // 100 ms occur only in this file system's own clock.)
    if granularity(now) >= step.min(SECOND) {
        now > recorded
    } else {
        now >= moved(recorded, if step < SECOND { step.min(EXFAT) } else { step })
    }
}

/// Whether a time is so far ahead of the clock that it does not belong to a file that was written
/// now.
const fn is_far(recorded: i64, now: i64) -> bool {
    recorded > moved(now, AHEAD)
}

/// Whether a change after `now` gives a directory another stamp than `stamp`, which is the later of its two times:
/// twice the granularity must have gone by, and two ticks of the kernel's clock. Nanoseconds since 1970.
pub(crate) fn is_old(stamp: i64, now: i64) -> bool {
    let step = granularity(stamp).max(TICK);
    moved(moved(stamp, step), step) < now
}

/// The times that were recorded in the working copies of one run of a program. Clones share one
/// list.
#[derive(Clone, Debug, Default)]
pub struct RecordedTimes {
    clocks: Arc<Mutex<Vec<FolderClock>>>,
}

/// The directory of a clock, and the clock.
type FolderClock = (PathBuf, Arc<FileClock>);

impl RecordedTimes {
    /// The clock of a working copy's file system, by its directory for temporary files.
    pub(crate) fn clock(&self, folder: &Path) -> Arc<FileClock> {
        let mut clocks = self.clocks.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, clock)) = clocks.iter().find(|(known, _)| known == folder) {
            return Arc::clone(clock);
        }
        let clock = Arc::new(FileClock::of(ProbeFile { folder: folder.to_owned() }));
        clocks.push((folder.to_owned(), Arc::clone(&clock)));
        clock
    }

    /// Returns when files that are changed from now on get other times than those that were recorded. If that is so
    /// already, the clock is read once; if nothing was recorded, not at all.
    pub fn wait(&self) {
        let clocks = self.clocks.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for (_, clock) in clocks {
            clock.wait();
        }
    }
}

/// The clock that stamps the files of a working copy, and the newest of its times that was recorded.
#[derive(Debug)]
pub(crate) struct FileClock {
    source: Box<dyn Source>,
    /// In nanoseconds since 1970; 0 when there is nothing to wait for.
    newest: AtomicI64,
    /// The last reading of the clock.
    last: Mutex<Option<Reading>>,
}

/// A reading of the clock.
#[derive(Clone, Copy, Debug)]
struct Reading {
    /// The time that it showed, in nanoseconds since 1970.
    time: i64,
    /// The time of the reading, by [`Source::elapsed`].
    at: i64,
}

impl FileClock {
    fn of(source: impl Source + 'static) -> Self {
        Self { source: Box::new(source), newest: AtomicI64::new(0), last: Mutex::new(None) }
    }

    /// The time that a file would get now, in nanoseconds since 1970; `None` when no file can be written.
    pub(crate) fn now(&self) -> Option<i64> {
        let at = self.source.elapsed();
        let time = self.source.now()?;
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(Reading { time, at });
        Some(time)
    }

    fn now_or_system(&self) -> i64 {
        self.now().unwrap_or_else(system_nanoseconds)
    }

    /// The last reading of the clock, if it is not older than so many nanoseconds.
    fn observed_within(&self, age: i64) -> Option<i64> {
        let last = (*self.last.lock().unwrap_or_else(PoisonError::into_inner))?;
        let old = moved(self.source.elapsed(), -last.at);
        (old <= age).then_some(last.time)
    }

    /// Whether files that are changed from now on get another time than `mtime` (microseconds since 1970): the clock
    /// has moved on from it, or is far behind it.
    pub(crate) fn is_past(&self, mtime: i64) -> bool {
        let recorded = in_nanoseconds(mtime);
        // An old reading is enough if it proves this; within the same tick a new one would show the same time.
        if self.observed_within(i64::MAX).is_some_and(|now| is_over(recorded, now)) {
            return true;
        }
        let now = self.observed_within(0).unwrap_or_else(|| self.now_or_system());
        is_over(recorded, now) || is_far(recorded, now)
    }

    /// Notes that a file's time (microseconds since 1970) was recorded.
    pub(crate) fn note(&self, mtime: i64) {
        let recorded = in_nanoseconds(mtime);
        if recorded > self.newest.load(Ordering::Relaxed) && !self.is_ahead(recorded) {
            self.newest.fetch_max(recorded, Ordering::Relaxed);
        }
    }

    fn is_ahead(&self, recorded: i64) -> bool {
        is_far(recorded, self.observed_within(RECENT).unwrap_or_else(|| self.now_or_system()))
    }

    /// Returns when the file system will not give a recorded time again, or after [`LONGEST`].
    pub(crate) fn wait(&self) {
        let newest = self.newest.swap(0, Ordering::Relaxed);
        let mut waited = 0;
        while newest > 0 && waited < LONGEST {
            let now = self.now_or_system();
            if is_over(newest, now) || is_far(newest, now) {
                return;
            }
            let step = if waited < SOON { STEP } else { LATER_STEP };
            self.source.pause(Duration::from_millis(step));
            waited = waited.plus(step);
        }
    }
}

#[cfg(test)]
mod tests;
