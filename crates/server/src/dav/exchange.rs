//! One request and its reply, as a thread that may block sees them.
//!
//! A reply is collected in one buffer. A short one goes out whole, with its length; one that
//! outgrows the buffer goes out in chunks. As long as nothing has gone out, an error takes the
//! place of what was collected; after that it ends the connection in the middle of the body, so
//! that no client takes a part for the whole.

use std::io::{self, Read, Write as _};
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use bytes::{Buf as _, Bytes};
use http_body_util::BodyExt as _;
use hyper::body::{Frame, Incoming, SizeHint};
use hyper::header::{
    CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue,
};
use hyper::http::request::Parts;
use hyper::{Method, Response, StatusCode, Version};
use sapwood_core::exact::Exact as _;
use sapwood_core::{ErrorCode, SvnError, SvnResult};
use sapwood_wire_dav::failure;
use sapwood_wire_dav::report::Sink;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use super::certificate::ClientCertificate;
use super::driven::Driver;
use super::packing::{self, Packer};
use super::piece::Piece;
use super::session::{DavResult, Fail};
use crate::settings::{Limits, Network};

/// A reply that grows beyond this goes out in chunks of about this size.
const CHUNK: usize = 64 << 10;
/// The same for chunks of what is kept elsewhere, which take no memory of their own.
const KEPT_CHUNK: usize = 256 << 10;
/// What is kept elsewhere and is shorter than this is copied.
const KEPT_AT_LEAST: usize = 2 << 10;
/// Chunks that wait for the client.
const CHUNKS_WAITING: usize = 3;
/// Bytes of a packed body that are unpacked at a time.
const UNPACKED_AT_ONCE: usize = 4 << 10;
/// Bytes of a body that are read over when a request is refused: then the client hears why.
const READ_OVER: u64 = 16 << 20;

/// How long the end of a request is waited for when its reply is complete, and how many bytes are read for it.
const SETTLE: Duration = Duration::from_millis(250);
const SETTLE_BYTES: usize = 64 << 10;

/// The head of a request.
#[derive(Debug)]
pub struct Head {
    /// The method.
    pub method: Method,
    /// The percent-encoded path.
    pub path: String,
    /// What stands behind the `?`.
    pub query: Option<String>,
    /// The headers.
    pub headers: HeaderMap,
    /// The client's address.
    pub client: IpAddr,
    /// The scheme by which the client called us.
    pub scheme: &'static str,
    /// The host and port that the client called.
    pub host: Option<String>,
    /// Whether a trusted proxy handed the request over.
    pub is_proxied: bool,
    /// Whether http of this version wants a Host header.
    pub wants_host: bool,
    /// The certificate that was shown on the connection.
    pub certificate: Option<Arc<ClientCertificate>>,
}

impl Head {
    /// Takes hyper's parts, of a request that arrived from `peer`.
    #[must_use]
    pub fn new(parts: Parts, peer: SocketAddr, secure: bool, trusted: &[Network]) -> Self {
        let origin = super::proxied::origin(&parts.headers, peer.ip(), secure, trusted);
        let path = parts.uri.path().to_owned();
        let query = parts.uri.query().map(str::to_owned);
        Self {
            wants_host: parts.version >= Version::HTTP_11,
            method: parts.method,
            path,
            query,
            headers: parts.headers,
            client: origin.client,
            scheme: if origin.secure { "https" } else { "http" },
            host: origin.host,
            is_proxied: origin.is_proxied,
            certificate: None,
        }
    }

    /// An address on this server as a URL, as far as it is known how the client calls us.
    #[must_use]
    pub fn absolute(&self, path: &str) -> String {
        match &self.host {
            Some(host) => format!("{}://{host}{path}", self.scheme),
            None => path.to_owned(),
        }
    }

    /// The text of a header.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// Whether a header has a word in its list.
    #[must_use]
    pub fn has_word(&self, name: &str, word: &str) -> bool {
        self.headers.get_all(name).iter().filter_map(|v| v.to_str().ok()).any(|list| {
            list.split([',', ' ', ';']).any(|item| item.trim().eq_ignore_ascii_case(word))
        })
    }
}

/// The body of a request.
#[derive(Debug)]
pub struct Body {
    raw: RawBody,
    unpacked: Option<Unpacked>,
}

/// A body that arrives packed, on its way to those who read it: what was unpacked and not read.
#[derive(Debug)]
struct Unpacked {
    decoder: flate2::write::MultiGzDecoder<Vec<u8>>,
    ready: Bytes,
}

