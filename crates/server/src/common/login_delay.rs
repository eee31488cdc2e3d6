//! Wrong passwords are answered late: the more of them from an address or for a user, the later.
//!
//! The first few cost nothing, for people mistype. Then each doubles the delay of the next, up to a
//! limit; what is right is never delayed by what was wrong before, with one exception: one address may not have
//! many wrong answers waiting at a time, else it would give each guess a connection of its own and
//! hang up early. What comes on top of those has to wait before it is looked at.
//!
//! Invariants: what is remembered is bounded; clocks that jump change nothing, for all times are of
//! the monotonic clock.

use sapwood_core::exact::Exact;
use std::collections::HashMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// So many wrong passwords are answered at once. (Clients try each twice.)
const FREE: u32 = 6;
/// A delay is at most this many times the first one.
const MOST: u32 = 32;
/// So many of the longest delays of one address may lie ahead; then it has to wait to be heard.
const AHEAD: u32 = 2;
/// Failures are forgotten after so much time without another.
const MEMORY: Duration = Duration::from_secs(15 * 60);
/// Most addresses and users that are remembered. When there are more, the oldest are forgotten.
const MOST_RECORDS: usize = 16 << 10;

/// Where failures are counted. Users whose names differ only in case are one, as in `password-db`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Key {
    Address(IpAddr),
    User(String),
}

#[derive(Clone, Copy, Debug)]
struct Record {
    failures: u32,
    last: Instant,
    /// When the last wrong answer that was given to this address is sent.
    turn: Instant,
}

/// The failures of all connections.
#[derive(Debug, Default)]
pub struct LoginDelay {
    records: Mutex<HashMap<Key, Record>>,
}

/// What follows from a wrong password.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Penalty {
    /// How long the answer has to wait.
    pub wait: Duration,
    /// How many there were in a row from this address.
    pub failures: u32,
}

/// The part of an address that one customer of a network has: of IPv6, 64 bits.
pub(crate) fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => IpAddr::V6((v6.to_bits() >> 64 << 64).into()),
        v4 => v4,
    }
}

/// The delay after so many failures, when `first` is that after the first that is not free.
fn delay(first: Duration, failures: u32) -> Duration {
    match failures.checked_sub(FREE + 1) {
        None => Duration::ZERO,
        Some(more) => first.saturating_mul(2u32.saturating_pow(more).min(MOST)),
    }
}

impl LoginDelay {
    /// How long an attempt from `address` has to wait before it is looked at.
    #[must_use]
    pub fn before(&self, address: Option<IpAddr>, first: Duration, now: Instant) -> Duration {
        let Some(address) = address else { return Duration::ZERO };
        let records = self.records.lock();
        let Some(record) = records.get(&Key::Address(network(address))) else {
            return Duration::ZERO;
        };
        let ahead = first.saturating_mul(MOST * AHEAD);
        record.turn.saturating_duration_since(now).saturating_sub(ahead)
    }

    /// Notes a wrong password, or a user that there is not.
    pub fn failed(
        &self,
        address: Option<IpAddr>,
        user: Option<&str>,
        first: Duration,
        now: Instant,
    ) -> Penalty {
        let mut records = self.records.lock();
        let mut count = |key: Key| -> Record {
            make_room(&mut records, now);
            let fresh = Record { failures: 0, last: now, turn: now };
            let record = records.entry(key).or_insert(fresh);
            if now.saturating_duration_since(record.last) > MEMORY {
                *record = fresh;
            }
            record.failures.tally(1);
            record.last = now;
            *record
        };
        let of_user = user.map(|user| count(Key::User(user.to_ascii_lowercase())).failures);
        let key = address.map(|address| Key::Address(network(address)));
        let of_address = key.clone().map(|key| count(key).failures);
        let counts = [of_user, of_address].into_iter().flatten();
        let wait = counts.map(|failures| delay(first, failures)).max().unwrap_or(Duration::ZERO);
        let failures = of_address.or(of_user).unwrap_or(1);
        let Some(record) = key.and_then(|key| records.get_mut(&key)) else {
            return Penalty { wait, failures };
        };
        // One after the other: many connections at a time learn no more than one.
        record.turn = record.turn.max(now).checked_add(wait).unwrap_or(now);
        Penalty { wait: record.turn.saturating_duration_since(now), failures }
    }

