//! Requests as the session makes them: with the headers that every request has, with authentication
//! when the server requires it, and with statuses turned into errors.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyper::Request;
use sapwood_core::paths::Url;
use sapwood_core::{ErrorCode, SvnError, SvnResult};
use sapwood_delta::Version;
use sapwood_wire_dav::xml::{Document, Element, Limits};
use sapwood_wire_dav::{failure, status};

use super::greetings::Greetings;
use super::login::{Challenge, Proof};
use super::options::Options;
use super::origin::Origin;
use super::settings::ClientSettings;
use super::ticket::Tickets;
use super::tls::Tls;
use super::transport::{OutgoingBody, Payload, Reply, Transport};
use crate::auth::Authenticator;
use crate::error::Error;
use crate::session::COMPATIBLE_VERSION;

/// The capabilities of the client. They are sent with each request and passed to hooks.
const CAPABILITIES: [&str; 3] = [
    "http://subversion.tigris.org/xmlns/dav/svn/depth",
    "http://subversion.tigris.org/xmlns/dav/svn/mergeinfo",
    "http://subversion.tigris.org/xmlns/dav/svn/log-revprops",
];
/// A server that responds within this time is near: the threshold of 1.14.
const NEAR: Duration = Duration::from_millis(5);
/// The most bytes that are read of the body of an error.
const ERROR_BODY: u64 = 1 << 20;
/// Limits of one piece of a server's XML. The whole has no limit: it
/// is not kept.
pub(super) const LIMITS: Limits = Limits {
    bytes: u64::MAX,
    child_bytes: 1 << 30,
    depth: 64,
    attributes: 64,
    elements: 10_000_000,
};

/// One request.
#[derive(Debug, Default)]
pub(super) struct Call<'a> {
    pub(super) method: &'static str,
    /// The percent-encoded path on the server.
    pub(super) target: Cow<'a, str>,
    pub(super) headers: Vec<(&'static str, String)>,
    /// The media type of its body.
    pub(super) media: &'static str,
    pub(super) payload: Payload,
}

impl<'a> Call<'a> {
    pub(super) fn new(method: &'static str, target: &'a str) -> Self {
        Self { method, target: Cow::Borrowed(target), ..Self::default() }
    }

    /// The same, which may be kept.
    pub(super) fn into_owned(self) -> Call<'static> {
        let Self { method, target, headers, media, payload } = self;
        Call { method, target: Cow::Owned(target.into_owned()), headers, media, payload }
    }

    pub(super) fn with(mut self, header: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((header, value.into()));
        self
    }

    /// With a body of XML.
    pub(super) fn xml(mut self, body: impl Into<Bytes>) -> Self {
        self.media = "text/xml";
        self.payload = Payload::Bytes(body.into());
        self
    }

    pub(super) fn carrying(mut self, media: &'static str, payload: Payload) -> Self {
        self.media = media;
        self.payload = payload;
        self
    }

    /// Whether the request may be made twice when the outcome of the first is unknown.
    fn may_repeat(&self) -> bool {
        matches!(self.method, "GET" | "HEAD" | "OPTIONS" | "PROPFIND" | "REPORT")
    }
}

/// A server, and what is known of its protocol.
#[derive(Debug)]
pub(super) struct Client {
    transport: Rc<Transport>,
    /// The scheme and authority of its URLs.
    pub(super) base: String,
    host: String,
    port: u16,
    /// `Host`
    authority: String,
    /// With a proxy, requests name the whole URL; and the credentials for the proxy.
    proxy: Option<Option<String>>,
    auth: Arc<Authenticator>,
    proof: RefCell<Option<Proof>>,
    tickets: Tickets,
    agent: String,
    /// Whether the last reply left its connection open.
    keeps_alive: Cell<bool>,
    /// Requests that were to change something.
    changes: Cell<u64>,
    pub(super) greetings: Greetings,
    pub(super) options: Options,
}