/// The body as it arrives.
#[derive(Debug)]
struct RawBody {
    incoming: Incoming,
    handle: Handle,
    /// By which the connection takes over what it was sent.
    driver: Driver,
    limits: Limits,
    /// What has arrived, in bytes.
    arrived: usize,
    /// How long the client was waited for.
    waited: Duration,
    piece: Bytes,
    ended: bool,
}

impl Body {
    /// A body that nothing was read of. `limits` say how long the client may send nothing, and
    /// how long it may take in all. `driver` is its connection.
    #[must_use]
    pub(super) fn new(incoming: Incoming, handle: Handle, driver: Driver, limits: Limits) -> Self {
        let ended = hyper::body::Body::is_end_stream(&incoming);
        let (arrived, waited, piece) = (0, Duration::ZERO, Bytes::new());
        let raw = RawBody { incoming, handle, driver, limits, arrived, waited, piece, ended };
        Self { raw, unpacked: None }
    }

    /// Unpacks what arrives, if the head says that it is packed.
    ///
    /// # Errors
    /// 415 for codings that are not known.
    pub(super) fn unpack(&mut self, head: &Head) -> DavResult {
        let Some(value) = head.headers.get(CONTENT_ENCODING) else { return Ok(()) };
        match value.to_str().map(|word| word.trim().to_ascii_lowercase()).as_deref() {
            Ok("" | "identity") => Ok(()),
            Ok("gzip" | "x-gzip") => {
                let decoder = flate2::write::MultiGzDecoder::new(Vec::new());
                self.unpacked = Some(Unpacked { decoder, ready: Bytes::new() });
                Ok(())
            }
            _ => Err(Fail::status(415, "The Content-Encoding is not known")),
        }
    }

    /// What arrives packed is read as it is.
    pub(super) fn leave_packed(&mut self) {
        self.unpacked = None;
    }

    /// Whether there is no body, or it was read whole.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.raw.ended
            && self.raw.piece.is_empty()
            && self.unpacked.as_ref().is_none_or(|unpacked| unpacked.ready.is_empty())
    }

    /// What can be read next; nothing at the end.
    fn ready(&mut self) -> io::Result<&mut Bytes> {
        let Self { raw, unpacked } = self;
        let Some(Unpacked { decoder, ready }) = unpacked else {
            raw.refill()?;
            return Ok(&mut raw.piece);
        };
        while ready.is_empty() {
            raw.refill()?;
            if raw.piece.is_empty() {
                decoder.try_finish()?;
                *ready = Bytes::from(std::mem::take(decoder.get_mut()));
                break;
            }
            // A little at a time: a little may stand for a thousand times as much.
            let some = raw.piece.split_to(raw.piece.len().min(UNPACKED_AT_ONCE));
            decoder.write_all(&some)?;
            *ready = Bytes::from(std::mem::take(decoder.get_mut()));
        }
        Ok(ready)
    }

    /// The whole body, of at most `limit` bytes.
    ///
    /// # Errors
    /// E190004 when the client has gone, E175002 when it is longer.
    pub fn read_all(&mut self, limit: usize) -> SvnResult<Vec<u8>> {
        let mut all = Vec::new();
        let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
        self.take(most).read_to_end(&mut all).map_err(SvnError::from_stream)?;
        if all.len() > limit {
            return Err(SvnError::new(
                ErrorCode::RA_DAV_REQUEST_FAILED,
                "The body of the request is too large",
            ));
        }
        Ok(all)
    }
}

impl RawBody {
    /// Waits for the next piece, if there is none.
    fn refill(&mut self) -> io::Result<()> {
        while self.piece.is_empty() && !self.ended {
            let frame = match self.ready_frame() {
                Poll::Ready(frame) => frame,
                Poll::Pending => self.wait_for_frame()?,
            };
            match frame {
                None => self.ended = true,
                Some(Ok(frame)) => {
                    // Fields behind the body say nothing to us.
                    self.piece = frame.into_data().unwrap_or_else(|_| Bytes::new());
                    self.arrived = self.arrived.plus(self.piece.len());
                }
                Some(Err(error)) => return Err(io::Error::other(gone(&error.to_string()))),
            }
        }
        Ok(())
    }
}

/// A piece of a body, or its end.
type NextFrame = Option<Result<Frame<Bytes>, hyper::Error>>;

