//! Waiting for the file system's clock.
//!
//! A file that is changed within the same tick in which its time was recorded would look unchanged. After an
//! operation that recorded times, the clock that stamps files must have moved on from the newest of them. Where
//! that is long past, as for a file that was written before it was committed, nothing is waited for.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// How often the clock is looked at.
const STEP: Duration = Duration::from_millis(1);
/// How often at most: a clock that stands still is the administrator's matter.
const LOOKS: u32 = 50;
/// Times that lie further ahead of the clock, in microseconds, are not of files that were written now: the clock
/// does not come to them while anything waits.
const AHEAD: i64 = 50_000;

/// The time that a file would get now, in microseconds since 1970: what is recorded of it.
fn stamp() -> i64 {
    let now = clock_gettime(ClockId::RealtimeCoarse);
    now.tv_sec.saturating_mul(1_000_000).saturating_add(now.tv_nsec / 1000)
}

/// The time that a file would get now, in nanoseconds since 1970.
pub(crate) fn coarse_nanoseconds() -> i64 {
    let now = clock_gettime(ClockId::RealtimeCoarse);
    now.tv_sec.saturating_mul(1_000_000_000).saturating_add(now.tv_nsec)
}

/// Whether files that are changed from now on get a later time than `mtime` (microseconds since 1970).
pub(crate) fn is_past(mtime: i64) -> bool {
    stamp() > mtime
}

/// The newest time of a file that was recorded in a `wc.db` (microseconds since 1970). Clones are one.
#[derive(Clone, Debug, Default)]
pub struct RecordedTimes {
    newest: Arc<AtomicI64>,
}

impl RecordedTimes {
    /// A file's time is recorded.
    pub(crate) fn note(&self, mtime: i64) {
        if mtime.checked_sub(stamp()).is_none_or(|ahead| ahead <= AHEAD) {
            self.newest.fetch_max(mtime, Ordering::Relaxed);
        }
    }

    /// Returns when files that are changed from now on get a later time than any that was recorded.
    pub fn settle(&self) {
        let newest = self.newest.load(Ordering::Relaxed);
        for _ in 0..LOOKS {
            if is_past(newest) {
                return;
            }
            std::thread::sleep(STEP);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_moves_on_from_what_was_recorded() {
        let recorded = RecordedTimes::default();
        let now = stamp();
        recorded.note(now);
        recorded.note(now.saturating_sub(1_000_000));
        recorded.clone().settle();
        assert!(stamp() > now);
    }

    #[test]
    fn a_file_from_the_future_is_not_waited_for() {
        let recorded = RecordedTimes::default();
        recorded.note(stamp().saturating_add(3_600_000_000));
        assert_eq!(recorded.newest.load(Ordering::Relaxed), 0);
    }
}
