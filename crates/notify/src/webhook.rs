//! A webhook: an http request for each commit, signed where there is a secret.
//!
//! Invariants: the request goes to the address that was checked, and follows no redirect; no more than a few bytes of an
//! answer are kept; it ends in time.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hmac::{Hmac, KeyInit as _, Mac as _};
use http_body_util::Full;
use hyper::client::conn::http1;
use hyper::header::{CONTENT_TYPE, HOST, USER_AGENT};
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use sapwood_core::uri::Parts;
use sha2::Sha256;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::address::is_internal;
use crate::commit::Commit;
use crate::error::{Error, Result};
use crate::message;
use sapwood_core::WrongSetting;

/// How long a request may take, with its answer.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Statuses that say that the same request fails again: the message is malformed or too large for the target.
const NEVER: [u16; 4] = [400, 410, 413, 422];

/// The settings of a webhook.
#[derive(Clone, Debug, Default)]
pub struct WebhookSettings {
    /// `http://` or `https://`
    pub url: String,
    /// The key of the signature.
    pub secret: Option<Vec<u8>>,
    /// Authorities for the target's certificate, in place of the system's: a file in PEM form.
    pub authorities: Option<PathBuf>,
    /// Whether the target may have an address inside the network.
    pub internal: bool,
}

/// A webhook.
pub struct Webhook {
    host: String,
    port: u16,
    authority: String,
    /// The path and the query of the URL.
    path: String,
    secret: Option<Vec<u8>>,
    tls: Option<(Arc<ClientConfig>, ServerName<'static>)>,
    internal: bool,
}

impl std::fmt::Debug for Webhook {
    // Neither the secret nor the path, which may be one.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Webhook").field("authority", &self.authority).finish_non_exhaustive()
    }
}

impl Webhook {
    /// A webhook with these settings; nothing is asked.
    ///
    /// # Errors
    /// The setting that cannot be used.
    pub fn new(settings: WebhookSettings) -> Result<Self, WrongSetting> {
        let WebhookSettings { url, secret, authorities, internal } = settings;
        let wrong = || WrongSetting::new("url", "it is no URL: http://HOST/PATH or https://...");
        let parts = Parts::of(&url).ok_or_else(wrong)?;
        let is_secure = match (parts.scheme, parts.tunnel) {
            ("http", None) => false,
            ("https", None) => true,
            _ => return Err(wrong()),
        };
        let is_plain = |c: char| c.is_ascii_graphic() && c != '#';
        if parts.user.is_some() || parts.host.is_empty() || !url.chars().all(is_plain) {
            return Err(wrong());
        }
        let usual = if is_secure { 443 } else { 80 };
        let port = parts.port.unwrap_or(usual);
        let host = parts.host.to_owned();
        let shown = if host.contains(':') { format!("[{host}]") } else { host.clone() };
        let tls = match is_secure {
            false => None,
            true => {
                let name = ServerName::try_from(host.clone()).map_err(|_| wrong())?;
                let config = sapwood_tls_client::config(authorities.as_deref())
                    .map_err(|why| WrongSetting::new("ca", why))?;
                Some((config, name))
            }
        };
        Ok(Self {
            authority: if port == usual { shown } else { format!("{shown}:{port}") },
            host,
            port,
            path: if parts.path.is_empty() { "/".to_owned() } else { parts.path.to_owned() },
            secret,
            tls,
            internal,
        })
    }

    /// Sends the message of a commit.
    ///
    /// # Errors
    /// When the target does not answer with success.
    pub(crate) async fn send(&self, target: &str, commit: &Commit) -> Result<()> {
        let unreachable = |why: String| Error::Unreachable { target: target.to_owned(), why };
        let sent = tokio::time::timeout(TIMEOUT, self.request(target, commit)).await;
        let late = || unreachable(format!("no answer within {} s", TIMEOUT.as_secs()));
        let status = sent.map_err(|_| late())??;
        match status {
            200..=299 => Ok(()),
            status if NEVER.contains(&status) => Err(Error::Refused {
                target: target.to_owned(),
                repository: commit.repository.clone(),
                revision: commit.revision.0,
                answer: status.to_string(),
            }),
            status => Err(Error::Answer { target: target.to_owned(), answer: status.to_string() }),
        }
    }

