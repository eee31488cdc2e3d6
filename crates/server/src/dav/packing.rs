//! gzip: of replies that are text, where the server is configured to, and of requests.

use std::io::{self, Write as _};

use flate2::Compression;
use flate2::write::GzEncoder;
use hyper::header::{
    ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, ETAG, HeaderMap, HeaderValue,
    VARY,
};
use hyper::{Method, StatusCode};

use super::head::Head;

/// A reply that is shorter goes out as it is.
pub(super) const SHORTEST: usize = 860;
/// The compression level: lists of names and base64 gain little from a higher one.
const LEVEL: Compression = Compression::new(1);

/// Compresses the body of one reply.
#[derive(Debug)]
pub(super) struct Packer(GzEncoder<Vec<u8>>);

/// Whether the client of a request accepts gzip.
pub(super) fn is_taken(head: &Head) -> bool {
    head.method != Method::HEAD
        && head.headers.get_all(ACCEPT_ENCODING).iter().filter_map(|v| v.to_str().ok()).any(
            |list| {
                list.split(',').any(|item| {
                    let mut parts = item.split(';').map(str::trim);
                    let name = parts.next().unwrap_or("");
                    let refused =
                        parts.any(|p| matches!(p, "q=0" | "q=0.0" | "q=0.00" | "q=0.000"));
                    (name.eq_ignore_ascii_case("gzip") || name == "x-gzip") && !refused
                })
            },
        )
}

/// Whether what the headers speak of gains from it.
fn is_worth_it(status: StatusCode, headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("");
    let essence = kind.split(';').next().unwrap_or("").trim();
    status != StatusCode::PARTIAL_CONTENT
        && !headers.contains_key(CONTENT_ENCODING)
        && (essence.starts_with("text/")
            || essence.ends_with("xml")
            || matches!(essence, "application/json" | "application/javascript"))
}

impl Packer {
    /// One for a reply that gains from it; its headers say so then.
    pub(super) fn of(status: StatusCode, headers: &mut HeaderMap) -> Option<Self> {
        if !is_worth_it(status, headers) {
            return None;
        }
        headers.remove(CONTENT_LENGTH);
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        headers.append(VARY, HeaderValue::from_static("Accept-Encoding"));
        // The bytes are not those that the tag was made for.
        let tag = headers.get(ETAG).and_then(|tag| tag.to_str().ok()).map(str::to_owned);
        if let Some(tag) = tag.filter(|tag| !tag.starts_with("W/"))
            && let Ok(weak) = HeaderValue::from_str(&format!("W/{tag}"))
        {
            headers.insert(ETAG, weak);
        }
        Some(Self(GzEncoder::new(Vec::new(), LEVEL)))
    }

    /// What there is to send of a piece, or with the last one.
    pub(super) fn pack(&mut self, piece: &[u8], is_last: bool) -> io::Result<Vec<u8>> {
        self.0.write_all(piece)?;
        if is_last {
            self.0.try_finish()?;
        }
        Ok(std::mem::take(self.0.get_mut()))
    }
}
