//! Which method is answered where, and what is said when one fails.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use sapwood_core::{ErrorCode, SvnError};

use super::exchange::{Exchange, Head};
use super::lookup::{self, Place};
use super::session::{DavResult, Fail, Session};
use super::{activity, browse, edit, get, locks, merge, options, propfind, proppatch, report};
use crate::common::oplog::Subject;
use crate::common::shared::Shared;

/// The methods that there are.
pub(super) const ALLOWED: &str = "OPTIONS,GET,HEAD,POST,DELETE,PROPFIND,PROPPATCH,COPY,MOVE,LOCK,\
                                  UNLOCK,MKCOL,PUT,REPORT,CHECKOUT,MKACTIVITY,MERGE";

/// Handles one request, to the end of its reply.
pub(super) fn handle(shared: &Arc<Shared>, head: Head, exchange: &mut Exchange) {
    let looks = matches!(head.method.as_str(), "GET" | "HEAD" | "PROPFIND");
    // A fault of ours costs one request, not the server.
    let done = catch_unwind(AssertUnwindSafe(|| answer(shared, &head, exchange)));
    match done {
        Ok(Ok(())) => exchange.finish(),
        Ok(Err((Fail::AskWho, realm))) => ask_who(exchange, &realm),
        Ok(Err((Fail::Forbidden, _))) => forbidden(exchange),
        Ok(Err((Fail::Error(error, 404), _)))
            if error.code() == ErrorCode::FS_NOT_FOUND && !exchange.has_begun() && looks =>
        {
            not_there(exchange);
        }
        Ok(Err((Fail::Error(error, status), _))) => exchange.fail(&error, status),
        Err(_) => {
            let error = SvnError::new(ErrorCode::BASE, "internal error in the http server");
            exchange.fail(&error, 500);
        }
    }
}

/// A reply that is for people. Clients of Subversion make a sentence of their own of its status.
fn say(exchange: &mut Exchange, status: u16, header: Option<(&'static str, &str)>, words: &str) {
    if exchange.has_begun() {
        let error = SvnError::new(ErrorCode::RA_NOT_AUTHORIZED, "");
        return exchange.fail(&error, status);
    }
    exchange.reset();
    exchange.read_over();
    exchange.status(status);
    if let Some((name, value)) = header {
        exchange.header(name, value);
    }
    exchange.header("content-type", "text/plain; charset=utf-8");
    exchange.out().extend_from_slice(words.as_bytes());
    exchange.finish();
}

/// What is looked at is not there.
fn not_there(exchange: &mut Exchange) {
    say(exchange, 404, None, "Not found\n");
}

fn forbidden(exchange: &mut Exchange) {
    say(exchange, 403, None, "Access forbidden\n");
}

fn ask_who(exchange: &mut Exchange, realm: &str) {
    let realm: String = realm.chars().filter(|c| !matches!(c, '"' | '\\')).collect();
    let challenge = format!("Basic realm=\"{realm}\", charset=\"UTF-8\"");
    say(exchange, 401, Some(("www-authenticate", &challenge)), "Authentication required\n");
}

fn answer(shared: &Shared, head: &Head, exchange: &mut Exchange) -> Result<(), (Fail, String)> {
    let host = head.peer.ip().to_canonical().to_string();
    let log = |error: &SvnError, warning: bool| {
        if let Some(log) = &shared.log {
            log.error(Subject { host: Some(&host), ..Subject::default() }, error, warning);
        }
    };
    let nowhere = |fail: Fail| (fail, String::new());
    // Of the server itself, not of anything on it.
    if head.path == "*" {
        exchange.header("allow", ALLOWED);
        return Ok(());
    }
    let found = lookup::find(shared, &head.path, &mut |warning| log(&warning, true));
    let place = found.map_err(|error| {
        log(&error, false);
        nowhere(match error.code() {
            // What is wrong with the files is the administrator's business only. Rules that cannot
            // be read let nobody in.
            ErrorCode::AUTHZ_INVALID_CONFIG => Fail::Forbidden,
            code @ ErrorCode::AUTHN_FAILED => Fail::with(SvnError::new(code, ""), 500),
            _ => Fail::from(error),
        })
    })?;
    let place = match place {
        Some(Place::Repository(place)) => place,
        Some(Place::Folder(folder)) => {
            return browse::folder(shared, head, &folder, exchange).map_err(nowhere);
        }
        None => {
            let error = SvnError::new(ErrorCode::RA_DAV_PATH_NOT_FOUND, "No repository found");
            return Err(nowhere(Fail::with(error, 404)));
        }
    };
    let realm = place.found.realm.clone();
    let result = Session::new(shared, head, *place).and_then(|mut session| {
        session.admit()?;
        let result = run(&mut session, exchange);
        if let Err(Fail::Error(error, _)) = &result {
            session.log_error(error);
        }
        result
    });
    result.map_err(|fail| (fail, realm))
}

fn run(session: &mut Session<'_>, exchange: &mut Exchange) -> DavResult {
    match session.head.method.as_str() {
        "OPTIONS" => options::options(session, exchange),
        "GET" | "HEAD" => get::get(session, exchange),
        "PROPFIND" => propfind::propfind(session, exchange),
        "REPORT" => report::report(session, exchange),
        "POST" => edit::post(session, exchange),
        "PUT" => edit::put(session, exchange),
        "MKCOL" => edit::mkcol(session, exchange),
        "DELETE" => edit::delete(session, exchange),
        "COPY" => edit::copy(session, exchange),
        "PROPPATCH" => proppatch::proppatch(session, exchange),
        "MERGE" => merge::merge(session, exchange),
        "LOCK" => locks::lock(session, exchange),
        "UNLOCK" => locks::unlock(session, exchange),
        "MKACTIVITY" => activity::make(session, exchange),
        "CHECKOUT" => activity::checkout(session, exchange),
        _ => {
            exchange.header("allow", ALLOWED);
            Err(Fail::status(405, "The method is not allowed here"))
        }
    }
}
