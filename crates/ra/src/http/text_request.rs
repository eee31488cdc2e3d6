//! The request for the text of a file, whole or as a difference.

use sapwood_wire_dav::headers;

use super::client::{Call, Client};

/// The request for a text: as a delta, if the server has the `base`.
pub(super) fn text_call<'a>(client: &Client, target: &'a str, base: Option<&str>) -> Call<'a> {
    let call = Call::new("GET", target);
    match base {
        None => call.with("accept-encoding", client.packings()),
        Some(base) => {
            call.with("accept-encoding", client.delta_packings()).with(headers::VR_BASE, base)
        }
    }
}

/// Whether a media type is that of deltas.
pub(super) fn is_delta(media_type: &str) -> bool {
    media_type.trim() == headers::SVNDIFF_TYPE
}
