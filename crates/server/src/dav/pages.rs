//! The pages of the crate `web`, as replies: who may see them, and where they are.
//!
//! Invariants: a repository in which the user may read nothing answers as one that is not there. Clients of Subversion, other
//! methods than GET and HEAD (but for one form), and a repository's own folder `-` never meet a page.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use hyper::Method;
use sapwood_core::exact::signed;
use sapwood_core::{Depth, FsPath, SvnError, SvnResult};
use sapwood_repos::{PathAuthorizer, RulesId, SubtreeAccess};
use sapwood_search::Index;
use sapwood_web::site::Visitor;
use sapwood_web::{Address, Kind, Links, Prefix, Reply, Request, View};

use super::archives;
use super::blames;
use super::entity::{is_same, tags};
use super::exchange::{Exchange, NotBefore};
use super::fail::{DavResult, Fail};
use super::lock_form::{self, Breaker};
use super::media;
use super::own_form;
use super::session::Session;
use super::sign_in::path_of_ours;
use super::sign_in_pages::{PageProgress, lead};
use super::stage::Stage;
use super::web_reply;
use crate::common::access::{Action, Decision, UserAccess};
use crate::common::operation_log::Operation;
use crate::common::principal::Principal;

/// The step in which the time of a search ends, for users who may not read everything.
const STEP: Duration = Duration::from_millis(250);
/// The folder of a repository that would be in the way of its pages.
const OWN_FOLDER: &str = "/-";

/// A page that was asked for, and may be seen.
#[derive(Debug)]
pub(super) struct Page {
    prefix: Prefix,
    address: Address,
}

/// The rules for paths on pages. Each path is asked about, also where the configuration leaves paths inside of replies
/// to clients of Subversion open: a page is a request for what it shows.
#[derive(Debug)]
pub(super) struct EachPath<'a>(pub(super) &'a UserAccess<'a>);

impl EachPath<'_> {
    fn is_default(&self) -> bool {
        self.0.config().each_path
    }
}

impl PathAuthorizer for EachPath<'_> {
    fn readable(&self, path: &FsPath) -> SvnResult<bool> {
        Ok(self.0.may(Action::Read, Some(path), false))
    }

    fn everything_readable(&self) -> bool {
        self.is_default() && self.0.everything_readable()
    }

    fn subtree(&self, path: &FsPath) -> SvnResult<SubtreeAccess> {
        if self.is_default() { self.0.subtree(path) } else { Ok(SubtreeAccess::Mixed) }
    }

    fn rules(&self) -> Option<RulesId> {
        self.0.rules().filter(|_| self.is_default())
    }

    fn notes_refusals(&self) -> bool {
        self.0.notes_refusals()
    }

    fn refused(&self, path: &FsPath) {
        self.0.refused(path);
    }
}

/// The page that a request is for, if it is for one. `below` is the path below the repository's URL, percent-encoded.
///
/// # Errors
/// Where the user may not see it, or has to log in; where its address means nothing.
pub(super) fn requested(session: &Session<'_>, below: &str) -> DavResult<Option<Page>> {
    let is_form = own_form::is_of_locks(session.head);
    if !(session.head.looks() || is_form) || session.is_svn_client() || !are_on(session) {
        return Ok(None);
    }
    let Some((prefix, rest)) = Prefix::split(below) else { return Ok(None) };
    if session.decide(Action::Read, None) != Decision::Allow {
        // Answered as any other address in a repository of which nothing may be read.
        return Ok(None);
    }
    if prefix == Prefix::Short && has_own_folder(session)? {
        return Ok(None);
    }
    let query = session.head.query.as_deref();
    let Some(address) = Address::parse(rest, query).map_err(web_reply::failed)? else {
        return if prefix == Prefix::Short { Ok(None) } else { Err(Fail::Missing) };
    };
    if is_form && !address.is_page_of_locks() {
        return Ok(None);
    }
    if address.kind().has_path() {
        must_read(session, address.path())?;
    }
    if let Some(path) = &address.query.with {
        must_read(session, path)?;
    }
    Ok(Some(Page { prefix, address }))
}

/// Whether there are pages at this place.
fn are_on(session: &Session<'_>) -> bool {
    session.location.is_none_or(|location| location.web)
}

/// Whether the repository has a folder or file where the pages would be, that the user may read.
fn has_own_folder(session: &Session<'_>) -> DavResult<bool> {
    let rules = EachPath(&session.access);
    let view = View::new(&session.repository, &rules, &session.shared.server.cancel);
    view.has(FsPath::trusted(OWN_FOLDER)).map_err(web_reply::failed)
}

