//! The memory that requests in progress take, over all connections together.
//!
//! One request may take megabytes, and a client may send most of it and then nothing more. So all
//! memory that connections hold for requests, beyond a small free amount each, comes from one
//! budget. When it is used up, a connection that needs more waits (it does not read, so its client
//! waits too), and connections that wait for slow clients are closed.
//!
//! One address (for IPv6: one network of 64 bits, which is what one site has) gets at most half of
//! what the others leave. A client at another address finds room, however many requests the first
//! one has begun: one address leaves half, two leave a quarter, and so on.
//!
//! Invariants: at most the budget and one largest request are held, since the oldest request gets
//! what it needs, whatever the others hold; so some request always finishes.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Shutdown, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use sapwood_core::exact::Exact;
use sapwood_core::{ErrorCode, SvnError, SvnResult};

use crate::common::login_delay::network;

/// Bytes that a connection may hold without being counted: most requests need no more, and are not
/// counted at all.
pub(crate) const FREE: usize = 32 << 10;
/// How long a client may send nothing of its request before it counts as slow.
const GRACE: Duration = Duration::from_secs(3);
/// A client that sends fewer bytes a second than this counts as slow, when others wait.
const SLOW: u64 = 64 << 10;
/// How long a connection waits for memory before it gives up.
const PATIENCE: Duration = Duration::from_secs(120);
/// How often a waiting connection checks whether another has become slow.
const LOOK: Duration = Duration::from_millis(500);
/// The same without a thread, which is not woken when memory is returned.
const LOOK_ASYNC: Duration = Duration::from_millis(20);

/// The budget and its holders.
#[derive(Debug)]
pub struct RequestMemory {
    limit: usize,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    next: u64,
    held: usize,
    /// By number, the oldest request first.
    holders: BTreeMap<u64, Holder>,
    /// What the holders of each site have together; only sites that hold something.
    by_site: HashMap<Option<IpAddr>, usize>,
}

impl State {
    fn of_site(&self, site: Option<IpAddr>) -> usize {
        self.by_site.get(&site).map_or(0, |bytes| *bytes)
    }

    /// A new holder, which has nothing yet.
    fn add(&mut self, stream: Option<Arc<TcpStream>>) -> u64 {
        let number = self.next;
        self.next = number.plus(1);
        let begun = Instant::now();
        let (waited, busy) = (Duration::ZERO, false);
        self.holders.insert(number, Holder { bytes: 0, begun, fed: begun, waited, busy, stream });
        number
    }

    /// A holder of `site` gives everything back.
    fn remove(&mut self, number: u64, site: Option<IpAddr>) {
        if let Some(own) = self.holders.remove(&number) {
            self.set(site, own.bytes, 0);
        }
    }

    /// Notes that a holder of `site` has `after` bytes in place of `before`.
    fn set(&mut self, site: Option<IpAddr>, before: usize, after: usize) {
        let changed = |all: usize| all.minus(before).plus(after);
        self.held = changed(self.held);
        let of_site = changed(self.of_site(site));
        if of_site == 0 {
            self.by_site.remove(&site);
        } else {
            self.by_site.insert(site, of_site);
        }
    }
}

/// A request that holds more than [`FREE`].
#[derive(Debug)]
struct Holder {
    bytes: usize,
    begun: Instant,
    /// When its client last sent something.
    fed: Instant,
    /// Time that it waited for memory, not for its client.
    waited: Duration,
    /// It waits for memory, or is being processed: its client cannot speed it up.
    busy: bool,
    /// How its connection is closed.
    stream: Option<Arc<TcpStream>>,
}

impl Holder {
    /// Whether its client sends nothing, or has sent too little in the time that it had.
    fn is_slow(&self, now: Instant) -> bool {
        let time = now.saturating_duration_since(self.begun).saturating_sub(self.waited);
        let bytes = sapwood_core::exact::len64(self.bytes);
        let still = now.saturating_duration_since(self.fed);
        let is_below = bytes.checked_div(time.as_secs()).is_some_and(|rate| rate < SLOW);
        !self.busy && (still >= GRACE || (time >= GRACE && is_below))
    }
}

impl RequestMemory {
    /// A budget of so many bytes.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self { limit, state: Mutex::default(), changed: Condvar::new() }
    }

    /// What requests hold now, in bytes.
    #[must_use]
    pub fn used(&self) -> usize {
        self.state.lock().held
    }
}

