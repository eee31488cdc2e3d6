//! Accepts connections and gives each a thread, within limits. The [`Handler`] speaks the protocol.

use std::collections::HashMap;
use std::io;
use std::net::ToSocketAddrs as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use sapwood_core::exact::Exact;
use sapwood_core::{ErrorCode, SvnError, SvnResult};
use socket2::{Domain, SockRef, Socket, Type};

use crate::common::current::Current;
use crate::common::metrics::Limit;
use crate::common::standing::Standing;
use crate::common::state::ServerState;

/// Connections that may wait to be accepted.
const BACKLOG: i32 = 1024;
/// Stack of a connection's thread. No recursion depends on input of a client or on a repository.
const STACK: usize = 1 << 20;
/// How often a full server checks whether it is to end.
const STOP_CHECK: Duration = Duration::from_millis(200);
/// How long connections get to end when the server does.
const FAREWELL: Duration = Duration::from_secs(5);

/// Serves one connection to its end, and logs what goes wrong.
pub type Handler = fn(&ServerState, Arc<TcpStream>) -> SvnResult<()>;

/// A socket that listens.
#[derive(Debug)]
pub struct Listener {
    socket: Arc<TcpListener>,
    /// Whether another process listens on the same socket, and will continue to.
    lent: bool,
}

/// Ends a [`Listener::serve`] from another thread.
#[derive(Clone, Debug)]
pub struct Stopper {
    socket: Arc<TcpListener>,
    lent: bool,
    stopping: Arc<AtomicBool>,
}

impl Stopper {
    /// Asks the server to end: no new connection is accepted, open ones are closed.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        // Wakes the thread that waits for a connection.
        if !self.lent {
            let _ = SockRef::from(&*self.socket).shutdown(Shutdown::Both);
            return;
        }
        // Shutting a socket down would affect all processes that share it: so a client connects
        // here instead.
        let Ok(mut address) = self.socket.local_addr() else { return };
        match address.ip() {
            ip if !ip.is_unspecified() => {}
            IpAddr::V4(_) => address.set_ip(Ipv4Addr::LOCALHOST.into()),
            IpAddr::V6(_) => address.set_ip(Ipv6Addr::LOCALHOST.into()),
        }
        let _ = TcpStream::connect_timeout(&address, STOP_CHECK);
    }

    fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }
}

/// The reference's number for a name that is not known: APR's for `EAI_NONAME`.
const RESOLVER_ERROR: u32 = 670_002;

fn resolve(host: Option<&str>, port: u16, prefer_ipv6: bool) -> SvnResult<SocketAddr> {
    let Some(host) = host else {
        let any = if prefer_ipv6 {
            IpAddr::V6(Ipv6Addr::UNSPECIFIED)
        } else {
            IpAddr::V4(Ipv4Addr::UNSPECIFIED)
        };
        return Ok(SocketAddr::new(any, port));
    };
    // The resolver's errors have no number in Rust: its own message follows std's.
    let failed = |e: &io::Error| {
        let words = e.to_string();
        match words.rsplit_once("address information: ") {
            Some((_, words)) if e.raw_os_error().is_none() => {
                SvnError::new(ErrorCode(RESOLVER_ERROR), format!("Can't get address info: {words}"))
            }
            _ => SvnError::io(e, "Can't get address info"),
        }
    };
    let found: Vec<SocketAddr> = (host, port).to_socket_addrs().map_err(|e| failed(&e))?.collect();
    let preferred = found.iter().find(|a| a.is_ipv6() == prefer_ipv6).or(found.first());
    preferred.copied().ok_or_else(|| failed(&io::ErrorKind::NotFound.into()))
}

