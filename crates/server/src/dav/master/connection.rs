//! Connections to the master, which are kept for a moment and used again, with one request on each at a
//! time.

use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use sapwood_core::exact::Exact as _;
use sapwood_core::uri::{self, Parts};
use sapwood_core::{ErrorCode, SvnError, SvnResult, len64};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio_rustls::TlsConnector;

use super::addresses::Base;
use super::bad_gateway;

/// How long the master may take to accept a connection.
const CONNECT: Duration = Duration::from_secs(10);
/// How long an idle connection is kept: servers often close theirs after five seconds.
const IDLE: Duration = Duration::from_secs(2);
/// The limit of idle connections.
const MAX_IDLE: usize = 8;

/// The server that write requests are sent to.
pub struct Master {
    host: String,
    port: u16,
    /// `Host`
    pub(super) authority: String,
    /// The scheme and the authority.
    pub(super) origin: String,
    pub(super) base: Base,
    /// Its oldest possible release of Subversion: features of later ones are not announced.
    version: Option<(u32, u32)>,
    tls: Option<(Arc<ClientConfig>, ServerName<'static>)>,
    idle: Mutex<Vec<(Instant, SendRequest<ForwardedBody>)>>,
}

impl std::fmt::Debug for Master {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Master").field("origin", &self.origin).finish_non_exhaustive()
    }
}

impl Master {
    /// The one at `url`. `version` is the release of Subversion that it is, if that is known; `authorities`
    /// a file of those that its certificate is from, in place of the system's.
    ///
    /// # Errors
    /// E125009 for what is no URL of http or https, and files that cannot be used.
    pub fn new(
        url: &str,
        version: Option<(u32, u32)>,
        authorities: Option<&Path>,
    ) -> SvnResult<Self> {
        let wrong = || {
            let text = format!("'{url}' is no URL of a master: http://HOST/PATH or https://...");
            SvnError::new(ErrorCode::BAD_CONFIG_VALUE, text)
        };
        let parts = Parts::of(url).ok_or_else(wrong)?;
        let secure = match parts.scheme {
            "http" => false,
            "https" => true,
            _ => return Err(wrong()),
        };
        let host = parts.host.trim_matches(['[', ']']).to_owned();
        let usual = if secure { 443 } else { 80 };
        let port = parts.port.unwrap_or(usual);
        let path = uri::decode_utf8(parts.path).ok_or_else(wrong)?;
        if host.is_empty() || path.contains(['\0', '?', '#']) {
            return Err(wrong());
        }
        let shown = if host.contains(':') { format!("[{host}]") } else { host.clone() };
        let authority = if port == usual { shown } else { format!("{shown}:{port}") };
        let tls = match secure {
            false => None,
            true => {
                let name = ServerName::try_from(host.clone()).map_err(|_| wrong())?;
                Some((sapwood_tls_client::config(authorities)?, name))
            }
        };
        Ok(Self {
            origin: format!("{}://{authority}", parts.scheme),
            host,
            port,
            authority,
            base: Base::of(&path),
            version,
            tls,
            idle: Mutex::default(),
        })
    }

    /// Whether it has the features of a release of Subversion; also true if its release is unknown.
    pub(in crate::dav) fn is_at_least(&self, major: u32, minor: u32) -> bool {
        self.version.is_none_or(|version| version >= (major, minor))
    }

    fn unreachable(&self, why: &dyn std::fmt::Display) -> SvnError {
        bad_gateway(format!("The master '{}' cannot be reached: {why}", self.origin))
    }

    async fn connect(&self) -> SvnResult<SendRequest<ForwardedBody>> {
        let opening = async {
            let stream = TcpStream::connect((self.host.as_str(), self.port)).await?;
            // Requests are small, and each waits for its reply.
            stream.set_nodelay(true)?;
            Ok::<_, io::Error>(match &self.tls {
                None => shake(stream).await?,
                Some((config, name)) => {
                    let connector = TlsConnector::from(Arc::clone(config));
                    shake(connector.connect(name.clone(), stream).await?).await?
                }
            })
        };
        match tokio::time::timeout(CONNECT, opening).await {
            Ok(opened) => opened.map_err(|error| self.unreachable(&error)),
            Err(late) => Err(self.unreachable(&late)),
        }
    }

    fn idle_sender(&self) -> Option<SendRequest<ForwardedBody>> {
        let mut idle = self.idle.lock();
        idle.retain(|(since, sender)| since.elapsed() < IDLE && !sender.is_closed());
        idle.pop().map(|(_, sender)| sender)
    }

    /// A reply was read to its end: the connection may take another request.
    pub(super) fn keep(&self, sender: SendRequest<ForwardedBody>) {
        let mut idle = self.idle.lock();
        if idle.len() < MAX_IDLE && !sender.is_closed() {
            idle.push((Instant::now(), sender));
        }
    }

    /// Sends a request. If the master has closed the connection since its last use, and has read nothing
    /// of the request, it is sent over another one.
    pub(super) async fn send(
        self: Arc<Self>,
        mut request: Request<ForwardedBody>,
    ) -> SvnResult<(SendRequest<ForwardedBody>, Response<Incoming>)> {
        loop {
            let kept = self.idle_sender();
            let reused = kept.is_some();
            let mut sender = match kept {
                Some(sender) => sender,
                None => self.connect().await?,
            };
            match sender.ready().await {
                Err(_) if reused => continue,
                Err(error) => return Err(self.unreachable(&error)),
                Ok(()) => {}
            }
            match sender.try_send_request(request).await {
                Ok(response) => return Ok((sender, response)),
                Err(mut error) => match error.take_message() {
                    Some(unsent) if reused => request = unsent,
                    _ => return Err(self.unreachable(error.error())),
                },
            }
        }
    }
}

/// Speaks HTTP over a stream. The connection runs by itself; the requests get the error that it ends with.
async fn shake(
    stream: impl tokio::io::AsyncRead + tokio::io::AsyncWrite + Send + Unpin + 'static,
) -> io::Result<SendRequest<ForwardedBody>> {
    let (sender, connection) =
        http1::handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
    tokio::spawn(async move {
        let _ = connection.await;
    });
    Ok(sender)
}

/// A request's body on its way to the master: pieces, and an empty one at the end. If that is missing,
/// the body was not complete, and the master gets no end.
#[derive(Debug)]
pub(super) struct ForwardedBody {
    pieces: mpsc::Receiver<io::Result<Bytes>>,
    /// What is still to come, if that is known.
    left: Option<u64>,
    ended: bool,
}

impl ForwardedBody {
    pub(super) const fn new(
        pieces: mpsc::Receiver<io::Result<Bytes>>,
        length: Option<u64>,
    ) -> Self {
        Self { pieces, left: length, ended: false }
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
