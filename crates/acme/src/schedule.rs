//! When certificates are renewed, and when an order that failed is tried again.
//!
//! Invariant: after a refusal no more than four orders an hour are made for a name, fewer the longer it fails.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use sapwood_core::exact::signed;

/// The wait after the authority could not be reached.
const FIRST_WAIT: Duration = Duration::from_secs(60);
/// The wait after it refused; also from the last order to one after a restart or a reload. Let's Encrypt counts five
/// failures an hour.
pub(crate) const REFUSED_WAIT: Duration = Duration::from_secs(15 * 60);
/// The longest wait.
const MOST_WAIT: Duration = Duration::from_secs(6 * 3600);
/// The shortest and the longest time from a certificate to the order of the next one, whatever the certificate says.
const BETWEEN: (u64, u64) = (60, 3600);
/// How often the folder and the clock are looked at.
pub(crate) const LOOK: Duration = Duration::from_secs(3600);
/// The same while another server has the folder's lock.
pub(crate) const BUSY: Duration = Duration::from_secs(30);

/// The time, in seconds since 1970.
pub(crate) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| signed(since.as_secs()))
}

/// When a certificate is renewed, as seconds since 1970: when a third of its lifetime is left.
pub(crate) const fn renewal(begins: i64, ends: i64) -> i64 {
    ends - (ends - begins) / 3
}

/// The time from a new certificate to the next order.
pub(crate) fn between(begins: i64, ends: i64) -> Duration {
    let third = u64::try_from((ends - begins) / 3).unwrap_or(0);
    Duration::from_secs(third.clamp(BETWEEN.0, BETWEEN.1))
}

/// The wait after a number of failures in a row.
pub(crate) fn wait(failures: u32, is_refusal: bool) -> Duration {
    let first = if is_refusal { REFUSED_WAIT } else { FIRST_WAIT };
    let times = 1u32.checked_shl(failures.min(16)).unwrap_or(u32::MAX) / 2;
    first.saturating_mul(times.max(1)).min(MOST_WAIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = 24 * 3600;

    #[test]
    fn renewals_leave_a_third() {
        assert_eq!(renewal(0, 90 * DAY), 60 * DAY);
        assert_eq!(renewal(100, 100 + 6 * DAY), 100 + 4 * DAY);
        assert_eq!(between(0, 90 * DAY), Duration::from_secs(3600));
        assert_eq!(between(0, 3600), Duration::from_secs(1200));
        assert_eq!(between(0, 9), Duration::from_secs(60));
    }

    #[test]
    fn waits_grow_and_have_an_end() {
        let minutes = |failures, refusal| wait(failures, refusal).as_secs() / 60;
        let reached = [1, 2, 3, 9, 10, 40].map(|failures| minutes(failures, false));
        assert_eq!(reached, [1, 2, 4, 256, 360, 360]);
        assert_eq!([1, 2, 5, u32::MAX].map(|failures| minutes(failures, true)), [15, 30, 240, 360]);
        let in_an_hour = (1..).map(|n| minutes(n, true)).scan(0, |sum, m| {
            *sum += m;
            Some(*sum)
        });
        assert!(in_an_hour.take_while(|sum| *sum < 60).count() < 4);
    }
}
