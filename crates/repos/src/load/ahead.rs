//! A dump stream read ahead: one thread reads and parses it and hashes its texts, another visits
//! what it holds.
//!
//! What was read and not yet taken is bounded by [`IN_FLIGHT`] bytes, beside one item that may be
//! longer by itself. The visitor gets the same calls in the same order as from
//! [`dumpstream::parse`], errors of the stream at their place among them.

use sapwood_core::{Cut, Exact};
use std::collections::VecDeque;
use std::io::{self, BufRead, Read};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use sapwood_core::{CancelToken, ErrorCode, Md5, Sha1, SvnError, SvnResult};
use sapwood_fs::txn::KnownText;

use super::delta_guesses::DeltaGuesses;
use crate::dumpstream::{self, DumpVisitor, Headers, TextBlock};

/// Bytes that are read ahead at most. Guesses about what lies far ahead are seldom right.
const IN_FLIGHT: usize = 1 << 20;
/// Bytes that are handed over at once.
const BATCH: usize = 32 << 10;
/// Texts up to this many bytes are hashed before they are handed on.
const HASHED: u64 = 1 << 20;
/// Bytes of a longer text that are handed over at once.
const PIECE: usize = 256 << 10;
/// How long the input may have nothing for us before we do other things.
const PATIENCE: Duration = Duration::from_millis(20);
/// What an event costs beside its bytes.
const EVENT: usize = 64;

/// One call of a visitor.
enum Event {
    Version(i64),
    Uuid(Vec<u8>),
    Revision(Headers),
    RevisionProp(Vec<u8>, Vec<u8>),
    CloseRevision,
    Node(Headers),
    RemoveProps,
    Prop(Vec<u8>, Vec<u8>),
    DeleteProp(Vec<u8>),
    /// A text begins: its length, whether it is a delta, and what is known of it. Its pieces
    /// follow.
    Text(u64, bool, Option<KnownText>),
    Piece(Vec<u8>),
    CloseNode,
    /// The stream cannot be read further.
    Failed(SvnError),
    End,
}

#[derive(Default)]
struct WaitingRevision {
    batches: VecDeque<(Vec<Event>, usize)>,
    bytes: usize,
    /// The consumer has ended.
    abandoned: bool,
    /// Memory of pieces that were taken, for the next ones: the thread that gives it back is not
    /// the one that needs it.
    spare: Vec<Vec<u8>>,
}

/// Pieces whose memory is kept, and its bytes for each at most.
const SPARE: usize = 64;
const SPARE_LEN: usize = 64 << 10;

/// Batches of events on their way.
#[derive(Default)]
struct Queue {
    waiting: Mutex<WaitingRevision>,
    changed: Condvar,
}

impl Queue {
    /// Adds a batch, when there is room; `false` when the consumer has ended.
    fn push(&self, events: Vec<Event>, bytes: usize) -> bool {
        let mut waiting = self.waiting.lock();
        while !waiting.abandoned && waiting.bytes > 0 && waiting.bytes.plus(bytes) > IN_FLIGHT {
            self.changed.wait(&mut waiting);
        }
        if waiting.abandoned {
            return false;
        }
        waiting.batches.push_back((events, bytes));
        waiting.bytes = waiting.bytes.plus(bytes);
        self.changed.notify_all();
        true
    }

    /// The next batch; `None` when there is none for as long as `patience`.
    fn pop(&self, patience: Duration) -> Option<Vec<Event>> {
        let mut waiting = self.waiting.lock();
        let deadline = Instant::now().checked_add(patience);
        loop {
            if let Some((events, bytes)) = waiting.batches.pop_front() {
                waiting.bytes = waiting.bytes.saturating_sub(bytes);
                self.changed.notify_all();
                return Some(events);
            }
            match deadline {
                Some(deadline) => {
                    if self.changed.wait_until(&mut waiting, deadline).timed_out() {
                        return None;
                    }
                }
                None => self.changed.wait(&mut waiting),
            }
        }
    }

    /// Empty memory for a piece.
    fn spare(&self) -> Vec<u8> {
        self.waiting.lock().spare.pop().unwrap_or_default()
    }

    /// Takes back the memory of a piece.
    fn give_back(&self, mut piece: Vec<u8>) {
        piece.clear();
        if (1..=SPARE_LEN).contains(&piece.capacity()) {
            let mut waiting = self.waiting.lock();
            if waiting.spare.len() < SPARE {
                waiting.spare.push(piece);
            }
        }
    }

