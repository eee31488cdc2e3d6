//! What a merge reports to the server, which then drives the editor.

use sapwood_core::paths::RelPathBuf;
use sapwood_core::{Depth, Revnum, SvnResult};
use sapwood_delta::{Editor, ReportEntry};
use sapwood_ra::{ReportRequest, Session};

/// What is reported to the server: the revision of each path, `None` for a missing one.
pub(super) type ReportedPaths = Vec<(RelPathBuf, Option<u64>)>;

/// Reports, and drives the editor.
pub(super) fn send_report(
    session: &dyn Session,
    request: &ReportRequest<'_>,
    all: &ReportedPaths,
    depth: Depth,
    editor: &mut dyn Editor,
) -> SvnResult<()> {
    let mut report = session.report(request, editor)?;
    for (relpath, revision) in all {
        match revision {
            Some(revision) => report.entry(&ReportEntry::new(relpath, Revnum(*revision), depth))?,
            None => report.delete_path(relpath)?,
        }
    }
    report.finish()
}
