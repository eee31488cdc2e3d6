//! Bytes to and from an http server: connections that are kept and used again, one request on each
//! at a time; hyper speaks the protocol.
//!
//! The runtime runs on the caller's thread, and only while the caller waits for something: between
//! two pieces of a reply nothing is read, so a slow receiver slows the server down and needs no
//! memory. Invariant: a connection whose reply was not read to its end is closed, never used again.

mod counting_wire;
mod payload;
mod reply;
#[cfg(test)]
mod tests;

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::io;
use std::net::{TcpStream as StdStream, ToSocketAddrs as _};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

use hyper::Request;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use sapwood_core::{CancelToken, ErrorCode, SvnError, SvnResult};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadBuf};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::sync::oneshot;
use tokio_rustls::TlsConnector;

use self::counting_wire::CountingWire;
pub(super) use self::payload::{OutgoingBody, Payload};
pub(super) use self::reply::Reply;
use super::options::Options;
use super::origin::Origin;
use super::tls::{self, Tls};
use crate::error::Error;

/// How often a wait looks whether it was cancelled.
const TICK: Duration = Duration::from_millis(200);
/// How long connecting to one address may take.
const CONNECT: Duration = Duration::from_secs(60);
/// The system's number of "the connection was closed", as the reference reports it.
const CLOSED: ErrorCode = ErrorCode(120_108);

/// A stream that may be encrypted.
pub(super) trait Wire: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Wire for T {}

/// A connection that hyper speaks on.
struct Connection {
    requests: SendRequest<OutgoingBody>,
    /// What it runs on, after `requests` was dropped while the connection was idle.
    rest: oneshot::Receiver<Box<dyn Wire>>,
}

/// The connections to one server.
pub(super) struct Transport {
    runtime: Runtime,
    /// The server, or the proxy in front of it.
    peer: Origin,
    tls: Option<Tls>,
    /// The head of a request that makes a proxy open a tunnel to the server: https goes through
    /// proxies like that.
    tunnel: Option<String>,
    idle: RefCell<Vec<Connection>>,
    bytes: Arc<AtomicU64>,
    cancel: CancelToken,
    /// How long the server may be silent; `None` for ever.
    patience: Option<Duration>,
    /// Idle connections that are kept, at most.
    connections: usize,
    /// How long the last connect took.
    latency: Cell<Duration>,
}

impl std::fmt::Debug for Transport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Transport").field("peer", &self.peer).finish_non_exhaustive()
    }
}

/// Bytes of a proxy's answer to CONNECT, at most.
const TUNNEL_ANSWER: usize = 16 << 10;

/// Asks a proxy for a tunnel to the server.
async fn open_tunnel(stream: &mut TcpStream, head: &str) -> SvnResult<()> {
    let failed = |e: io::Error| SvnError::io(&e, "Error running context");
    stream.write_all(head.as_bytes()).await.map_err(failed)?;
    let mut answer = Vec::new();
    // Byte by byte: what follows the answer is for TLS, which reads next.
    while !answer.ends_with(b"\r\n\r\n") {
        if answer.len() >= TUNNEL_ANSWER {
            return Err(SvnError::new(CLOSED, "Error running context: the proxy says too much"));
        }
        answer.push(stream.read_u8().await.map_err(failed)?);
    }
    let text = String::from_utf8_lossy(&answer);
    let line = text.lines().next().unwrap_or("");
    match line.split(' ').nth(1) {
        Some(status) if status.starts_with('2') => Ok(()),
        _ => Err(SvnError::new(
            ErrorCode::RA_DAV_REQUEST_FAILED,
            format!("The proxy opens no way to the server: '{line}'"),
        )),
    }
}

