//! The input and output buffers of one connection.
//!
//! Invariants: everything that was written is sent before the connection waits for input; neither
//! buffer grows beyond its limit, whatever the other side does.

use sapwood_core::Exact;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sapwood_core::{CancelToken, ErrorCode, SvnError, SvnResult, len64};
use sapwood_wire_svn::buffer::Sizes;
use sapwood_wire_svn::editor::EditSink;
use sapwood_wire_svn::failure::{read_reply, write_failure, write_success};
use sapwood_wire_svn::security_layer::{Layer, LayerError};
use sapwood_wire_svn::{Decoder, InputBuffer, Limits as ItemLimits, Progress, Sink, Tuple};

use crate::common::folders::Folders;
use crate::common::request_memory::{RequestMemory, Share};
use crate::common::settings::Limits;
use crate::common::standing::IdleTimes;
use crate::common::state::ServerState;
use crate::common::tasks::Tasks;
use crate::svn::transport::{Hangup, Transport};

/// The output buffer is sent when it holds this much.
const OUTPUT_BYTES: usize = 64 << 10;
/// After a request that needed more, buffers are shrunk to this.
const KEEP_BYTES: usize = 256 << 10;
/// While a client is idle between requests, they are shrunk to this.
const IDLE_BYTES: usize = 16 << 10;
/// How often a pause checks whether the client is still there.
const PAUSE_LOOK: Duration = Duration::from_millis(250);
/// How the input grows.
const INPUT: Sizes = Sizes { read: 16 << 10, trust: 128 << 10, keep: KEEP_BYTES };
/// Parts (numbers, words, strings, lists) of one request.
const MAX_TOKENS: usize = 1 << 20;
/// How many times as large as the largest request the data made from one may be.
const MADE_OF_REQUEST: usize = 4;

/// Why the connection waits for input; it determines the time limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// For the client's greeting.
    Greeting,
    /// For credentials.
    Login,
    /// For the next request.
    Request,
    /// For the rest of an exchange in progress.
    Exchange,
}

/// One received item, with the bytes that it was parsed from. Reused from request to request.
#[derive(Debug)]
pub(crate) struct Request {
    bytes: Vec<u8>,
    decoder: Decoder,
}

impl Request {
    /// Clears it, and frees its memory beyond a small amount.
    fn clear(&mut self) {
        self.bytes.clear();
        self.bytes.shrink_to(IDLE_BYTES);
        self.decoder.reset();
    }

    fn memory_used(&self) -> usize {
        self.bytes.capacity().plus(self.decoder.memory_used())
    }

    /// The item as a tuple.
    ///
    /// # Errors
    /// When it is no list.
    pub(crate) fn tuple(&self) -> SvnResult<Tuple<'_>> {
        Ok(self.decoder.tuple(&self.bytes)?)
    }

    /// The item as a command: its name and its parameters.
    ///
    /// # Errors
    /// When it is no command.
    pub(crate) fn command(&self) -> SvnResult<(&str, Tuple<'_>)> {
        let mut tuple = self.tuple()?;
        let name = tuple.word()?;
        Ok((name, tuple.tuple()?))
    }
}

/// A position in the output.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    sent: u64,
    len: usize,
}

/// One connection.
#[derive(Debug)]
pub(crate) struct Connection {
    transport: Transport,
    limits: Limits,
    item_limits: ItemLimits,
    remote_host: Option<String>,
    /// Its share of the memory of all requests.
    share: Share,
    /// Memory of the request in progress, in bytes.
    requests_held: usize,
    input: InputBuffer,
    output: Vec<u8>,
    /// Bytes sent since the request began.
    sent: u64,
    /// Whether bytes were sent since the last check for input of the client.
    may_have_answered: bool,
    /// The directories of this machine that the client may not see; none in a tunnel, whose user is on
    /// the machine.
    folders: Option<Arc<Folders>>,
    standing: Arc<IdleTimes>,
    /// The first error of the connection itself; nothing works after it.
    broken: Option<SvnError>,
}

impl Connection {
    /// A connection over `transport`.
    #[must_use]
    pub(crate) fn new(
        mut transport: Transport,
        limits: Limits,
        memory: &Arc<RequestMemory>,
    ) -> Self {
        transport.set_write_timeout(limits.stall);
        let remote_host = transport.remote_host();
        let address = transport.remote_address();
        let item_limits =
            ItemLimits { bytes: limits.request_bytes.unwrap_or(usize::MAX), tokens: MAX_TOKENS };
        Self {
            share: Share::new(memory, transport.socket().cloned(), address),
            requests_held: 0,
            transport,
            limits,
            item_limits,
            remote_host,
            input: InputBuffer::new(item_limits, INPUT),
            output: Vec::with_capacity(OUTPUT_BYTES.plus(4096)),
            sent: 0,
            may_have_answered: false,
            folders: None,
            standing: Arc::default(),
            broken: None,
        }
    }

