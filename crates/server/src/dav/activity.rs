//! Transactions by DeltaV: MKACTIVITY and CHECKOUT. They are used by clients before 1.7, and by
//! others when the server does not announce HTTPv2.

use sapwood_core::FsPath;
use sapwood_core::{ErrorCode, NodeKind, PropList, Revnum, SvnError};
use sapwood_wire_dav::xml::{Document, Limits};
use sapwood_wire_dav::{NS_DAV, Resource};

use super::exchange::Exchange;
use super::fail::{DavResult, Fail};
use super::session::Session;
use super::txn_resource;
use super::txns::Name;
use crate::common::metrics::Limit;

/// Bytes of the body of a CHECKOUT: an address.
const MAX_BODY: usize = 64 << 10;

/// MKACTIVITY: begins a commit under the client's name for it.
pub(super) fn make(session: &Session<'_>, exchange: &mut Exchange) -> DavResult {
    let Resource::Activity(id) = &session.resource else {
        let status = if is_free(session)? { 403 } else { 409 };
        return Err(Fail::status(status, "Activities cannot be created at that location"));
    };
    let name = Name::Activity(id.clone());
    let shared = session.shared;
    if shared.txns.get(session.repository.path(), &name).is_ok() {
        return Err(Fail::status(409, "The activity exists already"));
    }
    let editor = super::edit::begin(session, PropList::new())?;
    if shared.server.ending.has_begun() {
        return Err(Fail::status(503, "The server is shutting down; try again later"));
    }
    let (folder, tag) = (session.repository.path(), shared.own_tag());
    let kept = shared.txns.keep(folder, editor, Some(name), &shared.settings, tag.as_deref());
    kept.inspect_err(|_| shared.workers.met(Limit::OpenCommits))?;
    exchange.status(201);
    exchange.header("location", &session.address(&session.resource));
    Ok(())
}

/// CHECKOUT: the address at which a version, or a revision's properties, can be changed.
pub(super) fn checkout(session: &Session<'_>, exchange: &mut Exchange) -> DavResult {
    let body = exchange.body.read_all(MAX_BODY)?;
    let root = Document::open(&*body, Limits::default())?.into_root()?;
    let activity = root
        .child(NS_DAV, "activity-set")
        .and_then(|set| set.child(NS_DAV, "href"))
        .ok_or_else(|| Fail::status(409, "An activity must be provided for checkout."))?;
    let Resource::Activity(id) = session.resource_at(activity.trimmed())? else {
        return Err(Fail::status(409, "The activity href is not an activity."));
    };
    let txn = txn_resource::by_name(session, &Name::Activity(id.clone()))?;
    let mut locked = txn.lock();
    let editor = locked.editor()?;
    let made = match &session.resource {
        Resource::Baseline(rev) => {
            if *rev != session.youngest()? {
                let message = "The specified baseline is not the latest baseline, so it may not be \
                               checked out.";
                let error = SvnError::new(ErrorCode::APMOD_BAD_BASELINE, message);
                return Err(Fail::with(error, 409));
            }
            Resource::WorkingBaseline(id, *rev)
        }
        // The youngest version in the repository.
        Resource::Vcc => Resource::WorkingBaseline(id, session.youngest()?),
        Resource::Version(rev, path) => {
            check_version(editor, path, *rev)?;
            Resource::Working(id, path.clone())
        }
        Resource::Public(path) => Resource::Working(id, path.clone()),
        _ => return Err(Fail::status(405, "Only versions and baselines can be checked out.")),
    };
    drop(locked);
    let address = session.address(&made);
    exchange.status(201);
    exchange.header("location", &session.head.absolute(&address));
    exchange.header("cache-control", "no-cache");
    exchange.header("content-type", "text/plain; charset=utf-8");
    Ok(())
}

/// VERSION-CONTROL: what there is in a repository is under version control already.
pub(super) fn version_control(session: &Session<'_>) -> DavResult {
    let is_public = matches!(session.resource, Resource::Public(_));
    if !is_public || is_free(session)? {
        return Err(Fail::status(409, "There is nothing here to put under version control"));
    }
    Ok(())
}

/// Whether the request is for a path of the youngest revision at which there is nothing.
fn is_free(session: &Session<'_>) -> DavResult<bool> {
    let tree = session.tree()?.filter(|_| matches!(session.resource, Resource::Public(_)));
    Ok(match tree {
        Some((root, path)) => root.kind(&path)?.is_none(),
        None => false,
    })
}

/// Checks that the version is the one that the transaction is based on.
fn check_version(editor: &sapwood_repos::TxnEditor, path: &FsPath, revision: Revnum) -> DavResult {
    let out_of_date = |kind: &str| {
        let message = format!("{kind} '{path}' is out of date");
        Fail::with(SvnError::new(ErrorCode::FS_CONFLICT, message), 409)
    };
    match editor.kind(path)? {
        // Not "out of date": the node may never have existed, and clients have their own message for
        // that.
        None => {
            let message = format!("File not found: transaction '{}', path '{path}'", editor.name());
            Err(SvnError::new(ErrorCode::FS_NOT_FOUND, message).into())
        }
        // What it says of directories is asked when they are changed.
        Some(NodeKind::Dir) => Ok(()),
        Some(NodeKind::File) => match editor.node_revision(path)? {
            Some(created) if created > revision => Err(out_of_date("File")),
            _ => Ok(()),
        },
    }
}
