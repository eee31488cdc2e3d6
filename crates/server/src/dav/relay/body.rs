//! The body of a request on its way to another server: pieces, as the client sends them.
//!
//! Invariant: no more than a few pieces are held, and a body without its end has none at the other server.

use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use sapwood_core::exact::Exact as _;
use sapwood_core::{SvnResult, len64};
use tokio::sync::mpsc;

use super::super::body::RawBody;
use super::super::fail::client_gone;

/// Pieces that wait for the other server.
const PIECES_WAITING: usize = 3;

/// Where the pieces of a body go.
pub(in crate::dav) type Pieces = mpsc::Sender<io::Result<Bytes>>;

/// A request's body on its way: pieces, and an empty one at the end. If that is missing, the body was not complete, and the other
/// server gets no end.
#[derive(Debug)]
pub(in crate::dav) struct ForwardedBody {
    pieces: mpsc::Receiver<io::Result<Bytes>>,
    /// What is still to come, if that is known.
    left: Option<u64>,
    ended: bool,
}

impl ForwardedBody {
    /// A body of so many bytes, if that is known, and where its pieces go.
    pub(in crate::dav) fn new() -> (Pieces, Self) {
        let (pieces, received) = mpsc::channel(PIECES_WAITING);
        (pieces, Self { pieces: received, left: None, ended: false })
    }

    /// The same, of which the length is known.
    pub(in crate::dav) fn of_length(self, length: Option<u64>) -> Self {
        Self { left: length, ..self }
    }
}

impl Body for ForwardedBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        if self.is_end_stream() {
            return Poll::Ready(None);
        }
        let Poll::Ready(polled) = self.pieces.poll_recv(cx) else { return Poll::Pending };
        Poll::Ready(match polled {
            None => Some(Err(io::ErrorKind::UnexpectedEof.into())),
            Some(Err(error)) => Some(Err(error)),
            Some(Ok(piece)) if piece.is_empty() => {
                self.ended = true;
                None
            }
            Some(Ok(piece)) => {
                let length = len64(piece.len());
                self.left = self.left.map(|left| left.minus(length));
                Some(Ok(Frame::data(piece)))
            }
        })
    }

    fn is_end_stream(&self) -> bool {
        self.ended || self.left == Some(0)
    }

    fn size_hint(&self) -> SizeHint {
        self.left.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

/// Waits as long as something may take.
pub(in crate::dav) async fn patiently<T>(
    patience: Duration,
    work: impl Future<Output = T>,
) -> SvnResult<T> {
    tokio::time::timeout(patience, work).await.map_err(|_| client_gone("nothing happens"))
}

/// Sends a request while its body is passed on, and says what became of sending. The other server may reply before it has read
/// the body: the rest is passed on all the same, if that has begun.
///
/// # Errors
/// Those of `pumping`, and when there is no reply for too long after the end of the body.
pub(in crate::dav) async fn send_with_body<T, E>(
    sending: impl Future<Output = Result<T, E>>,
    pumping: impl Future<Output = SvnResult<()>>,
    has_begun: impl Fn() -> bool,
    patience: Duration,
) -> SvnResult<Result<T, E>> {
    let (mut sending, mut pumping) = (pin!(sending), pin!(pumping));
    tokio::select! {
        biased;
        sent = &mut sending => {
            if sent.is_ok() && has_begun() {
                pumping.await?;
            }
            Ok(sent)
        }
        pumped = &mut pumping => {
            pumped?;
            patiently(patience, sending).await
        }
    }
}

/// Passes a body on. When the client does not finish it, the other server gets no end of it.
pub(in crate::dav) async fn pump(
    body: &mut RawBody,
    pieces: &Pieces,
    patience: Duration,
) -> SvnResult<()> {
    loop {
        let piece = body.next_piece().await?;
        let is_end = piece.is_none();
        // An empty piece is the end. A server that has replied already need not read the whole body.
        let sent = patiently(patience, pieces.send(Ok(piece.unwrap_or_else(Bytes::new)))).await?;
        if is_end || sent.is_err() {
            return Ok(());
        }
    }
}
