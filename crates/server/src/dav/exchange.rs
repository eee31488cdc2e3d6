//! One request and its reply, as a thread that may block sees them.
//!
//! A reply is collected in one buffer. A short one is sent whole, with its length; one that
//! outgrows the buffer is sent in chunks. As long as nothing was sent, an error replaces what was
//! collected; after that an error ends the connection in the middle of the body, so that no client
//! takes a part for the whole.

use std::io;
use std::time::Instant;

use bytes::{Buf as _, Bytes};
use hyper::header::{
    CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue,
    WWW_AUTHENTICATE,
};
use hyper::{Response, StatusCode};
use sapwood_core::exact::Exact as _;
use sapwood_core::{SvnError, SvnResult};
use sapwood_wire_dav::failure;
use sapwood_wire_dav::report::Sink;
use tokio::sync::{mpsc, oneshot};

use super::body::Body;
use super::fail::client_gone;
use super::outlet::{NextPiece, Outlet};
use super::packing::{self, Packer};
use super::piece::Piece;
use super::polled_connection::Driver;
use super::reply::{ReplyBody, ReplySender};
use crate::common::metrics::Outcome;
use crate::common::principal::Principal;
use crate::common::request_number::RequestNumber;

/// A reply that grows beyond this is sent in chunks of about this size.
pub(super) const CHUNK: usize = 64 << 10;
/// The same for chunks of cached bytes, which take no memory of their own.
const KEPT_CHUNK: usize = 256 << 10;
/// Cached bytes shorter than this are copied.
const KEPT_AT_LEAST: usize = 2 << 10;
/// Makes more of a reply: appends to it, and returns whether there is still more.
pub(super) type Producer = Box<dyn FnMut(&mut Vec<u8>) -> SvnResult<bool> + Send>;

/// Sends the head, if it was not sent yet.
fn begin(head: &mut Option<Begin>) -> SvnResult<()> {
    let Some((start, response)) = head.take() else { return Ok(()) };
    start.send(response).map_err(|_| client_gone("by the client"))
}

/// Forbids caches to keep a reply for others; what is the same for all of them keeps its own rule.
fn keep_private(headers: &mut HeaderMap) {
    let own = headers.get(CACHE_CONTROL).and_then(|value| value.to_str().ok()).unwrap_or("");
    if !own.contains("immutable") && !own.contains("no-store") {
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    }
}

/// A time before which a reply does not go out, so that its own time says nothing. Nothing is held while it waits but the reply.
#[derive(Clone, Copy, Debug)]
pub(super) struct NotBefore(pub(super) Instant);

/// The head of a reply, and where it is waited for.
type Begin = (oneshot::Sender<Response<ReplyBody>>, Response<ReplyBody>);

/// A request's body and its reply.
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
    sender: Option<ReplySender>,
    outlet: Outlet,
    /// What makes the rest of the reply when the client continues to read.
    later: Option<Producer>,
    /// The bytes of the reply's body that were sent.
    sent: u64,
    /// The user of the request, if it is known.
    pub user: Option<Principal>,
    /// Whether the reply may be compressed.
    pub takes_gzip: bool,
    packer: Option<Packer>,
    /// The number that an error reply names.
    pub(super) request: Option<RequestNumber>,
    /// What its error says of how the request ended, if there is one.
    failure: Option<Outcome>,
    /// The answer to a ticket of Kerberos, in base64, which goes with the reply.
    pub(super) negotiated: Option<String>,
    /// Whether the reply may be the answer to one browser's session: no cache keeps it for others.
    pub(super) is_private: bool,
    /// The time before which the reply does not go out.
    pub(super) not_before: Option<NotBefore>,
}

impl std::fmt::Debug for Exchange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Exchange").field("status", &self.status).finish_non_exhaustive()
    }
}

impl Exchange {
    /// A reply that is empty, with the status 200.
    #[must_use]
    pub(super) fn new(
        body: Body,
        start: oneshot::Sender<Response<ReplyBody>>,
        outlet: Outlet,
    ) -> Self {
        Self {
            body,
            status: StatusCode::OK,
            headers: HeaderMap::new(),
            ready: Piece::default(),
            out: Vec::new(),
            start: Some(start),
            head: None,
            sender: None,
            outlet,
            later: None,
            sent: 0,
            user: None,
            takes_gzip: false,
            packer: None,
            request: None,
            failure: None,
            negotiated: None,
            is_private: false,
            not_before: None,
        }
    }

    /// The status of the reply, and the bytes of its body that were sent.
    #[must_use]
    pub fn outcome(&self) -> (u16, u64) {
        (self.status.as_u16(), self.sent)
    }

    /// How the request ended.
    #[must_use]
    pub fn result(&self) -> Outcome {
        // Many errors of clients have the status 500, as with mod_dav_svn.
        match (self.failure, self.status.as_u16()) {
            (Some(failure), 200..=299 | 500..) => failure,
            (_, 0..=299 | 304) => Outcome::Success,
            (_, 300..=399) => Outcome::Redirect,
            (_, 401) => Outcome::Unauthenticated,
            (_, 403) => Outcome::Denied,
            (_, 400..=499) => Outcome::ClientError,
            _ => Outcome::ServerError,
        }
    }

