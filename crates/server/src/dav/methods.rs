//! Calls the handler of each method, and answers when one fails.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use hyper::header::HeaderValue;
use sapwood_core::{ErrorCode, SvnError, SvnResult};
use sapwood_fs::Engine;
use sapwood_web::{Reply, site};

use super::authenticate::Asks;
use super::credentials::Claim;
use super::exchange::Exchange;
use super::fail::{DavResult, Fail};
use super::head::{Arrival, Head};
use super::lookup::{self, InFolder, InRepository, LocatedRepository, LookupResult};
use super::master::{Forward, ForwardFailure};
use super::options::ALLOWED;
use super::peers::forward::PeerForward;
use super::peers::statement::{ELSEWHERE, MISDIRECTED};
use super::peers::{self, Way};
use super::repository_list::ListForm;
use super::session::Session;
use super::settings::Redirect;
use super::sign_in::SignIn;
use super::sign_in::asking::Question;
use super::sign_in::cookies;
use super::stage::Stage;
use super::state::HttpState;
use super::{
    activity, admission, authority, autoversioning, edit, error_page, get, locks, master, merge,
    only_https, options, pages, propfind, proppatch, report, repository_list, robots, security_txt,
    sign_in_pages, status_page, token_pages, top_page, unversioned, web_reply,
};
use crate::common::operation_log::Subject;
use crate::common::principal::Principal;

/// The realm of places whose configuration names none.
const REALM: &str = "Subversion";

/// The next step of a request.
#[derive(Debug)]
pub(super) enum Next {
    /// Nothing: there is a reply.
    Done,
    /// The name and password have to be checked; then the request is handled again.
    Prove(Box<Claim>),
    /// The provider of OpenID Connect has to be asked; then the request is handled again.
    Ask(Box<Question>),
    /// The body has to arrive.
    Body,
    /// The master makes the reply.
    Forward(Box<Forward>),
    /// Another server makes the reply, if it can.
    Peer(Box<PeerForward>),
}

/// Whether a request was answered.
enum Answer {
    Given,
    /// It is one for the master.
    Forward(Box<Forward>),
    /// It is one for another server.
    Peer(Box<PeerForward>),
    /// It is admitted, and waits for its body.
    Admitted,
}

/// Handles one request, up to a stage.
pub(super) fn handle(
    shared: &Arc<HttpState>,
    head: &Head,
    exchange: &mut Exchange,
    stage: Stage,
) -> Next {
    let looks = matches!(head.method.as_str(), "GET" | "HEAD" | "PROPFIND");
    // A panic ends one request, not the server.
    let done = catch_unwind(AssertUnwindSafe(|| answer(shared, head, exchange, stage)));
    match done {
        Ok(Ok(Answer::Given)) => exchange.finish(),
        Ok(Ok(Answer::Admitted)) => return Next::Body,
        Ok(Ok(Answer::Forward(forward))) => return Next::Forward(forward),
        Ok(Ok(Answer::Peer(forward))) => return Next::Peer(forward),
        Ok(Err((Fail::Prove(claim), _))) => return Next::Prove(claim),
        Ok(Err((Fail::Ask(question), _))) => return Next::Ask(question),
        Ok(Err((Fail::AskWho, asks)))
            if asks.lead_to_sign_in(head) && error_page::is_wanted(head) =>
        {
            lead_to_sign_in(shared, head, exchange);
        }
        Ok(Err((Fail::AskWho, asks))) => {
            ask_who(head, exchange, &asks.challenges(shared, head));
        }
        Ok(Err((Fail::Later(why, seconds), _))) => {
            say(head, exchange, 429, &[("retry-after", &seconds.to_string())], why);
        }
        Ok(Err((Fail::Forbidden, _))) => say(head, exchange, 403, &[], "Access forbidden\n"),
        Ok(Err((Fail::Missing, _))) if !exchange.has_begun() => {
            say(head, exchange, 404, &[], "Not found\n");
        }
        Ok(Err((Fail::Missing, _))) => {
            exchange.fail(&SvnError::new(ErrorCode::FS_NOT_FOUND, ""), 404)
        }
        // For a path below a file, too: clients without HTTPv2 then try the parent folder, which
        // they do for no other status.
        Ok(Err((Fail::Error(error, 404 | 500), _)))
            if error.is_no_path() && !exchange.has_begun() && looks =>
        {
            say(head, exchange, 404, &[], "Not found\n");
        }
        Ok(Err((Fail::Error(error, status), _))) => {
            fail(head, exchange, &shared.server.folders.hide(&error), status)
        }
        Err(_) => {
            let error = SvnError::new(ErrorCode::BASE, "internal error in the http server");
            exchange.fail(&error, 500);
        }
    }
    Next::Done
}