/// The request to a proxy to open a tunnel to the server.
fn connect_head(host: &str, port: u16, user: Option<String>) -> String {
    let user = user.map_or_else(String::new, |user| format!("Proxy-Authorization: {user}\r\n"));
    let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
    format!("CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n{user}\r\n")
}

impl Client {
    /// A client of the server of `url`. Sends nothing.
    pub(super) fn new(url: &Url, settings: &ClientSettings) -> SvnResult<Self> {
        let illegal = || SvnError::from(Error::IllegalUrl(url.to_string()));
        let parts = url.parts().ok_or_else(illegal)?;
        let secure = parts.scheme == "https";
        let port = parts.port.unwrap_or(if secure { 443 } else { 80 });
        let origin = Origin { host: parts.host.to_owned(), port };
        let options = Options::of(&settings.servers, parts.host)?;
        let proxy = options.proxy.clone();
        let peer = proxy.as_ref().map_or_else(|| origin.clone(), |(proxy, _)| proxy.clone());
        let rest = url.split_once("://").map_or("", |(_, rest)| rest);
        let authority = rest.split('/').next().unwrap_or("");
        let authority = authority.rsplit_once('@').map_or(authority, |(_, host)| host).to_owned();
        let agent = format!("SVN/{COMPATIBLE_VERSION} (sapwood)");
        let tls = if secure {
            let realm = format!("https://{}:{port}", parts.host);
            Some(Tls::new(parts.host, realm, &options, settings)?)
        } else {
            None
        };
        // Through a proxy https is a tunnel, and the proxy sees no request.
        let (proxy, tunnel) = match proxy {
            Some((_, user)) if secure => (None, Some(connect_head(parts.host, port, user))),
            other => (other.map(|(_, user)| user), None),
        };
        Ok(Self {
            transport: Transport::new(peer, tls, tunnel, &options, settings.cancel.clone())?,
            base: format!("{}://{authority}", parts.scheme),
            host: origin.host,
            port,
            authority,
            proxy,
            auth: Arc::clone(&settings.auth),
            proof: RefCell::new(None),
            tickets: Tickets::default(),
            agent: match &settings.client_name {
                Some(name) => format!("{agent} {name}"),
                None => agent,
            },
            keeps_alive: Cell::new(false),
            changes: Cell::new(0),
            greetings: Greetings::default(),
            options,
        })
    }

    /// Whether it is a client of the server of a URL, as the URL names it.
    pub(super) fn is_of(&self, url: &Url) -> bool {
        let rest = url.strip_prefix(self.base.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// The credentials that it offers.
    pub(super) const fn authenticator(&self) -> &Arc<Authenticator> {
        &self.auth
    }

    /// How many requests were made that change something.
    pub(super) const fn changes(&self) -> u64 {
        self.changes.get()
    }

    /// Bytes sent and received so far.
    pub(super) fn transferred(&self) -> u64 {
        self.transport.transferred()
    }

    /// Whether the server is so close that compression costs more than it saves.
    fn is_near(&self) -> bool {
        self.options.compression.is_none() && self.transport.latency() < NEAR
    }

    /// The encodings that a reply without text deltas may have.
    pub(super) fn packings(&self) -> &'static str {
        if self.options.compression == Some(false) || self.is_near() { "identity" } else { "gzip" }
    }

    /// The same for a reply with text deltas, and their media types, best first.
    pub(super) fn delta_packings(&self) -> &'static str {
        match self.options.compression {
            Some(false) => "svndiff",
            _ if self.is_near() => "svndiff2;q=0.9,svndiff1;q=0.8,svndiff;q=0.7",
            _ => "gzip,svndiff1;q=0.9,svndiff2;q=0.8,svndiff;q=0.7",
        }
    }

