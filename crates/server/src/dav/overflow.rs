//! The part of a reply that the client does not read yet, in a temporary file that is used as a
//! ring buffer.
//!
//! One thread writes, and one task reads and sends. Invariant: the task sends everything that was written, in
//! order, and after it the end or the error; after the client has gone, a ring accepts nothing more.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Buf as _;
use parking_lot::{Condvar, Mutex};
use sapwood_core::SvnResult;
use sapwood_core::exact::{Cut as _, Exact as _};
use tokio::sync::Notify;

use super::fail::client_gone;
use super::outlet::{Outlet, Pieces, WANTED};
use super::piece::Piece;
use crate::common::spool::SpoolFile;

/// Bytes that may lie in the file.
const CAPACITY: u64 = 64 << 20;
/// Bytes that are read and sent at a time.
const PIECE: u64 = 64 << 10;
/// How often a thread that waits for room checks whether it may continue to wait.
const LOOK: Duration = Duration::from_millis(200);

/// The writer's end.
#[derive(Debug)]
pub(super) struct Overflow(Arc<Ring>);

#[derive(Debug)]
struct Ring {
    state: Mutex<State>,
    file: Mutex<SpoolFile>,
    /// Something was written, or the end is there.
    written: Notify,
    /// Something was read, or the client has gone.
    read: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Bytes read and written since the beginning.
    read: u64,
    written: u64,
    /// Nothing more is written.
    end: Option<EndOfWriting>,
    /// The client has gone.
    closed: bool,
}

/// How the writing ended.
#[derive(Debug)]
pub(super) enum EndOfWriting {
    /// The reply is complete.
    Complete,
    /// The rest is sent in another way.
    Left,
    /// The reply failed.
    Failed(io::Error),
}

/// The next step of the task.
enum Next {
    Send { at: u64, length: u64 },
    Wait,
    End(EndOfWriting),
}

impl Overflow {
    /// An empty ring, whose contents go to `pieces`.
    ///
    /// # Errors
    /// System errors.
    pub(super) fn new(outlet: &Outlet, pieces: Pieces) -> io::Result<Self> {
        let ring = Arc::new(Ring {
            state: Mutex::default(),
            file: Mutex::new(outlet.workers.spool.file(Some(outlet.client))?),
            written: Notify::new(),
            read: Condvar::new(),
        });
        outlet.handle.spawn(send_on(Arc::clone(&ring), pieces, outlet.clone()));
        Ok(Self(ring))
    }

    /// Whether all that was written was sent.
    pub(super) fn is_empty(&self) -> bool {
        let state = self.0.state.lock();
        state.read == state.written && !state.closed
    }

    /// Writes a piece. Where there is no room, waits as long as `may_wait` says of a client that has read
    /// nothing for some time; `false` when that ends.
    ///
    /// # Errors
    /// E190004 when the client has gone; system errors.
    pub(super) fn write(
        &self,
        mut piece: Piece,
        may_wait: &dyn Fn(Duration) -> bool,
    ) -> SvnResult<bool> {
        while piece.has_remaining() {
            let Some(at) = self.place(piece.chunk().len(), may_wait)? else { return Ok(false) };
            let (start, room) = (at % CAPACITY, CAPACITY.minus(at % CAPACITY));
            let room = sapwood_core::exact::clamped(room);
            let bytes = piece.chunk().head(room.min(piece.chunk().len()));
            let written = self.0.file.lock().write_at(bytes, start);
            written.map_err(|e| client_gone(&e.to_string()))?;
            let length = bytes.len();
            piece.advance(length);
            self.0.state.lock().written = at.plus(sapwood_core::exact::len64(length));
            self.0.written.notify_one();
        }
        Ok(true)
    }

    /// Where to write, once there is room for so many bytes.
    fn place(&self, bytes: usize, may_wait: &dyn Fn(Duration) -> bool) -> SvnResult<Option<u64>> {
        let bytes = sapwood_core::exact::len64(bytes);
        let mut state = self.0.state.lock();
        let (mut still, mut seen) = (Instant::now(), state.read);
        loop {
            if state.closed {
                return Err(client_gone("by the client"));
            }
            let wanted = state.written.minus(state.read).plus(bytes);
            let end = state.written.plus(bytes).min(CAPACITY);
            // A ring that has once gone round keeps its length.
            if wanted <= CAPACITY && self.0.file.lock().reserve(end) {
                return Ok(Some(state.written));
            }
            if state.read != seen {
                (still, seen) = (Instant::now(), state.read);
            }
            if !may_wait(still.elapsed()) {
                return Ok(None);
            }
            self.0.read.wait_for(&mut state, LOOK);
        }
    }

    /// Nothing more is written.
    pub(super) fn end(&self, ending: EndOfWriting) {
        self.0.state.lock().end.get_or_insert(ending);
        self.0.written.notify_one();
    }
}

impl Drop for Overflow {
    fn drop(&mut self) {
        self.end(EndOfWriting::Left);
    }
}

impl Ring {
    fn next(&self) -> Next {
        let mut state = self.state.lock();
        let (at, left) = (state.read % CAPACITY, state.written.minus(state.read));
        if left > 0 {
            return Next::Send { at, length: left.min(PIECE).min(CAPACITY.minus(at)) };
        }
        match state.end.take() {
            Some(ending) => Next::End(ending),
            None => Next::Wait,
        }
    }

    fn take(&self, at: u64, length: u64) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; usize::try_from(length).unwrap_or(0)];
        let count = self.file.lock().read_at(&mut bytes, at)?;
        if count < bytes.len() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(bytes)
    }

    fn advance(&self, length: u64) {
        let mut state = self.state.lock();
        state.read = state.read.plus(length);
        self.read.notify_all();
    }

    fn close(&self) {
        self.state.lock().closed = true;
        self.read.notify_all();
    }
}

/// Sends what is written, as the client reads it.
async fn send_on(ring: Arc<Ring>, pieces: Pieces, outlet: Outlet) {
    let permit = outlet.workers.unread.try_acquire(outlet.caller);
    // Without a permit the client has a moment to go on reading.
    let patience = if permit.is_some() { outlet.patience } else { WANTED };
    loop {
        let (at, length) = match ring.next() {
            Next::Send { at, length } => (at, length),
            Next::Wait => {
                ring.written.notified().await;
                continue;
            }
            Next::End(EndOfWriting::Complete) => return pieces.complete(),
            Next::End(EndOfWriting::Left) => return,
            Next::End(EndOfWriting::Failed(error)) => {
                let _ = pieces.queue.send(Err(error)).await;
                return;
            }
        };
        // First the room: while there is none, nothing is held in memory.
        let Ok(Ok(room)) = tokio::time::timeout(patience, pieces.queue.reserve()).await else {
            return ring.close();
        };
        let file = Arc::clone(&ring);
        let read = tokio::task::spawn_blocking(move || file.take(at, length)).await;
        match read.map_err(io::Error::other).and_then(|read| read) {
            Ok(bytes) => {
                room.send(Ok(Piece::from(bytes)));
                ring.advance(length);
            }
            Err(error) => {
                room.send(Err(error));
                return ring.close();
            }
        }
    }
}
