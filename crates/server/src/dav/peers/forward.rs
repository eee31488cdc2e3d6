//! A request on its way to another server, and the reply on its way back. Nothing of it needs a thread.
//!
//! Invariants: it ends with its client; as long as the other server has not begun with it, or it changes nothing and its body is still
//! here, it can be answered here instead.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hyper::body::Incoming;
use hyper::header::CONTENT_LENGTH;
use hyper::http::response::Parts;
use hyper::{Request, Response};
use sapwood_core::{ErrorCode, SvnError};
use sapwood_peers::{Door, Error, Hello, Name, Servers, link};
use tokio::sync::Notify;

use super::super::exchange::{CHUNK, Exchange};
use super::super::head::Head;
use super::super::relay::body::{ForwardedBody, Pieces, pump, send_with_body};
use super::super::relay::hop::is_of_connection;
use super::super::relay::pool::{Pool, SendFailure, Sender, shake};
use super::super::relay::reply::{ReplyFailure, end, pass};
use super::super::state::HttpState;
use super::super::workers;
use super::pools::Pools;
use super::statement::{ELSEWHERE, MISDIRECTED};
use crate::common::metrics::RouteOutcome;

/// A request for another server.
pub(in crate::dav) struct PeerForward {
    pub(super) servers: Arc<Servers>,
    pub(super) pools: Arc<Pools>,
    pub(super) server: Name,
    pub(super) request: Request<ForwardedBody>,
    /// Where the pieces of its body go.
    pub(super) pieces: Pieces,
    /// When they may.
    pub(super) begin: Arc<Notify>,
    /// Whether the client waits with the body until it is asked for.
    pub(super) waits: bool,
    /// The repository's token.
    pub(super) repository: String,
}

impl std::fmt::Debug for PeerForward {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PeerForward").field("server", &self.server).finish_non_exhaustive()
    }
}

/// What became of it.
#[derive(Debug)]
pub(in crate::dav) enum Outcome {
    /// The client has the other server's reply.
    Done,
    /// Nothing was done and nothing was sent: this server is to answer.
    Here,
    /// An error, and its status if nothing was sent yet.
    Failed(SvnError, u16),
}

/// Why there is no reply.
enum Failure {
    /// The other server was not reached, or refuses.
    Untaken(Error),
    /// Whether it has done anything is not known.
    InDoubt(String),
    /// The client has gone.
    Client(SvnError),
}

impl PeerForward {
    /// Sends the request and its body, and passes the reply back.
    pub(in crate::dav) async fn run(
        self,
        shared: &HttpState,
        head: &Head,
        exchange: &mut Exchange,
    ) -> Outcome {
        let (server, servers) = (self.server.clone(), Arc::clone(&self.servers));
        let pool = self.pools.of(&server, &servers);
        if exchange.body.raw().has_ended() {
            exchange.body.raw().keep_collected();
        }
        let is_begun = AtomicBool::new(false);
        let host = head.client.to_string();
        match self.send(&pool, exchange, &is_begun).await {
            Ok((sender, response, pieces)) => {
                servers.reached(&server);
                let result = reply(exchange, response, head.looks()).await;
                // Until here, so that a body that was not wanted does not end the reply.
                drop(pieces);
                match result {
                    Ok(()) => {
                        pool.keep(sender);
                        shared.server.metrics.routed("http", RouteOutcome::Forwarded);
                        Outcome::Done
                    }
                    Err(ReplyFailure::Client(error)) => Outcome::Failed(error, 408),
                    Err(ReplyFailure::Server(why)) => {
                        let failure = unreachable(&server, &why);
                        in_doubt(shared, head, exchange, &server, &failure)
                    }
                }
            }
            Err(Failure::Client(error)) => Outcome::Failed(error, 408),
            Err(Failure::InDoubt(why)) => {
                let failure = unreachable(&server, &why);
                in_doubt(shared, head, exchange, &server, &failure)
            }
            Err(Failure::Untaken(error)) => {
                shared.server.owner_failed("http", &server, &error, Some(&host));
                if !is_begun.load(Ordering::Relaxed) || exchange.body.rewind() {
                    return Outcome::Here;
                }
                Outcome::Failed(failed("did not take the request"), 503)
            }
        }
    }

