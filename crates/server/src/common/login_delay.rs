//! Delays the answers to wrong passwords: the more failures from an address or for a user, the
//! longer.
//!
//! The first few failures have no delay, since people mistype. After that each failure doubles the delay of
//! the next, up to a limit. A right password is answered at once, with one exception: the number of attempts
//! in progress is limited, for each user at one address, and for each address. A wrong attempt stays in
//! progress until its answer is due, even if its client disconnects; otherwise an attacker could drop a guess
//! that is not answered at once and try the next one. Attempts beyond the limit wait for their turn, and are
//! refused if that would take too long.
//!
//! Invariants: no answer takes longer than twice the longest delay; the table has a limited size; changes
//! of the system's clock have no effect, since all times are of the monotonic clock.

use sapwood_core::exact::Exact;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// The number of wrong passwords without a delay. (Clients try each password twice.)
const FREE: u32 = 6;
/// A delay is at most this many times the first one.
pub(crate) const MOST: u32 = 32;
/// The limit of attempts in progress of one user at one address.
const OF_USER: usize = 64;
/// The limit of attempts in progress from one address. Users who logged in from there recently do not
/// count.
const OF_ADDRESS: usize = 512;
/// Failures are removed after so much time without another.
const MEMORY: Duration = Duration::from_secs(15 * 60);
/// How long a user who logged in from an address counts as known there.
const KNOWN: Duration = Duration::from_secs(24 * 3600);
/// The limit of addresses and users in the table. Beyond it the oldest are removed.
const MOST_RECORDS: usize = 16 << 10;

/// Where failures are counted. Users whose names differ only in case are one, as in `password-db`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Key {
    Address(IpAddr),
    User(String),
    /// A user at an address.
    Both(IpAddr, String),
}

#[derive(Clone, Debug)]
struct Record {
    failures: u32,
    last: Instant,
    /// The last time that the user logged in from the address.
    proved: Option<Instant>,
    /// Attempts whose passwords are being checked.
    begun: usize,
    /// When the answers to wrong passwords are due.
    due: Vec<Instant>,
}

impl Record {
    const fn new(now: Instant) -> Self {
        Self { failures: 0, last: now, proved: None, begun: 0, due: Vec::new() }
    }

    fn is_old(&self, now: Instant) -> bool {
        let is_known = self.proved.is_some_and(|proved| since(proved, now) <= KNOWN);
        self.begun == 0 && since(self.last, now) > MEMORY && !is_known
    }

    /// How long until one of `most` attempts ends, if that many are in progress.
    fn wait(&mut self, most: usize, now: Instant) -> Option<Duration> {
        self.due.retain(|due| *due > now);
        if self.begun.plus(self.due.len()) < most {
            return None;
        }
        let first = self.due.iter().min().map(|due| since(now, *due));
        Some(first.unwrap_or(LOOK).max(LOOK))
    }
}

/// The shortest and the longest time between checks whether an attempt may begin.
const LOOK: Duration = Duration::from_millis(50);
const MOST_LOOK: Duration = Duration::from_millis(500);

/// The failures of all connections.
#[derive(Clone, Debug, Default)]
pub struct LoginDelay {
    records: Arc<Mutex<HashMap<Key, Record>>>,
}

/// The consequences of a wrong password.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Penalty {
    /// How long the answer has to wait.
    pub wait: Duration,
    /// How many there were in a row from this address.
    pub failures: u32,
}

/// An attempt to log in, while the password is checked. If it is dropped, it does not count.
#[derive(Debug)]
pub struct Attempt {
    logins: LoginDelay,
    address: Option<IpAddr>,
    user: String,
    first: Duration,
    /// Whether it counts as in progress.
    counts: bool,
}

/// The part of an address that one customer of a network has: 64 bits for IPv6.
pub(crate) fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => IpAddr::V6((v6.to_bits() >> 64 << 64).into()),
        v4 => v4,
    }
}

/// The time from one moment to another; none if that was before.
fn since(then: Instant, now: Instant) -> Duration {
    now.saturating_duration_since(then)
}

/// The delay after so many failures, when `first` is that after the first that is not free.
fn delay(first: Duration, failures: u32) -> Duration {
    match failures.checked_sub(FREE + 1) {
        None => Duration::ZERO,
        Some(more) => first.saturating_mul(2u32.saturating_pow(more).min(MOST)),
    }
}

impl LoginDelay {
    /// Begins an attempt of `user` from `address`, at a place where `first` is the first delay; zero for no
    /// delays.
    ///
    /// # Errors
    /// How long to wait before the next try, when too many are in progress.
    pub fn begin(
        &self,
        address: Option<IpAddr>,
        user: &str,
        first: Duration,
        now: Instant,
    ) -> Result<Attempt, Duration> {
        let address = address.map(network);
        let user = user.to_ascii_lowercase();
        let attempt =
            |counts| Attempt { logins: self.clone(), address, user: user.clone(), first, counts };
        let Some(at) = address.filter(|_| !first.is_zero()) else { return Ok(attempt(false)) };
        let mut records = self.records.lock();
        if let Some(wait) = wait(&mut records, &Key::Both(at, user.clone()), at, now) {
            return Err(wait.min(MOST_LOOK));
        }
        for key in [Key::Both(at, user.clone()), Key::Address(at)] {
            let record = records.entry(key).or_insert_with(|| Record::new(now));
            record.begun = record.begun.plus(1);
        }
        Ok(attempt(true))
    }