/// A reply that is shown to people. Clients of Subversion have their own message for its status.
fn say(
    head: &Head,
    exchange: &mut Exchange,
    status: u16,
    headers: &[(&'static str, &str)],
    words: &str,
) {
    if !exchange.has_begun() && error_page::is_wanted(head) {
        return error_page::write(exchange, status, headers, words);
    }
    if exchange.has_begun() {
        let error = SvnError::new(ErrorCode::RA_NOT_AUTHORIZED, "");
        return exchange.fail(&error, status);
    }
    exchange.reset();
    exchange.status(status);
    headers.iter().for_each(|(name, value)| exchange.header(name, value));
    exchange.header("content-type", "text/plain; charset=utf-8");
    exchange.out().extend_from_slice(words.as_bytes());
    exchange.finish();
}

/// An error, in the form that the client understands.
fn fail(head: &Head, exchange: &mut Exchange, error: &SvnError, status: u16) {
    exchange.failed_by(error);
    if exchange.has_begun() || !error_page::is_wanted(head) {
        return exchange.fail(error, status);
    }
    let words = match error.message() {
        "" => error.code().generic_message(),
        message => message,
    };
    error_page::write(exchange, status, &[], words);
}

/// Sends a browser to sign in.
fn lead_to_sign_in(shared: &HttpState, head: &Head, exchange: &mut Exchange) {
    let link = |sign_in: &SignIn| sign_in.link(&head.path, head.query.as_deref());
    let Some(link) = shared.sign_in.as_deref().map(link) else {
        return say(head, exchange, 403, &[], "Access forbidden\n");
    };
    exchange.reset();
    exchange.status(302);
    exchange.header("location", &link);
    exchange.header("cache-control", "no-store");
    exchange.finish();
}

fn ask_who(head: &Head, exchange: &mut Exchange, challenges: &[String]) {
    let headers: Vec<_> = challenges.iter().map(|c| ("www-authenticate", c.as_str())).collect();
    say(head, exchange, 401, &headers, "Authentication required\n");
}

/// Who answers a request, in the order of their decisions: the server itself, then what is at its path.
fn answer(
    shared: &HttpState,
    head: &Head,
    exchange: &mut Exchange,
    stage: Stage,
) -> Result<Answer, (Fail, Asks)> {
    // A proxy and this server could each use a different one.
    if head.headers.get_all("host").iter().nth(1).is_some() {
        return Err(nowhere(Fail::status(400, "There is more than one Host header")));
    }
    if authority::answer(shared, head, exchange) {
        return Ok(Answer::Given);
    }
    let is_plain = head.scheme == "http";
    if let Some(port) = shared.settings.redirect_to_https.filter(|_| is_plain) {
        return only_https::answer(head, exchange, port).map(|()| Answer::Given).map_err(nowhere);
    }
    check_head(shared, head).map_err(nowhere)?;
    exchange.body.unpack(head).map_err(nowhere)?;
    // Of the server itself, not of anything on it.
    if head.path == "*" {
        exchange.header("allow", ALLOWED);
        return Ok(Answer::Given);
    }
    if let Some(done) = own_page(shared, head, exchange, stage) {
        return done;
    }
    let elsewhere = |moved| Some((moved, Redirect::rest(moved, &head.path)?));
    if let Some((moved, rest)) = shared.settings.redirects.iter().find_map(elsewhere) {
        redirect(head, exchange, moved, rest);
        return Ok(Answer::Given);
    }
    let found = find(shared, head, &head.path).map_err(nowhere)?;
    if is_elsewhere(shared, head, found.as_ref()) {
        exchange.status(MISDIRECTED);
        exchange.append(ELSEWHERE, HeaderValue::from_static("1"));
        return Ok(Answer::Given);
    }
    if let Some(folder) = folder_of_values(shared, head, found.as_ref()) {
        return in_folder(shared, head, exchange, (&folder, ListForm::Values));
    }
    match found {
        Some(LookupResult::Repository(place)) => {
            at_repository(shared, head, exchange, stage, *place)
        }
        Some(LookupResult::Folder(folder)) => {
            in_folder(shared, head, exchange, (&folder, ListForm::Page))
        }
        Some(LookupResult::Nothing(nothing)) => {
            let asks = Asks::of(nothing.location.access.as_deref(), REALM);
            Err((admission::of_nothing(shared, head, &nothing), asks))
        }
        None if top_page::write(shared, head, exchange) => Ok(Answer::Given),
        None if robots::write(head, exchange) => Ok(Answer::Given),
        None if write_icon(head, exchange) => Ok(Answer::Given),
        None => Err(nowhere(Fail::no_repository())),
    }
}

/// Refuses a request whose head says that it can't be answered, whatever it is for.
fn check_head(shared: &HttpState, head: &Head) -> DavResult {
    if shared.settings.requires_certificate && head.certificate.is_none() {
        return Err(Fail::Forbidden);
    }
    if matches!(head.arrival, Arrival::Malformed) {
        return Err(Fail::status(
            400,
            "The request is not believed: it says that a server forwards it",
        ));
    }
    if head.wants_host && !head.headers.contains_key("host") {
        return Err(Fail::status(400, "There is no Host header"));
    }
    let is_unknown = |value: &str| !value.trim().eq_ignore_ascii_case("100-continue");
    if head.header("expect").is_some_and(is_unknown) {
        return Err(Fail::status(417, "The expectation cannot be met"));
    }
    Ok(())
}

/// The folder whose list is asked for as JSON, where nothing else is `found` at that address.
fn folder_of_values<'a>(
    shared: &'a HttpState,
    head: &Head,
    found: Option<&LookupResult<'a>>,
) -> Option<InFolder<'a>> {
    let below = match found {
        None => String::new(),
        Some(LookupResult::Nothing(nothing)) => nothing.below.clone(),
        Some(_) => return None,
    };
    let folder = repository_list::folder_of_values(head)?;
    match find(shared, head, folder) {
        // Where it is hidden, the address is that of what is not there.
        Ok(Some(LookupResult::Folder(place))) => Some(InFolder { below, ..place }),
        _ => None,
    }
}

