//! Which method is answered where, and what is said when one fails.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use sapwood_core::{ErrorCode, SvnError};

use super::access_log::Outcome;
use super::exchange::{Exchange, Head};
use super::lookup::{self, Place};
use super::session::{DavResult, Fail, Session};
use super::who::Asks;
use super::{
    activity, auto, browse, edit, get, locks, master, merge, options, propfind, proppatch, report,
};
use crate::common::config::Login;
use crate::common::oplog::Subject;
use crate::common::settings::{Location, Redirect};
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
        Ok(Err((Fail::AskWho, asks))) => {
            ask_who(exchange, &asks.challenges(shared, &head));
        }
        Ok(Err((Fail::Forbidden, _))) => forbidden(exchange),
        // For a path below a file, too: clients without HTTPv2 then go on with the folder above,
        // which they do for no other answer.
        Ok(Err((Fail::Error(error, 404 | 500), _)))
            if error.is_no_path() && !exchange.has_begun() && looks =>
        {
            not_there(exchange);
        }
        Ok(Err((Fail::Error(error, status), _))) => exchange.fail(&error, status),
        Err(_) => {
            let error = SvnError::new(ErrorCode::BASE, "internal error in the http server");
            exchange.fail(&error, 500);
        }
    }
    if let Some(log) = &shared.access_log {
        let (status, bytes) = exchange.outcome();
        log.write(&head, Outcome { user: exchange.user.as_deref(), status, bytes });
    }
}

/// A reply that is for people. Clients of Subversion make a sentence of their own of its status.
fn say(exchange: &mut Exchange, status: u16, headers: &[(&'static str, &str)], words: &str) {
    if exchange.has_begun() {
        let error = SvnError::new(ErrorCode::RA_NOT_AUTHORIZED, "");
        return exchange.fail(&error, status);
    }
    exchange.reset();
    exchange.read_over();
    exchange.status(status);
    headers.iter().for_each(|(name, value)| exchange.header(name, value));
    exchange.header("content-type", "text/plain; charset=utf-8");
    exchange.out().extend_from_slice(words.as_bytes());
    exchange.finish();
}

/// What is looked at is not there.
fn not_there(exchange: &mut Exchange) {
    say(exchange, 404, &[], "Not found\n");
}

fn forbidden(exchange: &mut Exchange) {
    say(exchange, 403, &[], "Access forbidden\n");
}

fn ask_who(exchange: &mut Exchange, challenges: &[String]) {
    let headers: Vec<_> = challenges.iter().map(|c| ("www-authenticate", c.as_str())).collect();
    say(exchange, 401, &headers, "Authentication required\n");
}

fn answer(shared: &Shared, head: &Head, exchange: &mut Exchange) -> Result<(), (Fail, Asks)> {
    let host = head.client.to_string();
    let log = |error: &SvnError, warning: bool| {
        if let Some(log) = &shared.log {
            log.error(Subject { host: Some(&host), ..Subject::default() }, error, warning);
        }
    };
    let nowhere = |fail: Fail| (fail, Asks::default());
    // Two programs in a row could each believe another one.
    if head.headers.get_all("host").iter().nth(1).is_some() {
        return Err(nowhere(Fail::status(400, "There is more than one Host header")));
    }
    if shared.settings.http.requires_certificate && head.certificate.is_none() {
        return Err(nowhere(Fail::Forbidden));
    }
    if head.wants_host && !head.headers.contains_key("host") {
        return Err(nowhere(Fail::status(400, "There is no Host header")));
    }
    exchange.body.unpack(head).map_err(nowhere)?;
    // Of the server itself, not of anything on it.
    if head.path == "*" {
        exchange.header("allow", ALLOWED);
        return Ok(());
    }
    let elsewhere = |moved| Some((moved, Redirect::rest(moved, &head.path)?));
    if let Some((moved, rest)) = shared.settings.http.redirects.iter().find_map(elsewhere) {
        redirect(head, exchange, moved, rest);
        return Ok(());
    }
    let found = lookup::find(shared, &head.path, &mut |warning| log(&warning, true));
    let place = found.map_err(|error| {
        log(&error, false);
        nowhere(match error.code() {
            // What is wrong with the files is the administrator's business only. Rules that cannot
            // be read let no user in.
            ErrorCode::AUTHZ_INVALID_CONFIG => Fail::Forbidden,
            code @ ErrorCode::AUTHN_FAILED => Fail::with(SvnError::new(code, ""), 500),
            _ => Fail::from(error),
        })
    })?;
    let place = match place {
        Some(Place::Repository(place)) => place,
        Some(Place::Folder(folder)) => {
            let asks = Asks::of(folder.location.and_then(|l| l.access.as_deref()), "");
            return browse::folder(shared, head, folder, exchange).map_err(|fail| (fail, asks));
        }
        Some(Place::Nothing(location)) => {
            let asks = Asks::of(location.access.as_deref(), "");
            return Err((nothing(shared, head, location), asks));
        }
        None => {
            let error = SvnError::new(ErrorCode::RA_DAV_PATH_NOT_FOUND, "No repository found");
            return Err(nowhere(Fail::with(error, 404)));
        }
    };
    let asks = Asks::of(Some(&place.found.config), &place.found.realm);
    let result = Session::new(shared, head, *place).and_then(|mut session| {
        exchange.user = session.access.user().map(str::to_owned);
        session.admit()?;
        let result = match master::of(&session) {
            Some(master) => master::pass_on(&session, exchange, master),
            None => run(&mut session, exchange),
        };
        if let Err(Fail::Error(error, _)) = &result {
            session.log_error(error);
        }
        result
    });
    result.map_err(|fail| (fail, asks))
}

/// What is said at a place of the configuration where no repository is. Whether there is one is told
/// only to those that the place's rules could let in.
fn nothing(shared: &Shared, head: &Head, location: &Location) -> Fail {
    let missing = || {
        let error = SvnError::new(ErrorCode::RA_DAV_PATH_NOT_FOUND, "No repository found");
        Fail::with(error, 404)
    };
    let Some(access) = location.access.as_deref() else { return missing() };
    let user = match browse::visitor(shared, head, access) {
        Ok(user) => user,
        Err(fail) => return fail,
    };
    // Rules inside of a repository that there is not let no user in (CVE-2020-17525).
    let are_inside = access.is_relative_to_conf
        || access.authz_db.as_ref().is_some_and(|rules| rules.starts_with("^/"));
    match (are_inside, user) {
        (false, _) => missing(),
        (true, None) if access.login != Login::Never && access.has_passwords() => Fail::AskWho,
        (true, _) => Fail::Forbidden,
    }
}

/// What is asked for is elsewhere.
fn redirect(head: &Head, exchange: &mut Exchange, moved: &Redirect, rest: &str) {
    let query = head.query.as_ref().map_or(String::new(), |query| format!("?{query}"));
    let target = format!("{}{rest}{query}", moved.to);
    let target = if moved.to.starts_with('/') { head.absolute(&target) } else { target };
    exchange.read_over();
    exchange.status(if moved.permanent { 301 } else { 302 });
    exchange.header("location", &target);
}

fn run(session: &mut Session<'_>, exchange: &mut Exchange) -> DavResult {
    if let Some(result) = auto::answer(session, exchange) {
        return result;
    }
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
