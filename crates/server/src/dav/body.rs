//! The body of a request: collected while no thread has the request, then read by its handler.
//!
//! A small body is complete before a thread takes the request. Of a large one only the beginning is; the rest is
//! read from the connection as it arrives, by as many handlers at a time as there are permits for that. Other
//! requests collect it in a temporary file first.
//!
//! Invariants: a body that does not arrive in time, or breaks off, ends with an error whenever it is read; a request that waits for one without a permit
//! holds no thread. The part of a body that its handler leaves is read and dropped after the reply, so that the
//! connection can serve the next request and a client that is still sending gets the reply.

use std::collections::VecDeque;
use std::io::{self, Read, Write as _};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use bytes::{Buf as _, Bytes};
use http_body_util::BodyExt as _;
use hyper::body::{Frame, Incoming};
use hyper::header::CONTENT_ENCODING;
use sapwood_core::exact::Exact as _;
use sapwood_core::{ErrorCode, SvnError, SvnResult};
use tokio::runtime::Handle;

use super::fail::client_gone;
use super::fail::{DavResult, Fail};
use super::head::Head;
use super::idle::UnderWay;
use super::polled_connection::Driver;
use super::settings::HttpLimits;
use crate::common::fair::Permit;
use crate::common::spool::SpoolFile;

/// Bytes of a compressed body that are decompressed at a time.
const UNPACKED_AT_ONCE: usize = 4 << 10;
/// Bytes of a body that are read and dropped after the reply to a request.
const READ_OVER: usize = 16 << 20;
/// How often to check for a body that arrived together with its head.
const LOOKS: usize = 3;
/// Bytes that are read from a temporary file at a time.
const FILE_PIECE: usize = 64 << 10;

/// The body of a request.
#[derive(Debug)]
pub struct Body {
    raw: RawBody,
    unpacked: Option<GunzipBuffer>,
}

/// A compressed body on its way to its reader: the part that was decompressed and not read.
#[derive(Debug)]
struct GunzipBuffer {
    decoder: flate2::write::MultiGzDecoder<Vec<u8>>,
    ready: Bytes,
}

/// The body as it arrives.
#[derive(Debug)]
pub(super) struct RawBody {
    incoming: Option<Incoming>,
    handle: Handle,
    /// Makes the connection hand over what it was sent.
    driver: Driver,
    limits: HttpLimits,
    under_way: UnderWay,
    /// The part that was collected first.
    spooled: Option<SpooledBody>,
    /// The part that was collected after that.
    front: VecDeque<Bytes>,
    /// Bytes in `front`.
    collected: usize,
    /// Bytes that have arrived.
    arrived: usize,
    /// How long the client was waited for.
    waited: Duration,
    /// The next position to read.
    piece: Bytes,
    /// Nothing more arrives.
    ended: bool,
    /// Why it broke off before its end. The connection says so once, and then gives an end.
    broken: Option<String>,
    /// Lets a handler wait for the rest of it.
    permit: Option<Permit>,
    /// The part of `front` that was read, if it may be read again.
    again: Option<Vec<Bytes>>,
}

/// The part of a body that is in a temporary file.
#[derive(Debug)]
struct SpooledBody {
    file: SpoolFile,
    written: u64,
    read: u64,
}

/// A piece of a body, or its end.
type NextFrame = Option<Result<Frame<Bytes>, hyper::Error>>;

impl Body {
    /// A body that its handler reads.
    #[must_use]
    pub(super) const fn new(raw: RawBody) -> Self {
        Self { raw, unpacked: None }
    }

    /// As it arrives, for collecting it.
    pub(super) const fn raw(&mut self) -> &mut RawBody {
        &mut self.raw
    }