impl Listener {
    /// Listens at `host` (all addresses, without one).
    ///
    /// # Errors
    /// System errors, in the reference's words.
    pub fn bind(host: Option<&str>, port: u16, prefer_ipv6: bool) -> SvnResult<Self> {
        let address = resolve(host, port, prefer_ipv6)?;
        let failed = |what: &'static str| move |e: io::Error| SvnError::io(&e, what);
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)
            .map_err(failed("Can't create server socket"))?;
        socket.set_reuse_address(true).map_err(failed("Can't set options on server socket"))?;
        socket.bind(&address.into()).map_err(failed("Can't bind server socket"))?;
        socket.listen(BACKLOG).map_err(failed("Can't listen on server socket"))?;
        Ok(Self::from_socket(socket.into()))
    }

    /// Takes over a socket that is already listening.
    #[must_use]
    pub fn from_socket(socket: TcpListener) -> Self {
        Self { socket: Arc::new(socket), lent: false }
    }

    /// Takes over a socket on which another process goes on listening when this one ends.
    #[must_use]
    pub fn from_lent(socket: TcpListener) -> Self {
        Self { socket: Arc::new(socket), lent: true }
    }

    /// The socket, to hand on to another process.
    #[must_use]
    pub fn socket(&self) -> &TcpListener {
        &self.socket
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> Option<SocketAddr> {
        self.socket.local_addr().ok()
    }

    /// What can end [`Listener::serve`].
    #[must_use]
    pub fn stopper(&self) -> Stopper {
        Stopper { socket: Arc::clone(&self.socket), lent: self.lent, stopping: Arc::default() }
    }

    /// Serves one connection, in this thread.
    ///
    /// # Errors
    /// Why it could not be accepted or did not end well.
    pub fn serve_once(&self, shared: &ServerState, handler: Handler) -> SvnResult<()> {
        let (stream, _) = accept(&self.socket)?;
        handler(shared, Arc::new(stream))
    }

    /// Serves connections until `stopper` says to end, and then until the commits in progress are made. With `single`, one after the other in
    /// this thread.
    ///
    /// # Errors
    /// When connections cannot be accepted at all.
    pub fn serve(
        &self,
        current: &Current<ServerState>,
        handler: Handler,
        single: bool,
        stopper: &Stopper,
    ) -> SvnResult<()> {
        let limits = current.get().settings.limits;
        let slots = Arc::new(Slots::default());
        let mut next_id = 0u64;
        while !stopper.is_stopping() {
            slots.wait_for_room(limits.connections, &current.get(), stopper);
            let (stream, address) = match accept(&self.socket) {
                Ok(accepted) => accepted,
                Err(_) if stopper.is_stopping() => break,
                Err(error) if is_passing(&error) => {
                    if let Some(log) = &current.get().log {
                        log.error(Default::default(), &error, false);
                    }
                    std::thread::sleep(Duration::from_millis(100));
                    continue;
                }
                Err(error) => return Err(error),
            };
            let shared = current.get();
            let stream = Arc::new(stream);
            next_id = next_id.wrapping_add(1);
            let Some(slot) =
                slots.take(next_id, address.ip(), &stream, limits.connections_per_address)
            else {
                shared.metrics.limit(Limit::ConnectionsOfAddress);
                continue;
            };
            if single {
                let _ = handler(&shared, stream);
                continue;
            }
            // Without a thread the connection is closed; later ones may succeed.
            let _ = std::thread::Builder::new().stack_size(STACK).spawn(move || {
                // The session has logged what went wrong.
                let _ = handler(&shared, stream);
                drop(slot);
            });
        }
        let shared = current.get();
        shared.finish_writes();
        shared.cancel.cancel();
        slots.end_all();
        Ok(())
    }
}

fn accept(socket: &TcpListener) -> SvnResult<(TcpStream, SocketAddr)> {
    loop {
        match sapwood_store::handles::with_room(|| socket.accept()) {
            Err(e)
                if matches!(
                    e.kind(),
                    io::ErrorKind::Interrupted
                        | io::ErrorKind::ConnectionAborted
                        | io::ErrorKind::ConnectionReset
                ) => {}
            Err(e) => return Err(SvnError::io(&e, "Can't accept client connection")),
            Ok(accepted) => return Ok(accepted),
        }
    }
}

