//! Connections to another server, which are kept for a moment and used again, with one request on each at a time.

use std::io;
use std::time::{Duration, Instant};

use hyper::Request;
use hyper::Response;
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;

use super::body::ForwardedBody;

/// A connection that takes one request after the other.
pub(in crate::dav) type Sender = SendRequest<ForwardedBody>;

/// Idle connections to one server.
#[derive(Debug)]
pub(in crate::dav) struct Pool {
    idle: Mutex<Vec<(Instant, Sender)>>,
    most: usize,
    time: Duration,
}

/// Why a request was not answered.
#[derive(Debug)]
pub(in crate::dav) enum SendFailure<E> {
    /// Nothing of it was sent.
    Unsent(E),
    /// Whether the other server has done anything is not known.
    InDoubt(hyper::Error),
}

impl Pool {
    /// One that keeps at most so many connections, each as long as this.
    pub(in crate::dav) const fn new(most: usize, time: Duration) -> Self {
        Self { idle: Mutex::new(Vec::new()), most, time }
    }

    fn take(&self) -> Option<Sender> {
        let mut idle = self.idle.lock();
        idle.retain(|(since, sender)| since.elapsed() < self.time && !sender.is_closed());
        idle.pop().map(|(_, sender)| sender)
    }

    /// A reply was read to its end: the connection may take another request.
    pub(in crate::dav) fn keep(&self, sender: Sender) {
        let mut idle = self.idle.lock();
        if idle.len() < self.most && !sender.is_closed() {
            idle.push((Instant::now(), sender));
        }
    }

    /// Sends a request, over a new connection where there is none. If the other server has closed the connection since its last use, and
    /// has read nothing of the request, it is sent over another one. `connected` is called when there is a connection.
    ///
    /// # Errors
    /// Those of `connect`, and of the connection.
    pub(in crate::dav) async fn send<E, C: Future<Output = Result<Sender, E>>>(
        &self,
        mut request: Request<ForwardedBody>,
        connect: impl Fn() -> C,
        connected: impl Fn(),
    ) -> Result<(Sender, Response<Incoming>), SendFailure<E>> {
        loop {
            let kept = self.take();
            let reused = kept.is_some();
            let mut sender = match kept {
                Some(sender) => sender,
                None => connect().await.map_err(SendFailure::Unsent)?,
            };
            match sender.ready().await {
                Err(_) if reused => continue,
                Err(error) => return Err(SendFailure::InDoubt(error)),
                Ok(()) => {}
            }
            connected();
            match sender.try_send_request(request).await {
                Ok(response) => return Ok((sender, response)),
                Err(mut error) => match error.take_message() {
                    Some(unsent) if reused => request = unsent,
                    _ => return Err(SendFailure::InDoubt(error.into_error())),
                },
            }
        }
    }
}

/// Speaks HTTP over a stream. The connection runs by itself; the requests get the error that it ends with.
///
/// # Errors
/// Of the stream.
pub(in crate::dav) async fn shake(
    stream: impl tokio::io::AsyncRead + tokio::io::AsyncWrite + Send + Unpin + 'static,
) -> io::Result<Sender> {
    let (sender, connection) =
        http1::handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
    tokio::spawn(async move {
        let _ = connection.await;
    });
    Ok(sender)
}