    /// Decompresses what arrives, if the head says that it is compressed.
    ///
    /// # Errors
    /// 415 for codings that are not known.
    pub(super) fn unpack(&mut self, head: &Head) -> DavResult {
        let Some(value) = head.headers.get(CONTENT_ENCODING) else { return Ok(()) };
        match value.to_str().map(|word| word.trim().to_ascii_lowercase()).as_deref() {
            Ok("" | "identity") => Ok(()),
            Ok("gzip" | "x-gzip") => {
                let decoder = flate2::write::MultiGzDecoder::new(Vec::new());
                self.unpacked = Some(GunzipBuffer { decoder, ready: Bytes::new() });
                Ok(())
            }
            _ => Err(Fail::status(415, "The Content-Encoding is not known")),
        }
    }

    /// A compressed body is read as it is.
    pub(super) fn leave_packed(&mut self) {
        self.unpacked = None;
    }

    /// Whether there is no body, or it was read to its end.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.raw.is_over()
            && self.unpacked.as_ref().is_none_or(|unpacked| unpacked.ready.is_empty())
    }

    /// What can be read next; nothing at the end.
    fn ready(&mut self) -> io::Result<&mut Bytes> {
        let Self { raw, unpacked } = self;
        let Some(GunzipBuffer { decoder, ready }) = unpacked else {
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
            // Only a little at a time: it may decompress to a thousand times as much.
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
        let most = sapwood_core::exact::len64(limit).saturating_add(1);
        self.take(most).read_to_end(&mut all).map_err(SvnError::from_stream)?;
        if all.len() > limit {
            return Err(SvnError::new(
                ErrorCode::RA_DAV_REQUEST_FAILED,
                "The body of the request is too large",
            ));
        }
        Ok(all)
    }

    /// Begins again at its start; `false` where what was read of it is not kept.
    pub(super) fn rewind(&mut self) -> bool {
        if let Some(GunzipBuffer { decoder, ready }) = &mut self.unpacked {
            *decoder = flate2::write::MultiGzDecoder::new(Vec::new());
            *ready = Bytes::new();
        }
        let raw = &mut self.raw;
        if raw.ended && raw.arrived == 0 {
            return true;
        }
        let Some(again) = raw.again.as_mut().filter(|_| raw.ended) else { return false };
        for piece in again.drain(..).rev() {
            raw.collected = raw.collected.plus(piece.len());
            raw.front.push_front(piece);
        }
        if let Some(spooled) = &mut raw.spooled {
            spooled.read = 0;
        }
        raw.piece = Bytes::new();
        true
    }

    /// The reply is complete: the rest of the body is read and dropped beside it.
    pub(super) fn drain(&mut self) {
        if let Some(incoming) = self.raw.incoming.take().filter(|_| !self.raw.ended) {
            let (limits, under_way) = (self.raw.limits, self.raw.under_way.clone());
            drop(self.raw.handle.spawn(read_over(incoming, limits, under_way)));
        }
    }
}

/// Reads a body and drops it, as long as it keeps coming, up to a limit.
async fn read_over(mut incoming: Incoming, limits: HttpLimits, under_way: UnderWay) {
    let end = Instant::now().checked_add(limits.body_first);
    let mut left = READ_OVER;
    while let Some(end) = end {
        let frame = tokio::time::timeout_at(end.into(), incoming.frame()).await;
        let Ok(Some(Ok(frame))) = frame else { break };
        let length = frame.data_ref().map_or(0, Bytes::len);
        match left.checked_sub(length) {
            Some(fewer) => left = fewer,
            None => break,
        }
    }
    drop(under_way);
}

impl RawBody {
    /// A body of which nothing was read. `driver` is its connection.
    pub(super) fn new(
        incoming: Incoming,
        handle: Handle,
        driver: Driver,
        limits: HttpLimits,
        under_way: UnderWay,
    ) -> Self {
        let ended = hyper::body::Body::is_end_stream(&incoming);
        Self {
            incoming: Some(incoming),
            handle,
            driver,
            limits,
            under_way,
            spooled: None,
            front: VecDeque::new(),
            collected: 0,
            arrived: 0,
            waited: Duration::ZERO,
            piece: Bytes::new(),
            ended,
            broken: None,
            permit: None,
            again: None,
        }
    }