    /// The status of the answer.
    async fn request(&self, target: &str, commit: &Commit) -> Result<u16> {
        let unreachable = |why: &dyn std::fmt::Display| Error::Unreachable {
            target: target.to_owned(),
            why: why.to_string(),
        };
        let body = message::json(commit).map_err(|e| unreachable(&e))?;
        let socket = self.connect(target).await?;
        match &self.tls {
            None => exchange(socket, self.head(commit, body)).await.map_err(|e| unreachable(&e)),
            Some((config, name)) => {
                let connector = TlsConnector::from(Arc::clone(config));
                let stream =
                    connector.connect(name.clone(), socket).await.map_err(|e| unreachable(&e))?;
                exchange(stream, self.head(commit, body)).await.map_err(|e| unreachable(&e))
            }
        }
    }

    /// A connection to an address of the host that may be asked.
    async fn connect(&self, target: &str) -> Result<TcpStream> {
        let unreachable = |why: String| Error::Unreachable { target: target.to_owned(), why };
        let found = tokio::net::lookup_host((self.host.as_str(), self.port)).await;
        let all: Vec<SocketAddr> = found.map_err(|e| unreachable(e.to_string()))?.collect();
        if let Some(inside) = all.iter().find(|at| !self.internal && is_internal(at.ip())) {
            let address = inside.ip().to_string();
            return Err(Error::Internal { target: target.to_owned(), address });
        }
        TcpStream::connect(&*all).await.map_err(|e| unreachable(e.to_string()))
    }

    fn head(
        &self,
        commit: &Commit,
        body: Vec<u8>,
    ) -> Result<Request<Full<Bytes>>, hyper::http::Error> {
        let mut request = Request::builder()
            .method(Method::POST)
            .uri(&self.path)
            .header(HOST, &self.authority)
            .header(USER_AGENT, concat!("Sapwood/", env!("CARGO_PKG_VERSION")))
            .header(CONTENT_TYPE, "application/json")
            .header("X-Sapwood-Event", "commit")
            .header("X-Sapwood-Delivery", commit.id());
        if let Some(secret) = &self.secret {
            request = request.header("X-Sapwood-Signature", signature(secret, &body));
        }
        request.body(Full::new(Bytes::from(body)))
    }
}

/// `sha256=` and the HMAC of a body, as hexadecimal digits.
fn signature(secret: &[u8], body: &[u8]) -> String {
    // A key of any length is one.
    let Ok(mac) = Hmac::<Sha256>::new_from_slice(secret) else { return String::new() };
    let sum = mac.chain_update(body).finalize().into_bytes();
    sum.iter().fold("sha256=".to_owned(), |text, byte| text + &format!("{byte:02x}"))
}

/// Sends a request on a new connection, and waits for the head of the answer.
async fn exchange<S: AsyncRead + AsyncWrite + Send + Unpin + 'static>(
    stream: S,
    request: Result<Request<Full<Bytes>>, hyper::http::Error>,
) -> Result<u16, Box<dyn std::error::Error + Send + Sync>> {
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let driver = tokio::spawn(connection);
    let answer = sender.send_request(request?).await;
    // The rest of the answer is of no interest.
    driver.abort();
    Ok(answer?.status().as_u16())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls() {
        let make =
            |url: &str| Webhook::new(WebhookSettings { url: url.to_owned(), ..Default::default() });
        let hook = make("https://ci.example.com/hooks/svn?token=x").unwrap();
        assert_eq!(
            (hook.port, &*hook.path, &*hook.authority),
            (443, "/hooks/svn?token=x", "ci.example.com")
        );
        let hook = make("http://[2001:db8::1]:8080").unwrap();
        assert_eq!(
            (&*hook.host, &*hook.path, &*hook.authority),
            ("2001:db8::1", "/", "[2001:db8::1]:8080")
        );
        for bad in [
            "",
            "ftp://h/",
            "https:///x",
            "http://u:p@h/",
            "http://h/a b",
            "http://h/#x",
            "http://h/\r\nX: y",
            "svn+ssh://h/",
        ] {
            assert_eq!(make(bad).unwrap_err().setting, "url", "{bad}");
        }
    }

    /// RFC 4231, section 4.3.
    #[test]
    fn signatures() {
        let wanted = "sha256=5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        assert_eq!(signature(b"Jefe", b"what do ya want for nothing?"), wanted);
    }
}
