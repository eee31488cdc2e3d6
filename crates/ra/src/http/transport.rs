//! Bytes to and from an http server: connections that are kept and used again, one request on each
//! at a time; hyper speaks the protocol.
//!
//! The runtime runs on the caller's thread, and only while the caller waits for something: between
//! two pieces of a reply nothing is read, so a slow receiver slows the server down and needs no
//! memory. Invariant: a connection whose reply was not read to its end is closed, never used again.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::io::{self, Read, Seek as _, SeekFrom};
use std::net::{TcpStream as StdStream, ToSocketAddrs as _};
use std::os::unix::fs::FileExt as _;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::{Buf as _, Bytes};
use flate2::read::MultiGzDecoder;
use http_body_util::BodyExt as _;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::http::response::Parts;
use hyper::{Request, Response, Version};
use hyper_util::rt::TokioIo;
use sapwood_core::exact::Exact;
use sapwood_core::{CancelToken, ErrorCode, SvnError, SvnResult, len64};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadBuf};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::sync::oneshot;
use tokio_rustls::TlsConnector;

use super::options::Options;
use super::origin::Origin;
use super::tls::{self, Tls};
use crate::error::Error;

/// How often a wait looks whether it was cancelled.
const TICK: Duration = Duration::from_millis(200);
/// How long connecting to one address may take.
const CONNECT: Duration = Duration::from_secs(60);
/// Bytes of a file that are sent at a time.
const CHUNK: usize = 64 << 10;
/// The most bytes that are skipped after the end of compressed data in a body.
const REST: u64 = 64 << 10;
/// The system's number of "the connection was closed", as the reference reports it.
const CLOSED: ErrorCode = ErrorCode(120_108);

/// A stream that may be encrypted.
pub(super) trait Wire: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Wire for T {}

/// The body of a request. It can be sent again.
#[derive(Debug, Default)]
pub(super) enum Payload {
    /// Nothing.
    #[default]
    None,
    /// Bytes.
    Bytes(Bytes),
    /// A whole file, with its length in bytes.
    File(std::fs::File, u64),
}

impl Payload {
    pub(super) fn len(&self) -> u64 {
        match self {
            Self::None => 0,
            Self::Bytes(bytes) => len64(bytes.len()),
            Self::File(_, len) => *len,
        }
    }

    /// Bytes at a position, at most as many as `most`.
    pub(super) fn piece(&self, at: u64, most: usize) -> SvnResult<Bytes> {
        let left = usize::try_from(self.len().minus(at)).unwrap_or(most).min(most);
        match self {
            Self::None => Ok(Bytes::new()),
            Self::Bytes(bytes) => {
                let at = usize::try_from(at).map_err(|_| SvnError::internal("a long body"))?;
                Ok(bytes.slice(at..at.plus(left)))
            }
            Self::File(file, _) => {
                let mut piece = vec![0; left];
                let read = file.read_exact_at(&mut piece, at);
                read.map_err(|e| SvnError::io(&e, "Can't read body"))?;
                Ok(piece.into())
            }
        }
    }

    /// A body that sends it from the beginning.
    /// When `chunked`, its length is not sent.
    pub(super) fn body(&self, chunked: bool) -> SvnResult<OutgoingBody> {
        let what = match self {
            Self::None => OutgoingData::Bytes(Bytes::new()),
            Self::Bytes(bytes) => OutgoingData::Bytes(bytes.clone()),
            Self::File(file, len) => {
                let mut file = file.try_clone().map_err(|e| SvnError::io(&e, "Can't read body"))?;
                file.seek(SeekFrom::Start(0)).map_err(|e| SvnError::io(&e, "Can't read body"))?;
                OutgoingData::File { file, left: *len }
            }
        };
        Ok(OutgoingBody { what, chunked })
    }
}

/// A request's body while it is sent.
#[derive(Debug)]
pub(super) struct OutgoingBody {
    what: OutgoingData,
    chunked: bool,
}

#[derive(Debug)]
enum OutgoingData {
    Bytes(Bytes),
    File { file: std::fs::File, left: u64 },
}

impl Body for OutgoingBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        match &mut self.what {
            OutgoingData::Bytes(bytes) if bytes.is_empty() => Poll::Ready(None),
            OutgoingData::Bytes(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            OutgoingData::File { left: 0, .. } => Poll::Ready(None),
            OutgoingData::File { file, left } => {
                // A temporary file that was just written: the read does not wait for the disk.
                let len = usize::try_from(*left).unwrap_or(CHUNK).min(CHUNK);
                let mut chunk = vec![0; len];
                if let Err(error) = file.read_exact(&mut chunk) {
                    return Poll::Ready(Some(Err(error)));
                }
                *left = left.minus(len64(len));
                Poll::Ready(Some(Ok(Frame::data(chunk.into()))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.what {
            OutgoingData::Bytes(bytes) => bytes.is_empty(),
            OutgoingData::File { left, .. } => *left == 0,
        }
    }

    fn size_hint(&self) -> SizeHint {
        if self.chunked {
            return SizeHint::default();
        }
        SizeHint::with_exact(match &self.what {
            OutgoingData::Bytes(bytes) => len64(bytes.len()),
            OutgoingData::File { left, .. } => *left,
        })
    }
}

/// Counts the bytes that pass.
struct CountingWire {
    inner: Box<dyn Wire>,
    bytes: Arc<AtomicU64>,
}

impl CountingWire {
    fn count(&self, bytes: usize) {
        self.bytes.fetch_add(len64(bytes), Ordering::Relaxed);
    }
}

impl AsyncRead for CountingWire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let polled = Pin::new(&mut self.inner).poll_read(cx, buf);
        self.count(buf.filled().len().minus(before));
        polled
    }
}

impl AsyncWrite for CountingWire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.inner).poll_write(cx, buf);
        if let Poll::Ready(Ok(written)) = &polled {
            self.count(*written);
        }
        polled
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

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