    fn abandon(&self) {
        let mut waiting = self.waiting.lock();
        waiting.abandoned = true;
        waiting.batches.clear();
        self.changed.notify_all();
    }
}

/// The side that reads.
struct Sender {
    queue: Arc<Queue>,
    events: Vec<Event>,
    bytes: usize,
    delta_guesses: Option<DeltaGuesses>,
}

impl Sender {
    fn send(&mut self, event: Event, bytes: usize) -> SvnResult<()> {
        self.events.push(event);
        self.bytes = self.bytes.plus(bytes).plus(EVENT);
        if self.bytes >= BATCH { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> SvnResult<()> {
        let events = std::mem::take(&mut self.events);
        if self.queue.push(events, std::mem::take(&mut self.bytes)) {
            Ok(())
        } else {
            Err(SvnError::new(ErrorCode::CANCELLED, "Caught signal"))
        }
    }
}

impl DumpVisitor for Sender {
    fn format_version(&mut self, version: i64) -> SvnResult<()> {
        self.send(Event::Version(version), 0)
    }

    fn uuid(&mut self, uuid: &[u8]) -> SvnResult<()> {
        self.send(Event::Uuid(uuid.to_vec()), uuid.len())
    }

    fn revision(&mut self, headers: &Headers) -> SvnResult<()> {
        self.send(Event::Revision(headers.clone()), headers.byte_len())
    }

    fn revision_prop(&mut self, name: &[u8], value: Vec<u8>) -> SvnResult<()> {
        let bytes = name.len().plus(value.len());
        self.send(Event::RevisionProp(name.to_vec(), value), bytes)
    }

    fn close_revision(&mut self) -> SvnResult<()> {
        self.send(Event::CloseRevision, 0)
    }

    fn node(&mut self, headers: &Headers) -> SvnResult<()> {
        if let Some(delta_guesses) = &mut self.delta_guesses {
            delta_guesses.node(headers);
        }
        self.send(Event::Node(headers.clone()), headers.byte_len())
    }

    fn remove_node_props(&mut self) -> SvnResult<()> {
        self.send(Event::RemoveProps, 0)
    }

    fn node_prop(&mut self, name: &[u8], value: Vec<u8>) -> SvnResult<()> {
        let bytes = name.len().plus(value.len());
        self.send(Event::Prop(name.to_vec(), value), bytes)
    }

    fn delete_node_prop(&mut self, name: &[u8]) -> SvnResult<()> {
        self.send(Event::DeleteProp(name.to_vec()), name.len())
    }

    fn text(&mut self, text: &mut TextBlock<'_>) -> SvnResult<()> {
        let (len, is_delta) = (text.len(), text.is_delta());
        if len > HASHED {
            self.send(Event::Text(len, is_delta, None), 0)?;
            let mut piece = Vec::new();
            while let Some(bytes) = text.next_bytes()? {
                piece.extend_from_slice(bytes);
                if piece.len() >= PIECE {
                    let bytes = piece.len();
                    self.send(Event::Piece(std::mem::take(&mut piece)), bytes)?;
                }
            }
            let bytes = piece.len();
            return self.send(Event::Piece(piece), bytes);
        }
        let mut whole = self.queue.spare();
        let mut read = || -> SvnResult<()> {
            while let Some(bytes) = text.next_bytes()? {
                whole.extend_from_slice(bytes);
            }
            Ok(())
        };
        // A text that is not there whole is handed on as far as it goes, then the error.
        let done = read();
        let delta_guesses = &mut self.delta_guesses;
        let known = (done.is_ok() && !is_delta).then(|| KnownText {
            md5: Md5::of(&whole),
            sha1: Sha1::of(&whole),
            delta: delta_guesses.as_mut().and_then(|delta_guesses| delta_guesses.text(&whole)),
        });
        self.send(Event::Text(len, is_delta, known), 0)?;
        let bytes = whole.len();
        self.send(Event::Piece(whole), bytes)?;
        done
    }

    fn close_node(&mut self) -> SvnResult<()> {
        self.send(Event::CloseNode, 0)
    }
}

/// The side that takes.
struct Receiver {
    queue: Arc<Queue>,
    events: std::vec::IntoIter<Event>,
}

impl Receiver {
    fn next(&mut self) -> Event {
        loop {
            if let Some(event) = self.next_within(Duration::MAX) {
                return event;
            }
        }
    }

    /// The next event, if there is one before `patience` ends.
    fn next_within(&mut self, patience: Duration) -> Option<Event> {
        loop {
            if let Some(event) = self.events.next() {
                return Some(event);
            }
            self.events = self.queue.pop(patience)?.into_iter();
        }
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.queue.abandon();
    }
}

/// The pieces of one text as an input.
struct Pieces<'a> {
    receiver: &'a mut Receiver,
    piece: Vec<u8>,
    used: usize,
    /// What comes after the text, when it came too early.
    failed: Option<SvnError>,
}

impl Drop for Pieces<'_> {
    fn drop(&mut self) {
        self.receiver.queue.give_back(std::mem::take(&mut self.piece));
    }
}

