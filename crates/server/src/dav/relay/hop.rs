//! Headers that are about one connection only.

use hyper::header::{self, HeaderMap, HeaderName};

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

/// Whether a header of `all` is about one connection only.
pub(in crate::dav) fn is_of_connection(name: &HeaderName, all: &HeaderMap) -> bool {
    OF_CONNECTIONS.contains(name)
        || all
            .get_all(header::CONNECTION)
            .iter()
            .filter_map(|v| v.to_str().ok())
            .any(|list| list.split(',').any(|word| word.trim().eq_ignore_ascii_case(name.as_str())))
}
