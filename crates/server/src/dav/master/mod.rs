//! A mirror in front of a master: it answers read requests itself, and passes write requests on, as
//! mod_dav_svn does where `SVNMasterURI` is set.
//!
//! Requests and replies go through a piece at a time. Addresses in them are rewritten both ways, where they
//! are addresses: in heads, and in `href` elements of XML; never in texts and properties, which
//! mod_dav_svn rewrites too (its issue 3445).
//!
//! * `connection`: the way to the master.
//! * `addresses`: one base path in place of another; `hrefs`: the same in XML.
//!
//! Invariant: a request that the client does not finish is not finished at the master, and a reply that the
//! master does not finish is not finished here.

mod addresses;
mod connection;
mod hrefs;

use std::io::Read as _;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::http::response::Parts;
use hyper::{Request, Response};
use sapwood_core::{ErrorCode, SvnError, SvnResult};
use sapwood_wire_dav::Resource;
use sapwood_wire_dav::report::Sink as _;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::exchange::Exchange;
use super::head::Head;
use super::session::{DavResult, Fail, Session};
use addresses::{AddressMap, Base};
use connection::ForwardedBody;
pub use connection::Master;
use hrefs::Hrefs;

/// Bytes that are passed on at a time.
const PIECE: usize = 32 << 10;
/// Pieces that wait for the master.
const PIECES_WAITING: usize = 3;
/// The limit of mirrors in a row; more are taken for a cycle.
const MAX_MIRRORS: usize = 8;
/// The mirror's name in `Via`.
const VIA: &str = "1.1 sapwood-mirror";

/// Headers that are about one connection only.
const OF_CONNECTIONS: [HeaderName; 8] = [
    header::CONNECTION,
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    HeaderName::from_static("keep-alive"),
];

/// Headers about the client: only the mirror's own values are passed on.
const OF_THE_WAY: [&str; 4] =
    ["forwarded", "x-forwarded-for", "x-forwarded-proto", "x-forwarded-host"];

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
        method => method == "MOVE" || super::methods::ALLOWED.split(',').any(|m| m == method),
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

/// Passes the request on, and the reply back.
///
/// # Errors
/// 502 when the master cannot be reached, or ends in the middle; E190004 when the client has gone.
pub(super) fn pass_on(
    session: &Session<'_>,
    exchange: &mut Exchange,
    master: &Arc<Master>,
) -> DavResult {
    let head = session.head;
    let local = Base::of(session.location.map_or("", |location| &location.prefix));
    let moved = AddressMap { from: &local, to: &master.base };
    let rewrites = local != master.base;
    let rewrites_body = rewrites && has_addresses(head.method.as_str());
    let (pieces, body) = mpsc::channel(PIECES_WAITING);
    let length = head.header("content-length").and_then(|text| text.parse().ok());
    let length = if exchange.body.is_over() { Some(0) } else { length };
    let length = length.filter(|_| !rewrites_body);
    let mut request = request(head, &moved, master, ForwardedBody::new(body, length))?;
    if rewrites_body {
        // It is decompressed to be rewritten.
        request.headers_mut().remove(header::CONTENT_ENCODING);
    }
    let believed = session.access.config().user_header.as_deref();
    if let Some(name) = believed.filter(|_| !head.is_proxied) {
        // Only a trusted proxy may set it.
        request.headers_mut().remove(name);
    }
    let mut sending = Beside(exchange.spawn(Arc::clone(master).send(request)));
    if !rewrites_body {
        exchange.body.leave_packed();
    }
    send_body(exchange, &pieces, rewrites_body.then(|| Hrefs::new(moved, None)))?;
    drop(pieces);
    let sent = exchange.wait(&mut sending.0)?;
    let sent = sent.map_err(|_| bad_gateway("the master's reply is lost")).and_then(|sent| sent);
    let (sender, response) = sent.map_err(|error| Fail::with(error, 502))?;
    let back = AddressMap { from: &master.base, to: &local };
    let origin = head.absolute("");
    reply(head, exchange, response, rewrites.then(|| Hrefs::new(back, Some(&origin))), &back)?;
    master.keep(sender);
    Ok(())
}

