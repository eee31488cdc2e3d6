//! What other servers of the same repositories forward to this one: connections of svn://, and requests of http.
//!
//! Invariants: nothing is served to a connection that has not proved that it is another server's; there are not many that have not
//! yet; what was forwarded is answered here, whatever server the repository belongs to.

use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener, TcpStream as Socket};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use sapwood_core::{SvnError, SvnResult};
use sapwood_peers::link::{self, Caller};
use sapwood_peers::{Door, PeerStream, Servers};
use socket2::SockRef;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::sync::{Semaphore, watch};

use crate::common::current::Current;
use crate::common::listener::STACK;
use crate::common::metrics::Limit;
use crate::common::operation_log::Subject;
use crate::common::slots::AcceptedClient;
use crate::common::state::ServerState;
use crate::dav::{self, Http};
use crate::splice::{self, Turns};
use crate::svn;

/// Connections that have not proved whose they are; more wait to be accepted.
const STRANGERS: usize = 256;
/// Threads that wait for sockets.
const IO_THREADS: usize = 1;
/// How often it is checked whether the servers are still those that a connection was accepted with.
const LOOK: Duration = Duration::from_secs(1);
/// How long requests in progress may take to finish when the server ends.
const FAREWELL: Duration = Duration::from_secs(5);

/// A running server for other servers. It ends when this is dropped.
#[derive(Debug)]
pub struct PeerServer {
    address: SocketAddr,
    server: Arc<Current<ServerState>>,
    stop: watch::Sender<bool>,
    runtime: Option<Runtime>,
}

impl PeerServer {
    /// Answers at `socket`, which listens already, in threads of its own; and begins to look for other servers.
    ///
    /// # Errors
    /// System errors.
    pub fn start(
        socket: TcpListener,
        server: &Arc<Current<ServerState>>,
        http: &Arc<Http>,
    ) -> SvnResult<Self> {
        let failed =
            |e: std::io::Error| SvnError::io(&e, "Can't start the server for other servers");
        let address = socket.local_addr().map_err(failed)?;
        socket.set_nonblocking(true).map_err(failed)?;
        let runtime = dav::runtime(IO_THREADS).map_err(failed)?;
        let listener = {
            let _inside = runtime.enter();
            tokio::net::TcpListener::from_std(socket).map_err(failed)?
        };
        let (stop, stopped) = watch::channel(false);
        let door = PeerDoor { server: Arc::clone(server), http: Arc::clone(http), stopped };
        runtime.spawn(accept(listener, door));
        server.get().watch_servers();
        Ok(Self { address, server: Arc::clone(server), stop, runtime: Some(runtime) })
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for PeerServer {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            let _ = self.stop.send(true);
            runtime.shutdown_timeout(FAREWELL);
        }
        self.server.get().slots.end_all();
    }
}

/// What serves the connections of other servers.
#[derive(Clone)]
struct PeerDoor {
    server: Arc<Current<ServerState>>,
    http: Arc<Http>,
    stopped: watch::Receiver<bool>,
}

async fn accept(listener: tokio::net::TcpListener, mut door: PeerDoor) {
    let room = Arc::new(Semaphore::new(STRANGERS));
    loop {
        let Ok(stranger) = Arc::clone(&room).acquire_owned().await else { return };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = door.stopped.changed() => return,
        };
        let Ok((stream, address)) = accepted else {
            // There are no file handles left, or the other side has gone again.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let shared = door.server.get();
        // Without a list there are no others, since the configuration was read again.
        let Some(servers) = shared.settings.servers.clone() else { continue };
        let door = door.clone();
        tokio::spawn(async move {
            if let Some((stream, caller)) = greet(stream, address, &servers, &shared).await {
                drop(stranger);
                door.serve(&shared, &servers, stream, caller, address).await;
            }
        });
    }
}