/// What one connection holds of the budget; returned when dropped.
#[derive(Debug)]
pub(crate) struct Share {
    memory: Arc<RequestMemory>,
    stream: Option<Arc<TcpStream>>,
    /// The client's address.
    site: Option<IpAddr>,
    /// Its number while it is a holder.
    number: Option<u64>,
}

impl Share {
    /// An empty share for a client at `address`. `stream` is shut down when the connection has to
    /// end.
    pub(crate) fn new(
        memory: &Arc<RequestMemory>,
        stream: Option<Arc<TcpStream>>,
        address: Option<IpAddr>,
    ) -> Self {
        let site = address.map(network);
        Self { memory: Arc::clone(memory), stream, site, number: None }
    }

    /// Grows the share to `bytes`, waiting when there is not so much.
    ///
    /// # Errors
    /// E210002 when it would have to wait too long.
    pub(crate) fn grow(&mut self, bytes: usize) -> SvnResult<()> {
        let memory = Arc::clone(&self.memory);
        let begun = Instant::now();
        let mut state = memory.state.lock();
        while !self.try_to_grow(&mut state, bytes, begun)? {
            memory.changed.wait_for(&mut state, LOOK);
        }
        Ok(())
    }

    /// The same without holding a thread.
    ///
    /// # Errors
    /// As of [`Share::grow`].
    pub(crate) async fn grow_async(&mut self, bytes: usize) -> SvnResult<()> {
        let memory = Arc::clone(&self.memory);
        let begun = Instant::now();
        while !self.try_to_grow(&mut memory.state.lock(), bytes, begun)? {
            tokio::time::sleep(LOOK_ASYNC).await;
        }
        Ok(())
    }

    /// Grows the share to `bytes`; `false` if it has to wait for others; slow ones are then closed.
    fn try_to_grow(&mut self, state: &mut State, bytes: usize, begun: Instant) -> SvnResult<bool> {
        if self.grow_now(state, bytes, begun)? {
            return Ok(true);
        }
        if begun.elapsed() >= PATIENCE {
            return Err(client_gone());
        }
        end_slow(state);
        Ok(false)
    }

    /// Grows the share to `bytes`, if there is so much. It has waited since `begun`.
    fn grow_now(&mut self, state: &mut State, bytes: usize, begun: Instant) -> SvnResult<bool> {
        if bytes <= FREE {
            if let Some(number) = self.number.take() {
                state.remove(number, self.site);
                self.memory.changed.notify_all();
            }
            return Ok(true);
        }
        let number = *self.number.get_or_insert_with(|| state.add(self.stream.clone()));
        let is_first = state.holders.first_key_value().is_some_and(|(n, _)| *n == number);
        let of_site = state.of_site(self.site);
        let Some(own) = state.holders.get_mut(&number) else { return Err(client_gone()) };
        let before = own.bytes;
        // With what the other sites leave, and half of that with what this one has.
        let left = self.memory.limit.saturating_sub(state.held.minus(of_site));
        let after = of_site.minus(before).saturating_add(bytes);
        if after > left / 2 && !is_first && bytes > before {
            own.busy = true;
            return Ok(false);
        }
        own.waited = own.waited.saturating_add(begun.elapsed());
        own.busy = false;
        own.fed = Instant::now();
        own.bytes = bytes;
        state.set(self.site, before, bytes);
        Ok(true)
    }

    /// Notes that the request is complete and is being processed.
    pub(crate) fn set_busy(&self) {
        if let Some(number) = self.number
            && let Some(own) = self.memory.state.lock().holders.get_mut(&number)
        {
            own.busy = true;
        }
    }

    /// Returns everything.
    pub(crate) fn release(&mut self) {
        let Some(number) = self.number.take() else { return };
        self.memory.state.lock().remove(number, self.site);
        self.memory.changed.notify_all();
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.release();
    }
}