/// Work beside this thread, which is cancelled when its request ends.
struct Beside<T>(JoinHandle<T>);

impl<T> Drop for Beside<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
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

fn is_of_connection(name: &HeaderName, all: &HeaderMap) -> bool {
    OF_CONNECTIONS.contains(name)
        || all
            .get_all(header::CONNECTION)
            .iter()
            .filter_map(|v| v.to_str().ok())
            .any(|list| list.split(',').any(|word| word.trim().eq_ignore_ascii_case(name.as_str())))
}

/// Passes the body on. When the client disconnects, the master does not get an end of the body.
fn send_body(
    exchange: &mut Exchange,
    pieces: &mpsc::Sender<std::io::Result<Bytes>>,
    mut hrefs: Option<Hrefs<'_>>,
) -> SvnResult<()> {
    let mut piece = vec![0; PIECE];
    loop {
        let read = match exchange.body.read(&mut piece) {
            Ok(read) => read,
            Err(error) => {
                let lost = SvnError::from_stream(error);
                // Without an end, the master does not take a part for the whole.
                let _ = exchange.wait(pieces.send(Err(std::io::Error::other(lost.clone()))));
                return Err(lost);
            }
        };
        let some = piece.get(..read).unwrap_or(&[]);
        let some = match &mut hrefs {
            None => Bytes::copy_from_slice(some),
            Some(hrefs) => {
                let mut out = Vec::with_capacity(read);
                if read == 0 {
                    hrefs.finish(&mut out);
                } else {
                    hrefs.push(some, &mut out);
                }
                out.into()
            }
        };
        // A master that has replied already need not read the whole body.
        if !some.is_empty() && exchange.wait(pieces.send(Ok(some)))?.is_err() {
            return Ok(());
        }
        if read == 0 {
            let _ = exchange.wait(pieces.send(Ok(Bytes::new())))?;
            return Ok(());
        }
    }
}

/// Passes the reply back.
fn reply(
    head: &Head,
    exchange: &mut Exchange,
    response: Response<Incoming>,
    hrefs: Option<Hrefs<'_>>,
    back: &AddressMap<'_>,
) -> DavResult {
    let (parts, mut body) = response.into_parts();
    // What the master compressed is not changed.
    exchange.takes_gzip = false;
    exchange.status(parts.status.as_u16());
    let mut hrefs = hrefs.filter(|_| head.method != "GET" && is_plain_xml(&parts));
    for (name, known) in &parts.headers {
        let is_own = *name == header::CONTENT_LENGTH && hrefs.is_some();
        if is_own || is_of_connection(name, &parts.headers) {
            continue;
        }
        let is_address = *name == header::LOCATION || *name == header::CONTENT_LOCATION;
        let address = known.to_str().ok().filter(|_| is_address);
        let address = address.and_then(|address| back.address(address, &head.absolute("")));
        let value = address.and_then(|address| HeaderValue::from_str(&address).ok());
        exchange.append(name.clone(), value.unwrap_or_else(|| known.clone()));
    }
    while let Some(frame) = exchange.wait(body.frame())? {
        let broken = |why: hyper::Error| {
            Fail::with(bad_gateway(format!("The master's reply has no end: {why}")), 502)
        };
        let Ok(data) = frame.map_err(broken)?.into_data() else { continue };
        match &mut hrefs {
            Some(hrefs) => hrefs.push(&data, exchange.out()),
            None => exchange.out().extend_from_slice(&data),
        }
        exchange.relieve()?;
    }
    if let Some(hrefs) = &mut hrefs {
        hrefs.finish(exchange.out());
    }
    Ok(())
}

/// Whether a reply is XML that is not compressed.
fn is_plain_xml(parts: &Parts) -> bool {
    let media = parts.headers.get(header::CONTENT_TYPE).and_then(|media| media.to_str().ok());
    let media = media.unwrap_or("").split(';').next().unwrap_or("").trim();
    let is_xml = ["text/xml", "application/xml"].iter().any(|xml| media.eq_ignore_ascii_case(xml));
    is_xml && !parts.headers.contains_key(header::CONTENT_ENCODING)
}
