//! Questions to the provider by http: one connection each, no redirects.
//!
//! Invariants: a question ends in [`TIMEOUT`]; of an answer no more than [`MOST`] bytes are read; nothing is asked without
//! encryption, but on this machine.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::client::conn::http1;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, USER_AGENT};
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use sapwood_core::uri::Parts;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::error::{Error, Result};
use crate::settings::is_safe;
use sapwood_core::WrongSetting;

/// How long a question may take, with its answer.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The longest answer, in bytes.
const MOST: usize = 1 << 20;

/// An error of the network, of TLS or of http.
type Failure = Box<dyn std::error::Error + Send + Sync>;

/// A question.
#[derive(Debug, Default)]
pub(crate) struct Question<'a> {
    pub(crate) url: &'a str,
    /// The header `Authorization`.
    pub(crate) authorization: Option<String>,
    /// The form that is sent; without one the question is a GET.
    pub(crate) form: Option<String>,
}

/// The status and the body of an answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Bytes,
}

/// Asks by http.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    tls: Arc<ClientConfig>,
}

impl Client {
    /// Trusts the authorities of a file in PEM form, or those of the system.
    ///
    /// # Errors
    /// A file that cannot be used.
    pub(crate) fn new(authorities: Option<&Path>) -> Result<Self, WrongSetting> {
        let tls = sapwood_tls_client::config(authorities);
        Ok(Self { tls: tls.map_err(|error| WrongSetting::new("ca", error))? })
    }

    /// Asks, and waits for the answer.
    ///
    /// # Errors
    /// [`Error::Unreachable`].
    pub(crate) async fn ask(&self, question: Question<'_>) -> Result<Answer> {
        let url = question.url;
        let unreachable = |why: String| Error::Unreachable { url: url.to_owned(), why };
        if !is_safe(url) {
            return Err(unreachable("it is not encrypted".to_owned()));
        }
        let answer = tokio::time::timeout(TIMEOUT, self.send(&question)).await;
        let late = || unreachable(format!("no answer within {} s", TIMEOUT.as_secs()));
        answer.map_err(|_| late())?.map_err(|e| unreachable(e.to_string()))
    }

    async fn send(&self, question: &Question<'_>) -> Result<Answer, Failure> {
        let parts = Parts::of(question.url).ok_or("it is no URL")?;
        let is_secure = parts.scheme == "https";
        let port = parts.port.unwrap_or(if is_secure { 443 } else { 80 });
        let socket = TcpStream::connect((parts.host, port)).await?;
        let request = question.request(&parts)?;
        if !is_secure {
            return exchange(socket, request).await;
        }
        let name = ServerName::try_from(parts.host.to_owned())?;
        let connector = TlsConnector::from(Arc::clone(&self.tls));
        exchange(connector.connect(name, socket).await?, request).await
    }
}

impl Question<'_> {
    fn request(&self, parts: &Parts<'_>) -> Result<Request<Full<Bytes>>, hyper::http::Error> {
        let host = parts.host;
        let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
        let authority = parts.port.map_or(host.clone(), |port| format!("{host}:{port}"));
        let path = if parts.path.is_empty() { "/" } else { parts.path };
        let method = if self.form.is_some() { Method::POST } else { Method::GET };
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(HOST, authority)
            .header(USER_AGENT, concat!("Sapwood/", env!("CARGO_PKG_VERSION")))
            .header(ACCEPT, "application/json");
        if let Some(value) = &self.authorization {
            request = request.header(AUTHORIZATION, value);
        }
        if self.form.is_some() {
            request = request.header(CONTENT_TYPE, "application/x-www-form-urlencoded");
        }
        let body = self.form.as_ref().map_or(Bytes::new(), |form| Bytes::from(form.clone()));
        request.body(Full::new(body))
    }
}

/// Sends a request on a new connection, and reads the answer.
async fn exchange<S: AsyncRead + AsyncWrite + Send + Unpin + 'static>(
    stream: S,
    request: Request<Full<Bytes>>,
) -> Result<Answer, Failure> {
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let driver = TaskGuard(tokio::spawn(connection));
    let answer = sender.send_request(request).await?;
    let status = answer.status().as_u16();
    let body = Limited::new(answer.into_body(), MOST).collect().await?.to_bytes();
    drop(driver);
    Ok(Answer { status, body })
}

/// A task that ends with the question, also when that is given up.
struct TaskGuard(tokio::task::JoinHandle<Result<(), hyper::Error>>);

impl Drop for TaskGuard {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The text of a form, or of a query.
pub(crate) fn form(pairs: &[(&str, &str)]) -> String {
    let one = |(name, value): &(&str, &str)| format!("{name}={}", escaped(value));
    pairs.iter().map(one).collect::<Vec<_>>().join("&")
}

/// A value in a form: everything but letters, digits and `-._~` as `%XX`.
pub(crate) fn escaped(value: &str) -> String {
    value.bytes().fold(String::new(), |mut text, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            text.push(char::from(byte));
        } else {
            text.push_str(&format!("%{byte:02X}"));
        }
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_escaped() {
        assert_eq!(form(&[("a", "x y&=+/é"), ("b", "-._~")]), "a=x%20y%26%3D%2B%2F%C3%A9&b=-._~");
    }
}
