//! The head of a request: method, address and headers, and what is known of who sent it.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use hyper::header::{HeaderMap, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Method, Version};
use sapwood_wire_dav::headers;

use super::certificate::ClientCertificate;
use super::credentials;
use super::peers::statement::{STATEMENT, Statement};
use super::sign_in::asking::SignInOutcome;
use crate::common::request_number::RequestNumber;
use crate::common::users::Verdict;
use crate::settings::Network;

/// The head of a request.
#[derive(Debug)]
pub struct Head {
    /// The method.
    pub method: Method,
    /// The percent-encoded path.
    pub path: String,
    /// The query after the `?`.
    pub query: Option<String>,
    /// The headers.
    pub headers: HeaderMap,
    /// The client's address.
    pub client: IpAddr,
    /// The scheme by which the client called us.
    pub scheme: &'static str,
    /// The host and port that the client called.
    pub host: Option<String>,
    /// Whether a trusted proxy handed the request over.
    pub is_proxied: bool,
    /// Whether http of this version wants a Host header.
    pub wants_host: bool,
    /// The certificate that was shown on the connection.
    pub certificate: Option<Arc<ClientCertificate>>,
    /// The name and password of Basic authentication in the request.
    pub basic: Option<(String, String)>,
    /// The request's number in the logs and in error replies.
    pub request: Option<RequestNumber>,
    /// The result of checking the name and password, once that was done.
    pub verdict: Option<Verdict>,
    /// What the provider of OpenID Connect said, once it was asked.
    pub said: Option<SignInOutcome>,
    /// How the request came.
    pub(super) arrival: Arrival,
    /// Whether another server, which it is for, has not taken it: it is answered here.
    pub(super) is_here: bool,
}

/// How a request came.
#[derive(Debug)]
pub(super) enum Arrival {
    /// By its client, or by a proxy.
    Client,
    /// By another server of the same repositories, which means one of them.
    Server {
        /// The repository's token.
        repository: String,
    },
    /// Over a connection of another server, without what that says, or as its client with it.
    Malformed,
}

impl Head {
    /// Takes hyper's parts, of a request that arrived from `peer`.
    #[must_use]
    pub fn new(parts: Parts, peer: SocketAddr, secure: bool, trusted: &[Network]) -> Self {
        let origin = super::proxied::origin(&parts.headers, peer.ip(), secure, trusted);
        let path = parts.uri.path().to_owned();
        let query = parts.uri.query().map(str::to_owned);
        Self {
            basic: credentials::credentials(&parts.headers),
            wants_host: parts.version >= Version::HTTP_11,
            method: parts.method,
            path,
            query,
            headers: parts.headers,
            client: origin.client,
            scheme: if origin.secure { "https" } else { "http" },
            host: origin.host,
            is_proxied: origin.is_proxied,
            certificate: None,
            request: None,
            verdict: None,
            said: None,
            arrival: Arrival::Client,
            is_here: false,
        }
    }

    /// Takes over what the connection says of the request: `is_server` if it is one of another server, which is believed.
    pub(super) fn arrived(&mut self, is_server: bool, certificate: Option<Arc<ClientCertificate>>) {
        let has_statement = self.headers.contains_key(STATEMENT);
        self.certificate = certificate;
        self.arrival = match Statement::read(&self.headers).filter(|_| is_server) {
            Some(Statement { origin, repository, certificate }) => {
                self.client = origin.client;
                self.scheme = if origin.secure { "https" } else { "http" };
                self.host = origin.host;
                self.is_proxied = origin.is_proxied;
                self.certificate = certificate;
                Arrival::Server { repository }
            }
            None if is_server || has_statement => Arrival::Malformed,
            None => Arrival::Client,
        };
    }

    /// An address on this server as a URL, as far as it is known how the client calls us.
    #[must_use]
    pub fn absolute(&self, path: &str) -> String {
        match &self.host {
            Some(host) => format!("{}://{host}{path}", self.scheme),
            None => path.to_owned(),
        }
    }

    /// Whether the method is GET or HEAD, as of a browser that looks at something.
    #[must_use]
    pub fn looks(&self) -> bool {
        matches!(self.method.as_str(), "GET" | "HEAD")
    }

    /// Whether the client is one of Subversion's.
    #[must_use]
    pub(crate) fn is_svn_client(&self) -> bool {
        let speaks_svn = |value: &HeaderValue| {
            value.to_str().is_ok_and(|value| value.contains(sapwood_wire_dav::NS_SVN_DAV))
        };
        self.headers.get_all(headers::DAV).iter().any(speaks_svn)
            || self.header("user-agent").is_some_and(|agent| agent.starts_with("SVN/"))
    }

    /// The text of a header.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// Whether a header has a word in its list.
    #[must_use]
    pub(crate) fn has_word(&self, name: &str, word: &str) -> bool {
        self.headers.get_all(name).iter().filter_map(|v| v.to_str().ok()).any(|list| {
            list.split([',', ' ', ';']).any(|item| item.trim().eq_ignore_ascii_case(word))
        })
    }
}