    /// Notes that a user has proved their name.
    pub fn succeeded(&self, user: &str) {
        self.records.lock().remove(&Key::User(user.to_ascii_lowercase()));
    }
}

/// Forgets what is old, when there is too much.
fn make_room(records: &mut HashMap<Key, Record>, now: Instant) {
    if records.len() < MOST_RECORDS {
        return;
    }
    records.retain(|_, record| now.saturating_duration_since(record.last) <= MEMORY);
    if records.len() < MOST_RECORDS {
        return;
    }
    // The older half goes, so that this is not done for each new one.
    let mut times: Vec<Instant> = records.values().map(|record| record.last).collect();
    let middle = times.len() / 2;
    let (_, middle, _) = times.select_nth_unstable(middle);
    let middle = *middle;
    records.retain(|_, record| record.last > middle);
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn address(last: u8) -> Option<IpAddr> {
        Some(IpAddr::from([192, 0, 2, last]))
    }

    #[test]
    fn delays_double_up_to_a_limit() {
        let logins = LoginDelay::default();
        let mut now = Instant::now();
        let mut waits = Vec::new();
        for _ in 0..14 {
            let penalty = logins.failed(address(1), Some("ada"), SECOND, now);
            waits.push(penalty.wait.as_secs());
            now += penalty.wait;
        }
        assert_eq!(waits, [0, 0, 0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 32, 32]);
        assert_eq!(logins.failed(address(2), Some("bob"), SECOND, now).wait, Duration::ZERO);
        assert!(
            logins.failed(address(3), Some("ada"), SECOND, now).wait >= SECOND * 32,
            "the user"
        );
        assert!(
            logins.failed(address(1), Some("eve"), SECOND, now).wait >= SECOND * 32,
            "the address"
        );
        now += MEMORY + SECOND;
        assert_eq!(logins.failed(address(1), Some("ada"), SECOND, now).wait, Duration::ZERO);
    }

    #[test]
    fn what_is_right_is_not_delayed_and_clears_the_user() {
        let logins = LoginDelay::default();
        let now = Instant::now();
        for _ in 0..9 {
            logins.failed(None, Some("ada"), SECOND, now);
        }
        assert_eq!(logins.before(address(1), SECOND, now), Duration::ZERO);
        logins.succeeded("ada");
        assert_eq!(logins.failed(None, Some("ada"), SECOND, now).wait, Duration::ZERO);
    }

    #[test]
    fn many_connections_at_a_time_guess_no_faster() {
        let logins = LoginDelay::default();
        let begun = Instant::now();
        // Each guess hangs up as soon as it sees that it is not answered at once.
        let mut guesses = 0;
        for tenth in 0..36_000 {
            let now = begun + Duration::from_millis(tenth * 100);
            if logins.before(address(7), SECOND, now) == Duration::ZERO {
                logins.failed(address(7), Some("ada"), SECOND, now);
                guesses += 1;
            }
        }
        assert!(guesses < 130, "{guesses} guesses in an hour");
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let logins = LoginDelay::default();
        let now = Instant::now();
        for number in 0..100_000u64 {
            let user = format!("user{number}");
            logins.failed(None, Some(&user), SECOND, now + Duration::from_millis(number));
        }
        assert!(logins.records.lock().len() <= MOST_RECORDS);
        let networks = ["2001:db8::1", "2001:db8::2"].map(|a| network(a.parse().unwrap()));
        assert_eq!(networks[0], networks[1]);
        assert_eq!(network("::ffff:192.0.2.1".parse().unwrap()), address(1).unwrap());
    }
}
