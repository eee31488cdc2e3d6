//! The bytes of what browsers play or show within a page.
//!
//! Invariant: the rules are those of pages, and the type is that of a list (`web`), not one that is stored.

use sapwood_web::Request;

use super::entity::{etag, is_same, tags};
use super::exchange::Exchange;
use super::fail::DavResult;
use super::ranges;
use super::session::Session;
use super::web_reply::failed;

/// Sends them, or a part of them: players ask for ranges.
///
/// # Errors
/// [`Fail::Missing`](super::fail::Fail::Missing) where there is no such file for this user; corruption and system errors.
pub(super) fn send(
    session: &Session<'_>,
    request: &Request<'_>,
    exchange: &mut Exchange,
) -> DavResult {
    let media = sapwood_web::media(request).map_err(failed)?;
    let tag = etag(&media.node)?;
    exchange.header("etag", &tag);
    let caching = if media.is_fixed { "private, max-age=604800" } else { "private, no-cache" };
    exchange.header("cache-control", caching);
    let known = session.head.header("if-none-match");
    if known.is_some_and(|list| tags(list).any(|said| is_same(said, &tag))) {
        exchange.status(304);
        return Ok(());
    }
    exchange.header("accept-ranges", "bytes");
    for (name, value) in media.headers() {
        exchange.header(name, value);
    }
    ranges::send(session, exchange, &media.node, &tag)
}
