//! The listener: hyper on an async runtime of its own.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1::Builder;
use hyper::service::service_fn;
use hyper_util::rt::TokioTimer;
use sapwood_acme::{Certificates, Report};
use sapwood_core::{SvnError, SvnResult};
use sapwood_peers::PeerStream;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::runtime::{self, Runtime};
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

use super::certificate::ClientCertificate;
use super::connection_slots::ConnectionSlot;
use super::handshake;
use super::idle::{self, Pulse, Times};
use super::polled_connection::{Driver, PolledConnection};
use super::protocol::Http;
use super::service::{self, Origin, Peer};
use super::socket::{SharedSocket, Socket};
use super::tls::{Tls, TlsSettings};
use super::workers::Workers;
use crate::common::settings::Network;

/// Threads that wait for sockets, parse requests and accept connections. Replies are written, and bodies read,
/// by the threads of requests. More threads here would wake each other for little work.
const IO_THREADS: usize = 1;
/// The same where TLS handshakes are made, which take long.
const TLS_THREADS: usize = 2;
/// Stack of a thread that handles requests, as of one that serves an svn:// connection.
const STACK: usize = 1 << 20;
/// Idle time after which such a thread ends, which frees its stack and the allocator's memory for
/// it.
const THREAD_IDLE: Duration = Duration::from_secs(3);
/// Bytes of a reply that the system buffers before the client's system has room for them: enough for the
/// longest network paths, and not megabytes for each client that does not read.
const UNSENT: u32 = 256 << 10;
/// Headers of one request, and bytes of its head.
const MAX_HEADERS: usize = 128;
/// Bytes of a request's head; hyper wants no less than 8 KiB.
const MAX_HEAD: usize = 64 << 10;
/// Time from one request, or from the connection, to the first byte of the next head, and from there to its end.
const HEAD_TIME: Duration = Duration::from_secs(60);
/// The interval of checks whether a connection is idle.
const LOOK: Duration = Duration::from_millis(500);
/// How long, and how many bytes, the server reads from a client whose handshake failed.
const LAST_WORDS: Duration = Duration::from_secs(2);
const LAST_BYTES: u64 = 64 << 10;
/// How long requests in progress may take to finish when the server ends.
const FAREWELL: Duration = Duration::from_secs(5);

/// A runtime for requests, whose threads may block.
///
/// # Errors
/// System errors.
pub(crate) fn runtime(io_threads: usize) -> std::io::Result<Runtime> {
    runtime::Builder::new_multi_thread()
        .worker_threads(io_threads)
        .max_blocking_threads(Workers::threads())
        .thread_keep_alive(THREAD_IDLE)
        .thread_stack_size(STACK)
        .enable_io()
        .enable_time()
        .build()
}

/// A running http server. It ends when this is dropped, or by [`HttpServer::stop`].
#[derive(Debug)]
pub struct HttpServer {
    http: Arc<Http>,
    stop: watch::Sender<bool>,
    runtime: Option<Runtime>,
    address: SocketAddr,
}

impl HttpServer {
    /// Serves connections of `socket`, which listens already, in threads of its own; with `tls`
    /// they are encrypted, and what goes wrong with orders by ACME is reported.
    ///
    /// # Errors
    /// System errors, and a certificate that cannot be used.
    pub fn start(
        socket: TcpListener,
        http: &Arc<Http>,
        tls: Option<(TlsSettings, Arc<Report>)>,
    ) -> SvnResult<Self> {
        let make =
            |(settings, report)| Tls::new(settings, &http.current().server, &report).map(Arc::new);
        let tls = tls.map(make).transpose()?;
        if let Some(tls) = &tls {
            *http.current().tls.write() = Some(Arc::clone(tls));
        }
        let failed = |e: std::io::Error| SvnError::io(&e, "Can't start http server");
        let address = socket.local_addr().map_err(failed)?;
        socket.set_nonblocking(true).map_err(failed)?;
        let runtime = runtime(if tls.is_some() { TLS_THREADS } else { IO_THREADS });
        let runtime = runtime.map_err(failed)?;
        let (stop, stopped) = watch::channel(false);
        let listener = {
            let _inside = runtime.enter();
            tokio::net::TcpListener::from_std(socket).map_err(failed)?
        };
        runtime.spawn(accept(listener, Arc::clone(http), tls, stopped));
        Ok(Self { http: Arc::clone(http), stop, runtime: Some(runtime), address })
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Accepts no more connections, and gives requests in progress a few seconds.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        let _ = self.stop.send(true);
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(FAREWELL);
            let current = self.http.current();
            current.saves.flush_all(&*current);
        }
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        self.end();
    }
}