    /// What was collected is kept, so that it can be read again.
    pub(super) fn keep_collected(&mut self) {
        self.again = Some(Vec::new());
    }

    /// Whether all of it has arrived.
    pub(super) const fn has_ended(&self) -> bool {
        self.ended
    }

    /// Bytes that were collected in memory.
    pub(super) const fn collected(&self) -> usize {
        self.collected
    }

    /// Bytes that have arrived.
    pub(super) const fn arrived(&self) -> usize {
        self.arrived
    }

    /// Lets its handler wait for the rest.
    pub(super) fn stream(&mut self, permit: Permit) {
        self.permit = Some(permit);
    }

    /// Collects what arrived together with the head, up to `most` bytes, without waiting for the
    /// client.
    pub(super) async fn collect_ready(&mut self, most: usize) -> SvnResult<()> {
        let mut looks = LOOKS;
        while !self.ended && self.collected < most {
            let Some(incoming) = &mut self.incoming else { return Ok(()) };
            let frame = std::future::poll_fn(|cx| {
                let frame = hyper::body::Body::poll_frame(Pin::new(&mut *incoming), cx);
                match frame {
                    Poll::Ready(frame) => Poll::Ready(Some(frame)),
                    Poll::Pending if looks == 0 => Poll::Ready(None),
                    // The connection hands over what it has read when it is polled after this.
                    Poll::Pending => {
                        looks = looks.minus(1);
                        cx.waker().wake_by_ref();
                        Poll::Pending
                    }
                }
            });
            match frame.await {
                Some(frame) => self.keep(frame)?,
                None => return Ok(()),
            }
        }
        Ok(())
    }

    /// Waits for the next piece and collects it.
    ///
    /// # Errors
    /// E190004 when the client has gone, or does not send it in time.
    pub(super) async fn collect(&mut self) -> SvnResult<()> {
        let (left, begun) = (self.time_left(), Instant::now());
        let Some(incoming) = &mut self.incoming else { return Ok(()) };
        let frame = tokio::time::timeout(left, incoming.frame()).await;
        self.count_wait(begun);
        let frame = frame.map_err(|_| client_gone("the request does not come in time"))?;
        self.keep(frame)
    }

    /// Takes what was collected in memory, to be written to the temporary file.
    pub(super) fn take_collected(&mut self) -> VecDeque<Bytes> {
        self.collected = 0;
        std::mem::take(&mut self.front)
    }

    /// The temporary file, and the bytes that it holds.
    pub(super) fn take_file(&mut self) -> Option<(SpoolFile, u64)> {
        self.spooled.take().map(|spooled| (spooled.file, spooled.written))
    }

    /// What was collected before is in this file.
    pub(super) fn set_file(&mut self, file: SpoolFile, written: u64) {
        self.spooled = Some(SpooledBody { file, written, read: 0 });
    }

    /// Whether what has arrived is not all that the client announced, or no body by the rules of http.
    pub(super) const fn is_broken(&self) -> bool {
        self.broken.is_some()
    }

    fn keep(&mut self, frame: NextFrame) -> SvnResult<()> {
        match frame {
            None => match &self.broken {
                None => self.ended = true,
                Some(why) => return Err(client_gone(why)),
            },
            Some(Ok(frame)) => {
                // Trailers are ignored.
                let data = frame.into_data().unwrap_or_else(|_| Bytes::new());
                self.arrived = self.arrived.plus(data.len());
                self.collected = self.collected.plus(data.len());
                if !data.is_empty() {
                    self.front.push_back(data);
                }
                self.note_end();
            }
            Some(Err(error)) => {
                let why = self.broken.get_or_insert_with(|| error.to_string());
                return Err(client_gone(why));
            }
        }
        Ok(())
    }

    /// Notes the end of a body whose length was announced.
    fn note_end(&mut self) {
        self.ended |= self.incoming.as_ref().is_none_or(hyper::body::Body::is_end_stream);
    }