/// Errors of hyper, in the reference's words.
fn broken(error: &(dyn std::error::Error + 'static)) -> SvnError {
    let mut source = error.source();
    while let Some(inner) = source {
        if let Some(io) = inner.downcast_ref::<io::Error>() {
            if io.raw_os_error().is_some() {
                return SvnError::io(io, "Error running context");
            }
            if let Some(said) = tls::failed(io) {
                return said;
            }
        }
        source = inner.source();
    }
    closed()
}

/// Whether the other side was silent for too long.
pub(super) fn is_timeout(error: &SvnError) -> bool {
    matches!(error.code(), ErrorCode::RA_DAV_CONN_TIMEOUT)
}

/// The error of a connection that ends where a reply should come.
pub(super) fn closed() -> SvnError {
    SvnError::new(CLOSED, "Error running context: The server unexpectedly closed the connection.")
}

impl Transport {
    pub(super) fn new(
        peer: Origin,
        tls: Option<Tls>,
        tunnel: Option<String>,
        options: &Options,
        cancel: CancelToken,
    ) -> SvnResult<Rc<Self>> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()
            .map_err(|e| SvnError::io(&e, "Can't wait for the network"))?;
        Ok(Rc::new(Self {
            runtime,
            peer,
            tls,
            tunnel,
            idle: RefCell::default(),
            bytes: Arc::default(),
            cancel,
            patience: options.patience,
            connections: options.connections,
            latency: Cell::default(),
        }))
    }

    /// Bytes sent and received so far.
    pub(super) fn transferred(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// How long the last connect took.
    pub(super) fn latency(&self) -> Duration {
        self.latency.get()
    }

    /// Waits for `work`, until the user cancels or the timeout ends.
    pub(super) fn wait<T>(&self, work: impl Future<Output = T>) -> SvnResult<T> {
        self.runtime.block_on(async {
            tokio::pin!(work);
            let mut waited = Duration::ZERO;
            loop {
                match tokio::time::timeout(TICK, &mut work).await {
                    Ok(done) => return Ok(done),
                    Err(_) => {
                        self.cancel.check()?;
                        waited = waited.saturating_add(TICK);
                        if self.patience.is_some_and(|patience| waited >= patience) {
                            return Err(SvnError::new(
                                ErrorCode::RA_DAV_CONN_TIMEOUT,
                                "Connection timed out",
                            ));
                        }
                    }
                }
            }
        })
    }

    /// A new connection to the server.
    pub(super) fn open(&self) -> SvnResult<Box<dyn Wire>> {
        let stream = self.dial()?;
        let _context = self.runtime.enter();
        let stream =
            TcpStream::from_std(stream).map_err(|e| SvnError::io(&e, "Error running context"))?;
        let inner = self.wait(self.secure(stream))??;
        Ok(Box::new(CountingWire { inner, bytes: Arc::clone(&self.bytes) }))
    }

    /// An error of a connection, with its known cause.
    fn explain(&self, error: SvnError) -> SvnError {
        match &self.tls {
            Some(tls) => tls.explain(error),
            None => error,
        }
    }

    fn connect(&self) -> SvnResult<Connection> {
        let wire = self.open()?;
        self.speak(wire)
    }

    /// Lets hyper speak on a stream.
    fn speak(&self, wire: Box<dyn Wire>) -> SvnResult<Connection> {
        let _context = self.runtime.enter();
        let shaken = self.wait(http1::handshake(TokioIo::new(wire)))?;
        let (requests, connection) = shaken.map_err(|e| broken(&e))?;
        let (give, rest) = oneshot::channel();
        // It runs whenever a request waits. Requests get the error with which it ends, too.
        self.runtime.spawn(async move {
            let Ok(parts) = connection.without_shutdown().await else { return };
            let wire = parts.io.into_inner();
            // Bytes that no request asked for: it is not used again.
            let wire = if parts.read_buf.is_empty() { give.send(wire) } else { Err(wire) };
            if let Err(mut wire) = wire {
                let _ = wire.shutdown().await;
            }
        });
        Ok(Connection { requests, rest })
    }

    /// The stream of an idle connection, which hyper no longer uses; a new one where none is open.
    pub(super) fn take_over(&self) -> SvnResult<Box<dyn Wire>> {
        while let Some(Connection { requests, rest }) = self.take_idle() {
            if requests.is_closed() {
                continue;
            }
            drop(requests);
            let Ok(mut wire) = self.wait(rest)? else { continue };
            let mut byte = [0];
            let mut read = ReadBuf::new(&mut byte);
            let is_quiet = self.wait(std::future::poll_fn(|cx| {
                Poll::Ready(Pin::new(&mut wire).poll_read(cx, &mut read).is_pending())
            }))?;
            if is_quiet {
                return Ok(wire);
            }
        }
        self.open()
    }

    /// Takes an idle connection.
    fn take_idle(&self) -> Option<Connection> {
        self.idle.borrow_mut().pop()
    }

    /// Keeps a stream on which nothing is under way for later requests.
    pub(super) fn give_back(&self, wire: Box<dyn Wire>) -> SvnResult<()> {
        if self.idle.borrow().len() < self.connections {
            let connection = self.speak(wire)?;
            self.idle.borrow_mut().push(connection);
        }
        Ok(())
    }

    /// The stream to the server: through the proxy's tunnel, encrypted, as configured.
    async fn secure(&self, mut stream: TcpStream) -> SvnResult<Box<dyn Wire>> {
        if let Some(tunnel) = &self.tunnel {
            open_tunnel(&mut stream, tunnel).await?;
        }
        let Some(tls) = &self.tls else { return Ok(Box::new(stream)) };
        let connector = TlsConnector::from(Arc::clone(&tls.config));
        match connector.connect(tls.name.clone(), stream).await {
            Ok(stream) => tls.check().map(|()| -> Box<dyn Wire> { Box::new(stream) }),
            Err(error) => Err(tls.error(&error)),
        }
    }

    fn dial(&self) -> SvnResult<StdStream> {
        let Origin { host, port } = &self.peer;
        let plain = host.trim_start_matches('[').trim_end_matches(']');
        let addresses =
            (plain, *port).to_socket_addrs().map_err(|_| SvnError::from(Error::UnknownHttpHost))?;
        let mut failed = None;
        for address in addresses {
            let knocked = Instant::now();
            match StdStream::connect_timeout(&address, CONNECT) {
                Ok(stream) => {
                    self.latency.set(knocked.elapsed());
                    // Requests are small, and each waits for its answer.
                    let _ = stream.set_nodelay(true);
                    stream
                        .set_nonblocking(true)
                        .map_err(|e| SvnError::io(&e, "Error running context"))?;
                    return Ok(stream);
                }
                Err(error) => failed = Some(error),
            }
        }
        Err(match failed {
            Some(error) => SvnError::io(&error, "Error running context"),
            None => Error::UnknownHttpHost.into(),
        })
    }

    /// Sends a request and waits for the reply's head. If the connection turns out to have been
    /// closed since its last use, the request is sent again over a new one, if it `may_repeat`.
    pub(super) fn send(
        self: &Rc<Self>,
        may_repeat: bool,
        mut request: impl FnMut() -> SvnResult<Request<OutgoingBody>>,
    ) -> SvnResult<Reply> {
        loop {
            let kept = self.take_idle();
            let reused = kept.is_some();
            let mut connection = match kept {
                Some(connection) => connection,
                None => self.connect()?,
            };
            let sender = &mut connection.requests;
            if sender.is_closed() {
                continue;
            }
            let request = request()?;
            let sent = self.wait(async {
                sender.ready().await.map_err(|error| (error, true))?;
                sender.send_request(request).await.map_err(|error| {
                    let unsent = error.is_canceled();
                    (error, unsent)
                })
            })?;
            match sent {
                Ok(response) => {
                    self.tls.as_ref().map_or(Ok(()), Tls::answered)?;
                    return Ok(Reply::new(self, connection, response));
                }
                // Nothing of the request was processed, or it may be sent twice.
                Err((_, unsent)) if reused && (unsent || may_repeat) => {}
                Err((error, _)) => return Err(self.explain(broken(&error))),
            }
        }
    }
}

/// Whether a `Connection` header says that the connection ends after this reply.
pub(super) fn says_close(value: &str) -> bool {
    value.split(',').any(|word| word.trim().eq_ignore_ascii_case("close"))
}
