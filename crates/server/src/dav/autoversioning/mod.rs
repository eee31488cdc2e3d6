//! Autoversioning: changes that other programs than Subversion's make at plain URLs are committed,
//! where the configuration allows it. A file manager can then use a repository as a network folder.
//!
//! * `changes`: PUT, MKCOL, DELETE, COPY, MOVE.
//! * `properties`: PROPPATCH, with any names in any namespace.
//! * `locking`: LOCK, UNLOCK; [`held`]: locks that a repository cannot have.
//! * `conditions`: what a request depends on.
//!
//! * [`pending`]: changes that wait for the rest of the save that they belong to; `flush`:
//!   commits them.
//!
//! A request is a commit of its own, on top of the youngest revision, unless it carries no text and waits.

mod changes;
mod conditions;
mod discovery;
mod flush;
pub mod held;
mod locking;
pub mod pending;
mod properties;

use std::time::Duration;

use sapwood_core::FsPath;
use sapwood_core::{ErrorCode, PropList, SvnError, SvnResult};
use sapwood_fs::Root;
use sapwood_repos::{CommitResult, TxnEditor};
use sapwood_wire_dav::Resource;

use super::exchange::Exchange;
use super::fail::{DavResult, Fail};
use super::session::Session;
use super::tokens::{all_tokens, lock_tokens};
use crate::common::access::Action;

pub(super) use discovery::discovered;
pub(super) use flush::flush_due;

/// The property of revisions that were made so.
const AUTOVERSIONED: &str = "svn:autoversioned";

/// Answers the request if it is one that becomes a revision, or has to do with locks of other
/// programs.
pub(super) fn answer(session: &Session<'_>, exchange: &mut Exchange) -> Option<DavResult> {
    if let Some(answered) = flush::before(session, exchange) {
        return Some(answered);
    }
    let Resource::Public(path) = &session.resource else { return None };
    if !session.autoversions() {
        return None;
    }
    on_the_youngest(session, exchange, path)
}

/// How long to wait for a revision that is in the way and cannot be read yet.
const PUBLISHING: Duration = Duration::from_millis(5);
/// How often that is done for a request.
const WAITS: usize = 60;
/// How often a request that meets others is tried. Each time another one has come first, so some always does.
const TRIES: usize = 200;

/// Answers a request on top of the youngest revision. Where others have made one meanwhile that is in its way,
/// on top of that: programs save several files at a time, and none of them tries again.
fn on_the_youngest(
    session: &Session<'_>,
    exchange: &mut Exchange,
    path: &FsPath,
) -> Option<DavResult> {
    let mut waits = 0..WAITS;
    for _ in 1..TRIES {
        let before = session.youngest().ok();
        let answered = answer_once(session, exchange, path)?;
        let code = match &answered {
            Err(Fail::Error(error, 405 | 409)) => error.code(),
            _ => return Some(answered),
        };
        let has_changed = session.youngest().ok() != before;
        let met_others = match code {
            ErrorCode::FS_CONFLICT | ErrorCode::FS_TXN_OUT_OF_DATE => {
                has_changed || waits.next().is_some()
            }
            ErrorCode::FS_ALREADY_EXISTS => has_changed,
            _ => false,
        };
        if !met_others || exchange.has_begun() || !exchange.body.rewind() {
            return Some(answered);
        }
        exchange.reset();
        if !has_changed {
            // The other one is being published, or the conflict has another cause.
            std::thread::sleep(PUBLISHING);
        }
    }
    answer_once(session, exchange, path)
}

fn answer_once(session: &Session<'_>, exchange: &mut Exchange, path: &FsPath) -> Option<DavResult> {
    Some(match session.head.method.as_str() {
        "PUT" => changes::put(session, exchange, path),
        "MKCOL" => changes::mkcol(session, exchange, path),
        "DELETE" => changes::delete(session, exchange, path),
        "COPY" => changes::copy(session, exchange, path, false),
        "MOVE" => changes::copy(session, exchange, path, true),
        "PROPPATCH" => properties::proppatch(session, exchange, path),
        // Clients of Subversion lock files that are there, and nothing else.
        "LOCK" if !session.is_svn_client() => locking::lock(session, exchange, path),
        "UNLOCK" if !session.is_svn_client() => locking::unlock(session, exchange, path),
        _ => return None,
    })
}

/// The tree that requests are about.
fn youngest(session: &Session<'_>) -> DavResult<Root> {
    Ok(session.repository.fs().revision_root(session.youngest()?)?)
}

/// Whether the user may change a path, and its parent, of which it is a member.
fn may_change(session: &Session<'_>, path: &FsPath) -> DavResult {
    session.must(Action::Write, Some(path))?;
    session.must(Action::Write, Some(path.parent()))
}

/// Begins the commit of a request.
fn begin(session: &Session<'_>) -> DavResult<TxnEditor> {
    let mut editor = super::edit::begin(session, PropList::new())?;
    let own = session.resource_path().unwrap_or(FsPath::ROOT);
    let untagged = all_tokens(session).into_iter().map(|token| (own.as_str().to_owned(), token));
    editor.show_tokens(lock_tokens(session).into_iter().chain(untagged));
    Ok(editor)
}

/// How many paths a log message names.
const MOST_NAMED: usize = 20;

/// Says what a revision is: a change of `paths`.
fn describe(editor: &mut TxnEditor, paths: &[&FsPath]) -> SvnResult<()> {
    let mut log = "Autoversioning commit:  a non-deltaV client made a change to".to_owned();
    for path in paths.iter().take(MOST_NAMED) {
        log.push('\n');
        log.push_str(path);
    }
    if let Some(more @ 1..) = paths.len().checked_sub(MOST_NAMED) {
        log.push_str(&format!("\nand {more} more"));
    }
    editor.set_prop(sapwood_core::props::names::LOG, Some(log.as_bytes()))?;
    editor.set_prop(AUTOVERSIONED, Some(b"*"))
}

/// Makes the revision; `path` is what it is about.
fn commit(session: &Session<'_>, mut editor: TxnEditor, path: &FsPath) -> DavResult<CommitResult> {
    describe(&mut editor, &[path])?;
    let committed = editor.commit().map_err(refused)?;
    session.access.committed(&session.repository, committed.revision);
    if let Some(why) = &committed.post_commit_error {
        session.log_error(&SvnError::new(ErrorCode::REPOS_POST_COMMIT_HOOK_FAILED, why));
    }
    Ok(committed)
}

/// The failure of a change, with the status that other programs expect.
fn refused(error: SvnError) -> Fail {
    let status = match error.code() {
        ErrorCode::FS_NO_LOCK_TOKEN
        | ErrorCode::FS_BAD_LOCK_TOKEN
        | ErrorCode::FS_LOCK_OWNER_MISMATCH => 423,
        ErrorCode::FS_CONFLICT | ErrorCode::FS_TXN_OUT_OF_DATE | ErrorCode::FS_NOT_DIRECTORY => 409,
        ErrorCode::FS_PATH_SYNTAX => 400,
        ErrorCode::FS_ALREADY_EXISTS => 405,
        _ => return error.into(),
    };
    Fail::with(error, status)
}

fn locked(path: &FsPath) -> Fail {
    let message = format!("Cannot verify lock on path '{path}'; no matching lock-token available");
    Fail::with(SvnError::new(ErrorCode::FS_NO_LOCK_TOKEN, message), 423)
}

fn not_there(path: &FsPath) -> Fail {
    SvnError::new(ErrorCode::FS_NOT_FOUND, format!("'{path}' is not there")).into()
}