    /// The best format of text deltas for a server that reads these formats beside the first.
    pub(super) fn delta_version(&self, reads_1: bool, reads_2: bool) -> Version {
        match (reads_1, reads_2) {
            _ if self.options.compression == Some(false) => Version::V0,
            (_, true) if self.is_near() => Version::V2,
            (true, _) => Version::V1,
            (false, true) => Version::V2,
            (false, false) => Version::V0,
        }
    }

    /// The client's `User-Agent`.
    pub(super) fn agent(&self) -> &str {
        &self.agent
    }

    /// The name of the authenticated user, if the server required one.
    pub(super) fn user(&self) -> Option<String> {
        self.proof.borrow().as_ref().map(|proof| proof.simple().username.clone())
    }

    /// A request; `chunked` says whether a body may be sent without its length.
    fn request(&self, call: &Call<'_>, chunked: bool) -> SvnResult<Request<OutgoingBody>> {
        let broken = |error: hyper::http::Error| {
            SvnError::new(ErrorCode::RA_DAV_CREATING_REQUEST, error.to_string())
        };
        if !call.may_repeat() {
            self.changes.set(self.changes.get().wrapping_add(1));
        }
        let mut request = Request::builder().method(call.method).header("host", &self.authority);
        request = match &self.proxy {
            None => request.uri(&*call.target),
            Some(user) => {
                if let Some(user) = user {
                    request = request.header("proxy-authorization", user);
                }
                request.uri(format!("{}{}", self.base, call.target))
            }
        };
        request = request.header("user-agent", &self.agent);
        for capability in CAPABILITIES {
            request = request.header("dav", capability);
        }
        if let Some(ticket) = self.tickets.header(&self.host) {
            request = request.header("authorization", ticket);
        } else if let Some(proof) = &mut *self.proof.borrow_mut() {
            request = request.header("authorization", proof.header(call.method, &call.target));
        }
        if !call.media.is_empty() {
            request = request.header("content-type", call.media);
        }
        let len = call.payload.len();
        let chunked = chunked && len > 0;
        if !chunked && (len > 0 || matches!(call.method, "PUT" | "POST")) {
            request = request.header("content-length", len);
        }
        for (name, value) in &call.headers {
            request = request.header(*name, value);
        }
        request.body(call.payload.body(chunked)?).map_err(broken)
    }

