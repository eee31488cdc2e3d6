//! A connection of hyper's that frees its memory while its client is idle.
//!
//! hyper keeps its two buffers (16 KiB) and its state as long as a connection lives, and many clients keep one open
//! for the next command. So a connection that has been idle for a moment is taken apart: only the socket stays
//! (with the keys, when it is encrypted). When the next byte arrives, a new connection of hyper's is made for the
//! socket, which serves as if it were the first.
//!
//! Invariants: no data that was read from the socket or is to be written is lost: a connection is not
//! taken apart while a request is in progress or while data waits to be written, and what hyper had read
//! is read again by the next one. That happens at most once for each request, so that a client does not
//! gain time by sending a head in pieces.
//!
//! What it gains (docs/results/what-pays.tsv): a server with 1,000 idle clients has 6.7 MB of its own in place of 16.3.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::server::conn::http1::Builder;
use hyper::service::HttpService;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, ReadBuf};
use tokio::sync::watch;

use super::socket::{SharedSocket, Socket};

/// How long an idle client may take to notice the end of the connection.
const END_TIME: Duration = Duration::from_secs(2);

/// How long things are waited for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    /// The interval of checks whether a connection has been idle: it is taken apart after once to twice
    /// this time.
    pub(super) look: Duration,
    /// How long a client may be idle then.
    pub(super) patience: Duration,
}

/// What is seen of a connection from outside of hyper.
#[derive(Debug, Default)]
pub(super) struct Pulse {
    /// Requests that have begun.
    begun: AtomicU64,
    /// The requests whose handler or reply has not ended.
    under_way: AtomicUsize,
    /// Something came in, began or ended since the last check.
    moved: AtomicBool,
    /// A write failed, or the connection is ending.
    stuck: AtomicBool,
}

impl Pulse {
    /// Begins a request. It is in progress as long as the returned value, or a clone of it, lives.
    pub(super) fn begin(self: &Arc<Self>) -> UnderWay {
        self.begun.fetch_add(1, Ordering::Relaxed);
        UnderWay::new(Arc::clone(self))
    }

    /// Whether nothing has happened since the last check, and nothing will happen without the
    /// client.
    fn is_still(&self) -> bool {
        let moved = self.moved.swap(false, Ordering::AcqRel);
        !moved && self.under_way.load(Ordering::Acquire) == 0 && !self.stuck.load(Ordering::Relaxed)
    }
}

/// A part of a request, its handler or its reply, that has not ended.
#[derive(Debug)]
pub(super) struct UnderWay(Arc<Pulse>);

impl UnderWay {
    fn new(pulse: Arc<Pulse>) -> Self {
        pulse.under_way.fetch_add(1, Ordering::AcqRel);
        Self(pulse)
    }
}

