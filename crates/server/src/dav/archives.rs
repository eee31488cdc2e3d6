//! Archives of directories, sent while they are made.
//!
//! Invariants: the rights of the user are checked before, and for each node while it goes on; while the client does not read, no thread
//! waits; readers who have not logged in have a share of archives that leaves room for all else.

use std::sync::Arc;

use sapwood_repos::{Everything, SharedAuthorizer};
use sapwood_web::{Request, words};

use super::exchange::Exchange;
use super::fail::{DavResult, Fail};
use super::session::Session;
use super::web_reply::failed;

/// Seconds after which a reader may ask again.
const SOON: u64 = 10;

/// Sends the archive that a request is for. The caller has found that the user may read in the repository.
///
/// # Errors
/// [`Fail::Missing`] where there is no such directory for this user; 429 where too many are being made; corruption and system errors.
pub(super) fn send(
    session: &Session<'_>,
    request: &Request<'_>,
    exchange: &mut Exchange,
) -> DavResult {
    // Each path is asked about, as on pages, for as long as the archive is made.
    let access: SharedAuthorizer = match session.access.path_rules() {
        Some(rules) => Arc::new(rules),
        None => Arc::new(Everything),
    };
    let permit = match session.access.user() {
        Some(_) => None,
        None => {
            let outlet = exchange.outlet();
            let permit = outlet.workers.archives.try_acquire(outlet.caller);
            Some(permit.ok_or(Fail::Later(words::ARCHIVE_LATER, SOON))?)
        }
    };
    let mut archive =
        sapwood_web::archive(request, &access).map_err(failed)?.ok_or(Fail::Missing)?;
    for (name, value) in archive.headers() {
        exchange.header(name, &value);
    }
    if session.head.method == "HEAD" {
        return exchange.flush().map_err(Fail::from);
    }
    exchange.produce(Box::new(move |out| {
        // The share is given back with the last piece, or when the client has gone.
        let _held = &permit;
        archive.make(out)
    }))?;
    Ok(())
}
