//! One connection's buffers, both ways.
//!
//! Invariants: everything that was written is sent before the connection waits; memory for input
//! is taken as bytes arrive, whatever lengths the server announces.

use sapwood_core::exact::Exact;
use sapwood_core::{ErrorCode, SvnError, SvnResult};
use sapwood_wire_svn::buffer::Sizes;
use sapwood_wire_svn::editor::{CommandSource, DriveError, EditSink};
use sapwood_wire_svn::failure::{read_reply, write_failure, write_success};
use sapwood_wire_svn::security_layer::{Layer, LayerError};
use sapwood_wire_svn::{
    Error as WireError, InputBuffer, Item, Limits, List, Progress, Sink, Tuple,
};

use super::protection::Protection;
use super::transport::Transport;

/// The output buffer is sent when it holds this much.
const OUTPUT_BYTES: usize = 64 << 10;
/// After an item that needed more, buffers shrink to this size.
const KEEP_BYTES: usize = 1 << 20;
/// How the input grows.
const INPUT: Sizes = Sizes { read: 64 << 10, trust: 1 << 20, keep: KEEP_BYTES };
/// The most bytes of one item of a server: directories come as one item, with all their entries.
const LIMITS: Limits = Limits { bytes: 1 << 30, tokens: 1 << 24 };

/// One connection.
#[derive(Debug)]
pub struct Connection {
    transport: Transport,
    protection: Protection,
    input: InputBuffer,
    output: Vec<u8>,
    /// Bytes sent and received.
    transferred: u64,
    /// Whether bytes were sent since the last check for data from the server.
    may_have_answered: bool,
    /// The first error of the connection itself; nothing works after it.
    broken: Option<SvnError>,
    /// Whether that error is that the connection was closed, or was given up: a new one may work.
    lost: bool,
    /// Moves of the session that went out, or will go out, with the command after them, and are not answered yet.
    moves: usize,
}

impl Connection {
    /// A connection over `transport`.
    #[must_use]
    pub fn new(transport: Transport) -> Self {
        Self {
            transport,
            protection: Protection::default(),
            input: InputBuffer::new(LIMITS, INPUT),
            output: Vec::new(),
            transferred: 0,
            may_have_answered: false,
            broken: None,
            lost: false,
            moves: 0,
        }
    }

    /// A connection that was given up.
    pub(super) fn ended() -> Self {
        let mut conn = Self::new(Transport::Recorded(std::io::Cursor::new(Vec::new())));
        conn.give_up();
        conn
    }

    /// Whether another session may use it: nothing is on its way, and it was not closed.
    pub(super) fn is_idle(&self) -> bool {
        let is_between = self.broken.is_none() && self.input.is_empty() && self.output.is_empty();
        is_between && !self.lost && !self.readable_now()
    }

    /// Counts bytes from now on.
    pub(super) const fn begin_count(&mut self) {
        self.transferred = 0;
    }

    /// Replaces `before`, which was closed.
    pub(super) fn replace(self, before: &mut Self) {
        let transferred = self.transferred.plus(before.transferred);
        *before = Self { transferred, ..self };
    }

    /// Whether the connection was closed or given up.
    #[must_use]
    pub(crate) const fn is_lost(&self) -> bool {
        self.lost
    }

