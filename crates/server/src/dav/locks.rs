//! LOCK and UNLOCK.

use std::time::{SystemTime, UNIX_EPOCH};

use sapwood_core::FsPath;
use sapwood_core::Lock;
use sapwood_core::date::Timestamp;
use sapwood_core::paths::FsPathBuf;
use sapwood_core::{ErrorCode, NodeKind, SvnError};
use sapwood_fs::{LockTarget, UnlockTarget};
use sapwood_repos::{LockRequest, UnlockRequest, lock_paths, unlock_paths};
use sapwood_wire_dav::xml::{Document, Limits};
use sapwood_wire_dav::{Resource, headers, lock as wire};

use super::exchange::Exchange;
use super::fail::{DavResult, Fail};
use super::session::Session;
use super::tokens::version_name;
use crate::common::access::{Action, Decision};
use crate::common::operation_log::Operation;

/// Bytes of the body of a LOCK: a comment.
pub(super) const MAX_BODY: usize = 1 << 20;

/// The form in which a lock is sent.
pub(super) fn active_lock<'a>(lock: &'a Lock, root: &'a str) -> wire::ActiveLock<'a> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_micros());
    let timeout = lock.expires.map(|end| {
        let left = i128::from(end) - i128::try_from(now).unwrap_or(i128::MAX);
        // Nothing is left of a lock that has just expired.
        u64::try_from(left / 1_000_000).unwrap_or(0)
    });
    wire::ActiveLock {
        token: &lock.token,
        owner: lock.comment.as_deref(),
        is_xml: lock.is_dav_comment,
        root,
        timeout,
        is_shared: false,
        is_deep: false,
    }
}

fn public_path(session: &Session<'_>) -> DavResult<FsPathBuf> {
    match &session.resource {
        Resource::Public(path) => Ok(path.clone()),
        _ => Err(Fail::status(405, "Attempted to lock path not in repository.")),
    }
}

fn has_option(session: &Session<'_>, word: &str) -> bool {
    session.head.has_word(headers::OPTIONS, word)
}

pub(super) fn lock(session: &Session<'_>, exchange: &mut Exchange) -> DavResult {
    let path = public_path(session)?;
    let body = exchange.body.read_all(MAX_BODY)?;
    if body.iter().all(u8::is_ascii_whitespace) {
        return refresh(session, exchange, &path);
    }
    let wanted = wire::read(&Document::open(&*body, Limits::default())?.into_root()?)?;
    if wanted.is_shared {
        return Err(sapwood_wire_dav::Error::Element("lockscope").into());
    }
    need_user(session, &path)?;
    let youngest = session.repository.fs().revision_root(session.youngest()?)?;
    if youngest.kind(&path)? == Some(NodeKind::Dir) {
        let message = format!("'{path}' is not a file");
        return Err(Fail::with(SvnError::new(ErrorCode::FS_NOT_FILE, message), 405));
    }
    make(session, exchange, &path, &wanted)
}

/// The user; anonymous users cannot lock.
pub(super) fn need_user<'a>(session: &'a Session<'_>, path: &FsPath) -> DavResult<&'a str> {
    if let Some(user) = session.access.user() {
        return Ok(user);
    }
    match session.decide(Action::Write, Some(path)) {
        Decision::Deny => Err(Fail::status(403, "Access denied")),
        _ if session.can_authenticate() => Err(Fail::AskWho),
        _ => {
            let message = "Anonymous lock creation is not allowed.";
            Err(Fail::with(SvnError::new(ErrorCode::UNSUPPORTED_FEATURE, message), 501))
        }
    }
}

/// Locks a file.
pub(super) fn make(
    session: &Session<'_>,
    exchange: &mut Exchange,
    path: &FsPath,
    wanted: &wire::LockRequest,
) -> DavResult {
    let steal = has_option(session, headers::options::LOCK_STEAL);
    session.log_command(&Operation::Lock { paths: &[path], steal });
    let hooks = session.access.hooks(&session.repository);
    let request = LockRequest {
        repository: &session.repository,
        hooks: Some(&hooks),
        user: session.access.user(),
        comment: wanted.owner.as_deref(),
        steal,
        is_dav_comment: wanted.is_xml,
        expires: expires(session),
    };
    let target = LockTarget { path: path.to_owned(), token: None, revision: version_name(session) };
    let made = locked(session, &request, target)?;
    send_lock(session, exchange, &made);
    Ok(())
}