async fn accept(
    listener: tokio::net::TcpListener,
    http: Arc<Http>,
    tls: Option<Arc<Tls>>,
    mut stopped: watch::Receiver<bool>,
) {
    let mut accepts = http.accepts();
    loop {
        let shared = http.current();
        let Some(room) = shared.slots.room().await else { return };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stopped.changed() => return,
            _ = accepts.wait_for(|accepts| !accepts) => return,
        };
        let Ok((stream, peer)) = accepted else {
            // There are no file descriptors left, or the client has gone again: later connections
            // may succeed.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let trusted = &shared.settings.trusted_proxies;
        let Some(place) = shared.slots.enter(room, peer.ip(), trusted) else { continue };
        // Not fatal: the connection works without it.
        let _ = stream.set_nodelay(true);
        let socket = socket2::SockRef::from(&stream);
        let _ = socket.set_keepalive(true);
        let _ = socket.set_tcp_notsent_lowat(UNSENT);
        let (http, stopped) = (Arc::clone(&http), stopped.clone());
        let connection =
            AcceptedConnection { address: peer, http, stopped, place, is_server: false };
        let Some(tls) = &tls else {
            drop(tokio::spawn(connection.serve(stream, false, None)));
            continue;
        };
        let acceptor = TlsAcceptor::from(tls.config());
        let acme = tls.acme().filter(|acme| acme.are_asked_for());
        drop(tokio::spawn(shake_hands(acme, acceptor, stream, connection)));
    }
}

/// Serves an encrypted connection. A handshake may take as long as a head, and its failure is the client's.
async fn shake_hands(
    acme: Option<Arc<Certificates>>,
    acceptor: TlsAcceptor,
    stream: TcpStream,
    connection: AcceptedConnection,
) {
    let begun = handshake::begin(acme, acceptor, stream, HEAD_TIME).await;
    let Some(shaking) = begun else { return };
    match tokio::time::timeout(HEAD_TIME, shaking).await {
        Ok(Err((_, stream))) => {
            let _ = tokio::time::timeout(LAST_WORDS, read_over(stream)).await;
        }
        Ok(Ok(stream)) => {
            let certificate = ClientCertificate::of_connection(stream.get_ref().1);
            // In another task, so that the memory of the handshake is freed with it.
            tokio::spawn(connection.serve(Box::new(stream), true, certificate));
        }
        Err(_) => {}
    }
}

/// After a handshake that failed: if the connection were closed with unread data, a client that has
/// sent its request already would not get the reason.
async fn read_over(mut stream: TcpStream) {
    let _ = stream.shutdown().await;
    let mut rest = (&mut stream).take(LAST_BYTES);
    let _ = tokio::io::copy(&mut rest, &mut tokio::io::sink()).await;
}

/// Serves the requests of a connection of another server, which has proved that it is one. `welcome` is said before them.
pub(crate) async fn serve_forwarded(
    http: Arc<Http>,
    mut stream: PeerStream,
    address: SocketAddr,
    welcome: String,
    stopped: watch::Receiver<bool>,
) {
    let shared = http.current();
    let Some(room) = shared.slots.room().await else { return };
    // It stands for many clients.
    let trusted = [Network::of(address.ip())];
    let Some(place) = shared.slots.enter(room, address.ip(), &trusted) else { return };
    drop(shared);
    let socket = socket2::SockRef::from(stream.tcp());
    let _ = socket.set_keepalive(true);
    let _ = socket.set_tcp_notsent_lowat(UNSENT);
    let said = stream.write_all(welcome.as_bytes()).await;
    if said.is_err() || stream.flush().await.is_err() {
        return;
    }
    let connection = AcceptedConnection { address, http, stopped, place, is_server: true };
    connection.serve(stream, false, None).await;
}

/// How connections are served.
fn http1() -> Builder {
    let mut builder = Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .max_headers(MAX_HEADERS)
        .max_buf_size(MAX_HEAD)
        // Not `pipeline_flush`: with it hyper buffers everything that a client does not read.
        // A client may close its sending side after its request, and still gets its reply.
        .half_close(true);
    builder
}

/// A connection that has a slot.
struct AcceptedConnection {
    address: SocketAddr,
    http: Arc<Http>,
    stopped: watch::Receiver<bool>,
    place: ConnectionSlot,
    /// Whether it is one of another server.
    is_server: bool,
}

impl AcceptedConnection {
    /// Serves it to its end. The returned future is small, since it lives as long as the
    /// connection.
    fn serve<S: Socket>(
        self,
        stream: S,
        secure: bool,
        certificate: Option<Arc<ClientCertificate>>,
    ) -> impl Future<Output = ()> + Send + use<S> {
        let Self { address, http, stopped, place, is_server } = self;
        let driven = PolledConnection::new(|driver: Driver| {
            let pulse = Arc::new(Pulse::default());
            let peer = Peer { address, secure, certificate, is_server };
            let stream = SharedSocket::new(stream);
            let origin = Origin { peer, driver, line: stream.line() };
            let service = {
                let pulse = Arc::clone(&pulse);
                service_fn(move |request| {
                    let begun = pulse.begin();
                    service::answer(http.current(), origin.clone(), begun, request)
                })
            };
            let times = Times { look: LOOK, patience: HEAD_TIME };
            idle::serve(stream, service, pulse, http1(), times, stopped)
        });
        async move {
            driven.ended().await;
            drop(place);
        }
    }
}