/// A reply: its head, and its body as it comes, decompressed.
pub(super) struct Reply {
    pub(super) head: Parts,
    content: Content,
}

enum Content {
    /// All of it.
    Whole(io::Cursor<Vec<u8>>),
    Plain(IncomingBody),
    Gzip(Box<MultiGzDecoder<IncomingBody>>),
}

/// The body of a reply as it comes.
struct IncomingBody {
    body: Incoming,
    piece: Bytes,
    ended: bool,
    transport: Rc<Transport>,
    /// `None` once it was returned to the pool.
    connection: Option<Connection>,
}

impl std::fmt::Debug for Reply {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reply").field("status", &self.head.status).finish_non_exhaustive()
    }
}

impl Reply {
    fn new(
        transport: &Rc<Transport>,
        connection: Connection,
        response: Response<Incoming>,
    ) -> Self {
        let (head, body) = response.into_parts();
        let mut coming = IncomingBody {
            ended: body.is_end_stream(),
            body,
            piece: Bytes::new(),
            transport: Rc::clone(transport),
            connection: Some(connection),
        };
        if coming.ended {
            coming.give_back();
        }
        let packing = head.headers.get("content-encoding").map(|value| value.as_bytes());
        let content = match packing {
            Some(b"gzip" | b"x-gzip") if !coming.ended => {
                Content::Gzip(Box::new(MultiGzDecoder::new(coming)))
            }
            _ => Content::Plain(coming),
        };
        Self { head, content }
    }

    /// A reply that has arrived whole.
    pub(super) const fn whole(head: Parts, body: Vec<u8>) -> Self {
        Self { head, content: Content::Whole(io::Cursor::new(body)) }
    }

    /// Whether the connection stays open after it.
    pub(super) fn keeps_alive(&self) -> bool {
        self.head.version == Version::HTTP_11 && !self.headers("connection").any(says_close)
    }

    pub(super) fn status(&self) -> u16 {
        self.head.status.as_u16()
    }

    /// A header's value, when it is text.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.head.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// All values of a header.
    pub(super) fn headers<'r>(&'r self, name: &'static str) -> impl Iterator<Item = &'r str> {
        self.head.headers.get_all(name).iter().filter_map(|value| value.to_str().ok())
    }

    /// The whole body, of at most `limit` bytes: the rest is not read.
    pub(super) fn bytes(mut self, limit: u64) -> SvnResult<Vec<u8>> {
        let mut bytes = Vec::new();
        (&mut self).take(limit).read_to_end(&mut bytes).map_err(SvnError::from_stream)?;
        Ok(bytes)
    }

    /// Reads a small rest, so that the connection can be used again.
    pub(super) fn finish(self) -> SvnResult<()> {
        self.bytes(1 << 20).map(drop)
    }
}

impl Read for Reply {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match &mut self.content {
            Content::Whole(body) => Read::read(body, buf),
            Content::Plain(coming) => coming.read(buf),
            Content::Gzip(packed) => {
                let len = packed.read(buf)?;
                if len == 0 && !buf.is_empty() {
                    // The compressed data end before the body does.
                    io::copy(&mut packed.get_mut().take(REST), &mut io::sink())?;
                }
                Ok(len)
            }
        }
    }
}

impl IncomingBody {
    fn give_back(&mut self) {
        if let Some(connection) = self.connection.take() {
            let mut idle = self.transport.idle.borrow_mut();
            if idle.len() < self.transport.connections && !connection.requests.is_closed() {
                idle.push(connection);
            }
        }
    }

    /// Receives the next piece; false at the end.
    fn fetch(&mut self) -> SvnResult<bool> {
        while !self.ended && self.piece.is_empty() {
            let frame = self.transport.wait(self.body.frame())?;
            match frame {
                None => {
                    self.ended = true;
                    self.give_back();
                }
                Some(Ok(frame)) => self.piece = frame.into_data().unwrap_or_else(|_| Bytes::new()),
                Some(Err(error)) => return Err(broken(&error)),
            }
        }
        Ok(!self.piece.is_empty())
    }
}

impl Read for IncomingBody {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if buf.is_empty() || !self.fetch().map_err(io::Error::other)? {
            return Ok(0);
        }
        let len = buf.len().min(self.piece.len());
        let Some(into) = buf.get_mut(..len) else {
            return Err(io::Error::other(SvnError::internal("no room to read into")));
        };
        self.piece.copy_to_slice(into);
        // If the end is there already, the connection returns to the pool at once.
        if self.piece.is_empty() && self.body.is_end_stream() && !self.ended {
            self.ended = true;
            self.give_back();
        }
        Ok(len)
    }
}

#[cfg(test)]
mod tests;
