//! REPORT: the twelve reports of Subversion's clients.

mod history;
mod nodes;
mod replay;
mod update;

use sapwood_core::path::join;
use sapwood_core::paths::FsPathBuf;
use sapwood_core::{ErrorCode, SvnError};
use sapwood_repos::PathAuthorizer as _;
use sapwood_wire_dav::report::Kind;
use sapwood_wire_dav::xml::{Document, Limits};
use sapwood_wire_dav::{NS_SVN, Resource};

use super::exchange::Exchange;
use super::fail::{DavResult, Fail};
use super::session::Session;
use crate::common::access::Action;

pub(super) fn report(session: &Session<'_>, exchange: &mut Exchange) -> DavResult {
    let limits = Limits::default();
    let document = Document::open(&mut exchange.body, limits)?;
    let root = document.root();
    let kind = if root.namespace == NS_SVN { Kind::from_name(&root.name) } else { None };
    let Some(kind) = kind else {
        let message = "The requested report is unknown";
        return Err(Fail::with(SvnError::new(ErrorCode::UNSUPPORTED_FEATURE, message), 501));
    };
    if kind == Kind::Update {
        let asked = update::read(session, document)?;
        return update::answer(session, asked, exchange);
    }
    let root = document.into_root()?;
    if kind != Kind::DatedRev {
        must_be_there(session).map_err(|fail| match kind {
            // mod_dav_svn says no more than that, and clients have a message of their own for it.
            Kind::FileRevs => Fail::Missing,
            _ => fail,
        })?;
    }
    exchange.xml();
    match kind {
        Kind::Update => Err(Fail::status(500, "internal error: the report was read before")),
        Kind::Log => history::log(session, &root, exchange),
        Kind::DatedRev => history::dated_rev(session, &root, exchange),
        Kind::Locations => history::locations(session, &root, exchange),
        Kind::LocationSegments => history::location_segments(session, &root, exchange),
        Kind::FileRevs => history::file_revs(session, &root, exchange),
        Kind::DeletedRev => history::deleted_rev(session, &root, exchange),
        Kind::Locks => nodes::locks(session, &root, exchange),
        Kind::Mergeinfo => nodes::mergeinfo(session, &root, exchange),
        Kind::InheritedProps => nodes::inherited(session, &root, exchange),
        Kind::List => nodes::list(session, &root, exchange),
        Kind::Replay => replay::replay(session, &root, exchange),
    }
}

/// The fspath that a report's relative path refers to.
fn full_path(session: &Session<'_>, relative: &str) -> DavResult<FsPathBuf> {
    let base = session
        .resource_path()
        .ok_or_else(|| Fail::status(400, "The request does not specify a repository path"))?;
    Ok(FsPathBuf::canonicalized(join(base, relative)))
}

/// The same, when it may be read.
fn readable_path(session: &Session<'_>, relative: &str) -> DavResult<FsPathBuf> {
    let path = full_path(session, relative)?;
    session.must(Action::Read, Some(&path))?;
    Ok(path)
}

/// E160013 when there is nothing at the address of a report: clients take any other answer as a sign
/// that it exists. Reports themselves refuse unreadable nodes.
fn must_be_there(session: &Session<'_>) -> DavResult {
    let Some(path) = session.resource_path() else { return Ok(()) };
    if !session.access.readable(path)? {
        return Ok(());
    }
    let rev = match revision_of(&session.resource) {
        Some(rev) => rev,
        None => session.youngest()?,
    };
    if session.repository.fs().revision_root(rev)?.kind(path)?.is_none() {
        let message = format!("File not found: revision {rev}, path '{path}'");
        return Err(SvnError::new(ErrorCode::FS_NOT_FOUND, message).into());
    }
    Ok(())
}

/// The revision in the address itself.
fn revision_of(resource: &Resource) -> Option<sapwood_core::Revnum> {
    match resource {
        Resource::RevisionRoot(rev, _)
        | Resource::BaselineCollection(rev, _)
        | Resource::Version(rev, _)
        | Resource::Revision(rev)
        | Resource::Baseline(rev) => Some(*rev),
        _ => None,
    }
}
