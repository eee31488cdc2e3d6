//! PUT, MKCOL, DELETE, COPY and MOVE at plain URLs: each is committed at once, or waits for the rest of a
//! save.

use std::io::Read as _;

use sapwood_core::FsPath;
use sapwood_core::path::is_ancestor;
use sapwood_core::paths::FsPathBuf;
use sapwood_core::props::names as prop_names;
use sapwood_core::{ErrorCode, NodeKind, Revnum, SvnError};
use sapwood_fs::Root;
use sapwood_repos::TxnEditor;
use sapwood_wire_dav::Resource;

use super::super::entity::etag;
use super::super::exchange::Exchange;
use super::super::fail::{DavResult, Fail};
use super::super::session::Session;
use super::super::tokens::all_tokens;
use super::flush::{self, together};
use super::pending::{ChangeKind, State};
use super::{begin, conditions, locked, may_change, not_there, refused, youngest};
use crate::common::access::Action;

/// The part of a path that changes.
#[derive(Clone, Copy)]
pub(super) enum Change {
    /// The node itself.
    Own,
    /// Its entry in the parent.
    Membership,
    /// Its entry in the parent, and everything below it.
    Tree,
}

/// Checks that no lock outside of the repository forbids the user to change a path.
pub(super) fn check_held(session: &Session<'_>, path: &FsPath, change: Change) -> DavResult {
    let scope = match change {
        Change::Own => (false, false),
        Change::Membership => (true, false),
        Change::Tree => (true, true),
    };
    let who = (session.access.user(), &*all_tokens(session));
    match session.shared.held.in_the_way(session.repository.path(), path, scope, who) {
        Some(way) => Err(locked(&way)),
        None => Ok(()),
    }
}

/// The parent of a new node must be a directory.
pub(super) fn need_parent(session: &Session<'_>, root: &Root, path: &FsPath) -> DavResult {
    if flush::kind(session, root, path.parent())? == Some(NodeKind::Dir) {
        return Ok(());
    }
    Err(Fail::status(409, "The parent collection is not there"))
}

fn exists(path: &FsPath) -> Fail {
    let message = format!("'{path}' is there already");
    Fail::with(SvnError::new(ErrorCode::FS_ALREADY_EXISTS, message), 405)
}

/// PUT: the text of a file.
pub(super) fn put(session: &Session<'_>, exchange: &mut Exchange, path: &FsPath) -> DavResult {
    let root = youngest(session)?;
    let is_new = match flush::kind(session, &root, path)? {
        Some(NodeKind::Dir) => return Err(Fail::status(405, "Cannot PUT to a collection")),
        Some(NodeKind::File) => false,
        None => true,
    };
    if session.head.headers.contains_key("content-range") {
        return Err(Fail::status(400, "A part of a file cannot be PUT"));
    }
    if is_new {
        may_change(session, path)?;
        need_parent(session, &root, path)?;
    }
    conditions::check(session, &root, path)?;
    check_held(session, path, if is_new { Change::Membership } else { Change::Own })?;
    let state = flush::state(session, path);
    let mut first = [0];
    let revision = if root.kind(path)?.is_none() {
        let count = exchange.body.read(&mut first).map_err(SvnError::from_stream)?;
        let waits = match (count, &state) {
            (0, None) => wait_for_more(session, path, NodeKind::File)?,
            (0, Some(State::Made(..))) => true,
            _ => false,
        };
        if waits {
            answer(session, exchange, path, is_new);
            return Ok(());
        }
        let text = &mut first.get(..count).unwrap_or(&[]).chain(&mut exchange.body);
        write(session, path, text)?
    } else {
        write(session, path, &mut exchange.body)?
    };
    let made = session.repository.fs().revision_root(revision)?;
    if let Some(node) = made.find(path)? {
        exchange.header("etag", &etag(&node)?);
    }
    answer(session, exchange, path, is_new);
    Ok(())
}

