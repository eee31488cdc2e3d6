//! Sessions at targets: which revision a target means, and where its node is in another.

use sapwood_core::date::Timestamp;
use sapwood_core::{ErrorCode, Revnum, SvnError, SvnResult, path, uri};
use sapwood_ra::{Session, Settings};

use crate::revision::Revision;
use crate::target::Target;

/// A session at a URL that was looked up in one revision, and is wanted as of another.
pub struct Located {
    /// The session, at the node's URL in `revision`.
    pub session: Box<dyn Session>,
    /// The revision that is wanted.
    pub revision: Revnum,
    /// The peg revision as a number.
    pub peg: Revnum,
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
pub fn locate(settings: &Settings, target: &Target, wanted: Revision) -> SvnResult<Located> {
    let session = sapwood_ra::open(target.url()?, settings)?;
    let peg = number_of(session.as_ref(), target.peg)?;
    let revision = match wanted {
        Revision::Unspecified => peg,
        Revision::Head if target.peg == Revision::Unspecified => peg,
        other => number_of(session.as_ref(), other)?,
    };
    move_to(session.as_ref(), peg, revision)?;
    Ok(Located { session, revision, peg })
}

/// Moves a session from where its URL leads in `peg` to where the same node is in `revision`.
///
/// # Errors
/// E195012 when it is not there.
pub fn move_to(session: &dyn Session, peg: Revnum, revision: Revnum) -> SvnResult<()> {
    if peg == revision {
        return Ok(());
    }
    let found = session.locations("", peg, &[revision])?;
    let Some((_, path)) = found.iter().find(|(at, _)| *at == revision) else {
        return Err(SvnError::new(
            ErrorCode::CLIENT_UNRELATED_RESOURCES,
            format!(
                "Unable to find repository location for '{}' in revision {revision}",
                session.url()
            ),
        ));
    };
    let url = uri::join(&session.root_url(), path::to_relpath(path));
    if url == session.url() { Ok(()) } else { session.reparent(&url) }
}
