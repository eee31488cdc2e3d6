//! A mirror in front of a master: it answers read requests itself, and passes write requests on, as
//! mod_dav_svn does where `SVNMasterURI` is set.
//!
//! Requests and replies go through a piece at a time. Addresses in them are rewritten both ways, where they
//! are addresses: in heads, and in `href` elements of XML; never in texts and properties, which
//! mod_dav_svn rewrites too (its issue 3445).
//!
//! * `connection`: the way to the master.
//! * `forward`: a request's way there, and its reply's way back, without a thread.
//! * `addresses`: one base path in place of another; `hrefs`: the same in XML.
//!
//! Invariant: a request that the client does not finish is not finished at the master, and a reply that the
//! master does not finish is not finished here.

mod addresses;
mod connection;
mod forward;
mod hrefs;

use std::sync::Arc;

use hyper::Request;
use hyper::header::{self, HeaderValue};
use sapwood_core::{ErrorCode, SvnError, len64};
use sapwood_wire_dav::Resource;

use super::exchange::Exchange;
use super::fail::{DavResult, Fail};
use super::head::Head;
use super::relay::body::{ForwardedBody, Pieces};
use super::relay::hop::is_of_connection;
use super::session::Session;
use super::stage::Stage;
use super::workers::MOST_HELD;
use addresses::{AddressMap, Base};
pub use connection::Master;
pub(super) use forward::{Forward, ForwardFailure};
use hrefs::Hrefs;

/// The limit of mirrors in a row; more are taken for a cycle.
const MAX_MIRRORS: usize = 8;
/// The mirror's name in `Via`.
const VIA: &str = "1.1 sapwood-mirror";

/// Headers about the client, of which only the mirror's own values are passed on; and cookies, which are the mirror's.
const OF_THE_WAY: [&str; 5] =
    ["forwarded", "x-forwarded-for", "x-forwarded-proto", "x-forwarded-host", "cookie"];

/// The master, if the request is one for it.
pub(super) fn of<'s>(session: &Session<'s>) -> Option<&'s Arc<Master>> {
    let master = session.location?.master.as_ref()?;
    let is_for_it = match session.head.method.as_str() {
        "REPORT" | "OPTIONS" => false,
        // Such resources exist at the master only.
        "GET" | "HEAD" | "PROPFIND" => matches!(
            session.resource,
            Resource::Txn(_)
                | Resource::TxnRoot(..)
                | Resource::VTxn(_)
                | Resource::VTxnRoot(..)
                | Resource::Working(..)
                | Resource::WorkingBaseline(..)
        ),
        method => method == "MOVE" || super::options::ALLOWED.split(',').any(|m| m == method),
    };
    is_for_it.then_some(master)
}

/// An error for a malformed reply of the master.
fn bad_gateway(why: impl Into<String>) -> SvnError {
    SvnError::new(ErrorCode::RA_DAV_REQUEST_FAILED, why)
}

/// Whether XML of such a request holds addresses that matter.
fn has_addresses(method: &str) -> bool {
    matches!(method, "MERGE" | "CHECKOUT")
}

/// A request as it is to be forwarded; nothing where its body has to arrive before that.
///
/// # Errors
/// 400 and 508 for requests that cannot be forwarded.
pub(super) fn forward(
    session: &Session<'_>,
    exchange: &mut Exchange,
    master: &Arc<Master>,
    stage: Stage,
) -> DavResult<Option<Box<Forward>>> {
    let head = session.head;
    let local = Base::of(session.location.map_or("", |location| &location.prefix));
    let moved = AddressMap { from: &local, to: &master.base };
    let rewrites = local != master.base;
    let rewrites_body = rewrites && has_addresses(head.method.as_str());
    if rewrites_body && stage == Stage::Admit {
        return Ok(None);
    }
    let (pieces, body) = ForwardedBody::new();
    let length = if rewrites_body {
        send_rewritten(exchange, &pieces, Hrefs::new(moved, None))?
    } else if exchange.body.is_over() {
        Some(0)
    } else {
        head.header("content-length").and_then(|text| text.parse().ok())
    };
    let mut request = request(head, &moved, master, body.of_length(length))?;
    if rewrites_body {
        // It was decompressed to be rewritten.
        request.headers_mut().remove(header::CONTENT_ENCODING);
    } else {
        exchange.body.leave_packed();
    }
    let believed = session.access.config().user_header.as_deref();
    if let Some(name) = believed.filter(|_| !head.is_proxied) {
        // Only a trusted proxy may set it.
        request.headers_mut().remove(name);
    }
    let repository = session.access.subject().repository.unwrap_or("-").to_owned();
    let master = Arc::clone(master);
    Ok(Some(Box::new(Forward { master, request, pieces, local, rewrites, repository })))
}

/// Hands over a body whose addresses are rewritten. It was collected, so it is read without waiting. Returns
/// its length.
fn send_rewritten(
    exchange: &mut Exchange,
    pieces: &Pieces,
    mut hrefs: Hrefs<'_>,
) -> DavResult<Option<u64>> {
    let body = exchange.body.read_all(MOST_HELD)?;
    let mut out = Vec::with_capacity(body.len());
    hrefs.push(&body, &mut out);
    hrefs.finish(&mut out);
    let length = len64(out.len());
    if !out.is_empty() {
        let sent = pieces.try_send(Ok(out.into()));
        sent.map_err(|error| bad_gateway(format!("internal error: {error}")))?;
    }
    Ok(Some(length))
}

/// The request as it is sent to the master.
fn request(
    head: &Head,
    moved: &AddressMap<'_>,
    master: &Master,
    body: ForwardedBody,
) -> DavResult<Request<ForwardedBody>> {
    let bad = |why: &str| Fail::status(400, format!("Unusable request: {why}"));
    let via = head.headers.get_all(header::VIA).iter().filter_map(|via| via.to_str().ok());
    if via.flat_map(|via| via.split(',')).filter(|via| via.trim() == VIA).count() >= MAX_MIRRORS {
        return Err(Fail::status(508, "The master of this mirror leads back to it"));
    }
    let target = moved.path(&head.path).ok_or_else(|| bad("its address"))?;
    let query = head.query.as_ref().map_or_else(String::new, |query| format!("?{query}"));
    let mut request =
        Request::builder().method(head.method.clone()).uri(format!("{target}{query}"));
    let headers = request.headers_mut().ok_or_else(|| bad("its address"))?;
    for (name, value) in &head.headers {
        let is_own = [header::HOST, header::CONTENT_LENGTH, header::EXPECT].contains(name);
        if !is_own && !is_of_connection(name, &head.headers) && !OF_THE_WAY.contains(&name.as_str())
        {
            headers.append(name.clone(), value.clone());
        }
    }
    let text = |text: &str| HeaderValue::from_str(text).map_err(|_| bad("its headers"));
    headers.insert(header::HOST, text(&master.authority)?);
    headers.append(header::VIA, HeaderValue::from_static(VIA));
    headers.insert("x-forwarded-for", text(&head.client.to_string())?);
    if head.method != "GET" {
        // The reply is to be read.
        headers.remove(header::ACCEPT_ENCODING);
    }
    if let Some(to) = head.header("destination") {
        let to = moved.address(to, &master.origin).ok_or_else(|| bad("its destination"))?;
        headers.insert("destination", text(&to)?);
    }
    if let Some(conditions) = head.header("if") {
        headers.insert("if", text(&moved.conditions(conditions, &master.origin))?);
    }
    request.body(body).map_err(|_| bad("its head"))
}
