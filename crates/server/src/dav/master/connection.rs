//! The master, and connections to it.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::{Request, Response};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use sapwood_core::uri::{self, Parts};
use sapwood_core::{ErrorCode, SvnError, SvnResult};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::super::relay::body::ForwardedBody;
use super::super::relay::pool::{Pool, SendFailure, Sender, shake};
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
    pool: Pool,
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
            pool: Pool::new(MAX_IDLE, IDLE),
        })
    }

    /// Whether it has the features of a release of Subversion; also true if its release is unknown.
    pub(in crate::dav) fn is_at_least(&self, major: u32, minor: u32) -> bool {
        self.version.is_none_or(|version| version >= (major, minor))
    }

    fn unreachable(&self, why: &dyn std::fmt::Display) -> SvnError {
        bad_gateway(format!("The master '{}' cannot be reached: {why}", self.origin))
    }

    async fn connect(&self) -> SvnResult<Sender> {
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

    /// A reply was read to its end: the connection may take another request.
    pub(super) fn keep(&self, sender: Sender) {
        self.pool.keep(sender);
    }

    /// Sends a request.
    ///
    /// # Errors
    /// When the master cannot be reached, or does not answer.
    pub(super) async fn send(
        self: Arc<Self>,
        request: Request<ForwardedBody>,
    ) -> SvnResult<(Sender, Response<Incoming>)> {
        self.pool.send(request, || self.connect(), || ()).await.map_err(|failure| match failure {
            SendFailure::Unsent(error) => error,
            SendFailure::InDoubt(error) => self.unreachable(&error),
        })
    }
}