impl RawBody {
    /// What is there without waiting. The connection hands over what it was sent when it hears that it is
    /// wanted: here, and not on another thread that has to be woken for it.
    fn ready_frame(&mut self) -> Poll<NextFrame> {
        let Self { incoming, driver, .. } = self;
        let mut cx = Context::from_waker(Waker::noop());
        let mut ask = || hyper::body::Body::poll_frame(Pin::new(&mut *incoming), &mut cx);
        match driver.hand_over(&mut ask) {
            Poll::Pending => ask(),
            ready => ready,
        }
    }

    /// Reads what is left, mostly the end alone, which those who know where their text ends have not read: a
    /// connection on which a request has not ended is of no more use after the reply. Waits a moment at most.
    fn settle(&mut self) {
        let (end, mut left) = (Instant::now().checked_add(SETTLE), SETTLE_BYTES);
        while !self.ended && left > 0 {
            let frame = match (self.ready_frame(), end) {
                (Poll::Ready(frame), _) => frame,
                (Poll::Pending, None) => return,
                (Poll::Pending, Some(end)) => {
                    let Self { incoming, handle, .. } = self;
                    let frame =
                        async { tokio::time::timeout_at(end.into(), incoming.frame()).await };
                    let Ok(frame) = handle.block_on(frame) else { return };
                    frame
                }
            };
            match frame.map(|frame| frame.map(Frame::into_data)) {
                Some(Ok(Ok(data))) => match left.checked_sub(data.len()) {
                    Some(fewer) => left = fewer,
                    None => return,
                },
                Some(Ok(Err(_))) => {}
                None | Some(Err(_)) => self.ended = true,
            }
        }
    }

    /// Waits for the client, as long as it is allowed to take.
    fn wait_for_frame(&mut self) -> io::Result<NextFrame> {
        let Self { incoming, handle, limits, arrived, waited, .. } = self;
        let left = limits.time_for(*arrived).saturating_sub(*waited).min(limits.stall);
        let begun = Instant::now();
        let frame = handle.block_on(async { tokio::time::timeout(left, incoming.frame()).await });
        *waited = waited.saturating_add(begun.elapsed());
        frame.map_err(|_| io::ErrorKind::TimedOut.into())
    }
}

impl Read for Body {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let ready = self.ready()?;
        let count = ready.len().min(buf.len());
        if let Some(part) = buf.get_mut(..count) {
            ready.copy_to_slice(part);
        }
        Ok(count)
    }
}

/// Sends the head, if it has not gone out.
fn begin(head: &mut Option<Begin>) -> SvnResult<()> {
    let Some((start, response)) = head.take() else { return Ok(()) };
    start.send(response).map_err(|_| gone("by the client"))
}

fn gone(why: &str) -> SvnError {
    SvnError::new(ErrorCode::APMOD_CONNECTION_ABORTED, format!("Connection closed: {why}"))
}

/// What hyper sends as the body of a reply.
#[derive(Debug)]
pub enum ReplyBody {
    /// All of it.
    Whole(Option<Piece>),
    /// Pieces, as they come. An error ends the connection.
    Pieces(mpsc::Receiver<Result<Piece, io::Error>>),
}

impl ReplyBody {
    /// The reply when the handler has vanished.
    #[must_use]
    pub fn internal_error() -> Response<Self> {
        let mut response = Response::new(Self::Whole(None));
        *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
        response
    }
}