    fn is_over(&self) -> bool {
        self.ended
            && self.piece.is_empty()
            && self.front.is_empty()
            && self.spooled.as_ref().is_none_or(|spooled| spooled.read == spooled.written)
    }

    fn count_wait(&mut self, begun: Instant) {
        self.waited = self.waited.saturating_add(begun.elapsed());
    }

    /// How long the client may take for the next piece.
    fn time_left(&self) -> Duration {
        let limits = &self.limits;
        limits.body_time(self.arrived).saturating_sub(self.waited).min(limits.body_stall)
    }

    /// Waits for the next piece, if there is none.
    fn refill(&mut self) -> io::Result<()> {
        if !self.piece.is_empty() {
            return Ok(());
        }
        while self.piece.is_empty() {
            if let Some(piece) = self.take_ready()? {
                self.piece = piece;
            } else if self.ended {
                break;
            } else {
                self.receive()?;
            }
        }
        Ok(())
    }

    /// The next piece of what was collected.
    fn take_ready(&mut self) -> io::Result<Option<Bytes>> {
        let spooled = self.spooled.as_mut().map(SpooledBody::next).transpose()?;
        if let Some(piece) = spooled.filter(|piece| !piece.is_empty()) {
            return Ok(Some(piece));
        }
        let Some(piece) = self.front.pop_front() else { return Ok(None) };
        self.collected = self.collected.minus(piece.len());
        if let Some(again) = &mut self.again {
            again.push(piece.clone());
        }
        Ok(Some(piece))
    }

    /// The next piece, as soon as the client has sent it; nothing at the end.
    ///
    /// # Errors
    /// As of [`RawBody::collect`].
    pub(super) async fn next_piece(&mut self) -> SvnResult<Option<Bytes>> {
        loop {
            let ready = self.take_ready().map_err(SvnError::from_stream)?;
            if ready.is_some() || self.ended {
                return Ok(ready);
            }
            self.collect().await?;
        }
    }

    /// Takes the next frame from the connection.
    fn receive(&mut self) -> io::Result<()> {
        let frame = match self.ready_frame() {
            Poll::Ready(frame) => frame,
            Poll::Pending => self.wait_for_frame()?,
        };
        self.keep(frame).map_err(io::Error::other)
    }

    /// The frame that has already arrived, if there is one. The connection hands it over when it is
    /// polled: that happens here, and not on another thread that would have to be woken for it.
    fn ready_frame(&mut self) -> Poll<NextFrame> {
        let Self { incoming: Some(incoming), driver, .. } = self else { return Poll::Ready(None) };
        let mut cx = Context::from_waker(Waker::noop());
        let mut ask = || hyper::body::Body::poll_frame(Pin::new(&mut *incoming), &mut cx);
        match driver.hand_over(&mut ask) {
            Poll::Pending => ask(),
            ready => ready,
        }
    }

    /// Waits for the client, as long as it is allowed to take.
    fn wait_for_frame(&mut self) -> io::Result<NextFrame> {
        let (left, begun) = (self.time_left(), Instant::now());
        let Some(incoming) = &mut self.incoming else { return Ok(None) };
        let frame =
            self.handle.block_on(async { tokio::time::timeout(left, incoming.frame()).await });
        self.count_wait(begun);
        frame.map_err(|_| io::ErrorKind::TimedOut.into())
    }
}

impl SpooledBody {
    /// The next piece of the file; nothing at its end.
    fn next(&mut self) -> io::Result<Bytes> {
        let left = sapwood_core::exact::clamped(self.written.minus(self.read));
        let mut piece = vec![0; left.min(FILE_PIECE)];
        let count = if piece.is_empty() { 0 } else { self.file.read_at(&mut piece, self.read)? };
        if count == 0 && !piece.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        piece.truncate(count);
        self.read = self.read.plus(sapwood_core::exact::len64(count));
        Ok(piece.into())
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