/// Answers a request for the repositories in a folder.
fn in_folder(
    shared: &HttpState,
    head: &Head,
    exchange: &mut Exchange,
    (folder, form): (&InFolder<'_>, ListForm),
) -> Result<Answer, (Fail, Asks)> {
    let asks = Asks::of(folder.location.and_then(|l| l.access.as_deref()), REALM);
    let shown = repository_list::answer(shared, head, folder, form, exchange);
    shown.map(|()| Answer::Given).map_err(|fail| (fail, asks))
}

/// What is at a path.
fn find<'a>(
    shared: &'a HttpState,
    head: &Head,
    path: &str,
) -> Result<Option<LookupResult<'a>>, Fail> {
    look_up(shared, head, |_| lookup::find(shared, path))
}

/// Who answers a request for a repository: another server, or this one.
fn at_repository(
    shared: &HttpState,
    head: &Head,
    exchange: &mut Exchange,
    stage: Stage,
    place: LocatedRepository<'_>,
) -> Result<Answer, (Fail, Asks)> {
    let way = peers::way(shared, head, exchange, stage, &place).map_err(nowhere)?;
    if let Way::Peer(forward) = way {
        return Ok(Answer::Peer(forward));
    }
    let place = look_up(shared, head, |warn| place.open(shared, warn)).map_err(nowhere)?;
    in_repository(shared, head, exchange, stage, place)
}

/// Whether another server means a repository that is not at the path of the request, or would begin a commit with a server that ends.
fn is_elsewhere(shared: &HttpState, head: &Head, found: Option<&LookupResult<'_>>) -> bool {
    let Arrival::Server { repository } = &head.arrival else { return false };
    let Some(LookupResult::Repository(place)) = found else { return true };
    let begins = matches!(head.method.as_str(), "POST" | "MKACTIVITY");
    if begins && shared.server.ending.has_begun() {
        return true;
    }
    Engine::stored_repository(&place.folder.join("db")).as_ref() != Some(repository)
}

/// Looks for what a request is for. Errors of configuration and rules files go to the log: clients are not shown them.
fn look_up<T>(
    shared: &HttpState,
    head: &Head,
    look: impl FnOnce(&mut dyn FnMut(SvnError)) -> SvnResult<T>,
) -> Result<T, Fail> {
    let host = head.client.to_string();
    let log = |error: &SvnError, warning: bool| {
        if let Some(log) = &shared.server.log {
            let subject =
                Subject { host: Some(&host), request: head.request, ..Subject::default() };
            log.error(subject, error, warning);
        }
    };
    look(&mut |warning| log(&warning, true)).map_err(|error| {
        log(&error, false);
        match error.code() {
            // If rules cannot be read, no user is admitted.
            ErrorCode::AUTHZ_INVALID_CONFIG => Fail::Forbidden,
            code @ ErrorCode::AUTHN_FAILED => Fail::with(SvnError::new(code, ""), 500),
            _ => Fail::from(error),
        }
    })
}

