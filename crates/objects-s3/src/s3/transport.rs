//! Requests of `object_store` on hyper and rustls, as the rest of the program uses them, in place of a second http client.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use std::{error, io};

use http_body_util::BodyExt as _;
use hyper::{StatusCode, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpRequestBody,
    HttpResponse, HttpResponseBody, HttpService,
};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tower_service::Service;

use super::requests::{Kind, Requests};

/// How long connecting may take, with TLS.
const CONNECT: Duration = Duration::from_secs(10);
/// How long a server may take to begin its answer.
const ANSWER: Duration = Duration::from_secs(30);
/// How long a connection that is not used is kept.
const IDLE: Duration = Duration::from_secs(20);

type BoxedFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Makes the one client of a connection.
#[derive(Clone, Debug)]
pub(super) struct Transport {
    client: Client<Connector, HttpRequestBody>,
    requests: Arc<Requests>,
}

impl Transport {
    pub(super) fn new(tls: Arc<ClientConfig>, requests: Arc<Requests>) -> Self {
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE)
            .build(Connector(TlsConnector::from(tls)));
        Self { client, requests }
    }
}

impl HttpConnector for Transport {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.clone()))
    }
}

impl HttpService for Transport {
    fn call<'a, 'f>(
        &'a self,
        request: HttpRequest,
    ) -> Pin<Box<dyn Future<Output = Result<HttpResponse, HttpError>> + Send + 'f>>
    where
        'a: 'f,
        Self: 'f,
    {
        self.requests.count(Kind::of(&request));
        Box::pin(async move {
            let answer = timeout(ANSWER, self.client.request(request)).await;
            let answer = answer.map_err(|late| HttpError::new(HttpErrorKind::Timeout, late));
            let answer = answer.and_then(|answer| answer.map_err(failed));
            if answer.as_ref().map_or(true, |answer| is_for_later(answer.status())) {
                self.requests.count(Kind::Failed);
            }
            let (head, body) = answer?.into_parts();
            let body = body.map_err(|e| HttpError::new(HttpErrorKind::Interrupted, e));
            Ok(HttpResponse::from_parts(head, HttpResponseBody::new(body)))
        })
    }
}

/// Whether a store could not serve a request now, and may later.
fn is_for_later(status: StatusCode) -> bool {
    status.is_server_error()
        || matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT)
}

/// What a failed request is for those who may repeat it.
fn failed(error: hyper_util::client::legacy::Error) -> HttpError {
    let kind = match error.is_connect() {
        true => HttpErrorKind::Connect,
        false => HttpErrorKind::Interrupted,
    };
    HttpError::new(kind, Whole(error.into()))
}

/// An error with all that caused it in its text: the library says the outermost only.
#[derive(Debug)]
struct Whole(Box<dyn error::Error + Send + Sync>);

impl fmt::Display for Whole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut cause: Option<&dyn error::Error> = Some(&*self.0);
        let mut separator = "";
        while let Some(error) = cause {
            write!(f, "{separator}{error}")?;
            separator = ": ";
            cause = error.source();
        }
        Ok(())
    }
}

impl error::Error for Whole {}

/// Connects to servers.
#[derive(Clone)]
struct Connector(TlsConnector);

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Connector")
    }
}

impl Service<Uri> for Connector {
    type Response = TokioIo<Wire>;
    type Error = io::Error;
    type Future = BoxedFuture<io::Result<TokioIo<Wire>>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let tls = self.0.clone();
        Box::pin(async move {
            let connected = timeout(CONNECT, connect(&uri, tls)).await;
            connected.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())).map(TokioIo::new)
        })
    }
}

async fn connect(uri: &Uri, tls: TlsConnector) -> io::Result<Wire> {
    let is_tls = uri.scheme_str() == Some("https");
    let host = uri.host().ok_or(io::ErrorKind::InvalidInput)?;
    // Addresses of the sixth version stand in brackets.
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let port = uri.port_u16().unwrap_or(if is_tls { 443 } else { 80 });
    let stream = TcpStream::connect((host, port)).await?;
    stream.set_nodelay(true)?;
    if !is_tls {
        return Ok(Wire::Plain(stream));
    }
    let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
    Ok(Wire::Tls(Box::new(tls.connect(name, stream).await?)))
}

/// A connection, encrypted or not.
enum Wire {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl Connection for Wire {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(cx, buf),
            Self::Tls(stream) => Pin::new(stream).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(cx, bytes),
            Self::Tls(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Self::Tls(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
