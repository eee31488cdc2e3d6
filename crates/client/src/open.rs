//! Sessions at targets: which revision a target means, and where its node is in another.

use sapwood_core::date::Timestamp;
use sapwood_core::paths::{RelPath, Url, UrlBuf};
use sapwood_core::{ErrorCode, Revnum, SvnError, SvnResult};
use sapwood_ra::{Session, Settings};

use crate::context::Context;
use crate::revision::Revision;
use crate::target::{Target, is_url};
use crate::working::Node;

/// A session at a URL that was looked up in one revision, and is wanted as of another.
pub struct LocatedSession {
    /// The session, at the node's URL in `revision`.
    pub session: Box<dyn Session>,
    /// The revision that is wanted.
    pub revision: Revnum,
    /// The peg revision as a number.
    pub peg: Revnum,
}

/// The revision of a target (or a part of one) as a number, whatever kind of revision it is.
///
/// # Errors
/// E195002 for `BASE` and the like of URLs, and of nodes that were never committed; E150000 for
/// paths that are not under version control.
pub fn number_at(
    ctx: &Context,
    session: &dyn Session,
    path: &str,
    revision: Revision,
) -> SvnResult<Revnum> {
    if !revision.needs_working_copy() {
        return number_of(session, revision);
    }
    if is_url(path) {
        return Err(SvnError::new(
            ErrorCode::CLIENT_BAD_REVISION,
            "PREV, BASE, or COMMITTED revision keywords are invalid for URL",
        ));
    }
    let node = Node::find(ctx, path).map_err(|error| match error.code() {
        ErrorCode::WC_PATH_NOT_FOUND => SvnError::new(
            ErrorCode::ENTRY_NOT_FOUND,
            format!("'{}' is not under version control", ctx.absolute(path).display()),
        ),
        _ => error,
    })?;
    node.number_of(revision)
}

/// The URL of a target: itself, or that of the node of a working copy.
///
/// # Errors
/// E155007 and E155010 for paths that are not under version control.
pub fn url_of(ctx: &Context, path: &str) -> SvnResult<UrlBuf> {
    if is_url(path) { Ok(Url::new(path)?.to_owned()) } else { Node::find(ctx, path)?.url() }
}

/// Opens a session to a URL or a node of a working copy, where the node that is there in `peg` is in
/// `wanted`.
///
/// # Errors
/// As [`url_of`] and [`number_at`]; E195012 when the node is not in `wanted`.
pub fn session_at(
    ctx: &Context,
    path: &str,
    peg: Revision,
    wanted: Revision,
) -> SvnResult<LocatedSession> {
    let mut url = url_of(ctx, path)?;
    let peg = peg.or(if is_url(path) { Revision::Head } else { Revision::Working });
    let wanted = wanted.or(peg);
    let mut number = None;
    if peg == Revision::Working && !is_url(path) {
        // What was copied here has its history where it came from.
        if let Some(origin) = Node::find(ctx, path)?.origin()? {
            url = origin.url;
            number = origin.revision;
        }
    }
    let session = ctx.open_following(&url)?;
    let number = match number {
        Some(number) => number,
        None => number_at(ctx, session.as_ref(), path, peg)?,
    };
    let revision = match wanted == peg {
        true => number,
        false => number_at(ctx, session.as_ref(), path, wanted)?,
    };
    move_to(session.as_ref(), number, revision)?;
    Ok(LocatedSession { session, revision, peg: number })
}

/// The number of a revision as it was written; unspecified is the youngest.
///
/// # Errors
/// E195000 for revisions that mean something in a working copy only.
pub fn number_of(session: &dyn Session, spec: Revision) -> SvnResult<Revnum> {
    match spec {
        Revision::Number(revision) => Ok(revision),
        Revision::Date(micros) => session.dated_revision(Timestamp(micros)),
        Revision::Head | Revision::Unspecified => session.latest_revnum(),
        Revision::Base | Revision::Committed | Revision::Previous | Revision::Working => {
            Err(SvnError::new(ErrorCode::CLIENT_VERSIONED_PATH_REQUIRED, ""))
        }
    }
}

/// Opens a session to a target as of `wanted` (when unspecified: as of its peg revision).
///
/// # Errors
/// E155007 for local paths, E195012 when the node is not in `wanted`.
pub fn locate(settings: &Settings, target: &Target, wanted: Revision) -> SvnResult<LocatedSession> {
    locate_in(sapwood_ra::open(target.url()?, settings)?, target, wanted)
}

/// The same, following a repository that has moved.
pub(crate) fn locate_following(
    ctx: &Context,
    target: &Target,
    wanted: Revision,
) -> SvnResult<LocatedSession> {
    locate_in(ctx.open_following(target.url()?)?, target, wanted)
}

fn locate_in(
    session: Box<dyn Session>,
    target: &Target,
    wanted: Revision,
) -> SvnResult<LocatedSession> {
    let (revision, peg) = move_to_target(session.as_ref(), target, wanted)?;
    Ok(LocatedSession { session, revision, peg })
}

/// Moves a session, which is at the URL of a target, to where the target is in `wanted`. Returns that revision and the
/// peg revision.
///
/// # Errors
/// As [`locate`].
pub(crate) fn move_to_target(
    session: &dyn Session,
    target: &Target,
    wanted: Revision,
) -> SvnResult<(Revnum, Revnum)> {
    let peg = number_of(session, target.peg)?;
    let revision = match wanted {
        Revision::Unspecified => peg,
        Revision::Head if matches!(target.peg, Revision::Unspecified | Revision::Head) => peg,
        other => number_of(session, other)?,
    };
    move_to(session, peg, revision)?;
    Ok((revision, peg))
}

/// Moves a session from where its URL leads in `peg` to where the same node is in `revision`.
///
/// # Errors
/// E195012 when it is not there.
pub fn move_to(session: &dyn Session, peg: Revnum, revision: Revnum) -> SvnResult<()> {
    if peg == revision {
        return Ok(());
    }
    let found = session.locations(RelPath::ROOT, peg, &[revision])?;
    let Some((_, path)) = found.iter().find(|(at, _)| *at == revision) else {
        return Err(SvnError::new(
            ErrorCode::CLIENT_UNRELATED_RESOURCES,
            format!(
                "Unable to find repository location for '{}' in revision {revision}",
                session.url()
            ),
        ));
    };
    let url = session.root_url().join(path.to_relpath());
    if url == session.url() { Ok(()) } else { session.reparent(&url) }
}
