//! Locks on paths: listed, made, removed, one or many at once.
//!
//! A reply to a request for many paths has one result for each path, in the order of the request,
//! then `done`, then the result of the whole. Only one challenge may be sent for a request, so
//! access to the single paths is checked after it, and only the paths that the user may not write
//! fail.

use std::collections::{HashMap, HashSet};

use sapwood_core::FsPath;
use sapwood_core::Lock;
use sapwood_core::date::Timestamp;
use sapwood_core::paths::FsPathBuf;
use sapwood_core::{Depth, ErrorCode, Revnum, SvnError, SvnResult};
use sapwood_fs::{LockTarget, UnlockTarget};
use sapwood_repos::{
    Hooks, LockRequest, LockResults, PathAuthorizer as _, UnlockRequest, lock_paths, unlock_paths,
};
use sapwood_wire_svn::data::{LockDesc, write_lock};
use sapwood_wire_svn::{Encode as _, Error as WireError, Item, List, Sink as _, Tuple};

use crate::common::access::Action;
use crate::common::operation_log::Operation;
use crate::svn::auth::{must_have_access, trivial_auth};
use crate::svn::session::{CommandResult, Fail, Session};

fn lock_out(out: &mut Vec<u8>, lock: &Lock) {
    let created = Timestamp(lock.created).to_string();
    let expires = lock.expires.map(|t| Timestamp(t).to_string());
    write_lock(
        out,
        &LockDesc {
            path: &lock.path,
            token: &lock.token,
            owner: &lock.owner,
            comment: lock.comment.as_deref(),
            created: &created,
            expires: expires.as_deref(),
        },
    );
}

/// `get-lock`
pub(super) fn get_lock(session: &mut Session<'_>, mut params: Tuple<'_>) -> CommandResult {
    let relative = params.relpath()?;
    let path = session.full_path(&relative);
    must_have_access(session, Action::Read, Some(&path), false)?;
    session.log_command(&Operation::GetLock { path: &path });
    let lock = session.repository.fs().lock(&path)?;
    let out = session.conn.out();
    out.raw(b"( success ( ( ");
    if let Some(lock) = lock {
        lock_out(out, &lock);
    }
    out.raw(b") ) ) ");
    Ok(())
}

/// `get-locks`
pub(super) fn get_locks(session: &mut Session<'_>, mut params: Tuple<'_>) -> CommandResult {
    let relative = params.relpath()?;
    let mut depth = Depth::Infinity;
    if let Some(list) = params.opt_list()?
        && let Some(word) = list.tuple().opt_word()?
    {
        depth = Depth::from_word(word.as_bytes());
    }
    if !matches!(depth, Depth::Empty | Depth::Files | Depth::Immediates | Depth::Infinity) {
        let error = SvnError::new(
            ErrorCode::INCORRECT_PARAMS,
            "Invalid 'depth' specified in get-locks request",
        );
        session.log_error(&error);
        return Err(Fail::Command(error));
    }
    let path = session.full_path(&relative);
    trivial_auth(&mut session.conn);
    // The reference's line has no depth here.
    session.log_command(&Operation::GetLocks { path: &path, depth: Depth::Unknown });
    let locks = session.repository.fs().locks(&path, depth)?;
    session.conn.out().raw(b"( success ( ( ");
    for lock in &locks {
        session.cancel.check()?;
        if session.access.readable(&lock.path)? {
            lock_out(session.conn.out(), lock);
            session.conn.flush_if_large()?;
        }
    }
    session.conn.out().raw(b") ) ) ");
    Ok(())
}

fn hooks(session: &Session<'_>) -> Hooks {
    session.access.hooks(&session.repository)
}

fn lock_all(
    session: &Session<'_>,
    comment: Option<&str>,
    steal: bool,
    targets: Vec<LockTarget>,
) -> LockResults<Lock> {
    let hooks = hooks(session);
    let request = LockRequest {
        repository: &session.repository,
        hooks: Some(&hooks),
        user: session.access.user(),
        comment,
        steal,
        is_dav_comment: false,
        expires: None,
    };
    lock_paths(&request, targets)
}

/// Unlocks paths as the session's user.
pub(super) fn unlock_all(
    session: &Session<'_>,
    break_lock: bool,
    targets: Vec<UnlockTarget>,
) -> LockResults<()> {
    let hooks = hooks(session);
    let request = UnlockRequest {
        repository: &session.repository,
        hooks: Some(&hooks),
        user: session.access.user(),
        break_lock,
    };
    unlock_paths(&request, targets)
}

/// `lock`
pub(super) fn lock(session: &mut Session<'_>, mut params: Tuple<'_>) -> CommandResult {
    let path = session.full_path(&params.relpath()?);
    let comment = params.bracketed_text()?;
    let steal = params.bool()?;
    let revision = params.bracketed_rev()?;
    must_have_access(session, Action::Write, Some(&path), true)?;
    log_lock(session, &[&path], steal);
    let target = LockTarget { path, token: None, revision };
    let Some(lock) = lock_all(session, comment, steal, vec![target]).into_single()? else {
        return Err(Fail::Command(SvnError::new(ErrorCode::FS_LOCK_OPERATION_FAILED, "")));
    };
    let out = session.conn.out();
    out.raw(b"( success ( ");
    lock_out(out, &lock);
    out.raw(b") ) ");
    Ok(())
}

/// `unlock`
pub(super) fn unlock(session: &mut Session<'_>, mut params: Tuple<'_>) -> CommandResult {
    let path = session.full_path(&params.relpath()?);
    let token = params.bracketed_text()?.unwrap_or("").to_owned();
    let break_lock = params.bool()?;
    must_have_access(session, Action::Write, Some(&path), !break_lock)?;
    log_unlock(session, &[&path], break_lock);
    unlock_all(session, break_lock, vec![UnlockTarget { path, token }]).into_single()?;
    session.conn.success();
    Ok(())
}

