//! The answers to methods that would change a path of the repository at its plain address, where
//! autoversioning is off: the statuses of mod_dav_svn, which checks the path first. Only transactions and
//! working resources can be changed; `edit` does that.
//!
//! The caller has checked that the user may do what the method would do.

use sapwood_core::FsPath;
use sapwood_wire_dav::Resource;

use super::exchange::Exchange;
use super::fail::{DavResult, Fail};
use super::session::Session;

/// The answer, if the request is of that kind.
pub(super) fn answer(session: &Session<'_>, exchange: &mut Exchange) -> Option<DavResult> {
    let Resource::Public(path) = &session.resource else { return None };
    let method = session.head.method.as_str();
    match method {
        "POST" => return Some(Err(Fail::status(400, "Nothing can be posted here"))),
        "ACL" | "ORDERPATCH" => {
            return Some(Err(Fail::status(501, "The method is not implemented")));
        }
        "PUT" | "MKCOL" | "DELETE" | "COPY" | "MOVE" | "PROPPATCH" | "CHECKOUT" | "CHECKIN"
        | "UNCHECKOUT" => {}
        _ => return None,
    }
    let exists = match exists(session, path) {
        Ok(exists) => exists,
        Err(fail) => return Some(Err(fail)),
    };
    // Existing names, and bodies, are checked before.
    let by_itself = match method {
        "MKCOL" => exists || !exchange.body.is_over(),
        "PROPPATCH" => exists,
        _ => false,
    };
    (!by_itself).then(|| Err(refusal(session, method, path, exists)))
}

fn exists(session: &Session<'_>, path: &FsPath) -> DavResult<bool> {
    let youngest = session.repository.fs().revision_root(session.youngest()?)?;
    Ok(youngest.kind(path)?.is_some())
}

fn refusal(session: &Session<'_>, method: &str, path: &FsPath, exists: bool) -> Fail {
    match method {
        "PUT" | "MKCOL" => {}
        _ if !exists => return Fail::status(404, "The path is not there"),
        "DELETE" if path == FsPath::ROOT => {
            return Fail::status(403, "The root cannot be deleted");
        }
        "MOVE" if moves_into_itself(session, path) => {
            return Fail::status(403, "A collection cannot be moved into itself");
        }
        "CHECKOUT" => return Fail::status(405, "Only versions can be checked out"),
        _ => {}
    }
    Fail::status(409, "Only transactions can be changed, for autoversioning is off")
}

fn moves_into_itself(session: &Session<'_>, path: &FsPath) -> bool {
    let address = session.head.header("destination");
    match address.and_then(|address| session.resource_at(address).ok()) {
        Some(Resource::Public(to)) => sapwood_core::path::skip_ancestor(path, &to).is_some(),
        _ => false,
    }
}
