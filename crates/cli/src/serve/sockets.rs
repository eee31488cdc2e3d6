//! Where `sapwood serve` listens: sockets that a supervisor passed by name, and those that it opens itself.
//!
//! Invariant: a socket that was passed and that nothing is served at is an error: its clients would wait for ever.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use sapwood_acme::Report;
use sapwood_core::{ErrorCode, SvnError, SvnResult};
use sapwood_server::common::current::Current;
use sapwood_server::dav::{Http, HttpServer, TlsSettings};
use sapwood_server::svn::DEFAULT_PORT;
use sapwood_server::{Listener, Monitor, PeerServer, ServerState};

use super::options::Options;
use crate::supervisor;

/// The port of http:// when nothing else is requested.
const DEFAULT_HTTP_PORT: u16 = 8080;

/// The port of https:// when nothing else is requested.
pub(super) const DEFAULT_HTTPS_PORT: u16 = 8443;

/// The sockets that were passed.
#[derive(Debug, Default)]
struct PassedSockets {
    svn: Option<TcpListener>,
    http: Option<TcpListener>,
    https: Option<TcpListener>,
    metrics: Option<TcpListener>,
}

impl PassedSockets {
    fn take() -> SvnResult<Self> {
        let mut passed = Self::default();
        for (name, socket) in supervisor::sockets()? {
            let place = match name.as_str() {
                "svn" => &mut passed.svn,
                "http" => &mut passed.http,
                "https" => &mut passed.https,
                "metrics" => &mut passed.metrics,
                _ => {
                    return Err(wrong(&format!(
                        "A socket that was passed is named '{name}': its FileDescriptorName has to be svn, http, \
                         https or metrics"
                    )));
                }
            };
            if place.replace(socket).is_some() {
                let text = format!(
                    "Two sockets that were passed are named '{name}': only one can be served"
                );
                return Err(wrong(&text));
            }
        }
        Ok(passed)
    }
}

fn wrong(text: &str) -> SvnError {
    SvnError::new(ErrorCode::ILLEGAL_TARGET, text)
}

/// All sockets of a server, which listen already.
#[derive(Debug)]
pub(super) struct Sockets {
    /// Missing where only locations are served, which are for http.
    pub(super) svn: Option<Listener>,
    http: Option<TcpListener>,
    https: Option<TcpListener>,
    metrics: Option<TcpListener>,
    /// For other servers.
    peers: Option<TcpListener>,
}

impl Sockets {
    /// Takes what was passed, and opens what else the options ask for.
    ///
    /// # Errors
    /// Which address cannot be listened at and why; sockets that nothing is served at.
    pub(super) fn open(options: &Options, only_locations: bool) -> SvnResult<Self> {
        let passed = PassedSockets::take()?;
        if only_locations && passed.svn.is_some() {
            let text = "A socket for svn:// was passed, and only locations are served: set 'path'";
            return Err(wrong(text));
        }
        if passed.https.is_some() && !options.speaks_https() {
            let text = "A socket for https was passed: 'tls-certificate' and 'tls-key' are needed, or '[acme]'";
            return Err(wrong(text));
        }
        let svn = match passed.svn {
            Some(socket) => Some(Listener::from_lent(socket)),
            None if only_locations => None,
            None => Some(bind(options, "svn", options.port, DEFAULT_PORT)?),
        };
        let http = match passed.http {
            None if options.speaks_http() => {
                Some(bind_tcp(options, "http", options.http_port, DEFAULT_HTTP_PORT)?)
            }
            passed => passed,
        };
        let https = match passed.https {
            None if options.speaks_https() => {
                Some(bind_tcp(options, "https", options.https_port, DEFAULT_HTTPS_PORT)?)
            }
            passed => passed,
        };
        let metrics = match passed.metrics {
            Some(socket) => Some(socket),
            None => options.metrics.map(|at| bind_at(at, "metrics")).transpose()?,
        };
        let peers = options.servers_address().map(|at| bind_at(at, "other servers")).transpose()?;
        Ok(Self { svn, http, https, metrics, peers })
    }

    /// Serves http and https.
    ///
    /// # Errors
    /// System errors, and a certificate that cannot be used.
    pub(super) fn start_http(
        &mut self,
        http: &Arc<Http>,
        tls: Option<(TlsSettings, Arc<Report>)>,
    ) -> SvnResult<(Option<HttpServer>, Option<HttpServer>)> {
        let plain = self.http.take().map(|socket| HttpServer::start(socket, http, None));
        let plain = plain.transpose()?;
        let secure = self.https.take().zip(tls);
        let secure = secure.map(|(socket, tls)| HttpServer::start(socket, http, Some(tls)));
        Ok((plain, secure.transpose()?))
    }

    /// Answers monitoring programs, if that is wanted.
    ///
    /// # Errors
    /// System errors.
    pub(super) fn start_monitor(
        &mut self,
        server: &Arc<Current<ServerState>>,
    ) -> SvnResult<Option<Monitor>> {
        self.metrics.take().map(|socket| Monitor::start(socket, server)).transpose()
    }

    /// Answers other servers, if there are any.
    ///
    /// # Errors
    /// System errors.
    pub(super) fn start_peers(
        &mut self,
        server: &Arc<Current<ServerState>>,
        http: &Arc<Http>,
    ) -> SvnResult<Option<PeerServer>> {
        self.peers.take().map(|socket| PeerServer::start(socket, server, http)).transpose()
    }
}

fn bind_at(at: SocketAddr, whom: &str) -> SvnResult<TcpListener> {
    let listener = Listener::bind(Some(&at.ip().to_string()), at.port(), at.is_ipv6());
    let listener = listener.map_err(|e| {
        let message = format!("Can't listen at {at} for {whom}: {}", e.message());
        SvnError::new(e.code(), message)
    })?;
    copy(&listener)
}

fn bind_tcp(
    options: &Options,
    scheme: &str,
    port: Option<u16>,
    usual: u16,
) -> SvnResult<TcpListener> {
    copy(&bind(options, scheme, port, usual)?)
}

fn copy(listener: &Listener) -> SvnResult<TcpListener> {
    listener.socket().try_clone().map_err(|e| SvnError::io(&e, "Can't copy socket"))
}

/// Listens as asked. When no port was requested and the usual one is taken, any will do.
fn bind(options: &Options, scheme: &str, port: Option<u16>, usual: u16) -> SvnResult<Listener> {
    let host = options.listen.as_deref().unwrap_or("127.0.0.1");
    let at = |port| Listener::bind(Some(host), port, host.contains(':'));
    let listener = match port {
        Some(port) => at(port),
        None => at(usual).or_else(|_| at(0)),
    };
    listener.map_err(|e| {
        let shown = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
        let port = port.unwrap_or(usual);
        let message = format!("Can't listen at {shown}:{port} for {scheme}://: {}", e.message());
        SvnError::new(e.code(), message)
    })
}
