//! Changes of a transaction's tree: POST, PUT, MKCOL, DELETE, COPY.

use sapwood_core::paths::FsPathBuf;
use sapwood_core::{ErrorCode, FsPath, Md5, NodeKind, PropList, SvnError, uri};
use sapwood_delta::StoredDelta;
use sapwood_repos::{TxnEditor, TxnRequest};
use sapwood_wire_dav::post::Post;
use sapwood_wire_dav::{Resource, headers};

use super::exchange::Exchange;
use super::fail::{DavResult, Fail};
use super::session::Session;
use super::tokens::{lock_tokens, tokens_in_body, version_name};
use super::txn_resource;
use super::txns::Name;
use crate::common::access::Action;
use crate::common::metrics::Limit;

/// Bytes of what is posted: properties of a revision.
const MAX_POST: usize = 64 << 20;
/// Bytes of the body of a DELETE: lock tokens.
const MAX_TOKENS: usize = 16 << 20;

/// Begins a commit.
pub(super) fn begin(session: &Session<'_>, revprops: PropList) -> DavResult<TxnEditor> {
    session.must(Action::Write, None)?;
    let knows_mergeinfo = session.head.headers.get_all(headers::DAV).iter().any(|value| {
        value
            .to_str()
            .is_ok_and(|v| v.contains("http://subversion.tigris.org/xmlns/dav/svn/mergeinfo"))
    });
    let capabilities: &[&str] = if knows_mergeinfo { &["mergeinfo"] } else { &[] };
    Ok(TxnEditor::begin(TxnRequest {
        repository: &session.repository,
        hooks: session.access.hooks(&session.repository),
        revprops,
        user: session.access.user(),
        lock_tokens: Vec::new(),
        capabilities,
        base: None,
    })?)
}

/// POST: makes a transaction.
pub(super) fn post(session: &Session<'_>, exchange: &mut Exchange) -> DavResult {
    if session.resource != Resource::Me {
        return Err(Fail::status(405, "Nothing can be posted here"));
    }
    if session.head.header("content-type").map(str::trim) != Some(headers::SKEL_TYPE) {
        return Err(Fail::status(501, "Unsupported POST request type."));
    }
    let body = exchange.body.read_all(MAX_POST)?;
    let props = match Post::read(&body)? {
        Post::CreateTxn => PropList::new(),
        Post::CreateTxnWithProps(props) => props,
    };
    let editor = begin(session, props)?;
    let chosen = session.head.header(headers::VTXN_NAME).filter(|name| !name.is_empty());
    let other = chosen.map(|name| Name::Virtual(name.to_owned()));
    let shared = session.shared;
    if shared.server.ending.has_begun() {
        return Err(Fail::status(503, "The server is shutting down; try again later"));
    }
    let tag = shared.own_tag();
    let kept = shared.txns.keep(
        session.repository.path(),
        editor,
        other,
        &shared.settings,
        tag.as_deref(),
    );
    let name = kept.inspect_err(|_| shared.workers.met(Limit::OpenCommits))?;
    match chosen {
        Some(chosen) => exchange.header(headers::VTXN_NAME, chosen),
        None => exchange.header(headers::TXN_NAME, &name),
    }
    exchange.status(201);
    Ok(())
}

fn path_needed(path: Option<FsPathBuf>) -> DavResult<FsPathBuf> {
    path.ok_or_else(|| Fail::status(405, "This resource cannot be changed so"))
}

/// Refuses a PUT of a part of a text, which would be taken for the whole: 501, as by mod_dav_svn.
fn refuse_part(session: &Session<'_>) -> DavResult {
    let Some(range) = session.head.header("content-range") else { return Ok(()) };
    let part = range.trim().strip_prefix("bytes").and_then(|range| range.split_once('/'));
    let is_range = part.is_some_and(|(range, _)| range.contains('-'));
    let status = if is_range { 501 } else { 400 };
    Err(Fail::status(status, "A part of a text cannot be changed by itself"))
}