impl Read for Pieces<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let have = self.fill_buf()?;
        let take = have.len().min(buf.len());
        if let (Some(to), Some(from)) = (buf.get_mut(..take), have.get(..take)) {
            to.copy_from_slice(from);
        }
        self.consume(take);
        Ok(take)
    }
}

impl BufRead for Pieces<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while self.used >= self.piece.len() {
            if let Some(error) = &self.failed {
                return Err(io::Error::other(error.clone()));
            }
            match self.receiver.next() {
                Event::Piece(piece) => {
                    self.used = 0;
                    self.receiver.queue.give_back(std::mem::replace(&mut self.piece, piece));
                }
                Event::Failed(error) => self.failed = Some(error),
                // The sender sends the whole text, or an error.
                _ => return Ok(&[]),
            }
        }
        Ok(self.piece.tail(self.used))
    }

    fn consume(&mut self, amount: usize) {
        self.used = self.used.plus(amount);
    }
}

/// A visitor that has other things to do while the input has nothing for it.
pub(super) trait Patient: DumpVisitor {
    /// The input lets us wait.
    fn idle(&mut self) -> SvnResult<()>;
}

/// Calls `visitor` with what the stream `input` holds, as [`dumpstream::parse`] does, while another
/// thread reads it, and guesses with `delta_guesses` how texts will be stored. When this returns early, that thread ends as soon as the input gives it
/// something.
///
/// # Errors
/// Those of [`dumpstream::parse`].
pub(super) fn parse_ahead(
    mut input: Box<dyn BufRead + Send>,
    visitor: &mut dyn Patient,
    delta_guesses: Option<DeltaGuesses>,
    cancel: &CancelToken,
) -> SvnResult<()> {
    let queue = Arc::new(Queue::default());
    let mut sender =
        Sender { queue: Arc::clone(&queue), events: Vec::new(), bytes: 0, delta_guesses };
    let mut receiver = Receiver { queue, events: Vec::new().into_iter() };
    let reader_cancel = cancel.clone();
    let read = move || {
        let read = dumpstream::parse(&mut *input, &mut sender, false, &reader_cancel);
        sender.events.push(read.map_or_else(Event::Failed, |()| Event::End));
        // The consumer may have ended.
        let _ = sender.flush();
    };
    let started = std::thread::Builder::new().name("dump-reader".to_owned()).spawn(read);
    started.map_err(|e| SvnError::io(&e, "Can't start a thread"))?;
    loop {
        let event = match receiver.next_within(PATIENCE) {
            Some(event) => event,
            None => {
                visitor.idle()?;
                receiver.next()
            }
        };
        match event {
            Event::Version(version) => visitor.format_version(version)?,
            Event::Uuid(uuid) => visitor.uuid(&uuid)?,
            Event::Revision(headers) => visitor.revision(&headers)?,
            Event::RevisionProp(name, value) => visitor.revision_prop(&name, value)?,
            Event::CloseRevision => {
                visitor.close_revision()?;
                if cancel.is_cancelled() {
                    return Err(SvnError::new(ErrorCode::CANCELLED, "Caught signal"));
                }
            }
            Event::Node(headers) => visitor.node(&headers)?,
            Event::RemoveProps => visitor.remove_node_props()?,
            Event::Prop(name, value) => visitor.node_prop(&name, value)?,
            Event::DeleteProp(name) => visitor.delete_node_prop(&name)?,
            Event::Text(len, is_delta, known) => {
                let mut pieces =
                    Pieces { receiver: &mut receiver, piece: Vec::new(), used: 0, failed: None };
                let mut block = TextBlock::new(&mut pieces, len, is_delta, known);
                visitor.text(&mut block)?;
                block.finish()?;
            }
            // An empty text has an empty piece that is never asked for.
            Event::Piece(_) => {}
            Event::CloseNode => visitor.close_node()?,
            Event::Failed(error) => return Err(error),
            Event::End => return Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