impl Clone for UnderWay {
    fn clone(&self) -> Self {
        Self::new(Arc::clone(&self.0))
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.moved.store(true, Ordering::Release);
        self.0.under_way.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The body of a reply, which is in progress until hyper has taken all of it.
#[derive(Debug)]
pub(super) struct TrackedBody<B> {
    body: B,
    _under_way: UnderWay,
}

impl<B> TrackedBody<B> {
    pub(super) const fn new(body: B, under_way: UnderWay) -> Self {
        Self { body, _under_way: under_way }
    }
}

impl<B: Body + Unpin> Body for TrackedBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The socket as hyper has it.
#[derive(Debug)]
struct WatchedSocket<S> {
    socket: S,
    /// What the last connection had read, and this one reads first.
    first: Bytes,
    pulse: Arc<Pulse>,
}

impl<S> WatchedSocket<S> {
    /// Notes whether what hyper has for the socket went there.
    fn wrote<T>(&self, done: Poll<T>) -> Poll<T> {
        self.pulse.stuck.store(done.is_pending(), Ordering::Relaxed);
        done
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WatchedSocket<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Self { socket, first, pulse } = &mut *self;
        if !first.is_empty() {
            let some = first.split_to(first.len().min(buf.remaining()));
            buf.put_slice(&some);
            return Poll::Ready(Ok(()));
        }
        let done = Pin::new(socket).poll_read(cx, buf);
        if done.is_ready() {
            pulse.moved.store(true, Ordering::Release);
        }
        done
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WatchedSocket<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let done = Pin::new(&mut self.socket).poll_write(cx, buf);
        self.wrote(done)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let done = Pin::new(&mut self.socket).poll_write_vectored(cx, bufs);
        self.wrote(done)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let done = Pin::new(&mut self.socket).poll_flush(cx);
        self.wrote(done)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.pulse.stuck.store(true, Ordering::Relaxed);
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}

/// Serves a connection to its end, or until `stopped` has a value: then the request in progress may
/// finish. `service` reports to `pulse` which requests are in progress.
pub(super) async fn serve<S, H>(
    mut socket: SharedSocket<S>,
    mut service: H,
    pulse: Arc<Pulse>,
    builder: Builder,
    times: Times,
    mut stopped: watch::Receiver<bool>,
) where
    S: Socket,
    H: HttpService<Incoming> + Send,
    H::Future: Send,
    H::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    H::ResBody: Body + Send + 'static,
    <H::ResBody as Body>::Data: Send,
    <H::ResBody as Body>::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let mut first = Bytes::new();
    // How many requests had begun when the connection was last taken apart.
    let mut rested = None;
    loop {
        let watched = WatchedSocket { socket, first, pulse: Arc::clone(&pulse) };
        // In memory of its own, which goes with it.
        let mut connection = Box::new(builder.serve_connection(TokioIo::new(watched), service));
        loop {
            tokio::select! {
                biased;
                // Errors of a connection concern only its client.
                _ = Pin::new(&mut *connection) => return,
                _ = stopped.changed() => {
                    Pin::new(&mut *connection).graceful_shutdown();
                    let _ = connection.await;
                    return;
                }
                () = tokio::time::sleep(times.look) => {}
            }
            let begun = Some(pulse.begun.load(Ordering::Relaxed));
            if pulse.is_still() && rested != begun {
                rested = begun;
                break;
            }
        }
        let parts = (*connection).into_parts();
        (socket, service, first) = (parts.io.into_inner().socket, parts.service, parts.read_buf);
        if !first.is_empty() {
            continue;
        }
        // All of the buffer lives as long as any part of it, including an empty one.
        first = Bytes::new();
        if !is_wanted(&socket, times.patience, &mut stopped).await {
            let _ = tokio::time::timeout(END_TIME, socket.shutdown()).await;
            return;
        }
    }
}

/// Waits for a client to send something, or to leave; `false` if it does neither for `patience`, or the
/// server ends.
async fn is_wanted<S: Socket>(
    socket: &SharedSocket<S>,
    patience: Duration,
    stopped: &mut watch::Receiver<bool>,
) -> bool {
    tokio::select! {
        biased;
        _ = stopped.changed() => false,
        // hyper gets an error again when it reads.
        seen = tokio::time::timeout(patience, socket.peek()) => seen.is_ok(),
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use http_body_util::Full;
    use hyper::service::service_fn;
    use hyper::{Request, Response};
    use tokio::io::AsyncReadExt as _;
    use tokio::net::{TcpListener, TcpStream};

    use super::*;

    const LOOK: Duration = Duration::from_millis(5);
    const LONG: Duration = Duration::from_secs(600);

    /// A client's socket, and what ends its server. Replies say what was asked for; those for `/slow` take
    /// many looks.
    async fn connected(patience: Duration) -> (TcpStream, watch::Sender<bool>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (socket, _) = listener.accept().await.unwrap();
        let (stop, stopped) = watch::channel(false);
        let pulse = Arc::new(Pulse::default());
        let service = {
            let pulse = Arc::clone(&pulse);
            service_fn(move |request: Request<Incoming>| {
                let under_way = pulse.begin();
                async move {
                    let path = request.uri().path().to_owned();
                    if path == "/slow" {
                        tokio::time::sleep(20 * LOOK).await;
                    }
                    let body = Full::new(Bytes::from(format!("[{path}]")));
                    Ok::<_, Infallible>(Response::new(TrackedBody::new(body, under_way)))
                }
            })
        };
        let mut builder = Builder::new();
        builder.half_close(true);
        let times = Times { look: LOOK, patience };
        let socket = SharedSocket::new(socket);
        tokio::spawn(serve(socket, service, pulse, builder, times, stopped));
        (client, stop)
    }

    /// Reads as far as a text.
    async fn read_to(client: &mut TcpStream, end: &str) {
        let mut text = Vec::new();
        while !text.ends_with(end.as_bytes()) {
            text.push(client.read_u8().await.unwrap());
        }
    }

    fn run(test: impl Future<Output = ()>) {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_io().enable_time().build().unwrap().block_on(test);
    }

    #[test]
    fn requests_after_pauses_in_pieces_and_together() {
        run(async {
            let (mut client, _stop) = connected(LONG).await;
            for round in 0..3 {
                let mut head = format!("GET /{round} HTTP/1.1\r\nHost: h\r\n\r\n");
                let rest = head.split_off(round * 5);
                for piece in [head, rest] {
                    tokio::time::sleep(4 * LOOK).await;
                    client.write_all(piece.as_bytes()).await.unwrap();
                }
                read_to(&mut client, &format!("[/{round}]")).await;
            }
            tokio::time::sleep(4 * LOOK).await;
            let two = "GET /slow HTTP/1.1\r\nHost: h\r\n\r\nGET /b HTTP/1.1\r\nHost: h\r\n\r\n";
            client.write_all(two.as_bytes()).await.unwrap();
            read_to(&mut client, "[/slow]").await;
            read_to(&mut client, "[/b]").await;
            // A client that has said all still gets its reply, and then the end.
            tokio::time::sleep(4 * LOOK).await;
            client.write_all(b"GET /slow HTTP/1.1\r\nHost: h\r\n\r\n").await.unwrap();
            client.shutdown().await.unwrap();
            read_to(&mut client, "[/slow]").await;
            assert_eq!(client.read(&mut [0]).await.unwrap(), 0);
        });
    }

    #[test]
    fn one_that_stays_idle_is_ended_and_so_are_all_when_the_server_ends() {
        run(async {
            let (mut client, _stop) = connected(20 * LOOK).await;
            client.write_all(b"GET /a HTTP/1.1\r\nHost: h\r\n\r\n").await.unwrap();
            read_to(&mut client, "[/a]").await;
            assert_eq!(client.read(&mut [0]).await.unwrap(), 0);

            let (mut client, stop) = connected(LONG).await;
            client.write_all(b"GET /a HTTP/1.1\r\nHost: h\r\n\r\n").await.unwrap();
            read_to(&mut client, "[/a]").await;
            tokio::time::sleep(4 * LOOK).await;
            stop.send(true).unwrap();
            assert_eq!(client.read(&mut [0]).await.unwrap(), 0);
        });
    }

    #[test]
    fn what_is_still_is_seen() {
        let pulse = Arc::new(Pulse::default());
        assert!(pulse.is_still());
        let reply = pulse.begin();
        let handler = reply.clone();
        assert!(!pulse.is_still());
        drop(reply);
        assert!(!pulse.is_still() && !pulse.is_still(), "one part is left");
        drop(handler);
        assert!(!pulse.is_still(), "only just");
        assert!(pulse.is_still());
        pulse.stuck.store(true, Ordering::Relaxed);
        assert!(!pulse.is_still());
    }
}
