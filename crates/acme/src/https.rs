//! The http client for the authority: one request a connection, encrypted always.
//!
//! Invariants: a request ends in time; no more than [`MOST`] bytes of an answer are kept; no redirect is followed.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Limited};
use hyper::client::conn::http1;
use hyper::header::{HOST, HeaderValue};
use hyper::{Request, Uri};
use hyper_util::rt::TokioIo;
use instant_acme::{BodyWrapper, BytesResponse, Error, HttpClient};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;

/// How long a request may take, with its answer.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Bytes of an answer: chains of certificates are a few thousand.
const MOST: usize = 1 << 20;

type BoxedError = Box<dyn std::error::Error + Send + Sync>;

/// The client.
pub(crate) struct Https(pub(crate) Arc<ClientConfig>);

impl HttpClient for Https {
    fn request(
        &self,
        request: Request<BodyWrapper<Bytes>>,
    ) -> Pin<Box<dyn Future<Output = Result<BytesResponse, Error>> + Send>> {
        let tls = Arc::clone(&self.0);
        Box::pin(async move {
            let host = request.uri().host().unwrap_or("").to_owned();
            let late = || format!("no answer within {} s", TIMEOUT.as_secs()).into();
            let answered = tokio::time::timeout(TIMEOUT, exchange(tls, request)).await;
            let answer = answered.unwrap_or_else(|_| Err(late()));
            answer.map_err(|why| Error::Other(format!("'{host}' cannot be asked: {why}").into()))
        })
    }
}

/// Sends a request on a new connection, and reads the answer.
async fn exchange(
    tls: Arc<ClientConfig>,
    mut request: Request<BodyWrapper<Bytes>>,
) -> Result<BytesResponse, BoxedError> {
    let uri = request.uri().clone();
    let host = uri.host().filter(|_| uri.scheme_str() == Some("https"));
    let host = host.ok_or("its URL does not begin with https://")?;
    let bare = host.trim_matches(['[', ']']);
    let socket = TcpStream::connect((bare, uri.port_u16().unwrap_or(443))).await?;
    let name = ServerName::try_from(bare.to_owned())?;
    let stream = TlsConnector::from(tls).connect(name, socket).await?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    // Ends with this request, also when that is given up.
    let mut driver = JoinSet::new();
    driver.spawn(connection);
    let authority = uri.authority().map_or(host, |authority| authority.as_str());
    let authority = HeaderValue::from_str(authority)?;
    request.headers_mut().insert(HOST, authority);
    *request.uri_mut() = path_of(&uri)?;
    let (parts, body) = sender.send_request(request).await?.into_parts();
    let body = Limited::new(body, MOST).collect().await?.to_bytes();
    Ok(BytesResponse { parts, body: Box::new(body) })
}

/// The path and the query of a URL.
fn path_of(uri: &Uri) -> Result<Uri, BoxedError> {
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    Ok(path.parse()?)
}
