//! MERGE: a transaction becomes a revision.

use sapwood_core::FsPath;
use sapwood_core::paths::FsPathBuf;
use sapwood_core::{NodeKind, Revnum, SvnError};
use sapwood_fs::{ChangeKind, Root, UnlockTarget};
use sapwood_repos::{CommitResult, UnlockRequest, unlock_paths};
use sapwood_wire_dav::report::Sink as _;
use sapwood_wire_dav::xml::{Document, Limits};
use sapwood_wire_dav::{Resource, headers, merge as wire};

use super::entity::revision_of;
use super::exchange::Exchange;
use super::fail::{DavResult, Fail};
use super::session::Session;
use super::tokens::{lock_tokens, tokens};
use super::txn_resource;
use super::txns::Name;

pub(super) fn merge(session: &Session<'_>, exchange: &mut Exchange) -> DavResult {
    let root = Document::open(&mut exchange.body, Limits::default())?.into_root()?;
    let wanted = wire::read(&root)?;
    let name = match session.resource_at(&wanted.source)? {
        Resource::Txn(name) => Name::Txn(name),
        Resource::VTxn(name) => Name::Virtual(name),
        Resource::Activity(id) => Name::Activity(id),
        _ => {
            return Err(Fail::status(
                405,
                "MERGE can only be performed using an activity or transaction resource as the \
                 source",
            ));
        }
    };
    let base = session.resource_path().unwrap_or(FsPath::ROOT).to_owned();
    let txn = txn_resource::by_name(session, &name)?;
    let shown = tokens(&root, &base);
    let mut locked = txn.lock();
    locked.editor()?.show_tokens(lock_tokens(session).into_iter().chain(shown));
    let editor = locked.take()?;
    session.shared.txns.forget_finished(&txn);
    let to_release = editor.lock_tokens().to_vec();
    let committed = editor.commit().map_err(|error| match error.code() {
        sapwood_core::ErrorCode::FS_CONFLICT | sapwood_core::ErrorCode::FS_TXN_OUT_OF_DATE => {
            Fail::with(error, 409)
        }
        _ => error.into(),
    })?;
    drop(locked);
    session.access.committed(&session.repository, committed.revision);
    if session.head.has_word(headers::OPTIONS, headers::options::RELEASE_LOCKS) {
        release(session, to_release);
    }
    reply(session, exchange, &committed)
}

/// Ends the locks of what was committed. That one cannot be ended is for the log only.
fn release(session: &Session<'_>, tokens: Vec<(String, String)>) {
    let hooks = session.access.hooks(&session.repository);
    let request = UnlockRequest {
        repository: &session.repository,
        hooks: Some(&hooks),
        user: session.access.user(),
        break_lock: false,
    };
    let targets = tokens
        .into_iter()
        .map(|(path, token)| UnlockTarget { path: FsPathBuf::canonicalized(path), token })
        .collect();
    let done = unlock_paths(&request, targets);
    for error in done.each.into_iter().filter_map(|(_, result)| result.err()).chain(done.failure) {
        session.log_error(&error);
    }
}

fn reply(session: &Session<'_>, exchange: &mut Exchange, committed: &CommitResult) -> DavResult {
    let text =
        |bytes: &Option<Vec<u8>>| bytes.as_ref().map(|b| String::from_utf8_lossy(b).into_owned());
    let (date, author) = (text(&committed.date), text(&committed.author));
    exchange.xml();
    wire::begin(
        exchange.out(),
        &wire::MergeResult {
            vcc: &session.address(&Resource::Vcc),
            revision: committed.revision.0,
            date: date.as_deref(),
            author: author.as_deref(),
            post_commit_error: committed.post_commit_error.as_deref(),
        },
    );
    if !session.head.has_word(headers::OPTIONS, headers::options::NO_MERGE_RESPONSE) {
        changes(session, exchange, committed.revision)?;
    }
    wire::end(exchange.out());
    Ok(())
}

/// Sends what changed, for clients of DeltaV: they want the addresses of new versions.
fn changes(session: &Session<'_>, exchange: &mut Exchange, revision: Revnum) -> DavResult {
    let root = session.repository.fs().revision_root(revision)?;
    let mut reported = std::collections::HashSet::new();
    for change in root.changed_paths()?.iter() {
        let (own, parent) = match change.kind {
            ChangeKind::Delete => (false, true),
            ChangeKind::Modify => (true, false),
            _ => (true, true),
        };
        let places = [(own, change.path), (parent, change.path.parent())];
        for (_, path) in places.into_iter().filter(|(is_reported, _)| *is_reported) {
            if reported.insert(path.to_owned()) {
                send_result(session, exchange, &root, path)?;
            }
        }
    }
    Ok(())
}

fn send_result(
    session: &Session<'_>,
    exchange: &mut Exchange,
    root: &Root,
    path: &FsPath,
) -> DavResult {
    let Some(node) = root.find(path)? else { return Ok(()) };
    let rev = node.revision_here(revision_of(root)?);
    let slash = if path == "/" { "/" } else { "" };
    let href = session.address(&Resource::Public(path.to_owned())) + slash;
    let version = session.address(&Resource::Version(rev, path.to_owned())) + slash;
    wire::changed(exchange.out(), &href, &version, node.kind() == NodeKind::Dir);
    exchange.flush_if_large().map_err(|e: SvnError| e.into())
}