/// Closes the connections whose clients are slow.
fn end_slow(state: &State) {
    let now = Instant::now();
    for slow in state.holders.values().filter(|one| one.is_slow(now)) {
        if let Some(stream) = &slow.stream {
            // Its thread wakes up, finds the end of the input, and returns its share.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

fn client_gone() -> SvnError {
    SvnError::new(ErrorCode::RA_SVN_CONNECTION_CLOSED, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(memory: &Arc<RequestMemory>) -> Share {
        Share::new(memory, None, None)
    }

    fn share_at(memory: &Arc<RequestMemory>, address: &str) -> Share {
        Share::new(memory, None, Some(address.parse().unwrap()))
    }

    /// Whether the share would have to wait for more.
    fn is_full(memory: &RequestMemory, site: &str, bytes: usize) -> bool {
        let state = memory.state.lock();
        let of_site = state.of_site(Some(network(site.parse().unwrap())));
        of_site + bytes > (memory.limit - (state.held - of_site)) / 2
    }

    #[test]
    fn one_address_cannot_hold_what_another_needs() {
        let memory = Arc::new(RequestMemory::new(1 << 20));
        let hold = |address: &str| {
            let mut all = Vec::new();
            while !is_full(&memory, address, 40 << 10) {
                let mut one = share_at(&memory, address);
                one.grow(40 << 10).unwrap();
                all.push(one);
            }
            all
        };
        let first = hold("127.0.0.1");
        assert!(memory.used() <= 512 << 10 && memory.used() > 400 << 10);
        // No holder lets anything go, and yet others get theirs, without waiting.
        let second = hold("127.0.0.2");
        assert!(second.len() >= 5);
        let third = hold("2001:db8::1");
        assert!(third.len() >= 2);
        // Of IPv6 a whole network counts as one.
        assert!(is_full(&memory, "2001:db8::2:3:4:5", 40 << 10));
        assert!(!is_full(&memory, "2001:db8:0:1::1", 40 << 10));
        drop((first, second));
        assert_eq!(memory.used(), third.len() * (40 << 10));
        drop(third);
        let state = memory.state.lock();
        assert_eq!((state.held, state.by_site.len()), (0, 0));
    }

    #[test]
    fn small_requests_are_free_and_large_ones_are_given_back() {
        let memory = Arc::new(RequestMemory::new(2 << 20));
        let (mut a, mut b) = (share(&memory), share(&memory));
        a.grow(FREE).unwrap();
        assert_eq!(memory.used(), 0);
        a.grow(400 << 10).unwrap();
        b.grow(300 << 10).unwrap();
        a.grow(500 << 10).unwrap();
        assert_eq!(memory.used(), 800 << 10);
        a.grow(100).unwrap();
        assert_eq!(memory.used(), 300 << 10);
        drop(b);
        assert_eq!((memory.used(), memory.state.lock().holders.len()), (0, 0));
    }

    #[test]
    fn the_first_goes_on_and_the_others_wait_for_it() {
        let memory = Arc::new(RequestMemory::new(2 << 20));
        let (mut first, mut second) = (share(&memory), share(&memory));
        first.grow(700 << 10).unwrap();
        second.grow(300 << 10).unwrap();
        // More than there is: the first gets it all the same.
        first.grow(900 << 10).unwrap();
        let waits = std::thread::spawn(move || {
            second.grow(500 << 10).unwrap();
            second
        });
        while !memory.state.lock().holders.values().any(|one| one.busy) {
            std::thread::yield_now();
        }
        assert_eq!(memory.used(), 1200 << 10);
        drop(first);
        let second = waits.join().unwrap();
        assert_eq!(memory.used(), 500 << 10);
        drop(second);
    }

    #[test]
    fn slow_is_who_had_time_and_sent_little() {
        let now = Instant::now();
        let ago = |seconds| now.checked_sub(Duration::from_secs(seconds)).unwrap();
        let is_slow = |begun, fed, waited, bytes, busy| {
            let waited = Duration::from_secs(waited);
            let (begun, fed) = (ago(begun), ago(fed));
            Holder { bytes, begun, fed, waited, busy, stream: None }.is_slow(now)
        };
        assert!(!is_slow(2, 0, 0, 1000, false), "it had no time yet");
        assert!(is_slow(10, 0, 0, 1000, false));
        assert!(!is_slow(10, 0, 8, 1000, false), "it had to wait");
        assert!(!is_slow(10, 0, 0, 10 << 20, false));
        assert!(is_slow(10, 9, 0, 10 << 20, false), "it stands still");
        assert!(!is_slow(10, 9, 0, 1000, true), "it is being worked on");
    }
}