/// The link from a plain listing into the pages, if there are any.
pub(super) fn link(session: &Session<'_>) -> DavResult<Option<Links>> {
    if !are_on(session) {
        return Ok(None);
    }
    let prefix = if has_own_folder(session)? { Prefix::Reserved } else { Prefix::Short };
    Ok(Some(Links::new(&session.root, prefix)))
}

/// What may not be read is not there, unless another user could read it.
fn must_read(session: &Session<'_>, path: &FsPath) -> DavResult {
    match session.decide(Action::Read, Some(path)) {
        Decision::Allow => Ok(()),
        Decision::AskWho => Err(Fail::AskWho),
        Decision::Deny => Err(Fail::Missing),
    }
}

/// Who looks at a page, for its line.
fn visitor(session: &Session<'_>, links: &Links) -> Visitor {
    let head = session.head;
    let sign_in = session.shared.sign_in.as_ref();
    let sign_in = sign_in.filter(|_| session.access.config().sign_in);
    let (user, query) = (session.access.principal(), head.query.as_deref());
    let by_password = || links.sign_in(&head.path, query);
    Visitor {
        user: user.map(|user| user.name().to_owned()),
        sign_in: match sign_in {
            Some(sign_in) => Some(sign_in.link(&head.path, query)),
            None => (user.is_none() && session.can_authenticate()).then(by_password),
        },
        can_sign_out: user.is_some_and(Principal::has_signed_in),
        has_tokens: user.is_some_and(|user| has_tokens(session, user)),
        has_status: user.is_some_and(|user| has_status(session, user)),
    }
}

/// Whether a visitor is led to the page of the server's status: one who has signed in, as members do there.
fn has_status(session: &Session<'_>, user: &Principal) -> bool {
    let access = session.shared.settings.status_access.as_deref();
    user.has_signed_in()
        && access.is_some_and(|access| access.sign_in && user.is_one_of(&access.members))
}

/// Whether a visitor of this place has a page of tokens.
fn has_tokens(session: &Session<'_>, user: &Principal) -> bool {
    let of_page = session.shared.settings.token_access.as_ref();
    let of_place = session.access.config().accounts.as_ref();
    !user.has_token()
        && of_page.is_some_and(|access| of_place.is_some() && access.accounts.as_ref() == of_place)
}

/// Answers a request for a page, or a form of one.
///
/// # Errors
/// [`Fail::Missing`] where there is nothing for this user; what a form may not do; corruption and system errors.
pub(super) fn answer(
    session: &Session<'_>,
    page: &Page,
    exchange: &mut Exchange,
    stage: Stage,
) -> DavResult<PageProgress> {
    if session.head.method != Method::POST {
        return show(session, page, exchange).map(|()| PageProgress::Answered);
    }
    if stage == Stage::Admit && lock_form::is_ours(session) {
        return Ok(PageProgress::NeedsBody);
    }
    let links = Links::new(&session.root, page.prefix);
    lock_form::answer(session, &links.of_locks(page.address.path()), exchange)?;
    Ok(PageProgress::Answered)
}

/// Sends a page.
fn show(session: &Session<'_>, page: &Page, exchange: &mut Exchange) -> DavResult {
    let rules = EachPath(&session.access);
    let view = View::new(&session.repository, &rules, &session.shared.server.cancel);
    let links = Links::new(&session.root, page.prefix).of_server(session.head.absolute(""));
    if page.address.kind() == Kind::SignIn {
        return sign_in(session, &links, page.address.query.to.as_deref(), exchange);
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs());
    let name = session.repository_name();
    let index = index_for(session, &page.address)?;
    let request = Request {
        view: &view,
        address: &page.address,
        links: &links,
        name: &name,
        now: signed(now),
        has_search: session.shared.server.settings.search_folder.is_some(),
        index: index.as_ref(),
        visitor: &visitor(session, &links),
        breaker: Some(&Breaker(session)),
    };
    note(session, &page.address).map_err(Fail::from)?;
    let begun = Instant::now();
    let tag = sapwood_web::tag(&request).map_err(web_reply::failed)?;
    if let Some(tag) = &tag {
        exchange.header("etag", tag);
        let known = session.head.header("if-none-match");
        if known.is_some_and(|list| tags(list).any(|said| is_same(said, tag))) {
            let reply = match page.address.kind() {
                Kind::Style => sapwood_web::answer(&request).map_err(web_reply::failed)?.emptied(),
                _ => Reply::unchanged(),
            };
            web_reply::write(exchange, reply);
            return Ok(());
        }
    }
    if matches!(page.address.kind(), Kind::Archive(_)) {
        return archives::send(session, &request, exchange);
    }
    if page.address.kind() == Kind::Media {
        return media::send(session, &request, exchange);
    }
    let _held = match page.address.kind() {
        Kind::Blame => blames::permit(session, exchange)?,
        _ => None,
    };
    let reply = sapwood_web::answer(&request);
    if page.address.kind().is_search() && !rules.everything_readable() {
        exchange.not_before = end_of_step(begun).map(NotBefore);
    }
    web_reply::write(exchange, reply.map_err(web_reply::failed)?);
    Ok(())
}