/// Answers a request for a repository, or hands it to the repository's master.
fn in_repository(
    shared: &HttpState,
    head: &Head,
    exchange: &mut Exchange,
    stage: Stage,
    place: InRepository<'_>,
) -> Result<Answer, (Fail, Asks)> {
    // At a place of the configuration the realm does not say which repository it is, nor that there is one.
    let realm =
        if place.location.is_some_and(|l| l.access.is_some()) { REALM } else { &place.found.realm };
    let asks = Asks::of(Some(&place.found.config), realm);
    let below = place.below.clone();
    let result = Session::new(shared, head, place).and_then(|mut session| {
        exchange.user = session.access.principal().cloned();
        if let Some(page) = pages::requested(&session, &below)? {
            return pages::answer(&session, &page, exchange, stage).map(answered);
        }
        session.admit()?;
        let result = match master::of(&session) {
            Some(master) => match master::forward(&session, exchange, master, stage) {
                Ok(Some(forward)) => Ok(Answer::Forward(forward)),
                Ok(None) => Ok(Answer::Admitted),
                Err(fail) => Err(fail),
            },
            None if stage == Stage::Admit => Ok(Answer::Admitted),
            None => run(&mut session, exchange).map(|()| Answer::Given),
        };
        if let Err(Fail::Error(error, _)) = &result {
            session.log_error(error);
        }
        result
    });
    result.map_err(|fail| (fail, asks))
}

/// An error of a request that is for no place with a login of its own.
fn nowhere(fail: Fail) -> (Fail, Asks) {
    (fail, Asks::default())
}

/// The server's own pages: signing in, tokens, the status, the style of these, and `security.txt`.
fn own_page(
    shared: &HttpState,
    head: &Head,
    exchange: &mut Exchange,
    stage: Stage,
) -> Option<Result<Answer, (Fail, Asks)>> {
    exchange.is_private = shared.sign_in.is_some() && cookies::are_there(&head.headers);
    if let Some(sheet) = own_style(head) {
        web_reply::write(exchange, sheet);
        return Some(Ok(Answer::Given));
    }
    if security_txt::write(shared, head, exchange) {
        return Some(Ok(Answer::Given));
    }
    if let Some(done) = sign_in_pages::answer(shared, head, exchange, stage) {
        return Some(done.map_err(nowhere).map(answered));
    }
    if let Some(done) = status_page::answer(shared, head, exchange) {
        return Some(done.map(|()| Answer::Given));
    }
    token_pages::answer(shared, head, exchange, stage).map(|done| done.map(answered))
}

/// The style sheet or the icon of the server's own pages, for a browser that asks for it.
fn own_style(head: &Head) -> Option<Reply> {
    site::style_at(&head.path).filter(|_| head.looks() && !head.is_svn_client())
}

/// Writes the icon, if a browser asks for that of the server. The caller has found no repository there.
fn write_icon(head: &Head, exchange: &mut Exchange) -> bool {
    let is_asked = head.path == site::FAVICON && head.looks() && !head.is_svn_client();
    if is_asked {
        web_reply::write(exchange, site::favicon());
    }
    is_asked
}

/// How far a page of the server is.
const fn answered(done: sign_in_pages::PageProgress) -> Answer {
    match done {
        sign_in_pages::PageProgress::Answered => Answer::Given,
        sign_in_pages::PageProgress::NeedsBody => Answer::Admitted,
    }
}

/// Answers when a request could not be forwarded, or its reply has no end.
pub(super) fn fail_forwarded(
    shared: &HttpState,
    head: &Head,
    exchange: &mut Exchange,
    failure: &ForwardFailure,
) {
    let error = &failure.error;
    if let Some(log) = &shared.server.log {
        let host = head.client.to_string();
        let repository = Some(failure.repository.as_str());
        let user = exchange.user.as_ref().map(Principal::name);
        let request = head.request;
        log.error(Subject { host: Some(&host), user, repository, request }, error, false);
    }
    exchange.failed_by(error);
    if exchange.has_begun() {
        exchange.abandon();
        exchange.finish();
    } else {
        fail(head, exchange, &shared.server.folders.hide(error), failure.status);
    }
}

/// The requested resource was moved.
fn redirect(head: &Head, exchange: &mut Exchange, moved: &Redirect, rest: &str) {
    let query = head.query.as_ref().map_or(String::new(), |query| format!("?{query}"));
    let target = format!("{}{rest}{query}", moved.to);
    let target = if moved.to.starts_with('/') { head.absolute(&target) } else { target };
    exchange.status(if moved.permanent { 301 } else { 302 });
    exchange.header("location", &target);
}

fn run(session: &mut Session<'_>, exchange: &mut Exchange) -> DavResult {
    if let Some(result) = autoversioning::answer(session, exchange) {
        return result;
    }
    if let Some(result) = unversioned::answer(session, exchange) {
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
        "VERSION-CONTROL" => activity::version_control(session),
        _ => {
            exchange.header("allow", ALLOWED);
            Err(Fail::status(405, "The method is not allowed here"))
        }
    }
}
