//! Waiting for the file system's clock.
//!
//! A file that is changed within the same tick in which its time was recorded would look unchanged.
//! After an operation that recorded times, the clock that stamps files must have moved on.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// How often the clock is looked at.
const STEP: Duration = Duration::from_millis(1);
/// How often at most: a clock that stands still is the administrator's matter.
const LOOKS: u32 = 50;

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

/// Returns when files that are changed from now on get another time than files that were changed
/// before the call.
pub fn wait_for_tick() {
    let before = stamp();
    for _ in 0..LOOKS {
        if stamp() != before {
            return;
        }
        std::thread::sleep(STEP);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_moves_on() {
        let before = stamp();
        wait_for_tick();
        assert!(stamp() > before);
    }
}