    /// Sends the request with its body, and waits for the head of the reply.
    async fn send(
        self,
        pool: &Pool,
        exchange: &mut Exchange,
        is_begun: &AtomicBool,
    ) -> Result<(Sender, Response<Incoming>, Pieces), Failure> {
        let Self { servers, server, request, pieces, begin, waits, .. } = self;
        let patience = exchange.outlet().patience;
        let (body, client) = exchange.parts();
        let connected = || {
            if !waits {
                begin.notify_one();
            }
        };
        let work = async {
            let sending = pool.send(request, || connect(&servers, &server), connected);
            let pumping = async {
                begin.notified().await;
                is_begun.store(true, Ordering::Relaxed);
                pump(body.raw(), &pieces, patience).await
            };
            let has_begun = || is_begun.load(Ordering::Relaxed);
            let sent = send_with_body(sending, pumping, has_begun, patience).await;
            sent.map_err(Failure::Client)?.map_err(|failure| match failure {
                SendFailure::Unsent(error) => Failure::Untaken(error),
                SendFailure::InDoubt(error) => Failure::InDoubt(error.to_string()),
            })
        };
        let sent = client.while_there(work).await.map_err(Failure::Client)?;
        let (sender, response) = sent?;
        let is_elsewhere =
            response.status().as_u16() == MISDIRECTED && response.headers().contains_key(ELSEWHERE);
        if is_elsewhere {
            return Err(Failure::Untaken(Error::Elsewhere { name: server.to_string() }));
        }
        Ok((sender, response, pieces))
    }
}

fn unreachable(server: &Name, why: &dyn std::fmt::Display) -> Error {
    Error::Unreachable { name: server.to_string(), why: why.to_string() }
}

/// What the client gets to know: nothing of names of servers.
fn failed(what: &str) -> SvnError {
    let message = format!("The server that the repository belongs to {what}");
    SvnError::new(ErrorCode::RA_DAV_REQUEST_FAILED, message)
}

/// The other server failed after it had got something of the request. If that only reads, this server answers it.
fn in_doubt(
    shared: &HttpState,
    head: &Head,
    exchange: &mut Exchange,
    server: &Name,
    failure: &Error,
) -> Outcome {
    let host = head.client.to_string();
    shared.server.owner_failed("http", server, failure, Some(&host));
    shared.server.metrics.routed("http", RouteOutcome::Broken);
    if workers::reads(&head.method) && !exchange.has_begun() && exchange.body.rewind() {
        exchange.reset();
        return Outcome::Here;
    }
    Outcome::Failed(failed("failed before it had answered"), 502)
}

/// Opens a connection to another server.
async fn connect(servers: &Servers, server: &Name) -> Result<Sender, Error> {
    let settings = servers.settings();
    let hello = Hello {
        door: Door::Http,
        from: settings.own.clone(),
        to: server.clone(),
        client: None,
        repository: None,
    };
    let stream = link::open(servers, &hello, b"").await?;
    shake(stream).await.map_err(|error| unreachable(server, &error))
}

/// Passes the reply back as it is.
async fn reply(
    exchange: &mut Exchange,
    response: Response<Incoming>,
    looks: bool,
) -> Result<(), ReplyFailure> {
    let (parts, body) = response.into_parts();
    copy_head(exchange, &parts, looks);
    pass(exchange, body, |data, out| out.extend_from_slice(data)).await?;
    end(exchange).await
}

/// The head of the reply is the other server's, with its number of the request. The length of a short one is left to this server's
/// connection, which writes it where the other's has written it.
fn copy_head(exchange: &mut Exchange, parts: &Parts, looks: bool) {
    exchange.takes_gzip = false;
    exchange.is_private = false;
    exchange.request = None;
    exchange.status(parts.status.as_u16());
    let length = parts.headers.get(CONTENT_LENGTH);
    let length = length.and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    let is_short = length.is_some_and(|length| length < CHUNK);
    let is_made_anew = is_short && (!looks || parts.status.is_client_error());
    for (name, value) in &parts.headers {
        let is_left_out = is_made_anew && *name == CONTENT_LENGTH;
        if !is_left_out && !is_of_connection(name, &parts.headers) {
            exchange.append(name.clone(), value.clone());
        }
    }
}