    /// Whether the server has closed the connection, as far as is known now. To be called
    /// between requests.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        let idle = self.broken.is_none() && self.input.is_empty() && self.output.is_empty();
        self.lost || (idle && self.transport.is_closed())
    }

    /// Bytes sent and received.
    #[must_use]
    pub const fn transferred(&self) -> u64 {
        self.transferred
    }

    /// The output buffer, to append to.
    pub fn out(&mut self) -> &mut Vec<u8> {
        &mut self.output
    }

    /// How many moves are not answered yet.
    pub(super) const fn moves(&self) -> usize {
        self.moves
    }

    /// Expects the answers to so many moves before any other, in place of those that were expected.
    pub(super) const fn expect_moves(&mut self, moves: usize) {
        self.moves = moves;
    }

    /// Reads the answers to moves: of each that the server wants no proof, and that it went there.
    fn read_moves(&mut self) -> SvnResult<()> {
        while self.moves > 0 {
            self.moves = self.moves.minus(1);
            let moved = self.receive_next(|item| {
                let mut request = read_reply(item.list()?.tuple())?;
                match request.list()?.next() {
                    None => Ok(()),
                    Some(_) => {
                        Err(WireError::Part("A server that knows the user asks again").into())
                    }
                }
            });
            let moved = moved.and_then(|()| {
                self.receive_next(|item| read_reply(item.list()?.tuple()).map(drop))
            });
            if moved.is_err() {
                // The command after it was meant for another URL.
                self.give_up();
                return moved;
            }
        }
        Ok(())
    }

    /// Gives the connection up: the two sides are out of step.
    pub fn give_up(&mut self) {
        self.lost = true;
        self.broken.get_or_insert_with(closed);
    }

    fn check(&self) -> SvnResult<()> {
        self.broken.clone().map_or(Ok(()), Err)
    }

    fn note<T>(&mut self, result: SvnResult<T>) -> SvnResult<T> {
        if let Err(error) = &result {
            self.broken.get_or_insert_with(|| error.clone());
        }
        result
    }

    /// Receives one item, after sending everything that is to be sent, and lets `look` take from
    /// it what it wants.
    ///
    /// # Errors
    /// E210002 when the server has closed the connection; E210004 for malformed items; what `look` returns.
    pub fn receive<T>(&mut self, look: impl FnOnce(Item<'_>) -> SvnResult<T>) -> SvnResult<T> {
        self.read_moves()?;
        self.receive_next(look)
    }

    fn receive_next<T>(&mut self, look: impl FnOnce(Item<'_>) -> SvnResult<T>) -> SvnResult<T> {
        self.check()?;
        let filled = self.fill();
        let len = self.note(filled)?;
        let result = self.input.item(len).map_err(SvnError::from).and_then(look);
        self.input.consume(len);
        result
    }

    /// Receives one item that is a list.
    ///
    /// # Errors
    /// As [`Connection::receive`].
    pub(crate) fn receive_tuple<T>(
        &mut self,
        look: impl FnOnce(Tuple<'_>) -> SvnResult<T>,
    ) -> SvnResult<T> {
        self.receive(|item| look(item.list()?.tuple()))
    }

    /// Receives the reply to a command.
    ///
    /// # Errors
    /// The failure that the server reports, and as [`Connection::receive`].
    pub fn reply<T>(&mut self, look: impl FnOnce(Tuple<'_>) -> SvnResult<T>) -> SvnResult<T> {
        self.receive_tuple(|reply| look(read_reply(reply)?))
    }

    /// Receives a string into `into`, replacing its content; false, with `into` empty, when
    /// the string is empty, which ends a series.
    ///
    /// # Errors
    /// As [`Connection::receive`]; `otherwise` when the item is no string.
    pub(crate) fn receive_chunk(
        &mut self,
        into: &mut Vec<u8>,
        otherwise: &'static str,
    ) -> SvnResult<bool> {
        into.clear();
        self.receive(|item| match item {
            Item::Text(bytes) => {
                into.extend_from_slice(bytes);
                Ok(!bytes.is_empty())
            }
            _ => Err(WireError::Part(otherwise).into()),
        })
    }

    /// Passes over what a login script of the other side prints before the greeting.
    ///
    /// # Errors
    /// E210002 when no greeting comes.
    pub(crate) fn skip_garbage(&mut self) -> SvnResult<()> {
        loop {
            let unread = self.input.unread();
            let found = unread.windows(2).position(|pair| matches!(pair, b"( " | b"(\n"));
            if let Some(at) = found {
                self.input.consume(at);
                return Ok(());
            }
            let kept = usize::from(unread.ends_with(b"("));
            let passed = unread.len().minus(kept);
            self.input.consume(passed);
            let read = self.flush().and_then(|()| self.read_more(1));
            self.note(read)?;
        }
    }

    /// Waits until the input holds a whole item, and returns its length.
    fn fill(&mut self) -> SvnResult<usize> {
        self.input.begin();
        loop {
            let missing = match self.input.advance()? {
                Progress::Complete(len) => return Ok(len),
                Progress::NeedMore(missing) => missing,
            };
            self.flush()?;
            self.read_more(missing)?;
        }
    }

    fn read_more(&mut self, missing: usize) -> SvnResult<()> {
        let Self { input, transport, protection, .. } = self;
        match input.read_more(missing, |room| protection.read(transport, room)) {
            Ok(0) => {
                self.lost = true;
                Err(closed())
            }
            Ok(got) => {
                self.count(got);
                Ok(())
            }
            Err(e) => {
                self.lost = true;
                Err(failed(&e, "Can't read from connection"))
            }
        }
    }

    fn count(&mut self, bytes: usize) {
        self.transferred.tally(sapwood_core::exact::len64(bytes));
    }

    /// Sends everything that is in the output buffer.
    ///
    /// # Errors
    /// System errors.
    pub fn flush(&mut self) -> SvnResult<()> {
        if self.output.is_empty() { Ok(()) } else { self.send(&[]) }
    }

    fn send(&mut self, more: &[u8]) -> SvnResult<()> {
        self.check()?;
        self.may_have_answered = true;
        let Self { transport, protection, output, .. } = self;
        let result = protection.write_both(transport, output, more);
        self.count(self.output.len().plus(more.len()));
        self.output.clear();
        self.output.shrink_to(KEEP_BYTES);
        self.lost |= result.is_err();
        self.note(result.map_err(|e| failed(&e, "Can't write to connection")))
    }

    /// Protects all that follows by the layer that a login agreed on, unless an earlier login has agreed on one: like the
    /// reference, a connection keeps its first. What was written before is sent without it.
    ///
    /// # Errors
    /// As of [`Connection::flush`].
    pub(super) fn protect(&mut self, layer: Layer) -> SvnResult<()> {
        self.flush()?;
        if !self.protection.is_on() {
            let arrived = self.input.unread().to_vec();
            self.input.consume(arrived.len());
            self.protection.begin(layer, &arrived);
        }
        Ok(())
    }

    fn readable_now(&self) -> bool {
        self.protection.is_ready() || self.transport.readable_now()
    }

    /// Appends `( success ( ) )`.
    pub fn success(&mut self) {
        write_success(&mut self.output);
    }

    /// Appends a failure.
    pub fn failure(&mut self, error: &SvnError) {
        write_failure(&mut self.output, error);
    }
}

/// The error of a transport, or of the layer above it.
fn failed(error: &std::io::Error, doing: &str) -> SvnError {
    LayerError::of(error).unwrap_or_else(|| SvnError::io(error, doing))
}

/// The error for a closed connection.
pub(super) fn closed() -> SvnError {
    SvnError::new(ErrorCode::RA_SVN_CONNECTION_CLOSED, "")
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
        // White space is no data.
        while self.input.skip_blank() {
            if !self.readable_now() {
                return Ok(false);
            }
            let read = self.read_more(1);
            self.note(read)?;
        }
        Ok(true)
    }

    fn read_reply(&mut self) -> SvnResult<()> {
        self.reply(|_| Ok(()))
    }
}

impl CommandSource for Connection {
    fn next_command<T>(
        &mut self,
        look: impl FnOnce(&str, List<'_>) -> Result<T, DriveError>,
    ) -> Result<T, DriveError> {
        let looked = self.receive_tuple(|mut command| {
            let name = command.word()?;
            let params = command.list()?;
            Ok(look(name, params))
        });
        looked.map_err(DriveError::Source)?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(bytes: &[u8]) -> Connection {
        Connection::new(Transport::Recorded(std::io::Cursor::new(bytes.to_vec())))
    }

    #[test]
    fn garbage_before_the_greeting() {
        let mut conn = recorded(b"Welcome (to all)!\n(x( success ( 1 ) ) ");
        conn.skip_garbage().unwrap();
        assert_eq!(conn.reply(|mut t| Ok(t.number()?)).unwrap(), 1);
        let error = recorded(b"Permission denied (").skip_garbage().unwrap_err();
        assert_eq!(error.code(), ErrorCode::RA_SVN_CONNECTION_CLOSED);
    }

    #[test]
    fn a_broken_connection_stays_broken() {
        let mut conn = recorded(b"( success ( ) ) )) ( success ( ) ) ");
        conn.reply(|_| Ok(())).unwrap();
        let first = conn.reply(|_| Ok(())).unwrap_err();
        assert_eq!(first.code(), ErrorCode::RA_SVN_MALFORMED_DATA);
        assert_eq!(conn.reply(|_| Ok(())).unwrap_err(), first);
    }

    #[test]
    fn announced_lengths_take_no_memory() {
        let mut conn = recorded(b"900000000:abc");
        let mut chunk = Vec::new();
        let error = conn.receive_chunk(&mut chunk, "no string").unwrap_err();
        assert_eq!(error.code(), ErrorCode::RA_SVN_CONNECTION_CLOSED);
        assert!(conn.input.capacity() <= 2 * INPUT.trust + INPUT.read);
    }
}