    /// Makes it one of a server's connections.
    pub(crate) fn belong_to(&mut self, shared: &ServerState) {
        self.folders = self.transport.socket().map(|_| Arc::clone(&shared.folders));
        self.standing = Arc::clone(&shared.standing);
    }

    /// The client's address, as a number.
    #[must_use]
    pub(crate) fn remote_address(&self) -> Option<IpAddr> {
        self.transport.remote_address()
    }

    /// Pauses for a while, until the client disconnects or `cancel` is set; the output is sent
    /// before.
    ///
    /// # Errors
    /// E210002 when the client has gone; E200015.
    pub(crate) fn pause(&mut self, wait: Duration, cancel: &CancelToken) -> SvnResult<()> {
        if wait.is_zero() {
            return Ok(());
        }
        self.flush()?;
        let hangup = self.hangup();
        let begun = Instant::now();
        while let Some(left) = wait.checked_sub(begun.elapsed()).filter(|left| !left.is_zero()) {
            std::thread::sleep(left.min(PAUSE_LOOK));
            cancel.check()?;
            if hangup.as_ref().is_some_and(Hangup::has_gone) {
                return self.note(Err(closed()));
            }
        }
        Ok(())
    }

    /// Waits for a task, until the client disconnects or `cancel` is set; the output is sent before.
    ///
    /// # Errors
    /// As of [`Tasks::wait`]; E210002 when the client has gone; E200015.
    pub(crate) fn wait_for<T: Send + 'static>(
        &mut self,
        tasks: &Tasks,
        cancel: &CancelToken,
        task: impl Future<Output = T> + Send + 'static,
    ) -> SvnResult<T> {
        self.flush()?;
        let hangup = self.hangup();
        let result = tasks.wait(task, || {
            cancel.check()?;
            let has_gone = hangup.as_ref().is_some_and(Hangup::has_gone);
            if has_gone { Err(closed()) } else { Ok(()) }
        });
        match result {
            Err(error) if error.is_hang_up() => self.note(Err(error)),
            other => other,
        }
    }

    /// Protects all that follows by the layer that a login agreed on, unless an earlier login has agreed on one: like the
    /// reference, a connection keeps its first. What was written before is sent without it.
    ///
    /// # Errors
    /// As of [`Connection::flush`].
    pub(crate) fn protect(&mut self, layer: Layer) -> SvnResult<()> {
        self.flush()?;
        if !self.transport.is_protected() {
            let arrived = self.input.unread().to_vec();
            self.input.consume(arrived.len());
            self.transport.protect(layer, &arrived);
        }
        Ok(())
    }

    /// The client's address.
    #[must_use]
    pub(crate) fn remote_host(&self) -> Option<&str> {
        self.remote_host.as_deref()
    }

    /// Enters it among the memory holders for requests.
    #[must_use]
    pub(crate) fn new_request(&self) -> Request {
        Request { bytes: Vec::new(), decoder: Decoder::new(self.item_limits) }
    }

    /// A check for whether the client has disconnected during an operation.
    #[must_use]
    pub(crate) fn hangup(&self) -> Option<Hangup> {
        self.transport.hangup()
    }

    /// Whether the connection itself still works. An operation may return an error of the
    /// connection wrapped in another error; this method distinguishes the two.
    ///
    /// # Errors
    /// The first error of the connection.
    pub(crate) fn check(&self) -> SvnResult<()> {
        self.broken.clone().map_or(Ok(()), Err)
    }

    fn note<T>(&mut self, result: SvnResult<T>) -> SvnResult<T> {
        if let Err(error) = &result {
            self.broken.get_or_insert_with(|| error.clone());
        }
        result
    }

    /// Restarts the count of bytes that are sent for one request.
    pub(crate) fn begin_request(&mut self) {
        self.sent = 0;
    }

    /// Bytes of the reply to the request so far.
    pub(crate) fn reply_bytes(&self) -> u64 {
        self.sent.plus(len64(self.output.len()))
    }

    /// Receives one item, after sending the whole output.
    ///
    /// # Errors
    /// E210002 when the client is gone; malformed or overlong items; limits of time.
    pub(crate) fn receive(&mut self, wait: Wait, request: &mut Request) -> SvnResult<()> {
        // The rest of the last item is not kept while the client is idle.
        self.requests_held = match wait {
            Wait::Request => 0,
            _ => self.requests_held.minus(request.memory_used()),
        };
        request.clear();
        if wait == Wait::Request {
            self.input.give_back(IDLE_BYTES);
        }
        let len = self.fill(wait)?;
        self.input.take(len, &mut request.bytes, &mut request.decoder);
        self.requests_held = self.requests_held.plus(request.memory_used());
        Ok(())
    }

    /// Counts so many more bytes that were made from the request in progress.
    ///
    /// # Errors
    /// The request is too large when the sum is [`MADE_OF_REQUEST`] times as much as a request may
    /// have; E210002 when there was no room in time.
    pub(crate) fn hold_more(&mut self, bytes: usize) -> SvnResult<()> {
        if bytes > self.item_limits.bytes.saturating_mul(MADE_OF_REQUEST) {
            return Err(sapwood_wire_svn::Error::RequestTooLarge.into());
        }
        self.requests_held = self.requests_held.plus(bytes);
        self.hold(0)?;
        self.share.set_busy();
        Ok(())
    }

    /// Receives one item and lets `look` read from it what it needs.
    ///
    /// # Errors
    /// As [`Connection::receive`], and what `look` returns.
    pub(crate) fn receive_with<T>(
        &mut self,
        wait: Wait,
        look: impl FnOnce(Tuple<'_>) -> SvnResult<T>,
    ) -> SvnResult<T> {
        let len = self.fill(wait)?;
        let result = self.input.tuple(len).map_err(SvnError::from).and_then(look);
        self.input.consume(len);
        result
    }

    /// The same, and all bytes that have arrived, with those of the item.
    ///
    /// # Errors
    /// As [`Connection::receive_with`].
    pub(crate) fn receive_whole<T>(
        &mut self,
        wait: Wait,
        look: impl FnOnce(Tuple<'_>) -> SvnResult<T>,
    ) -> SvnResult<(T, Vec<u8>)> {
        let len = self.fill(wait)?;
        let arrived = self.input.unread().to_vec();
        let result = self.input.tuple(len).map_err(SvnError::from).and_then(look);
        self.input.consume(len);
        Ok((result?, arrived))
    }

    /// Receives one item that is a string.
    ///
    /// # Errors
    /// As [`Connection::receive`]; `None` when it is something else.
    pub(crate) fn receive_string(&mut self, wait: Wait) -> SvnResult<Option<Vec<u8>>> {
        let len = self.fill(wait)?;
        let text = match self.input.item(len)? {
            sapwood_wire_svn::Item::Text(bytes) => Some(bytes.to_vec()),
            _ => None,
        };
        self.input.consume(len);
        Ok(text)
    }

    /// Waits until the input holds a whole item, and returns its length.
    fn fill(&mut self, wait: Wait) -> SvnResult<usize> {
        self.check()?;
        let result = self.try_fill(wait);
        self.share.set_busy();
        self.note(result)
    }

    fn try_fill(&mut self, wait: Wait) -> SvnResult<usize> {
        let mut begun = Instant::now();
        self.input.begin();
        self.hold(0)?;
        // White space before an item belongs to no request: it is not limited, and not kept.
        while self.input.skip_blank() {
            self.flush()?;
            let patience = self.patience(wait, true, begun)?;
            self.read_some(1, patience)?;
        }
        // The time limit of a request begins with its first byte, however long the client was idle
        // before; for a greeting and an answer to a challenge it begins at once.
        if wait == Wait::Request {
            begun = Instant::now();
        }
        loop {
            let missing = match self.input.advance()? {
                Progress::Complete(len) => return Ok(len),
                Progress::NeedMore(missing) => missing,
            };
            self.flush()?;
            self.hold(missing)?;
            let patience = self.patience(wait, false, begun)?;
            self.read_some(missing, patience)?;
        }
    }

    /// Reserves memory for what this connection holds, and so many bytes more, in the budget of all.
    fn hold(&mut self, missing: usize) -> SvnResult<()> {
        let bytes = self.requests_held.saturating_add(self.input.memory_with(missing));
        self.share.grow(bytes)
    }

    /// How long to wait for the next bytes.
    fn patience(&self, wait: Wait, between: bool, begun: Instant) -> SvnResult<Duration> {
        let total = match wait {
            Wait::Greeting => self.limits.greeting,
            Wait::Login => self.limits.login,
            Wait::Request if between => self.limits.idle,
            Wait::Request | Wait::Exchange => self.limits.time_for(self.input.unread().len()),
        };
        let left = total.checked_sub(begun.elapsed()).filter(|left| !left.is_zero());
        let most = if between { total } else { self.limits.stall };
        left.map(|left| left.min(most)).ok_or_else(closed)
    }

    fn read_some(&mut self, missing: usize, patience: Duration) -> SvnResult<()> {
        let Self { input, transport, standing, .. } = self;
        let socket = transport.socket().cloned();
        let read =
            |room: &mut [u8]| standing.during(socket.as_ref(), || transport.read(room, patience));
        match input.read_more(missing, read) {
            Ok(0) => Err(closed()),
            Ok(_) => Ok(()),
            Err(e) => Err(read_error(&e)),
        }
    }

    /// Sends everything that is in the output buffer.
    ///
    /// # Errors
    /// System errors, E210010 when the reply is longer than it may be.
    pub(crate) fn flush(&mut self) -> SvnResult<()> {
        if self.output.is_empty() { Ok(()) } else { self.send(&[]) }
    }

    fn send(&mut self, more: &[u8]) -> SvnResult<()> {
        self.check()?;
        let result = self.try_send(more);
        self.output.clear();
        self.output.shrink_to(KEEP_BYTES);
        self.note(result)
    }

    fn try_send(&mut self, more: &[u8]) -> SvnResult<()> {
        let len = self.output.len().plus(more.len());
        self.sent = self.sent.plus(len64(len));
        if self.limits.response_bytes.is_some_and(|max| self.sent > max) {
            return Err(SvnError::new(
                ErrorCode::RA_SVN_RESPONSE_SIZE,
                "The server response size exceeds the configured limit",
            ));
        }
        self.may_have_answered = true;
        let Self { transport, output, standing, .. } = self;
        let socket = transport.socket().cloned();
        let sent = standing.during(socket.as_ref(), || transport.write_both(output, more));
        sent.map_err(|e| write_error(&e))
    }

    /// Marks the current position of the output, for [`Connection::take_back`].
    #[must_use]
    pub(crate) fn mark(&self) -> Mark {
        Mark { sent: self.sent, len: self.output.len() }
    }

    /// Takes back what was written since `mark`, so that an error can be sent in its place. When
    /// some of it was already sent, the connection cannot be used any more: the other side would
    /// read the error as more of what it is reading.
    pub(crate) fn take_back(&mut self, mark: Mark, error: &SvnError) {
        if self.sent == mark.sent {
            self.output.truncate(mark.len);
        } else {
            self.broken.get_or_insert_with(|| error.clone());
        }
    }

    /// Appends `( success ( ) )`.
    pub(crate) fn success(&mut self) {
        write_success(&mut self.output);
    }

    /// Appends a failure reply.
    pub(crate) fn failure(&mut self, error: &SvnError) {
        match &self.folders {
            Some(folders) => write_failure(&mut self.output, &folders.hide(error)),
            None => write_failure(&mut self.output, error),
        }
    }

    /// The output buffer, to append to.
    pub(crate) fn out(&mut self) -> &mut Vec<u8> {
        &mut self.output
    }
}

fn closed() -> SvnError {
    SvnError::new(ErrorCode::RA_SVN_CONNECTION_CLOSED, "")
}

fn read_error(error: &std::io::Error) -> SvnError {
    if let Some(error) = LayerError::of(error) {
        return error;
    }
    match error.kind() {
        std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut => closed(),
        _ => SvnError::io(error, "Can't read from connection"),
    }
}

fn write_error(error: &std::io::Error) -> SvnError {
    LayerError::of(error).unwrap_or_else(|| SvnError::io(error, "Can't write to connection"))
}

impl Sink for Connection {
    fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.output
    }

    fn flush_if_large(&mut self) -> SvnResult<()> {
        if self.output.len() >= OUTPUT_BYTES { self.send(&[]) } else { Ok(()) }
    }

    fn write_through(&mut self, bytes: &[u8]) -> SvnResult<()> {
        self.send(bytes)
    }
}

impl EditSink for Connection {
    fn peer_spoke(&mut self) -> SvnResult<bool> {
        if !std::mem::take(&mut self.may_have_answered) {
            return Ok(false);
        }
        // White space is ignored: clients may end their items with as much of it as they like.
        while self.input.skip_blank() {
            if !self.transport.readable_now() {
                return Ok(false);
            }
            let read = self.read_some(1, self.limits.stall);
            self.note(read)?;
        }
        Ok(true)
    }

    fn read_reply(&mut self) -> SvnResult<()> {
        self.receive_with(Wait::Exchange, |reply| read_reply(reply).map(|_| ()))
    }
}