    /// The head of a request as it goes over the wire, with the length of its body.
    pub(super) fn head_of(&self, call: &Call<'_>) -> SvnResult<Vec<u8>> {
        let (head, _) = self.request(call, false)?.into_parts();
        let mut bytes = format!("{} {} HTTP/1.1\r\n", head.method, head.uri).into_bytes();
        for (name, value) in &head.headers {
            bytes.extend([name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"].concat());
        }
        bytes.extend(b"\r\n");
        Ok(bytes)
    }

    /// Its connections.
    pub(super) fn transport(&self) -> &Transport {
        &self.transport
    }

    fn send(&self, call: &Call<'_>) -> SvnResult<Reply> {
        let request = || self.request(call, self.options.chunked);
        let reply = self.transport.send(call.may_repeat(), request)?;
        self.keeps_alive.set(reply.keeps_alive());
        Ok(reply)
    }

    /// Whether requests may be sent before the replies to earlier ones have come: the server's last reply was one of
    /// HTTP/1.1 and left the connection open, and no proxy reads the requests.
    pub(super) fn may_pipeline(&self) -> bool {
        self.keeps_alive.get() && self.proxy.is_none()
    }

    /// Makes a request: returns the reply with any status, except those that require authentication, which are handled here.
    ///
    /// # Errors
    /// Errors of the network; E215004 when no credentials are accepted.
    pub(super) fn call(&self, call: &Call<'_>) -> SvnResult<Reply> {
        let mut reply = self.send(call)?;
        // Users without a ticket have passwords, perhaps.
        if reply.status() == 401 && self.options.negotiate && self.tickets.may_answer(&reply) {
            reply.finish()?;
            reply = self.send(call)?;
            if reply.status() == 401 {
                self.tickets.may_answer(&reply);
            } else {
                self.tickets.verify(&reply)?;
            }
        }
        let mut renewed = false;
        while reply.status() == 401 {
            let challenge = self.challenge(&reply)?;
            reply.finish()?;
            // The nonce of Digest is stale: the same credentials once more.
            if challenge.is_stale() && !renewed {
                renewed = true;
                let simple = self.proof.borrow().as_ref().map(|proof| proof.simple().clone());
                if let Some(simple) = simple {
                    self.prove(&challenge, simple)?;
                    reply = self.send(call)?;
                    continue;
                }
            }
            return self.log_in(call, challenge);
        }
        if reply.status() == 407 {
            return Err(SvnError::new(
                ErrorCode::AUTHN_FAILED,
                "Proxy authentication required: set http-proxy-username and \
                 http-proxy-password in the 'servers' file",
            ));
        }
        Ok(reply)
    }

    /// The strongest scheme of authentication that the server offers and the configuration allows.
    fn challenge(&self, reply: &Reply) -> SvnResult<Challenge> {
        let allowed = |challenge: &Challenge| {
            let schemes = self.options.schemes.as_deref();
            schemes.is_none_or(|schemes| schemes.contains(&challenge.scheme))
        };
        let offered: Vec<&str> = reply.headers("www-authenticate").collect();
        offered
            .iter()
            .filter_map(|header| Challenge::parse(header))
            .filter(allowed)
            .max_by_key(|challenge| challenge.scheme)
            .ok_or_else(|| {
                let names: Vec<&str> =
                    offered.iter().filter_map(|header| header.split(' ').next()).collect();
                SvnError::new(
                    ErrorCode::AUTHN_FAILED,
                    format!(
                        "None of the server's ways of authentication is known or allowed: {}",
                        names.join(", ")
                    ),
                )
            })
    }

    fn prove(&self, challenge: &Challenge, simple: crate::auth::Simple) -> SvnResult<()> {
        let mut random = [0; 16];
        getrandom::fill(&mut random)
            .map_err(|_| SvnError::new(ErrorCode::AUTHN_FAILED, "No random numbers"))?;
        *self.proof.borrow_mut() = Some(Proof::new(challenge.clone(), simple, random));
        Ok(())
    }

    /// Tries one credential after the other.
    fn log_in(&self, call: &Call<'_>, challenge: Challenge) -> SvnResult<Reply> {
        let scheme = self.base.split("://").next().unwrap_or_default();
        let realm = format!("<{scheme}://{}:{}> {}", self.host, self.port, challenge.realm);
        let mut challenge = challenge;
        let mut attempts = self.auth.attempts(&realm, &self.host)?;
        while let Some(simple) = attempts.next_credentials()? {
            self.prove(&challenge, simple)?;
            let reply = self.send(call)?;
            if reply.status() != 401 {
                attempts.save()?;
                return Ok(reply);
            }
            challenge = self.challenge(&reply)?;
            reply.finish()?;
        }
        *self.proof.borrow_mut() = None;
        Err(SvnError::new(
            ErrorCode::AUTHN_FAILED,
            "No more credentials or we tried too many times.\nAuthentication failed",
        ))
    }

    /// Makes a request that must have one of these statuses.
    ///
    /// # Errors
    /// As [`Client::call`], and what another status means.
    pub(super) fn run_expecting(&self, call: &Call<'_>, good: &[u16]) -> SvnResult<Reply> {
        expect_status(self.call(call)?, &call.target, good)
    }

    /// Makes a request whose reply is of no interest.
    pub(super) fn run(&self, call: &Call<'_>, good: &[u16]) -> SvnResult<()> {
        self.run_expecting(call, good)?.finish()
    }

    /// Makes a request whose reply is XML: passes each child of its root to `take`; the root itself
    /// is returned.
    pub(super) fn children(
        &self,
        call: &Call<'_>,
        good: &[u16],
        take: impl FnMut(Element) -> SvnResult<()>,
    ) -> SvnResult<Element> {
        children_of(self.run_expecting(call, good)?, take)
    }

    /// Makes a request whose reply is a small XML body.
    pub(super) fn element(&self, call: &Call<'_>, good: &[u16]) -> SvnResult<Element> {
        element_of(self.run_expecting(call, good)?)
    }
}

/// The reply, if it has one of these statuses.
///
/// # Errors
/// What another status means.
pub(super) fn expect_status(reply: Reply, target: &str, good: &[u16]) -> SvnResult<Reply> {
    if good.contains(&reply.status()) { Ok(reply) } else { Err(error_of(reply, target)) }
}

/// Passes each child of the root of a reply in XML to `take`, and returns the root.
pub(super) fn children_of(
    mut reply: Reply,
    mut take: impl FnMut(Element) -> SvnResult<()>,
) -> SvnResult<Element> {
    let mut document = Document::open(&mut reply, LIMITS)?;
    let root = document.root().clone();
    while let Some(child) = document.next_child()? {
        take(child)?;
    }
    reply.finish()?;
    Ok(root)
}

/// The root of a reply that is a small body of XML.
pub(super) fn element_of(mut reply: Reply) -> SvnResult<Element> {
    let root = Document::open(&mut reply, LIMITS)?.into_root()?;
    reply.finish()?;
    Ok(root)
}

/// The error for an unexpected status, with the server's own message.
pub(super) fn error_of(reply: Reply, target: &str) -> SvnError {
    let (plain, reported) = errors_of(reply, target);
    reported.unwrap_or(plain)
}

/// The error for an unexpected status by itself, and the error in the body of the reply.
pub(super) fn errors_of(reply: Reply, target: &str) -> (SvnError, Option<SvnError>) {
    let status = reply.status();
    let reason = reply.head.status.canonical_reason().unwrap_or("");
    let plain = by_status(status, reason, target, reply.header("location"));
    let is_xml = reply
        .header("content-type")
        .is_some_and(|media| media.starts_with("text/xml") || media.starts_with("application/xml"));
    let reported = match reply.bytes(ERROR_BODY) {
        Ok(body) if is_xml => failure::read(&body).ok().flatten(),
        _ => None,
    };
    let reported = match reported {
        Some(reported) if reported.code() != ErrorCode(0) => Some(reported),
        // The body has no code: take that of the status, with the message of the body.
        Some(reported) if !reported.message().is_empty() => {
            Some(SvnError::new(plain.code(), reported.message().to_owned()))
        }
        _ => None,
    };
    (plain, reported)
}

fn by_status(status: u16, reason: &str, target: &str, location: Option<&str>) -> SvnError {
    let path = target;
    let message = match status {
        301 => format!("Repository moved permanently to '{}'", location.unwrap_or("")),
        302 | 303 | 307 | 308 => {
            format!("Repository moved temporarily to '{}'", location.unwrap_or(""))
        }
        403 => format!("Access to '{path}' forbidden"),
        404 => format!("'{path}' path not found"),
        405 => format!("HTTP method is not allowed on '{path}'"),
        409 => format!("'{path}' conflicts"),
        411 => "DAV request failed: 411 Content length required".to_owned(),
        412 => format!("Precondition on '{path}' failed"),
        423 => format!("'{path}': no lock token available"),
        500 => format!("Unexpected server error {status} '{reason}' on '{path}'"),
        501 => format!("The requested feature is not supported by '{path}'"),
        _ => format!("Unexpected HTTP status {status} '{reason}' on '{path}'"),
    };
    let code = match status {
        200..=299 => ErrorCode::RA_DAV_REQUEST_FAILED,
        status => status::code_of(status),
    };
    SvnError::new(code, message)
}
