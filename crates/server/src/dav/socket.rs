//! The sockets of http connections, plain or encrypted, which a request can check while it waits.
//!
//! Invariant: a lock is held only during one call that does not block.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use parking_lot::Mutex;
use sapwood_peers::PeerStream;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

use crate::platform;

/// How often a waiting request checks whether its client is still there.
const LOOK: Duration = Duration::from_millis(500);

/// What connections are made of: a socket, perhaps encrypted.
pub(super) trait Socket: AsyncRead + AsyncWrite + Send + Unpin + 'static {
    /// The handle that becomes readable when the client sends something.
    fn tcp(&self) -> &TcpStream;
}

impl Socket for TcpStream {
    fn tcp(&self) -> &TcpStream {
        self
    }
}

// Boxed, since it is large, and is moved.
impl Socket for Box<TlsStream<TcpStream>> {
    fn tcp(&self) -> &TcpStream {
        self.get_ref().0
    }
}

impl Socket for PeerStream {
    fn tcp(&self) -> &TcpStream {
        self.tcp()
    }
}

/// A socket that its connection and its requests share.
#[derive(Debug)]
pub(super) struct SharedSocket<S>(Arc<Mutex<S>>);

impl<S: Socket> SharedSocket<S> {
    pub(super) fn new(socket: S) -> Self {
        Self(Arc::new(Mutex::new(socket)))
    }

    /// For a request that waits.
    pub(super) fn line(&self) -> ClientSocket {
        let shared: Arc<dyn Hangup> = self.0.clone();
        ClientSocket(shared)
    }

    /// Waits until there is something to read, or the client has gone.
    ///
    /// # Errors
    /// System errors.
    pub(super) async fn peek(&self) -> io::Result<()> {
        std::future::poll_fn(|cx| {
            let mut byte = [0];
            let seen = self.0.lock().tcp().poll_peek(cx, &mut ReadBuf::new(&mut byte));
            seen.map_ok(|_| ())
        })
        .await
    }
}

/// A check for whether the peer has closed the connection.
trait Hangup: Send + Sync {
    fn has_hung_up(&self) -> bool;
}

impl<S: Socket> Hangup for Mutex<S> {
    fn has_hung_up(&self) -> bool {
        platform::hung_up(self.lock().tcp()).is_some()
    }
}

/// The client's side of a connection, as a request sees it.
#[derive(Clone)]
pub(super) struct ClientSocket(Arc<dyn Hangup>);

impl std::fmt::Debug for ClientSocket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Line")
    }
}

impl ClientSocket {
    /// Waits until the client has closed its sending side, and a moment longer: it may still want a reply, but
    /// not one that takes long.
    pub(super) async fn hung_up(&self) {
        tokio::time::sleep(LOOK).await;
        while !self.0.has_hung_up() {
            tokio::time::sleep(LOOK).await;
        }
    }
}

impl<S: Socket> AsyncRead for SharedSocket<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0.lock()).poll_read(cx, buf)
    }
}

impl<S: Socket> AsyncWrite for SharedSocket<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.0.lock()).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.0.lock()).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.lock().is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0.lock()).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0.lock()).poll_shutdown(cx)
    }
}