/// The MD5 that a header says, if it does.
fn said_md5(session: &Session<'_>, header: &str) -> DavResult<Option<Md5>> {
    let Some(hex) = session.head.header(header) else { return Ok(None) };
    Md5::parse_expected(hex.trim().as_bytes()).ok_or_else(|| {
        let message = "Invalid character in hex checksum";
        SvnError::new(ErrorCode::BAD_CHECKSUM_PARSE, message).into()
    })
}

/// Checks the MD5 that a file is said to have before its change.
fn check_base(editor: &TxnEditor, path: &FsPath, base: Option<Md5>) -> DavResult {
    let Some(expected) = base else { return Ok(()) };
    let actual = editor.file_md5(path)?;
    if actual == expected {
        return Ok(());
    }
    let message = format!(
        "Base checksum mismatch on '{path}':\n   expected:  {expected}\n     actual:  {actual}\n"
    );
    Err(SvnError::new(ErrorCode::CHECKSUM_MISMATCH, message).into())
}

/// PUT: the text of a file, which is made when it is not there.
pub(super) fn put(session: &Session<'_>, exchange: &mut Exchange) -> DavResult {
    refuse_part(session)?;
    let (result, base) =
        (said_md5(session, headers::RESULT_MD5)?, said_md5(session, headers::BASE_MD5)?);
    let (txn, path) = txn_resource::open(session)?;
    let path = path_needed(path)?;
    let mut locked = txn.lock();
    let editor = locked.editor()?;
    editor.show_tokens(lock_tokens(session));
    let is_new = match editor.kind(&path)? {
        Some(NodeKind::Dir) => {
            return Err(Fail::status(409, "Cannot PUT to a collection"));
        }
        Some(NodeKind::File) => {
            editor.check_writable(&path, NodeKind::File, None, &session.access)?;
            if let Some(base) = version_name(session) {
                editor.check_base(&path, NodeKind::File, base).map_err(conflict)?;
            }
            false
        }
        None => {
            if version_name(session).is_some() {
                return Err(conflict(SvnError::new(
                    ErrorCode::FS_TXN_OUT_OF_DATE,
                    format!("File '{path}' is out of date"),
                )));
            }
            editor.add(&path, NodeKind::File, &session.access)?;
            true
        }
    };
    let is_delta =
        session.head.header("content-type").is_some_and(|t| t.trim() == headers::SVNDIFF_TYPE);
    if is_delta {
        let mut delta = StoredDelta::new(&mut exchange.body);
        editor.apply_delta(&path, base, &mut delta, result)?;
    } else {
        check_base(editor, &path, base)?;
        editor.set_text(&path, &mut exchange.body, result)?;
    }
    let md5 = editor.file_md5(&path)?;
    exchange.header(headers::RESULT_MD5, &md5.to_hex());
    exchange.status(if is_new { 201 } else { 204 });
    Ok(())
}

/// The status of a conflict for an error that says that there is one.
fn conflict(error: SvnError) -> Fail {
    match error.code() {
        ErrorCode::FS_TXN_OUT_OF_DATE => {
            Fail::with(SvnError::new(ErrorCode::RA_OUT_OF_DATE, error.message()), 409)
        }
        ErrorCode::FS_NO_SUCH_REVISION => Fail::with(error, 409),
        _ => error.into(),
    }
}

/// MKCOL: a directory.
pub(super) fn mkcol(session: &Session<'_>, exchange: &mut Exchange) -> DavResult {
    if !exchange.body.is_over() && !exchange.body.read_all(0).is_ok_and(|b| b.is_empty()) {
        return Err(Fail::status(415, "MKCOL takes no body"));
    }
    let (txn, path) = txn_resource::open(session)?;
    let path = path_needed(path)?;
    let mut locked = txn.lock();
    let editor = locked.editor()?;
    editor.show_tokens(lock_tokens(session));
    editor.add(&path, NodeKind::Dir, &session.access).map_err(|error| match error.code() {
        ErrorCode::FS_ALREADY_EXISTS => Fail::with(error, 405),
        _ => error.into(),
    })?;
    exchange.status(201);
    Ok(())
}