/// Whether accepting may work again later: after a lack of file handles or memory.
fn is_passing(error: &SvnError) -> bool {
    const ENFILE: ErrorCode = ErrorCode(23);
    const EMFILE: ErrorCode = ErrorCode(24);
    const ENOBUFS: ErrorCode = ErrorCode(105);
    const ENOMEM: ErrorCode = ErrorCode(12);
    [ENFILE, EMFILE, ENOBUFS, ENOMEM].contains(&error.code())
}

/// The connections that are open.
#[derive(Debug, Default)]
struct Slots {
    open: Mutex<Open>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Open {
    streams: HashMap<u64, Arc<TcpStream>>,
    by_address: HashMap<IpAddr, usize>,
}

impl Open {
    /// Among the idle connections of the address that has most of them, the one that has been idle longest.
    fn least_missed(&self, standing: &Standing) -> Option<&Arc<TcpStream>> {
        let weight = |stream: &Arc<TcpStream>| {
            let waited = standing.for_long(stream)?;
            let address = stream.peer_addr().ok()?.ip();
            Some((self.by_address.get(&address).copied().unwrap_or(0), waited))
        };
        let waiting = self.streams.values().filter_map(|stream| Some((weight(stream)?, stream)));
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
    /// Waits until there is room for one more. An idle connection is closed to make room.
    fn wait_for_room(&self, limit: usize, shared: &ServerState, stopper: &Stopper) {
        let mut open = self.open.lock();
        if open.streams.len() >= limit.max(1) {
            shared.metrics.limit(Limit::Connections);
        }
        while open.streams.len() >= limit.max(1) && !stopper.is_stopping() {
            if let Some(stream) = open.least_missed(&shared.standing) {
                // Its thread wakes up, finds the end of the connection, and returns its slot.
                let _ = stream.shutdown(Shutdown::Both);
            }
            self.changed.wait_for(&mut open, STOP_CHECK);
        }
    }

    fn take(
        self: &Arc<Self>,
        id: u64,
        address: IpAddr,
        stream: &Arc<TcpStream>,
        per_address: usize,
    ) -> Option<Slot> {
        let mut open = self.open.lock();
        let count = open.by_address.entry(address).or_default();
        if *count >= per_address {
            return None;
        }
        *count += 1;
        open.streams.insert(id, Arc::clone(stream));
        Some(Slot { slots: Arc::clone(self), id, address })
    }

    /// Closes all connections and waits a while for their threads.
    fn end_all(&self) {
        let mut open = self.open.lock();
        for stream in open.streams.values() {
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
    use super::*;

    /// Both ends of a connection from a loopback address.
    fn connected(listener: &TcpListener, from: &str) -> (TcpStream, Arc<TcpStream>) {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        let from: SocketAddr = format!("{from}:0").parse().unwrap();
        socket.bind(&from.into()).unwrap();
        socket.connect(&listener.local_addr().unwrap().into()).unwrap();
        (socket.into(), Arc::new(listener.accept().unwrap().0))
    }

    #[test]
    fn those_that_stand_still_make_room() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (slots, standing) = (Arc::new(Slots::default()), Standing::default());
        let froms = ["127.0.0.1", "127.0.0.2", "127.0.0.2", "127.0.0.2"];
        let ends: Vec<_> = froms.iter().map(|from| connected(&listener, from)).collect();
        let _slots: Vec<_> = (0..)
            .zip(&ends)
            .map(|(id, (_, end))| slots.take(id, end.peer_addr().unwrap().ip(), end, 9).unwrap())
            .collect();
        let least = || slots.open.lock().least_missed(&standing).map(|one| Arc::as_ptr(one).addr());
        let seconds = Duration::from_secs;
        assert_eq!(least(), None, "all of them are at work");
        standing.pretend(&ends[0].1, seconds(500));
        standing.pretend(&ends[1].1, seconds(5));
        assert_eq!(least(), Some(Arc::as_ptr(&ends[0].1).addr()), "the other waits only just");
        standing.pretend(&ends[1].1, seconds(20));
        standing.pretend(&ends[2].1, seconds(30));
        assert_eq!(least(), Some(Arc::as_ptr(&ends[2].1).addr()), "of the address with most");
    }
}
