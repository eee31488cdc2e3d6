//! The connections of svn:// that are open, each with its slot: how many there may be in all, and from one address.
//!
//! Invariant: a slot is returned when its [`AcceptedClient`] is dropped, wherever the connection has gone by then.

use std::collections::HashMap;
use std::net::{IpAddr, Shutdown, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use sapwood_core::exact::Exact;

use crate::common::standing::IdleTimes;

/// How often a full server checks whether it is to end.
const LOOK: Duration = Duration::from_millis(200);
/// How long connections get to end when the server does.
const FAREWELL: Duration = Duration::from_secs(5);

/// A connection of a client.
#[derive(Debug)]
pub struct AcceptedClient {
    /// Its socket.
    pub stream: Arc<TcpStream>,
    _slot: Option<Slot>,
}

impl AcceptedClient {
    /// The only connection of a server.
    #[must_use]
    pub fn alone(stream: TcpStream) -> Self {
        Self { stream: Arc::new(stream), _slot: None }
    }
}

/// The connections that are open.
#[derive(Debug, Default)]
pub struct Slots {
    open: Mutex<Open>,
    changed: Condvar,
    standing: Arc<IdleTimes>,
}

#[derive(Debug, Default)]
struct Open {
    streams: HashMap<u64, (IpAddr, Arc<TcpStream>)>,
    next: u64,
    by_address: HashMap<IpAddr, usize>,
}

impl Open {
    /// Among the idle connections of the address that has most of them, the one that has been idle longest.
    fn least_missed(&self, standing: &IdleTimes) -> Option<&Arc<TcpStream>> {
        let weight = |address: &IpAddr, stream: &Arc<TcpStream>| {
            let waited = standing.for_long(stream)?;
            Some((self.by_address.get(address).copied().unwrap_or(0), waited))
        };
        let all = self.streams.values();
        let waiting = all.filter_map(|(address, stream)| Some((weight(address, stream)?, stream)));
        waiting.max_by_key(|(weight, _)| *weight).map(|(_, stream)| stream)
    }
}

/// The slot of a connection, which is returned when dropped.
#[derive(Debug)]
struct Slot {
    slots: Arc<Slots>,
    id: u64,
    address: IpAddr,
}

impl Slots {
    /// Those of a server whose idle connections are in `standing`.
    pub(crate) fn new(standing: &Arc<IdleTimes>) -> Arc<Self> {
        Arc::new(Self { standing: Arc::clone(standing), ..Self::default() })
    }

    /// Waits until there is room for one more. An idle connection is closed to make room. `full` is called if there is none.
    pub(crate) fn wait_for_room(
        &self,
        limit: usize,
        full: impl FnOnce(),
        is_stopping: impl Fn() -> bool,
    ) {
        let mut open = self.open.lock();
        if open.streams.len() >= limit.max(1) {
            full();
        }
        while open.streams.len() >= limit.max(1) && !is_stopping() {
            if let Some(stream) = open.least_missed(&self.standing) {
                // What serves it finds the end of the connection, and returns its slot.
                let _ = stream.shutdown(Shutdown::Both);
            }
            self.changed.wait_for(&mut open, LOOK);
        }
    }

    /// Gives a connection of a client a slot; `None` where its address has as many as it may have.
    pub(crate) fn take(
        self: &Arc<Self>,
        address: IpAddr,
        stream: TcpStream,
        per_address: usize,
    ) -> Option<AcceptedClient> {
        let mut open = self.open.lock();
        let count = open.by_address.entry(address).or_default();
        if *count >= per_address {
            return None;
        }
        *count += 1;
        let id = open.next;
        open.next = id.wrapping_add(1);
        let stream = Arc::new(stream);
        open.streams.insert(id, (address, Arc::clone(&stream)));
        let slot = Slot { slots: Arc::clone(self), id, address };
        Some(AcceptedClient { stream, _slot: Some(slot) })
    }

    /// Closes all connections and waits a while for their threads.
    pub(crate) fn end_all(&self) {
        let mut open = self.open.lock();
        for (_, stream) in open.streams.values() {
            let _ = stream.shutdown(Shutdown::Both);
        }
        let deadline = std::time::Instant::now().checked_add(FAREWELL);
        while let Some(deadline) = deadline.filter(|_| !open.streams.is_empty()) {
            if self.changed.wait_until(&mut open, deadline).timed_out() {
                break;
            }
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut open = self.slots.open.lock();
        open.streams.remove(&self.id);
        if let Some(count) = open.by_address.get_mut(&self.address) {
            *count = count.minus(1);
            if *count == 0 {
                open.by_address.remove(&self.address);
            }
        }
        drop(open);
        self.slots.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::net::{SocketAddr, TcpListener};

    use socket2::{Domain, Socket, Type};

    use super::*;

    /// Both ends of a connection from a loopback address.
    fn connected(listener: &TcpListener, from: &str) -> (TcpStream, TcpStream) {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        let from: SocketAddr = format!("{from}:0").parse().unwrap();
        socket.bind(&from.into()).unwrap();
        socket.connect(&listener.local_addr().unwrap().into()).unwrap();
        (socket.into(), listener.accept().unwrap().0)
    }

    #[test]
    fn those_that_stand_still_make_room() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let standing = Arc::default();
        let slots = Slots::new(&standing);
        let froms = ["127.0.0.1", "127.0.0.2", "127.0.0.2", "127.0.0.2"];
        let ends = froms.map(|from| {
            let (client, end) = connected(&listener, from);
            (client, slots.take(end.peer_addr().unwrap().ip(), end, 3).unwrap())
        });
        let (_client, fourth) = connected(&listener, "127.0.0.2");
        assert!(slots.take("127.0.0.2".parse().unwrap(), fourth, 3).is_none());
        let least = || slots.open.lock().least_missed(&standing).map(|one| Arc::as_ptr(one).addr());
        let address = |at: usize| Some(Arc::as_ptr(&ends[at].1.stream).addr());
        let seconds = Duration::from_secs;
        assert_eq!(least(), None, "all of them are at work");
        standing.pretend(&ends[0].1.stream, seconds(500));
        standing.pretend(&ends[1].1.stream, seconds(5));
        assert_eq!(least(), address(0), "the other waits only just");
        standing.pretend(&ends[1].1.stream, seconds(20));
        standing.pretend(&ends[2].1.stream, seconds(30));
        assert_eq!(least(), address(2), "of the address with most");
        drop(ends);
        assert!(slots.open.lock().by_address.is_empty());
    }
}