/// DELETE: of a path, or of the whole transaction.
pub(super) fn delete(session: &Session<'_>, exchange: &mut Exchange) -> DavResult {
    if let Resource::Activity(id) = &session.resource {
        // Its client deletes it after the commit, too.
        let found = session.shared.txns.get(session.repository.path(), &Name::Activity(id.clone()));
        let txn = found.map_err(|error| Fail::with(error, 404))?;
        if txn.is_over() {
            session.shared.txns.forget(&txn);
            exchange.status(204);
            return Ok(());
        }
    }
    if session.head.header("depth").is_some_and(|depth| depth.trim() != "infinity") {
        return Err(Fail::status(400, "Depth of a DELETE must be \"infinity\"."));
    }
    let (txn, path) = txn_resource::open(session)?;
    exchange.status(204);
    let Some(path) = path else {
        session.shared.txns.forget(&txn);
        let given_up = txn.lock().take();
        drop(given_up);
        return Ok(());
    };
    let body = exchange.body.read_all(MAX_TOKENS)?;
    let mut locked = txn.lock();
    let editor = locked.editor()?;
    editor.show_tokens(lock_tokens(session));
    if !body.iter().all(u8::is_ascii_whitespace) {
        editor.show_tokens(tokens_in_body(&body, &path)?);
    }
    if editor.kind(&path)?.is_none() {
        let message = format!("File not found: transaction '{}', path '{path}'", editor.name());
        return Err(SvnError::new(ErrorCode::FS_NOT_FOUND, message).into());
    }
    editor.delete(&path, version_name(session), &session.access).map_err(conflict)?;
    Ok(())
}

/// COPY: from a revision into a transaction.
pub(super) fn copy(session: &Session<'_>, exchange: &mut Exchange) -> DavResult {
    let (revision, source) = match &session.resource {
        Resource::RevisionRoot(rev, path)
        | Resource::BaselineCollection(rev, path)
        | Resource::Version(rev, path) => (*rev, path.clone()),
        _ => return Err(Fail::status(405, "Only what is in a revision can be copied")),
    };
    let destination = session
        .head
        .header("destination")
        .ok_or_else(|| Fail::status(400, "The Destination header is missing"))?;
    let (name, path) = match session.resource_at(destination)? {
        Resource::TxnRoot(name, path) => (Name::Txn(name), path),
        Resource::VTxnRoot(name, path) => (Name::Virtual(name), path),
        Resource::Working(id, path) => (Name::Activity(id), path),
        _ => return Err(Fail::status(405, "The Destination is no path of a transaction")),
    };
    session.must(Action::Write, Some(&path))?;
    let kind = session.repository.fs().revision_root(revision)?.node(&source)?.kind();
    let txn = txn_resource::by_name(session, &name)?;
    let mut locked = txn.lock();
    let editor = locked.editor()?;
    editor.show_tokens(lock_tokens(session));
    let exists = editor.kind(&path)?.is_some();
    // What this very transaction made may be replaced: a copy of a parent brought it.
    let may_replace = exists && editor.node_revision(path.parent())?.is_none();
    if exists && session.head.header("overwrite").is_some_and(|o| o.trim() == "F") && !may_replace {
        let message = format!("'{path}' already exists: it is out of date");
        return Err(Fail::with(SvnError::new(ErrorCode::FS_TXN_OUT_OF_DATE, message), 412));
    }
    editor.copy(&path, (&source, revision), kind, may_replace, &session.access)?;
    let created = session.root.clone() + &uri::encode(&path);
    exchange.header("location", &created);
    exchange.status(if exists { 204 } else { 201 });
    Ok(())
}