impl hyper::body::Body for ReplyBody {
    type Data = Piece;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Piece>, io::Error>>> {
        match &mut *self {
            Self::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Pieces(pieces) => {
                pieces.poll_recv(cx).map(|piece| piece.map(|piece| piece.map(Frame::data)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => {
                let len = bytes.as_ref().map_or(0, Piece::remaining);
                SizeHint::with_exact(u64::try_from(len).unwrap_or(u64::MAX))
            }
            Self::Pieces(_) => SizeHint::default(),
        }
    }
}

/// The head of a reply, and where it is waited for.
type Begin = (oneshot::Sender<Response<ReplyBody>>, Response<ReplyBody>);

/// A request's body and its reply.
#[derive(Debug)]
pub struct Exchange {
    /// The body of the request.
    pub body: Body,
    status: StatusCode,
    headers: HeaderMap,
    /// What was written before `out`.
    ready: Piece,
    out: Vec<u8>,
    start: Option<oneshot::Sender<Response<ReplyBody>>>,
    /// The head, until it goes out with the first piece.
    head: Option<Begin>,
    pieces: Option<mpsc::Sender<Result<Piece, io::Error>>>,
    handle: Handle,
    /// By which the connection sends what it was given.
    driver: Driver,
    patience: Duration,
    /// The bytes of the reply's body that went out.
    sent: u64,
    /// Who made the request, when that is known.
    pub user: Option<String>,
    /// Whether the reply may be packed.
    pub takes_gzip: bool,
    packer: Option<Packer>,
}

impl Exchange {
    /// A reply that is empty, with the status 200. `patience` is how long the client may read
    /// nothing.
    #[must_use]
    pub(super) fn new(
        body: Body,
        start: oneshot::Sender<Response<ReplyBody>>,
        handle: Handle,
        driver: Driver,
        patience: Duration,
    ) -> Self {
        Self {
            body,
            status: StatusCode::OK,
            headers: HeaderMap::new(),
            ready: Piece::default(),
            out: Vec::new(),
            start: Some(start),
            head: None,
            pieces: None,
            handle,
            driver,
            patience,
            sent: 0,
            user: None,
            takes_gzip: false,
            packer: None,
        }
    }

    /// The status of the reply, and the bytes of its body that went out.
    #[must_use]
    pub fn outcome(&self) -> (u16, u64) {
        (self.status.as_u16(), self.sent)
    }

    /// Sets the status.
    pub fn status(&mut self, status: u16) {
        self.status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    }

    /// Whether anything has gone out.
    #[must_use]
    pub const fn has_begun(&self) -> bool {
        self.start.is_none()
    }

    /// Adds a header. One that http cannot carry is left out.
    pub fn header(&mut self, name: &'static str, value: &str) {
        let name = HeaderName::from_static(name);
        if let Ok(value) = HeaderValue::from_bytes(value.as_bytes()) {
            self.headers.append(name, value);
        }
    }

    /// Adds a header that another server has said.
    pub(super) fn append(&mut self, name: HeaderName, value: HeaderValue) {
        self.headers.append(name, value);
    }

    /// Starts work beside this thread.
    pub(super) fn spawn<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        self.handle.spawn(work)
    }

    /// Waits for another server, as long as the client does.
    ///
    /// # Errors
    /// E190004 when the client has gone, or nothing has happened for too long.
    pub(super) fn wait<T>(&mut self, work: impl Future<Output = T>) -> SvnResult<T> {
        let Self { handle, start, pieces, patience, .. } = self;
        let left = async {
            match (start, pieces) {
                (Some(start), _) => start.closed().await,
                (None, Some(pieces)) => pieces.closed().await,
                (None, None) => {}
            }
        };
        handle.block_on(async {
            tokio::select! {
                biased;
                done = work => Ok(done),
                () = left => Err(gone("by the client")),
                () = tokio::time::sleep(*patience) => Err(gone("nothing happens")),
            }
        })
    }

    /// The reply is XML.
    pub fn xml(&mut self) {
        self.headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/xml; charset=\"utf-8\""));
    }

    /// Announces the length of a body that will not be kept in memory.
    pub fn length(&mut self, bytes: u64) {
        self.headers.insert(CONTENT_LENGTH, HeaderValue::from(bytes));
    }

    /// Writes what is kept elsewhere, without copying it if it is long.
    ///
    /// # Errors
    /// As of [`Exchange::flush`].
    pub(super) fn write_kept(&mut self, kept: Bytes) -> SvnResult<()> {
        if self.takes_gzip || kept.len() < KEPT_AT_LEAST {
            self.out.extend_from_slice(&kept);
        } else {
            self.ready.push(Bytes::from(std::mem::take(&mut self.out)));
            self.ready.push(kept);
        }
        let written = self.ready.remaining().plus(self.out.len());
        if written >= KEPT_CHUNK || self.out.len() >= CHUNK { self.flush() } else { Ok(()) }
    }

    /// What is written at the end.
    pub const fn out(&mut self) -> &mut Vec<u8> {
        &mut self.out
    }

    /// Waits for room, and hands a piece to the connection, after the head.
    fn send(&mut self, piece: Result<Piece, io::Error>) -> SvnResult<()> {
        let Self { head, pieces, handle, driver, patience, .. } = self;
        let Some(pieces) = pieces else { return Err(gone("there is nowhere to write to")) };
        let room = match pieces.try_reserve() {
            Ok(room) => room,
            Err(mpsc::error::TrySendError::Closed(())) => return Err(gone("by the client")),
            Err(mpsc::error::TrySendError::Full(())) => {
                let room = async { tokio::time::timeout(*patience, pieces.reserve()).await };
                match handle.block_on(room) {
                    Ok(Ok(room)) => room,
                    Ok(Err(_)) => return Err(gone("by the client")),
                    Err(_) => return Err(gone("the client does not read")),
                }
            }
        };
        driver.hand_over(|| {
            begin(head)?;
            room.send(piece);
            Ok(())
        })
    }

