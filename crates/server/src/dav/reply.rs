//! The body of a reply on its way from the thread that makes it to the connection.
//!
//! Pieces pass through a short queue. When the client does not read them for a while, the rest is written
//! to a temporary file, which a task sends as the client reads: so the thread can end. Only when that file
//! is full, or there is no room for it, the thread waits, and it gives up as soon as other requests need
//! it.
//!
//! Invariants: pieces arrive in the order in which they were sent; a reply that is not complete ends with an
//! error, so that no client takes a part for the whole.

use sapwood_core::len64;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Buf as _;
use hyper::body::{Frame, SizeHint};
use hyper::{Response, StatusCode};
use sapwood_core::SvnResult;
use tokio::sync::mpsc;

use super::fail::client_gone;
use super::outlet::{NextPiece, Outlet, Pieces};
use super::overflow::{EndOfWriting, Overflow};
use super::piece::Piece;
use crate::common::metrics::Limit;

/// Pieces that wait for the client, beside those that hyper has taken.
const WAITING: usize = 1;
/// How long a thread waits for a client that does not read, while no other request needs the thread.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often it checks whether one does; the first check is early, since most clients read.
const FIRST_LOOK: Duration = Duration::from_millis(10);
const LOOK: Duration = Duration::from_millis(50);
/// What hyper sends as the body of a reply.
#[derive(Debug)]
pub enum ReplyBody {
    /// All of it.
    Whole(Option<Piece>),
    /// Pieces, as they come. An error ends the connection, and so does an end before the reply is complete.
    Pieces(mpsc::Receiver<NextPiece>, Arc<AtomicBool>),
}

impl ReplyBody {
    /// The reply when the handler has panicked.
    #[must_use]
    pub(crate) fn internal_error() -> Response<Self> {
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
            Self::Pieces(queue, complete) => queue.poll_recv(cx).map(|piece| match piece {
                Some(piece) => Some(piece.map(Frame::data)),
                None if complete.load(Ordering::Acquire) => None,
                None => Some(Err(io::ErrorKind::UnexpectedEof.into())),
            }),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => {
                let len = bytes.as_ref().map_or(0, Piece::remaining);
                SizeHint::with_exact(len64(len))
            }
            Self::Pieces(..) => SizeHint::default(),
        }
    }
}

/// The pieces of one reply, as they are sent.
#[derive(Debug)]
pub(super) struct ReplySender {
    pub(super) pieces: Pieces,
    outlet: Outlet,
    overflow: Option<Overflow>,
}

/// Whether a piece went to the client's queue.
enum Room<'p> {
    Here(mpsc::Permit<'p, NextPiece>),
    /// The client does not read.
    None,
}

impl ReplySender {
    /// A sender, and the body that hyper gets.
    pub(super) fn new(outlet: Outlet) -> (Self, ReplyBody) {
        let (queue, receive) = mpsc::channel(WAITING);
        let complete = Arc::new(AtomicBool::new(false));
        let body = ReplyBody::Pieces(receive, Arc::clone(&complete));
        (Self { pieces: Pieces { queue, complete }, outlet, overflow: None }, body)
    }

    /// Hands a piece on. `before` is what has to be done right before the first one.
    ///
    /// # Errors
    /// E190004 when the client has gone, or has read nothing for too long.
    pub(super) fn send(
        &mut self,
        piece: NextPiece,
        before: impl FnOnce() -> SvnResult<()>,
    ) -> SvnResult<()> {
        if self.overflow.as_ref().is_some_and(Overflow::is_empty) {
            self.overflow = None;
        }
        if self.overflow.is_none() {
            match self.room()? {
                Room::Here(room) => {
                    return self.outlet.driver.hand_over(|| {
                        before()?;
                        room.send(piece);
                        Ok(())
                    });
                }
                Room::None => before()?,
            }
        }
        self.send_late(piece)
    }

    /// Whether the queue has room; waits a while for it.
    fn room(&self) -> SvnResult<Room<'_>> {
        match self.pieces.queue.try_reserve() {
            Ok(room) => return Ok(Room::Here(room)),
            Err(mpsc::error::TrySendError::Closed(())) => return Err(client_gone("by the client")),
            Err(mpsc::error::TrySendError::Full(())) => {}
        }
        let begun = Instant::now();
        let mut look = FIRST_LOOK;
        while begun.elapsed() < PATIENCE {
            let room = async { tokio::time::timeout(look, self.pieces.queue.reserve()).await };
            match self.outlet.handle.block_on(room) {
                Ok(Ok(room)) => return Ok(Room::Here(room)),
                Ok(Err(_)) => return Err(client_gone("by the client")),
                Err(_) if self.outlet.workers.are_wanted() => break,
                Err(_) => look = LOOK,
            }
        }
        Ok(Room::None)
    }

    /// Queues a piece that the client does not read yet.
    fn send_late(&mut self, piece: NextPiece) -> SvnResult<()> {
        let overflow = match &mut self.overflow {
            Some(overflow) => overflow,
            none => match Overflow::new(&self.outlet, self.pieces.clone()) {
                Ok(overflow) => none.insert(overflow),
                Err(_) => return self.wait_and_send(piece),
            },
        };
        let piece = match piece {
            Ok(piece) => piece,
            Err(error) => {
                overflow.end(EndOfWriting::Failed(error));
                return Ok(());
            }
        };
        let outlet = &self.outlet;
        if overflow.write(piece, &|still| outlet.may_wait(still))? {
            Ok(())
        } else {
            Err(unread(outlet))
        }
    }

    /// Without a temporary file.
    fn wait_and_send(&self, piece: NextPiece) -> SvnResult<()> {
        let begun = Instant::now();
        loop {
            match self.room()? {
                Room::Here(room) => {
                    self.outlet.driver.hand_over(|| room.send(piece));
                    return Ok(());
                }
                Room::None if self.outlet.may_wait(begun.elapsed()) => {}
                Room::None => return Err(unread(&self.outlet)),
            }
        }
    }

    /// Whether the client reads nothing at the moment, and no temporary file holds a part of the reply: then
    /// the rest can be made later.
    pub(super) fn is_stuck(&self) -> SvnResult<bool> {
        Ok(self.overflow.is_none() && matches!(self.room()?, Room::None))
    }
}

impl ReplySender {
    /// The reply is complete.
    pub(super) fn finish(self) {
        match &self.overflow {
            Some(overflow) => overflow.end(EndOfWriting::Complete),
            None => self.pieces.complete(),
        }
        let Self { pieces, outlet, overflow } = self;
        outlet.driver.hand_over(|| drop((pieces, overflow)));
    }
}

fn unread(outlet: &Outlet) -> sapwood_core::SvnError {
    outlet.workers.met(Limit::UnreadReplies);
    client_gone("the client does not read")
}