/// The status of a change that succeeds; what is new has its address in the reply.
fn answer(session: &Session<'_>, exchange: &mut Exchange, path: &FsPath, is_new: bool) {
    if is_new {
        let address = session.address(&Resource::Public(path.to_owned()));
        exchange.header("location", &session.head.absolute(&address));
    }
    exchange.status(if is_new { 201 } else { 204 });
}

/// Commits the text of a file, and returns the new revision.
fn write(session: &Session<'_>, path: &FsPath, text: &mut dyn std::io::Read) -> DavResult<Revnum> {
    let (mut editor, joined) = together(session, path, NodeKind::File)?;
    if editor.kind(path)?.is_none() {
        editor.add(path, NodeKind::File, &session.access).map_err(refused)?;
        set_media_type(session, &mut editor, path)?;
    } else {
        editor.check_writable(path, NodeKind::File, None, &session.access)?;
        if editor.node_revision(path)?.is_none() {
            set_media_type(session, &mut editor, path)?;
        }
    }
    editor.set_text(path, text, None).map_err(refused)?;
    Ok(flush::commit(session, editor, joined, path)?.revision)
}

/// Lets an empty new node wait for the requests that follow. False when it has to be committed at
/// once.
pub(super) fn wait_for_more(
    session: &Session<'_>,
    path: &FsPath,
    kind: NodeKind,
) -> DavResult<bool> {
    if !flush::may_wait(session) {
        return Ok(false);
    }
    // A change that would be refused later is refused now.
    let mut editor = begin(session)?;
    for change in &flush::join(session).changes {
        if change.is_made_above(path) {
            flush::replay(&mut editor, change, &session.access).map_err(refused)?;
        }
    }
    editor.add(path, kind, &session.access).map_err(refused)?;
    if kind == NodeKind::File {
        set_media_type(session, &mut editor, path)?;
    }
    let props = editor.node_props(path)?;
    Ok(flush::hold(session, path, ChangeKind::Make(kind, props)))
}

/// A new file keeps the media type that the client sends, unless that is the generic one.
fn set_media_type(session: &Session<'_>, editor: &mut TxnEditor, path: &FsPath) -> DavResult {
    let Some(given) = session.head.header("content-type").map(str::trim) else { return Ok(()) };
    let says_little =
        ["text/plain", "application/octet-stream", "application/x-www-form-urlencoded"];
    let essence = given.split(';').next().unwrap_or("").trim();
    if says_little.iter().any(|word| essence.eq_ignore_ascii_case(word)) {
        return Ok(());
    }
    // A malformed one is ignored.
    let _ = editor.change_prop(path, prop_names::MIME_TYPE, Some(essence.as_bytes()));
    Ok(())
}

/// MKCOL: a directory.
pub(super) fn mkcol(session: &Session<'_>, exchange: &mut Exchange, path: &FsPath) -> DavResult {
    if !exchange.body.is_over() && !exchange.body.read_all(0).is_ok_and(|b| b.is_empty()) {
        return Err(Fail::status(415, "MKCOL takes no body"));
    }
    may_change(session, path)?;
    let root = youngest(session)?;
    if flush::kind(session, &root, path)?.is_some() {
        return Err(exists(path));
    }
    need_parent(session, &root, path)?;
    conditions::check(session, &root, path)?;
    check_held(session, path, Change::Membership)?;
    answer(session, exchange, path, true);
    if flush::state(session, path).is_none() && wait_for_more(session, path, NodeKind::Dir)? {
        return Ok(());
    }
    let (mut editor, joined) = together(session, path, NodeKind::Dir)?;
    editor.add(path, NodeKind::Dir, &session.access).map_err(refused)?;
    flush::commit(session, editor, joined, path).map(drop)
}

