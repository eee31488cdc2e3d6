//! Accepts connections and gives each a thread, within limits. The [`Handler`] speaks the protocol.

use std::io;
use std::net::ToSocketAddrs as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sapwood_core::{ErrorCode, SvnError, SvnResult};
use socket2::{Domain, SockRef, Socket, Type};

use crate::common::current::Current;
use crate::common::metrics::Limit;
use crate::common::slots::AcceptedClient;
use crate::common::state::ServerState;

/// Connections that may wait to be accepted.
const BACKLOG: i32 = 1024;
/// Stack of a connection's thread. No recursion depends on input of a client or on a repository.
pub(crate) const STACK: usize = 1 << 20;
/// How often a full server checks whether it is to end.
const STOP_CHECK: Duration = Duration::from_millis(200);

/// Serves one connection to its end, and logs what goes wrong.
pub type Handler = fn(&ServerState, AcceptedClient) -> SvnResult<()>;

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
        handler(shared, AcceptedClient::alone(stream))
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
        let slots = Arc::clone(&current.get().slots);
        while !stopper.is_stopping() {
            let full = || current.get().metrics.limit(Limit::Connections);
            slots.wait_for_room(limits.connections, full, || stopper.is_stopping());
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
            let place = slots.take(address.ip(), stream, limits.connections_per_address);
            let Some(accepted) = place else {
                shared.metrics.limit(Limit::ConnectionsOfAddress);
                continue;
            };
            if single {
                let _ = handler(&shared, accepted);
                continue;
            }
            // Without a thread the connection is closed; later ones may succeed.
            let _ = std::thread::Builder::new().stack_size(STACK).spawn(move || {
                // The session has logged what went wrong.
                let _ = handler(&shared, accepted);
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
