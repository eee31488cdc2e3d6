//! How often something happened in the last hour, by minutes.
//!
//! Invariant: a minute's count is given up as soon as its place is needed for a later one.

use std::time::Duration;

use parking_lot::Mutex;
use sapwood_core::exact::Exact as _;

const MINUTES: usize = 60;

/// Counts of the last 60 minutes. Times are those since the server started.
#[derive(Debug)]
pub(super) struct RecentCount(Mutex<[(u64, u64); MINUTES]>);

impl Default for RecentCount {
    fn default() -> Self {
        Self(Mutex::new([(0, 0); MINUTES]))
    }
}

/// The number of a minute, from 1.
const fn minute(at: Duration) -> u64 {
    at.as_secs() / 60 + 1
}

impl RecentCount {
    /// Counts one.
    pub(super) fn add(&self, at: Duration) {
        let now = minute(at);
        let mut all = self.0.lock();
        // The place of this minute, or else that of the oldest one.
        let slot = all.iter_mut().min_by_key(|slot| if slot.0 == now { 0 } else { slot.0.plus(1) });
        if let Some(slot) = slot {
            if slot.0 != now {
                *slot = (now, 0);
            }
            slot.1 = slot.1.plus(1);
        }
    }

    /// How many there were in this minute and the 59 before it.
    pub(super) fn of_last_hour(&self, at: Duration) -> u64 {
        let now = minute(at);
        let is_recent = |then: u64| then <= now && then.plus(60) > now;
        self.0.lock().iter().filter(|(then, _)| *then > 0 && is_recent(*then)).map(|(_, n)| n).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_hour_and_no_more() {
        let count = RecentCount::default();
        let minutes = |n: u64| Duration::from_secs(n * 60 + 5);
        count.add(minutes(0));
        count.add(minutes(0));
        count.add(minutes(30));
        assert_eq!(count.of_last_hour(minutes(30)), 3);
        assert_eq!(count.of_last_hour(minutes(59)), 3);
        assert_eq!(count.of_last_hour(minutes(60)), 1);
        count.add(minutes(60));
        assert_eq!(count.of_last_hour(minutes(61)), 2);
        assert_eq!(count.of_last_hour(minutes(500)), 0);
    }
}