/// DELETE: of a file, or of a directory with all in it.
pub(super) fn delete(session: &Session<'_>, exchange: &mut Exchange, path: &FsPath) -> DavResult {
    may_change(session, path)?;
    if path == "/" {
        return Err(Fail::status(403, "The repository itself cannot be deleted"));
    }
    let root = youngest(session)?;
    if flush::kind(session, &root, path)?.is_none() {
        return Err(not_there(path));
    }
    conditions::check(session, &root, path)?;
    check_held(session, path, Change::Tree)?;
    exchange.status(204);
    match (root.kind(path)?, flush::state(session, path)) {
        (Some(_), None) if wait_to_delete(session, path)? => {}
        (None, Some(State::Made(..))) if flush::unmake(session, path) => {}
        _ => {
            flush::flush_own(session);
            let mut editor = begin(session)?;
            editor.delete(path, None, &session.access).map_err(refused)?;
            super::commit(session, editor, path)?;
        }
    }
    forget_locks(session, path);
    Ok(())
}

/// Lets a deletion wait for that of the directory. False when it has to be committed at once.
fn wait_to_delete(session: &Session<'_>, path: &FsPath) -> DavResult<bool> {
    if !flush::may_wait(session) {
        return Ok(false);
    }
    // A change that would be refused later is refused now.
    let mut editor = begin(session)?;
    editor.delete(path, None, &session.access).map_err(refused)?;
    Ok(flush::hold(session, path, ChangeKind::Delete(editor.lock_tokens().to_vec())))
}

/// Locks go with what is deleted.
fn forget_locks(session: &Session<'_>, path: &FsPath) {
    session.shared.held.remove_below(session.repository.path(), path);
}

/// The destination of a COPY or MOVE.
fn destination(session: &Session<'_>) -> DavResult<FsPathBuf> {
    let address = session
        .head
        .header("destination")
        .ok_or_else(|| Fail::status(400, "The Destination header is missing"))?;
    match session.resource_at(address) {
        Ok(Resource::Public(path)) => Ok(path),
        Ok(_) => Err(Fail::status(405, "The Destination is no path of the repository")),
        Err(_) => Err(Fail::status(502, "The Destination is not in this repository")),
    }
}

/// COPY and MOVE, within the repository.
pub(super) fn copy(
    session: &Session<'_>,
    exchange: &mut Exchange,
    source: &FsPath,
    is_move: bool,
) -> DavResult {
    let path = destination(session)?;
    may_change(session, &path)?;
    if is_move {
        may_change(session, source)?;
    }
    let joined = flush::replaces(session, source, &path);
    if joined.is_none() {
        flush::flush_own(session);
    }
    let revision = session.youngest()?;
    let root = session.repository.fs().revision_root(revision)?;
    let kind = root.kind(source)?.ok_or_else(|| not_there(source))?;
    if path.is_root() || is_ancestor(&path, source) || (is_move && is_ancestor(source, &path)) {
        return Err(Fail::status(403, "The Destination contains, or is in, what is copied"));
    }
    need_parent(session, &root, &path)?;
    let is_there = flush::kind(session, &root, &path)?.is_some();
    if is_there && session.head.header("overwrite").is_some_and(|o| o.trim() == "F") {
        return Err(Fail::status(412, "The Destination is there already"));
    }
    conditions::check(session, &root, source)?;
    check_held(session, &path, Change::Tree)?;
    if is_move {
        check_held(session, source, Change::Tree)?;
    }
    let mut editor = begin(session)?;
    for change in joined.iter().flat_map(|joined| &joined.changes) {
        flush::replay(&mut editor, change, &session.access).map_err(refused)?;
    }
    if is_there {
        editor.delete(&path, None, &session.access).map_err(refused)?;
    }
    let is_shallow = session.head.header("depth").is_some_and(|depth| depth.trim() == "0");
    if kind == NodeKind::Dir && is_shallow && !is_move {
        session.must(Action::Read, Some(source))?;
        editor.add(&path, NodeKind::Dir, &session.access).map_err(refused)?;
        for (name, value) in root.node(source)?.props()?.iter() {
            editor.change_prop(&path, name, Some(value))?;
        }
    } else {
        let from = (source, revision);
        editor.copy(&path, from, kind, false, &session.access).map_err(refused)?;
    }
    if is_move {
        editor.delete(source, None, &session.access).map_err(refused)?;
    }
    flush::commit(session, editor, joined, &path)?;
    if is_move {
        forget_locks(session, source);
    }
    answer(session, exchange, &path, !is_there);
    Ok(())
}