    /// Sends what there is, and the head before it.
    ///
    /// # Errors
    /// E190004 when the client has gone, or has stopped reading for too long.
    pub fn flush(&mut self) -> SvnResult<()> {
        if let Some(start) = self.start.take() {
            let (send, receive) = mpsc::channel(CHUNKS_WAITING);
            self.pieces = Some(send);
            if self.takes_gzip {
                self.packer = Packer::of(self.status, &mut self.headers);
            }
            self.head = Some((start, self.response(ReplyBody::Pieces(receive))));
        }
        let mut ready = std::mem::take(&mut self.ready);
        if !self.out.is_empty() {
            let room = if ready.has_remaining() { 0 } else { CHUNK.plus(CHUNK / 2) };
            let full = std::mem::replace(&mut self.out, Vec::with_capacity(room));
            ready.push(Bytes::from(full));
        }
        if ready.has_remaining() {
            self.send_piece(ready, false)?;
        }
        let Self { driver, head, .. } = self;
        if head.is_some() { driver.hand_over(|| begin(head)) } else { Ok(()) }
    }

    fn response(&mut self, body: ReplyBody) -> Response<ReplyBody> {
        let mut response = Response::new(body);
        *response.status_mut() = self.status;
        *response.headers_mut() = std::mem::take(&mut self.headers);
        response
    }

    fn count_sent(&mut self, bytes: usize) {
        self.sent.tally(u64::try_from(bytes).unwrap_or(u64::MAX));
    }

    /// Sends a piece of the body, packed if the reply is.
    fn send_piece(&mut self, mut piece: Piece, is_last: bool) -> SvnResult<()> {
        if let Some(packer) = &mut self.packer {
            // Nothing but what was written for this reply is in it.
            let packed = packer.pack(&piece.copy_to_bytes(piece.remaining()), is_last);
            piece = Piece::from(packed.map_err(|e| gone(&e.to_string()))?);
        }
        if !piece.has_remaining() {
            return Ok(());
        }
        self.count_sent(piece.remaining());
        self.send(Ok(piece))
    }

    /// The reply is complete.
    pub fn finish(&mut self) {
        self.body.raw.settle();
        if let Some(start) = self.start.take() {
            let mut out = std::mem::take(&mut self.out);
            if self.takes_gzip
                && out.len() >= packing::SHORTEST
                && let Some(mut packer) = Packer::of(self.status, &mut self.headers)
                && let Ok(packed) = packer.pack(&out, true)
            {
                out = packed;
            }
            let mut whole = std::mem::take(&mut self.ready);
            whole.push(Bytes::from(out));
            self.count_sent(whole.remaining());
            let body = ReplyBody::Whole(whole.has_remaining().then_some(whole));
            let mut head = Some((start, self.response(body)));
            let _ = self.driver.hand_over(|| begin(&mut head));
            return;
        }
        // When the client has gone there is no one left to write to.
        let _ = self.flush();
        let _ = self.send_piece(Piece::default(), true);
        self.end_body();
    }

    /// No more pieces follow.
    fn end_body(&mut self) {
        let pieces = self.pieces.take();
        self.driver.hand_over(|| drop(pieces));
    }

    /// Forgets what was collected, for another reply. Nothing may have gone out.
    pub fn reset(&mut self) {
        self.ready = Piece::default();
        self.out.clear();
        self.headers.clear();
        self.status = StatusCode::OK;
    }

    /// The request failed: an error with its body takes the place of the reply; when that has
    /// begun, the connection ends.
    pub fn fail(&mut self, error: &SvnError, status: u16) {
        if self.has_begun() {
            let aborted = io::Error::other(error.clone());
            let _ = self.send(Err(aborted));
            self.end_body();
            return;
        }
        self.reset();
        self.read_over();
        self.status(status);
        self.xml();
        failure::write(&mut self.out, error);
        self.finish();
    }

    /// Reads over what is left of a body, up to a limit. What does not end then is cut off.
    pub fn read_over(&mut self) {
        let mut body = (&mut self.body).take(READ_OVER);
        let _ = io::copy(&mut body, &mut io::sink());
    }
}

impl Sink for Exchange {
    fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.out
    }

    fn relieve(&mut self) -> SvnResult<()> {
        let written = self.ready.remaining().plus(self.out.len());
        if written >= CHUNK { self.flush() } else { Ok(()) }
    }
}
