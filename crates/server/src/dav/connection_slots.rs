//! How many http connections may be open: in all, over all listeners together, and from one address.
//!
//! A connection that waits for its client's next request has no thread, so there may be more of them than
//! requests in progress. One client must not take every slot; trusted proxies, and this machine, may: they
//! stand for many clients.
//!
//! Invariant: what [`ConnectionSlots::enter`] counts is returned when the [`ConnectionSlot`] is
//! dropped.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use parking_lot::Mutex;
use sapwood_core::Exact as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::settings::HttpLimits;
use crate::common::login_delay::network;
use crate::common::metrics::{Limit, Metrics, OpenConnection};
use crate::common::settings::Network;

/// File handles that are reserved for repositories and everything else, where the process may have more
/// than twice as many.
const RESERVE: usize = 2048;

/// The slots of a server's http connections.
#[derive(Debug)]
pub struct ConnectionSlots {
    room: Arc<Semaphore>,
    per_address: usize,
    open: Mutex<HashMap<IpAddr, usize>>,
    metrics: Arc<Metrics>,
}

/// A connection's slot.
#[derive(Debug)]
pub(super) struct ConnectionSlot {
    slots: Arc<ConnectionSlots>,
    /// Where it is counted, if it is.
    address: Option<IpAddr>,
    _room: OwnedSemaphorePermit,
    _counted: OpenConnection,
}

impl ConnectionSlots {
    /// As many slots as the limits say, and no more than the process has file handles for.
    #[must_use]
    pub fn new(limits: &HttpLimits, metrics: &Arc<Metrics>) -> Arc<Self> {
        let handles = sapwood_store::handles::limit(usize::MAX, 1);
        let free = handles.minus(handles.div_euclid(2).min(RESERVE));
        let most = limits.connections.min(free).clamp(1, Semaphore::MAX_PERMITS);
        Arc::new(Self {
            room: Arc::new(Semaphore::new(most)),
            per_address: limits.connections_per_address,
            open: Mutex::default(),
            metrics: Arc::clone(metrics),
        })
    }

    /// Waits for room for one more connection; `None` when the server ends.
    pub(super) async fn room(&self) -> Option<OwnedSemaphorePermit> {
        if let Ok(room) = Arc::clone(&self.room).try_acquire_owned() {
            return Some(room);
        }
        self.metrics.limit(Limit::Connections);
        Arc::clone(&self.room).acquire_owned().await.ok()
    }

    /// The slot of a connection from `peer`; `None` where that address has as many as it may.
    pub(super) fn enter(
        self: &Arc<Self>,
        room: OwnedSemaphorePermit,
        peer: IpAddr,
        trusted: &[Network],
    ) -> Option<ConnectionSlot> {
        let peer = peer.to_canonical();
        let is_free = peer.is_loopback() || trusted.iter().any(|network| network.has(peer));
        let address = (!is_free).then(|| network(peer));
        if let Some(address) = address {
            let mut open = self.open.lock();
            let count = open.entry(address).or_insert(0);
            if *count >= self.per_address.max(1) {
                self.metrics.limit(Limit::ConnectionsOfAddress);
                return None;
            }
            *count = count.plus(1);
        }
        let counted = self.metrics.connection("http");
        Some(ConnectionSlot { slots: Arc::clone(self), address, _room: room, _counted: counted })
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        let Some(address) = self.address else { return };
        let mut open = self.slots.open.lock();
        if let Some(count) = open.get_mut(&address) {
            *count = count.minus(1);
            if *count == 0 {
                open.remove(&address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_address_does_not_take_every_place() {
        let limits =
            HttpLimits { connections: 6, connections_per_address: 2, ..HttpLimits::default() };
        let slots = ConnectionSlots::new(&limits, &Arc::default());
        let trusted = [Network::parse("10.0.0.0/8").unwrap()];
        let enter = |address: &str| {
            let room = Arc::clone(&slots.room).try_acquire_owned().ok()?;
            slots.enter(room, address.parse().unwrap(), &trusted)
        };
        let [one, two] = ["192.0.2.1", "192.0.2.1"].map(|address| enter(address).unwrap());
        assert!(enter("192.0.2.1").is_none());
        // The address as IPv6 writes it is the same.
        assert!(enter("::ffff:192.0.2.1").is_none());
        // One site of IPv6 has many addresses.
        let site = ["2001:db8::1", "2001:db8::2"].map(|address| enter(address).unwrap());
        assert!(enter("2001:db8::3").is_none());
        drop(one);
        let again = enter("192.0.2.1").unwrap();
        drop((two, again, site));
        assert!(slots.open.lock().is_empty());
        // A trusted proxy and this machine are limited only by the total number.
        let all = ["10.1.2.3", "10.1.2.3", "10.1.2.3", "127.0.0.1", "127.0.0.1", "::1"];
        let all = all.map(|address| enter(address).unwrap());
        assert!(enter("127.0.0.1").is_none());
        drop(all);
        assert!(enter("127.0.0.1").is_some());
    }
}
