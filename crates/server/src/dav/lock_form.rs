//! Breaking a lock by a form of the page of locks.
//!
//! Invariants: the user has a name and may write at the path; the form is ours, and of the lock that is there now, whose token it does not have; hooks
//! decide and hear of it as of `svn unlock --force`.

use sapwood_core::{FsPath, Lock, SvnError};
use sapwood_fs::UnlockTarget;
use sapwood_repos::{Access, UnlockRequest, unlock_paths};
use sapwood_web::{Breaks, words};

use super::exchange::Exchange;
use super::fail::{DavResult, Fail};
use super::own_form;
use super::session::Session;
use super::sign_in::field;
use crate::common::config::Blanket;
use crate::common::operation_log::Operation;
use crate::common::principal::Principal;

/// What the codes of these forms are for.
const KIND: &str = "lock";

/// Which locks the user of a session may break.
#[derive(Debug)]
pub(super) struct Breaker<'r, 's>(pub(super) &'r Session<'s>);

impl Breaks for Breaker<'_, '_> {
    fn code(&self, lock: &Lock) -> Option<String> {
        let Self(session) = self;
        may(session, &lock.path).then(|| session.shared.forms.code(KIND, &basis(session, lock)))
    }
}

/// Whether the user may break a lock on a path. Not on a mirror: the locks are the master's.
fn may(session: &Session<'_>, path: &FsPath) -> bool {
    let access = &session.access;
    let rules = access.path_rules();
    access.user().is_some()
        && session.location.is_none_or(|location| location.master.is_none())
        && access.blanket() >= Blanket::Write
        && rules.is_none_or(|rules| rules.allows(Some(path), Access::WRITE, false))
}

/// What the code of a form follows from: a lock that was made since has another one.
fn basis(session: &Session<'_>, lock: &Lock) -> String {
    let user = session.access.user().unwrap_or("");
    format!("{}\n{user}\n{}\n{}", session.uuid, lock.path, lock.token)
}

/// The server, as the browser calls it.
fn origin(session: &Session<'_>) -> String {
    let has_signed_in = session.access.principal().is_some_and(Principal::has_signed_in);
    let sign_in = session.shared.sign_in.as_ref().filter(|_| has_signed_in);
    sign_in.map_or_else(|| session.head.absolute(""), |sign_in| sign_in.url().to_owned())
}

/// Whether the form is sent from a page of ours: asked before it is read.
pub(super) fn is_ours(session: &Session<'_>) -> bool {
    own_form::is_ours(session.head, &origin(session))
}

/// Breaks the lock that a form is for, and leads back to `page`.
///
/// # Errors
/// 403 where the form is not ours, the lock is another one by now, or the user may not do it; what hooks say; system errors.
pub(super) fn answer(session: &Session<'_>, page: &str, exchange: &mut Exchange) -> DavResult {
    let form = own_form::read(session.head, exchange, &origin(session))?;
    let stale = || Fail::status(403, words::STALE_FORM);
    let path = field(&form, "path").ok_or_else(stale)?;
    let path = FsPath::new(&path).map_err(|_| stale())?;
    // Asked before anything is said of the lock.
    if !may(session, path) {
        return Err(Fail::Forbidden);
    }
    let lock = session.repository.fs().lock(path)?.ok_or_else(stale)?;
    let code = field(&form, "code").ok_or_else(stale)?;
    if !session.shared.forms.is_code(KIND, &basis(session, &lock), &code) {
        return Err(stale());
    }
    let user = session.access.user();
    let break_lock = user != Some(&lock.owner);
    session.log_command(&Operation::Unlock { paths: &[path], break_lock });
    let hooks = session.access.hooks(&session.repository);
    let request =
        UnlockRequest { repository: &session.repository, hooks: Some(&hooks), user, break_lock };
    let target = UnlockTarget { path: path.to_owned(), token: lock.token };
    unlock_paths(&request, vec![target]).into_single().map_err(|error: SvnError| {
        session.log_error(&error);
        Fail::with(error, 403)
    })?;
    exchange.status(303);
    exchange.header("location", &session.head.absolute(page));
    Ok(())
}
