//! Blame for readers who have not logged in, within the share of their network.
//!
//! Invariant: a page that the reader has already, and one for a user who has logged in, take nothing.

use std::time::Instant;

use sapwood_web::words;

use super::exchange::Exchange;
use super::fail::{DavResult, Fail};
use super::session::Session;
use crate::common::fair::Permit;

/// The permit for a page of blame, for as long as it is made; `None` for a user who has logged in.
///
/// # Errors
/// [`Fail::Later`] where the reader's network has used its share.
pub(super) fn permit(session: &Session<'_>, exchange: &Exchange) -> DavResult<Option<Permit>> {
    if session.access.user().is_some() {
        return Ok(None);
    }
    let outlet = exchange.outlet();
    let permit = outlet.workers.blames.admit(session.head.client, outlet.caller, Instant::now());
    permit.map(Some).map_err(|seconds| Fail::Later(words::BLAME_LATER, seconds))
}