    /// An attempt whose password is already known to be right: begins and succeeds in one step. `false` if too
    /// many attempts are in progress, so that it has to wait for its turn as others do.
    pub(crate) fn prove_at_once(
        &self,
        address: Option<IpAddr>,
        user: &str,
        first: Duration,
        now: Instant,
    ) -> bool {
        let user = user.to_ascii_lowercase();
        let mut records = self.records.lock();
        if let Some(at) = address.map(network) {
            let both = Key::Both(at, user.clone());
            if !first.is_zero() && wait(&mut records, &both, at, now).is_some() {
                return false;
            }
            if let Some(record) = records.get_mut(&both) {
                record.proved = Some(now);
            }
        }
        records.remove(&Key::User(user));
        true
    }

    /// The longest time that an attempt may wait for its turn, at a place with this first delay.
    #[must_use]
    pub fn patience(first: Duration) -> Duration {
        first.saturating_mul(MOST)
    }
}

impl Attempt {
    /// Notes that the password was wrong, or that there is no such user.
    #[must_use]
    pub fn failed(mut self, now: Instant) -> Penalty {
        let mut records = self.logins.records.lock();
        let mut failures = |key: Key| {
            make_room(&mut records, now);
            let record = records.entry(key).or_insert_with(|| Record::new(now));
            if since(record.last, now) > MEMORY {
                record.failures = 0;
            }
            record.failures.tally(1);
            record.last = now;
            record.failures
        };
        let of_user = failures(Key::User(self.user.clone()));
        let of_address = self.address.map(|address| failures(Key::Address(address)));
        let wait = delay(self.first, of_user.max(of_address.unwrap_or(0)));
        if self.counts
            && let Some(due) = now.checked_add(wait).filter(|_| !wait.is_zero())
        {
            for key in self.keys() {
                if let Some(record) = records.get_mut(&key) {
                    record.due.push(due);
                }
            }
        }
        drop(records);
        self.end();
        Penalty { wait, failures: of_address.unwrap_or(of_user) }
    }

    /// Notes that the user has authenticated.
    pub fn succeeded(mut self, now: Instant) {
        let mut records = self.logins.records.lock();
        records.remove(&Key::User(self.user.clone()));
        let both = self.address.map(|address| Key::Both(address, self.user.clone()));
        if let Some(record) = both.and_then(|key| records.get_mut(&key)) {
            record.proved = Some(now);
        }
        drop(records);
        self.end();
    }

    fn keys(&self) -> Vec<Key> {
        let at = |address| [Key::Both(address, self.user.clone()), Key::Address(address)];
        self.address.map(at).into_iter().flatten().collect()
    }

    /// It is no longer in progress.
    fn end(&mut self) {
        if !std::mem::take(&mut self.counts) {
            return;
        }
        let mut records = self.logins.records.lock();
        for key in self.keys() {
            if let Some(record) = records.get_mut(&key) {
                record.begun = record.begun.minus(1);
            }
        }
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        self.end();
    }
}

/// How long an attempt has to wait, if too many are in progress. `both` is its user at its address,
/// `at`.
fn wait(
    records: &mut HashMap<Key, Record>,
    both: &Key,
    at: IpAddr,
    now: Instant,
) -> Option<Duration> {
    make_room(records, now);
    let own = match records.get_mut(both) {
        Some(own) => own,
        None => records.entry(both.clone()).or_insert_with(|| Record::new(now)),
    };
    let wait = own.wait(OF_USER, now);
    if own.proved.is_some_and(|proved| since(proved, now) <= KNOWN) {
        return wait;
    }
    let all = records.entry(Key::Address(at)).or_insert_with(|| Record::new(now));
    wait.max(all.wait(OF_ADDRESS, now))
}

/// Removes old entries, when there are too many.
fn make_room(records: &mut HashMap<Key, Record>, now: Instant) {
    if records.len() < MOST_RECORDS {
        return;
    }
    records.retain(|_, record| !record.is_old(now));
    if records.len() < MOST_RECORDS {
        return;
    }
    // The older half is removed, so that this does not happen for each new entry.
    let mut times: Vec<Instant> = records.values().map(|record| record.last).collect();
    let middle = times.len() / 2;
    let (_, middle, _) = times.select_nth_unstable(middle);
    let middle = *middle;
    records.retain(|_, record| record.last > middle || record.begun > 0);
}

#[cfg(test)]
mod tests;