    /// Notes why the request failed.
    pub(super) fn failed_by(&mut self, error: &SvnError) {
        self.failure = Some(Outcome::of_error(error));
    }

    /// Sets the status.
    pub fn status(&mut self, status: u16) {
        self.status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    }

    /// Whether anything was sent.
    #[must_use]
    pub(crate) const fn has_begun(&self) -> bool {
        self.start.is_none()
    }

    /// Adds a header. A value that http cannot carry is left out.
    pub fn header(&mut self, name: &'static str, value: &str) {
        let name = HeaderName::from_static(name);
        if let Ok(value) = HeaderValue::from_bytes(value.as_bytes()) {
            self.headers.append(name, value);
        }
    }

    /// Adds a header of another server's reply.
    pub(super) fn append(&mut self, name: HeaderName, value: HeaderValue) {
        self.headers.append(name, value);
    }

    /// The body of the request, and the client that sends it.
    pub(super) const fn parts(&mut self) -> (&mut Body, Client<'_>) {
        let Self { body, outlet, start, sender, .. } = self;
        (body, Client { outlet, start: start.as_mut(), sender: sender.as_ref() })
    }

    /// The reply is XML.
    pub fn xml(&mut self) {
        self.headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/xml; charset=\"utf-8\""));
    }

    /// Announces the length of a body that is not collected in memory.
    pub fn length(&mut self, bytes: u64) {
        self.headers.insert(CONTENT_LENGTH, HeaderValue::from(bytes));
    }

    /// Writes cached bytes, without copying them if they are long.
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

    /// Hands a piece to the connection, after the head.
    fn send(&mut self, piece: NextPiece) -> SvnResult<()> {
        let Self { head, sender, .. } = self;
        let Some(sender) = sender else { return Err(client_gone("there is nowhere to write to")) };
        sender.send(piece, || begin(head))
    }

    /// Sends what was collected, and the head before it.
    ///
    /// # Errors
    /// E190004 when the client has gone, or has stopped reading for too long.
    pub fn flush(&mut self) -> SvnResult<()> {
        self.flush_leaving(CHUNK.plus(CHUNK / 2))
    }

    /// The same; so many bytes of memory are ready for what is written next.
    fn flush_leaving(&mut self, capacity: usize) -> SvnResult<()> {
        self.begin_pieces();
        let mut ready = std::mem::take(&mut self.ready);
        if !self.out.is_empty() {
            let room = if ready.has_remaining() { 0 } else { capacity };
            let full = std::mem::replace(&mut self.out, Vec::with_capacity(room));
            ready.push(Bytes::from(full));
        }
        if ready.has_remaining() {
            self.send_piece(ready, false)?;
        }
        self.send_head()
    }

    /// From here on the reply is sent in pieces.
    fn begin_pieces(&mut self) {
        let Some(start) = self.start.take() else { return };
        let (sender, body) = ReplySender::new(self.outlet.clone());
        self.sender = Some(sender);
        if self.takes_gzip {
            self.packer = Packer::of(self.status, &mut self.headers);
        }
        self.head = Some((start, self.response(body)));
    }

    fn send_head(&mut self) -> SvnResult<()> {
        let Self { outlet, head, .. } = self;
        if head.is_some() { outlet.driver.hand_over(|| begin(head)) } else { Ok(()) }
    }

    /// Sends what was collected when the client has room for it, without a thread.
    ///
    /// # Errors
    /// E190004 when the client has gone, or has stopped reading for too long.
    pub(super) async fn send_collected(&mut self) -> SvnResult<()> {
        self.begin_pieces();
        self.send_head()?;
        let Some(queue) = self.queue() else { return Err(client_gone("by the client")) };
        let room = tokio::time::timeout(self.outlet.patience, queue.reserve_owned()).await;
        let room = room.map_err(|_| client_gone("the client does not read"))?;
        let room = room.map_err(|_| client_gone("by the client"))?;
        let piece = Piece::from(std::mem::take(&mut self.out));
        self.count_sent(piece.remaining());
        room.send(Ok(piece));
        Ok(())
    }

    fn response(&mut self, body: ReplyBody) -> Response<ReplyBody> {
        let mut response = Response::new(body);
        *response.status_mut() = self.status;
        *response.headers_mut() = std::mem::take(&mut self.headers);
        if let Some(token) = self.negotiated.take()
            && let Ok(value) = HeaderValue::try_from(format!("Negotiate {token}"))
        {
            response.headers_mut().insert(WWW_AUTHENTICATE, value);
        }
        if self.is_private {
            keep_private(response.headers_mut());
        }
        if let Some(time) = self.not_before {
            response.extensions_mut().insert(time);
        }
        if self.status.as_u16() >= 400
            && let Some(number) = self.request
            && let Ok(value) = HeaderValue::try_from(number.to_string())
        {
            response.headers_mut().insert(HeaderName::from_static("x-request-id"), value);
        }
        response
    }

    fn count_sent(&mut self, bytes: usize) {
        self.sent.tally(sapwood_core::exact::len64(bytes));
    }

    /// Sends a piece of the body, compressed if the reply is.
    fn send_piece(&mut self, mut piece: Piece, is_last: bool) -> SvnResult<()> {
        if let Some(packer) = &mut self.packer {
            // It holds only what was written for this reply.
            let packed = packer.pack(&piece.copy_to_bytes(piece.remaining()), is_last);
            piece = Piece::from(packed.map_err(|e| client_gone(&e.to_string()))?);
        }
        if !piece.has_remaining() {
            return Ok(());
        }
        self.count_sent(piece.remaining());
        self.send(Ok(piece))
    }

    /// The reply is complete.
    pub fn finish(&mut self) {
        if self.later.is_some() {
            return;
        }
        self.send_end();
        // Not before the reply: a client that waits to be asked for its body would be asked for it.
        self.body.drain();
    }

    fn send_end(&mut self) {
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
            let _ = self.outlet.driver.hand_over(|| begin(&mut head));
            return;
        }
        let sent = self.flush().and_then(|()| self.send_piece(Piece::default(), true));
        // After the client has gone there is nothing to send.
        if let Some(sender) = self.sender.take().filter(|_| sent.is_ok()) {
            sender.finish();
        }
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
        self.failed_by(error);
        if self.has_begun() {
            let aborted = io::Error::other(error.clone());
            self.later = None;
            self.body.drain();
            let _ = self.send(Err(aborted));
            self.sender = None;
            return;
        }
        self.reset();
        self.status(status);
        self.xml();
        failure::write(&mut self.out, error);
        self.finish();
    }

    /// Writes what `next` makes, piece by piece. When the client does not read, the rest is made later, by
    /// [`Exchange::make_later`], and the handler may end.
    ///
    /// # Errors
    /// Those of `next`; E190004 when the client has gone.
    pub(super) fn produce(&mut self, mut next: Producer) -> SvnResult<()> {
        while next(&mut self.out)? {
            if self.out.len() < CHUNK {
                continue;
            }
            let is_plain = self.packer.is_none();
            if let Some(sender) = self.sender.as_ref().filter(|_| is_plain)
                && sender.is_stuck()?
            {
                self.later = Some(next);
                return Ok(());
            }
            self.flush_leaving(0)?;
        }
        Ok(())
    }

    /// From here on the reply is made within the connection itself, which must not be driven by it.
    pub(super) fn is_within_connection(&mut self) {
        self.outlet.driver = Driver::none();
    }

    /// Whether the rest of the reply is made later.
    pub(super) const fn is_for_later(&self) -> bool {
        self.later.is_some()
    }

    /// The queue for what is made later.
    pub(super) fn queue(&self) -> Option<mpsc::Sender<NextPiece>> {
        self.sender.as_ref().map(|sender| sender.pieces.queue.clone())
    }

    /// What the reply needs.
    pub(super) const fn outlet(&self) -> &Outlet {
        &self.outlet
    }

    /// Ends a reply that has begun and has no end.
    pub(super) fn abandon(&mut self) {
        self.later = None;
        self.out.clear();
        self.sender = None;
    }

    /// Makes the next piece of the rest. With the last one the reply is for [`Exchange::finish`] again.
    ///
    /// # Errors
    /// Those of the producer.
    pub(super) fn make_later(&mut self) -> SvnResult<Piece> {
        while self.out.len() < CHUNK
            && let Some(next) = &mut self.later
        {
            if !next(&mut self.out)? {
                self.later = None;
            }
        }
        let piece = Piece::from(std::mem::take(&mut self.out));
        self.count_sent(piece.remaining());
        Ok(piece)
    }
}

/// The client that waits for a reply which another server makes.
pub(super) struct Client<'e> {
    outlet: &'e Outlet,
    start: Option<&'e mut oneshot::Sender<Response<ReplyBody>>>,
    sender: Option<&'e ReplySender>,
}

impl Client<'_> {
    /// Does work as long as the client is there.
    ///
    /// # Errors
    /// E190004 when it has gone.
    pub(super) async fn while_there<T>(self, work: impl Future<Output = T>) -> SvnResult<T> {
        let Self { outlet, start, sender } = self;
        let left = async {
            match (start, sender) {
                (Some(start), _) => start.closed().await,
                (None, Some(sender)) => sender.pieces.queue.closed().await,
                (None, None) => {}
            }
        };
        tokio::select! {
            biased;
            done = work => Ok(done),
            () = left => Err(client_gone("by the client")),
            // Before a reply has begun, hyper does not check whether the client is still there.
            () = outlet.line.hung_up() => Err(client_gone("by the client")),
        }
    }
}

impl Sink for Exchange {
    fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.out
    }

    fn flush_if_large(&mut self) -> SvnResult<()> {
        let written = self.ready.remaining().plus(self.out.len());
        if written >= CHUNK { self.flush() } else { Ok(()) }
    }
}
