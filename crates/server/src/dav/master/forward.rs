//! A request on its way to the master, and the reply on its way back. Nothing of it needs a thread: however many
//! requests wait for a master that does not answer, each costs its connection and a few pieces of its body.
//!
//! Invariant: it ends with its client. A body that the client does not finish has no end at the master.

use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::header::{self, HeaderValue};
use hyper::http::response::Parts;
use hyper::{Request, Response};
use sapwood_core::SvnError;

use super::super::body::RawBody;
use super::super::exchange::Exchange;
use super::super::head::Head;
use super::super::relay::body::{ForwardedBody, Pieces, pump, send_with_body};
use super::super::relay::hop::is_of_connection;
use super::super::relay::pool::Sender;
use super::super::relay::reply::{ReplyFailure, end, pass};
use super::addresses::{AddressMap, Base};
use super::bad_gateway;
use super::connection::Master;
use super::hrefs::Hrefs;

/// A request for the master.
pub(in crate::dav) struct Forward {
    pub(super) master: Arc<Master>,
    pub(super) request: Request<ForwardedBody>,
    /// Where the pieces of its body go.
    pub(super) pieces: Pieces,
    /// The address of the location that is a mirror.
    pub(super) local: Base,
    /// Whether the master's addresses are others than ours.
    pub(super) rewrites: bool,
    /// The repository's name, for the log.
    pub(super) repository: String,
}

impl std::fmt::Debug for Forward {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Forward").field("master", &self.master).finish_non_exhaustive()
    }
}

/// Why a request was not forwarded, or its reply has no end.
#[derive(Debug)]
pub(in crate::dav) struct ForwardFailure {
    /// The error.
    pub(in crate::dav) error: SvnError,
    /// The status for the client, if nothing was sent yet.
    pub(in crate::dav) status: u16,
    /// The repository's name.
    pub(in crate::dav) repository: String,
}

/// The master's reply, and the connection that it comes by.
type Answer = (Sender, Response<Incoming>);

impl Forward {
    /// Sends the request and its body, and passes the reply back.
    ///
    /// # Errors
    /// 502 when the master cannot be reached, or its reply has no end; E190004 when the client has gone, or
    /// nothing happens for too long.
    pub(in crate::dav) async fn run(
        self,
        head: &Head,
        exchange: &mut Exchange,
    ) -> Result<(), ForwardFailure> {
        let Self { master, request, pieces, local, rewrites, repository } = self;
        let failure = |(error, status)| ForwardFailure { error, status, repository };
        let patience = exchange.outlet().patience;
        let (body, client) = exchange.parts();
        let sending = send(Arc::clone(&master), request, body.raw(), pieces, patience);
        let sent = client.while_there(sending).await.map_err(gone).and_then(|sent| sent);
        let (sender, response) = match sent {
            Ok(sent) => sent,
            Err(why) => return Err(failure(why)),
        };
        let back = AddressMap { from: &master.base, to: &local };
        reply(head, exchange, response, rewrites, &back).await.map_err(failure)?;
        master.keep(sender);
        Ok(())
    }
}

/// An error of the client's side.
fn gone(error: SvnError) -> (SvnError, u16) {
    (error, 408)
}

/// Sends a request with its body, and waits for the head of the reply.
async fn send(
    master: Arc<Master>,
    request: Request<ForwardedBody>,
    body: &mut RawBody,
    pieces: Pieces,
    patience: Duration,
) -> Result<Answer, (SvnError, u16)> {
    let pumping = pump(body, &pieces, patience);
    let sent = send_with_body(master.send(request), pumping, || true, patience).await;
    sent.map_err(gone)?.map_err(|error| (error, 502))
}

/// Passes the reply back.
async fn reply(
    head: &Head,
    exchange: &mut Exchange,
    response: Response<Incoming>,
    rewrites: bool,
    back: &AddressMap<'_>,
) -> Result<(), (SvnError, u16)> {
    let origin = head.absolute("");
    let (parts, body) = response.into_parts();
    let mut hrefs = (rewrites && head.method != "GET" && is_plain_xml(&parts))
        .then(|| Hrefs::new(*back, Some(&origin)));
    copy_head(exchange, &parts, hrefs.is_some(), back, &origin);
    let passing = pass(exchange, body, |data, out| match &mut hrefs {
        Some(hrefs) => hrefs.push(data, out),
        None => out.extend_from_slice(data),
    });
    passing.await.map_err(failed)?;
    if let Some(hrefs) = &mut hrefs {
        hrefs.finish(exchange.out());
    }
    end(exchange).await.map_err(failed)
}

/// Why the reply has no end, and a status.
fn failed(failure: ReplyFailure) -> (SvnError, u16) {
    match failure {
        ReplyFailure::Client(error) => gone(error),
        ReplyFailure::Server(why) => {
            (bad_gateway(format!("The master's reply has no end: {why}")), 502)
        }
    }
}

/// The head of the reply is the master's, with our addresses.
fn copy_head(
    exchange: &mut Exchange,
    parts: &Parts,
    changes_length: bool,
    back: &AddressMap<'_>,
    origin: &str,
) {
    // What the master compressed is not changed.
    exchange.takes_gzip = false;
    exchange.status(parts.status.as_u16());
    for (name, known) in &parts.headers {
        let is_own = *name == header::CONTENT_LENGTH && changes_length;
        if is_own || is_of_connection(name, &parts.headers) {
            continue;
        }
        let is_address = *name == header::LOCATION || *name == header::CONTENT_LOCATION;
        let address = known.to_str().ok().filter(|_| is_address);
        let address = address.and_then(|address| back.address(address, origin));
        let value = address.and_then(|address| HeaderValue::from_str(&address).ok());
        exchange.append(name.clone(), value.unwrap_or_else(|| known.clone()));
    }
}

/// Whether a reply is XML that is not compressed.
fn is_plain_xml(parts: &Parts) -> bool {
    let media = parts.headers.get(header::CONTENT_TYPE).and_then(|media| media.to_str().ok());
    let media = media.unwrap_or("").split(';').next().unwrap_or("").trim();
    let is_xml = ["text/xml", "application/xml"].iter().any(|xml| media.eq_ignore_ascii_case(xml));
    is_xml && !parts.headers.contains_key(header::CONTENT_ENCODING)
}