fn log_lock(session: &Session<'_>, paths: &[&FsPath], steal: bool) {
    session.log_command(&Operation::Lock { paths, steal });
}

fn log_unlock(session: &Session<'_>, paths: &[&FsPath], break_lock: bool) {
    session.log_command(&Operation::Unlock { paths, break_lock });
}

/// One path of a request for many.
struct PathRequest<'a, T> {
    /// The path as the client sent it.
    shown: &'a str,
    path: FsPathBuf,
    target: T,
}

/// The paths of a request for many; `read` makes a target of what follows the path. If a path was
/// given twice, the last target is used for both.
fn read_many<'a, T>(
    session: &mut Session<'_>,
    list: List<'a>,
    no_list: &'static str,
    read: impl Fn(FsPathBuf, &mut Tuple<'a>) -> Result<T, WireError>,
) -> Result<Vec<PathRequest<'a, T>>, Fail> {
    session.make_room_for(list)?;
    let mut wanted = Vec::new();
    for item in list {
        let Item::List(fields) = item else { return Err(WireError::Part(no_list).into()) };
        let mut fields = fields.tuple();
        let shown = fields.text()?;
        let path = session.full_path(&sapwood_core::path::canonical_relpath(shown));
        let target = read(path.clone(), &mut fields)?;
        wanted.push(PathRequest { shown, path, target });
    }
    Ok(wanted)
}

/// The paths of a request, each once.
fn paths<'a, T>(wanted: &'a [PathRequest<'_, T>]) -> Vec<&'a FsPath> {
    let mut seen = HashSet::with_capacity(wanted.len());
    wanted.iter().map(|wanted| wanted.path.as_path()).filter(|path| seen.insert(*path)).collect()
}

/// Splits off the paths that the user may not write, with their errors.
fn sort_out<T: Clone, R>(
    session: &Session<'_>,
    wanted: &[PathRequest<'_, T>],
    needs_username: bool,
) -> (Vec<T>, HashMap<FsPathBuf, SvnResult<R>>) {
    let last: HashMap<&FsPath, &T> =
        wanted.iter().map(|wanted| (wanted.path.as_path(), &wanted.target)).collect();
    let (mut allowed, mut results) = (Vec::with_capacity(last.len()), HashMap::new());
    for path in paths(wanted) {
        let Some(target) = last.get(path).copied() else { continue };
        if session.access.may(Action::Write, Some(path), needs_username) {
            allowed.push(target.clone());
        } else {
            let error = SvnError::new(ErrorCode::RA_NOT_AUTHORIZED, "");
            session.log_error(&error);
            results.insert(path.to_owned(), Err(error));
        }
    }
    (allowed, results)
}

/// Writes the results in the order of the request, and the result of the whole.
fn write_results<T, R>(
    session: &mut Session<'_>,
    wanted: &[PathRequest<'_, T>],
    results: &HashMap<FsPathBuf, SvnResult<R>>,
    failure: Option<SvnError>,
    write: impl Fn(&mut Vec<u8>, &str, &R),
) -> CommandResult {
    for PathRequest { shown, path, .. } in wanted {
        match results.get(path) {
            Some(Ok(result)) => {
                let out = session.conn.out();
                out.raw(b"( success ");
                write(out, shown, result);
                out.close();
            }
            Some(Err(error)) => session.conn.failure(error),
            None => session.conn.failure(&SvnError::new(
                ErrorCode::FS_LOCK_OPERATION_FAILED,
                format!("No result for '{shown}'."),
            )),
        }
        session.conn.flush_if_large()?;
    }
    session.conn.out().word("done");
    match failure {
        Some(error) => Err(Fail::Command(error)),
        None => {
            session.conn.success();
            Ok(())
        }
    }
}

/// `lock-many`
pub(super) fn lock_many(session: &mut Session<'_>, mut params: Tuple<'_>) -> CommandResult {
    let comment = params.bracketed_text()?;
    let steal = params.bool()?;
    let list = params.list()?;
    must_have_access(session, Action::Write, None, true)?;
    let no_list = "Lock requests should be list of lists";
    let wanted = read_many(session, list, no_list, |path, fields| {
        let revision: Option<Revnum> = fields.bracketed_rev()?;
        Ok(LockTarget { path, token: None, revision })
    })?;
    log_lock(session, &paths(&wanted), steal);
    let (allowed, mut results) = sort_out(session, &wanted, true);
    let locked = lock_all(session, comment, steal, allowed);
    results.extend(locked.each);
    write_results(session, &wanted, &results, locked.failure, |out, _, lock| lock_out(out, lock))
}

/// `unlock-many`
pub(super) fn unlock_many(session: &mut Session<'_>, mut params: Tuple<'_>) -> CommandResult {
    let break_lock = params.bool()?;
    let list = params.list()?;
    must_have_access(session, Action::Write, None, !break_lock)?;
    let no_list = "Unlock request should be a list of lists";
    let wanted = read_many(session, list, no_list, |path, fields| {
        let token = fields.bracketed_text()?.unwrap_or("").to_owned();
        Ok(UnlockTarget { path, token })
    })?;
    log_unlock(session, &paths(&wanted), break_lock);
    let (allowed, mut results) = sort_out(session, &wanted, !break_lock);
    let unlocked = unlock_all(session, break_lock, allowed);
    results.extend(unlocked.each);
    write_results(session, &wanted, &results, unlocked.failure, |out, shown, ()| {
        out.open();
        out.text(shown);
        out.close();
    })
}
