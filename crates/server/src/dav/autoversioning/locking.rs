//! LOCK and UNLOCK of other programs: of files as Subversion has them; of directories, and shared ones,
//! as [`super::held`] has them; and of files that are not there yet, which are made empty.

use sapwood_core::FsPath;
use sapwood_core::{ErrorCode, NodeKind, SvnError};
use sapwood_fs::Root;
use sapwood_wire_dav::xml::{Document, Limits};
use sapwood_wire_dav::{Resource, headers, lock as wire};

use super::super::exchange::Exchange;
use super::super::fail::{DavResult, Fail};
use super::super::locks;
use super::super::session::Session;
use super::super::tokens::all_tokens;
use super::changes::{Change, check_held, need_parent, wait_for_more};
use super::discovery::active_lock;
use super::held::{DavLock, end_after};
use super::{conditions, flush, locked, may_change, refused, youngest};
use crate::common::access::Action;

pub(super) fn lock(session: &Session<'_>, exchange: &mut Exchange, path: &FsPath) -> DavResult {
    let body = exchange.body.read_all(locks::MAX_BODY)?;
    if body.iter().all(u8::is_ascii_whitespace) {
        return refresh(session, exchange, path);
    }
    let wanted = wire::read(&Document::open(&*body, Limits::default())?.into_root()?)?;
    let user = locks::need_user(session, path)?.to_owned();
    session.must(Action::Write, Some(path))?;
    let is_deep = match session.head.header("depth").map(str::trim) {
        Some("0") => false,
        None | Some("infinity") => true,
        Some(_) => return Err(Fail::status(400, "The Depth of a lock is 0 or infinity")),
    };
    let root = youngest(session)?;
    let kind = flush::kind(session, &root, path)?;
    conditions::check(session, &root, path)?;
    let is_dir = kind == Some(NodeKind::Dir);
    check_others(session, path, wanted.is_shared, is_deep && is_dir)?;
    // Until a file that waits is in the repository, the repository has no lock of it.
    let mut waits = root.kind(path)?.is_none();
    if kind.is_none() {
        waits = make_empty(session, &root, path)?;
        exchange.status(201);
    }
    if !is_dir && !wanted.is_shared && !waits {
        return locks::make(session, exchange, path, &wanted);
    }
    let token =
        sapwood_fs::uuid::generate().map_err(|e| SvnError::io(&e, "Can't make a lock token"))?;
    let held = DavLock {
        path: path.to_owned(),
        token: format!("opaquelocktoken:{token}"),
        user,
        owner: wanted.owner,
        is_xml: wanted.is_xml,
        is_shared: wanted.is_shared,
        is_deep: is_deep && is_dir,
        ends: end_after(session.head.header("timeout").and_then(wire::timeout)),
    };
    send_lock(session, exchange, held)
}

/// Keeps a lock, and sends it.
fn send_lock(session: &Session<'_>, exchange: &mut Exchange, held: DavLock) -> DavResult {
    exchange.header("lock-token", &format!("<{}>", held.token));
    exchange.header(headers::LOCK_OWNER, &held.user);
    exchange.xml();
    let root = session.address(&Resource::Public(held.path.clone()));
    wire::reply(exchange.out(), &active_lock(&held, &root));
    if session.shared.held.put(session.repository.path(), held) {
        return Ok(());
    }
    Err(Fail::status(503, "There are too many locks"))
}

/// Whether the locks that others have allow one more.
fn check_others(
    session: &Session<'_>,
    path: &FsPath,
    is_shared: bool,
    with_below: bool,
) -> DavResult {
    let (repository, held) = (session.repository.path(), &session.shared.held);
    let mut others = held.on(repository, path);
    if with_below {
        others.extend(held.below(repository, path));
    }
    if let Some(other) = others.iter().find(|other| !(is_shared && other.is_shared)) {
        return Err(locked(&other.path));
    }
    let depth = if with_below { sapwood_core::Depth::Infinity } else { sapwood_core::Depth::Empty };
    match session.repository.fs().locks(path, depth)?.first() {
        Some(other) => Err(locked(&other.path)),
        None => Ok(()),
    }
}

/// Makes an empty file, so that there is something to lock. Whether it waits for its text.
fn make_empty(session: &Session<'_>, root: &Root, path: &FsPath) -> DavResult<bool> {
    may_change(session, path)?;
    need_parent(session, root, path)?;
    check_held(session, path, Change::Membership)?;
    if flush::state(session, path).is_none() && wait_for_more(session, path, NodeKind::File)? {
        return Ok(true);
    }
    let (mut editor, joined) = flush::together(session, path, NodeKind::File)?;
    if editor.kind(path)?.is_none() {
        editor.add(path, NodeKind::File, &session.access).map_err(refused)?;
    } else {
        editor.set_text(path, &mut std::io::empty(), None).map_err(refused)?;
    }
    flush::commit(session, editor, joined, path)?;
    Ok(false)
}

/// A LOCK without a body wants a lock to last longer.
fn refresh(session: &Session<'_>, exchange: &mut Exchange, path: &FsPath) -> DavResult {
    let tokens = all_tokens(session);
    let all = session.shared.held.on(session.repository.path(), path);
    let Some(held) = all.into_iter().find(|held| tokens.contains(&held.token)) else {
        return locks::refresh(session, exchange, path);
    };
    if session.access.user() != Some(&held.user) {
        return Err(Fail::status(403, "The lock belongs to another user"));
    }
    let ends = end_after(session.head.header("timeout").and_then(wire::timeout));
    send_lock(session, exchange, DavLock { ends, ..held })
}

pub(super) fn unlock(session: &Session<'_>, exchange: &mut Exchange, path: &FsPath) -> DavResult {
    let token = session.head.header("lock-token").unwrap_or("");
    let token = token.trim().trim_start_matches('<').trim_end_matches('>');
    let repository = session.repository.path();
    let all = session.shared.held.on(repository, path);
    let Some(held) = all.into_iter().find(|held| held.token == token) else {
        return locks::unlock(session, exchange);
    };
    if session.access.user() != Some(&held.user) {
        let message = format!("User '{}' has the lock", held.user);
        let error = SvnError::new(ErrorCode::FS_LOCK_OWNER_MISMATCH, message);
        return Err(Fail::with(error, 403));
    }
    session.shared.held.end(repository, token);
    exchange.status(204);
    Ok(())
}
