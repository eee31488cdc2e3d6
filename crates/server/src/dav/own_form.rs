//! Forms of our own pages. They come from a page of this server: a browser says so in `Origin`, and the form has a code
//! that no other site can know. They are short.

use hyper::Method;

use super::exchange::Exchange;
use super::fail::{DavResult, Fail};
use super::head::Head;
use sapwood_web::words;

/// The longest form, in bytes.
const MOST: usize = 16 << 10;

/// Whether a request may be the form of a page of locks, which is at the page's own address.
pub(super) fn is_of_locks(head: &Head) -> bool {
    let is_form = |kind: &str| kind.starts_with("application/x-www-form-urlencoded");
    head.method == Method::POST
        && head.header("content-type").is_some_and(is_form)
        && head.path.contains("/-/locks")
        && !head.is_svn_client()
}

/// Whether a request sends a form from a page of the server at `origin`, and not too much.
pub(super) fn is_ours(head: &Head, origin: &str) -> bool {
    let length = head.header("content-length").and_then(|length| length.parse::<usize>().ok());
    head.header("origin") == Some(origin)
        && head.header("sec-fetch-site").is_none_or(|site| site == "same-origin")
        && length.is_some_and(|length| length <= MOST)
}

/// The form of a request.
///
/// # Errors
/// 403 for one that is not from a page of ours; one that is too long.
pub(super) fn read(head: &Head, exchange: &mut Exchange, origin: &str) -> DavResult<String> {
    if !is_ours(head, origin) {
        return Err(Fail::status(403, words::STALE_FORM));
    }
    let bytes = exchange.body.read_all(MOST)?;
    String::from_utf8(bytes).map_err(|_| Fail::status(400, words::STALE_FORM))
}