/// When a new lock will expire.
fn expires(session: &Session<'_>) -> Option<i64> {
    let seconds = i64::try_from(wire::timeout(session.head.header("timeout")?)?).ok()?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(now.as_micros()).ok()?.checked_add(seconds.checked_mul(1_000_000)?)
}

/// Locks a path. A failure of `post-lock` is only logged: the client needs the lock's token.
fn locked(session: &Session<'_>, request: &LockRequest<'_>, target: LockTarget) -> DavResult<Lock> {
    let mut done = lock_paths(request, vec![target]);
    if let [(_, Ok(_))] = done.each.as_slice()
        && let Some(error) = done.failure.take()
    {
        session.log_error(&error);
    }
    let made = done.into_single().map_err(|error| {
        let status = match error.code() {
            ErrorCode::FS_PATH_ALREADY_LOCKED => 423,
            ErrorCode::FS_OUT_OF_DATE | ErrorCode::FS_NOT_FOUND => 409,
            _ => sapwood_wire_dav::status::status_of(error.code()).unwrap_or(500),
        };
        Fail::with(error, status)
    })?;
    let Some(made) = made else {
        return Err(Fail::status(500, "internal error: a lock was neither made nor refused"));
    };
    Ok(made)
}

fn send_lock(session: &Session<'_>, exchange: &mut Exchange, lock: &Lock) {
    exchange.header("lock-token", &format!("<{}>", lock.token));
    exchange.header(headers::CREATION_DATE, &Timestamp(lock.created).to_string());
    exchange.header(headers::LOCK_OWNER, &lock.owner);
    exchange.xml();
    let root = session.address(&Resource::Public(lock.path.clone()));
    wire::reply(exchange.out(), &active_lock(lock, &root));
}

/// A LOCK without a body refreshes a lock, for the time in its `Timeout`.
pub(super) fn refresh(session: &Session<'_>, exchange: &mut Exchange, path: &FsPath) -> DavResult {
    let shown = super::tokens::lock_tokens(session);
    let found = session.repository.fs().lock(path)?;
    let found = found.filter(|lock| shown.iter().any(|(_, token)| *token == lock.token));
    let Some(lock) = found else {
        return Err(Fail::status(412, "There is no such lock to refresh"));
    };
    if session.access.user() != Some(&lock.owner) {
        return Err(Fail::status(403, "The lock belongs to another user"));
    }
    let request = LockRequest {
        repository: &session.repository,
        hooks: None,
        user: Some(&lock.owner),
        comment: lock.comment.as_deref(),
        // Its own lock, under its own token.
        steal: true,
        is_dav_comment: lock.is_dav_comment,
        expires: expires(session),
    };
    let target =
        LockTarget { path: path.to_owned(), token: Some(lock.token.clone()), revision: None };
    let made = locked(session, &request, target)?;
    send_lock(session, exchange, &made);
    Ok(())
}

pub(super) fn unlock(session: &Session<'_>, exchange: &mut Exchange) -> DavResult {
    let path = public_path(session)?;
    let token = session
        .head
        .header("lock-token")
        .map(|text| text.trim().trim_start_matches('<').trim_end_matches('>').to_owned())
        .ok_or_else(|| Fail::status(400, "The Lock-Token header is missing"))?;
    let break_lock = has_option(session, headers::options::LOCK_BREAK);
    session.log_command(&Operation::Unlock { paths: &[&path], break_lock });
    let hooks = session.access.hooks(&session.repository);
    let request = UnlockRequest {
        repository: &session.repository,
        hooks: Some(&hooks),
        user: session.access.user(),
        break_lock,
    };
    // A token that no lock has is refused as such to anonymous users too, before they lack a name.
    if session.access.user().is_none()
        && session.repository.fs().lock(&path)?.is_none_or(|lock| lock.token != token)
    {
        let message = format!("No lock on path '{path}' has the token '{token}'");
        return Err(Fail::with(SvnError::new(ErrorCode::FS_NO_SUCH_LOCK, message), 400));
    }
    let done = unlock_paths(&request, vec![UnlockTarget { path, token }]).into_single();
    done.map_err(|error| {
        let status = match error.code() {
            ErrorCode::FS_NO_SUCH_LOCK | ErrorCode::FS_BAD_LOCK_TOKEN => 400,
            ErrorCode::FS_LOCK_OWNER_MISMATCH => 403,
            _ => sapwood_wire_dav::status::status_of(error.code()).unwrap_or(500),
        };
        Fail::with(error, status)
    })?;
    exchange.status(204);
    Ok(())
}