/// Asks a browser for a password, which it sends only where it was asked, and sends it back to a page of this repository.
fn sign_in(
    session: &Session<'_>,
    links: &Links,
    to: Option<&str>,
    exchange: &mut Exchange,
) -> DavResult {
    if !session.can_authenticate() {
        return Err(Fail::Missing);
    }
    if session.access.principal().is_none() {
        return Err(Fail::AskWho);
    }
    let to = to.map(path_of_ours).filter(|to| links.are_of(to));
    lead(exchange, &to.unwrap_or_else(|| links.start()));
    Ok(())
}

/// The end of the present step of a search. Its work grows with what it finds, also with what it leaves out because the user may not
/// read it; in steps, its time does not say how much that was.
fn end_of_step(begun: Instant) -> Option<Instant> {
    let steps = begun.elapsed().as_millis().checked_div(STEP.as_millis())?;
    let steps = u32::try_from(steps).ok()?.checked_add(1)?;
    begun.checked_add(STEP.checked_mul(steps)?)
}

/// The index of the repository, where it is asked for.
fn index_for(session: &Session<'_>, address: &Address) -> DavResult<Option<Index>> {
    let folder = session.shared.server.settings.search_folder.as_deref();
    let Some(folder) = folder.filter(|_| address.kind().is_search()) else { return Ok(None) };
    let repository = &session.repository;
    let uuid = repository.fs().uuid().map_err(SvnError::from)?;
    let index = Index::open(&Index::file(folder, repository.path()), &uuid);
    Ok(index.map_err(SvnError::from)?)
}

/// Writes what a page reads to the operational log, in the words of the request of Subversion that reads the same.
fn note(session: &Session<'_>, address: &Address) -> Result<(), SvnError> {
    let query = &address.query;
    let revision = match query.revision.or(query.peg) {
        Some(revision) => revision,
        None => session.youngest()?,
    };
    let path = address.path();
    let log = |paths: &[&FsPath], start, end, changed_paths| {
        session.log_command(&Operation::Log {
            paths,
            start: Some(start),
            end: Some(end),
            limit: 0,
            changed_paths,
            strict: false,
            merged: false,
            revprops: None,
        });
    };
    match address.kind() {
        Kind::Home | Kind::Style | Kind::SignIn | Kind::Description => {}
        Kind::Tree | Kind::Compare | Kind::Branches | Kind::Graph => {
            session.log_command(&Operation::List {
                path,
                revision,
                depth: Depth::Immediates,
                patterns: None,
            })
        }
        Kind::Archive(_) => session.log_command(&Operation::List {
            path,
            revision,
            depth: Depth::Infinity,
            patterns: None,
        }),
        Kind::Locks => {
            session.log_command(&Operation::GetLocks { path, depth: Depth::Infinity });
        }
        Kind::Search | Kind::SearchFeed => log(&[], revision, sapwood_core::Revnum::ZERO, false),
        Kind::Log | Kind::Feed => log(&[path], revision, sapwood_core::Revnum::ZERO, false),
        Kind::Revision(revision) | Kind::Differences(revision) => {
            log(&[], revision, revision, true)
        }
        Kind::Media => {
            session.log_command(&Operation::GetFile { path, revision, text: true, props: false })
        }
        Kind::Blame => session.log_command(&Operation::GetFileRevs {
            path,
            start: Some(sapwood_core::Revnum::ZERO),
            end: Some(revision),
            merged: false,
        }),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn searches_end_with_a_step() {
        let now = Instant::now();
        for (milliseconds, end) in [(0, 250), (100, 250), (251, 500), (999, 1000)] {
            let begun = now.checked_sub(Duration::from_millis(milliseconds)).unwrap();
            let found = end_of_step(begun).unwrap().duration_since(begun);
            // A slow machine may be a step later, never between two.
            assert_eq!(found.as_millis() % 250, 0, "{milliseconds}");
            assert!(found >= Duration::from_millis(end), "{milliseconds}");
        }
    }
}