/// Lets a connection prove whose it is.
async fn greet(
    stream: TcpStream,
    address: SocketAddr,
    servers: &Servers,
    shared: &ServerState,
) -> Option<(PeerStream, Caller)> {
    // Not fatal: the connection works without it.
    let _ = stream.set_nodelay(true);
    match link::accept(stream, servers).await {
        Ok(accepted) => Some(accepted),
        Err(why) => {
            if let Some(log) = &shared.log {
                let host = address.ip().to_canonical().to_string();
                let subject = Subject { host: Some(&host), ..Subject::default() };
                let code = sapwood_core::ErrorCode::AUTHN_FAILED;
                let text = format!("A connection to the port for other servers is refused: {why}");
                log.error(subject, &SvnError::new(code, text), true);
            }
            None
        }
    }
}

impl PeerDoor {
    async fn serve(
        self,
        shared: &Arc<ServerState>,
        servers: &Arc<Servers>,
        mut stream: PeerStream,
        caller: Caller,
        address: SocketAddr,
    ) {
        match caller.hello.door {
            // The other server does without this one. Over http it may go on with what it has begun here.
            Door::Svn if shared.ending.has_begun() => {}
            Door::Svn => serve_svn(shared, stream, caller, address),
            Door::Http => {
                let Some(line) = caller.answer(true) else { return };
                let (stop, stopped) = watch::channel(false);
                let http = Arc::clone(&self.http);
                tokio::select! {
                    () = dav::serve_forwarded(http, stream, address, line, stopped) => {}
                    never = self.watch(servers, stop) => match never {},
                }
            }
            Door::Look => {
                let Some(line) = caller.answer(true) else { return };
                // Only the answer is wanted.
                let _ = stream.write_all(line.as_bytes()).await;
                let _ = stream.shutdown().await;
            }
        }
    }

    /// Says that a connection is to end when the server does, or when the configuration names other servers, or another kind of
    /// connection with them.
    async fn watch(mut self, servers: &Arc<Servers>, stop: watch::Sender<bool>) -> Infallible {
        let is_same = || {
            let now = self.server.get();
            now.settings.servers.as_ref().is_some_and(|now| Arc::ptr_eq(now, servers))
        };
        while is_same() {
            tokio::select! {
                _ = self.stopped.changed() => break,
                () = tokio::time::sleep(LOOK) => {}
            }
        }
        let _ = stop.send(true);
        std::future::pending().await
    }
}

/// The handle that a thread reads a connection by. What is encrypted is decrypted beside it, without a thread.
fn readable(shared: &ServerState, stream: PeerStream) -> std::io::Result<Socket> {
    if let PeerStream::Plain(stream) = stream {
        let stream = stream.into_std()?;
        stream.set_nonblocking(false)?;
        return Ok(stream);
    }
    let (outer, inner) = UnixStream::pair()?;
    outer.set_nonblocking(true)?;
    let outer = tokio::net::UnixStream::from_std(outer)?;
    // A peer that is gone without a word is found.
    let _ = SockRef::from(stream.tcp()).set_keepalive(true);
    let turns = Turns::new(shared, None);
    tokio::spawn(async move { splice::run(stream, outer, &turns).await });
    Ok(Socket::from(OwnedFd::from(inner)))
}

/// Gives a connection of svn:// a thread, and a slot of its client's address.
fn serve_svn(shared: &Arc<ServerState>, stream: PeerStream, caller: Caller, address: SocketAddr) {
    let Ok(stream) = readable(shared, stream) else { return };
    let limits = shared.settings.limits;
    let client = caller.hello.client.unwrap_or(address.ip());
    let Some(accepted) = shared.slots.take(client, stream, limits.connections_per_address) else {
        return shared.metrics.limit(Limit::ConnectionsOfAddress);
    };
    let shared = Arc::clone(shared);
    let serve = move |accepted: &AcceptedClient| {
        // The session has logged what went wrong.
        let _ = svn::serve_forwarded(&shared, accepted, caller);
    };
    // Without a thread the connection is closed, and the other server answers its client.
    let _ = std::thread::Builder::new().stack_size(STACK).spawn(move || serve(&accepted));
}
