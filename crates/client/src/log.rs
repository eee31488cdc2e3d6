//! `svn log`: the log of URLs or of a node of a working copy, in any number of ranges.

use sapwood_core::exact::Exact;
use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{ErrorCode, Revnum, SvnError, SvnResult};
use sapwood_ra::{LogReceiver, LogRequest, RevpropSelection, Session};

use crate::context::Context;
use crate::open::{move_to, number_at, session_at};
use crate::revision::{Range, Revision};
use crate::target::is_url;

/// What to log.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// A URL, or a local path.
    pub target: &'a str,
    /// Where to look for it.
    pub peg: Revision,
    /// Paths below the URL; none for the target itself.
    pub below: &'a [RelPathBuf],
    /// Which revisions; an empty range is all of the target's history.
    pub ranges: &'a [Range],
    /// The most entries; 0 for all.
    pub limit: u64,
    /// Whether changed paths are wanted.
    pub changed_paths: bool,
    /// Whether to stop at copies.
    pub stop_on_copy: bool,
    /// Whether to include merged revisions.
    pub merged: bool,
    /// Which revision properties are wanted.
    pub revprops: RevpropSelection<'a>,
}

/// Calls `receiver` with each log entry.
///
/// # Errors
/// E195002 for revisions that make no sense for the target; those of sessions and of `receiver`.
pub fn log(ctx: &Context, request: &Request<'_>, receiver: LogReceiver<'_>) -> SvnResult<()> {
    let url = is_url(request.target);
    if url && request.peg.needs_working_copy() {
        return Err(SvnError::new(
            ErrorCode::CLIENT_BAD_REVISION,
            "PREV, BASE, or COMMITTED revision keywords are invalid for URL",
        ));
    }
    let located = session_at(ctx, request.target, request.peg, Revision::Unspecified)?;
    let session = located.session.as_ref();
    let peg = request.peg.or(if url { Revision::Head } else { Revision::Working });
    let mut ranges = Vec::with_capacity(request.ranges.len());
    for range in request.ranges {
        ranges.push(numbers(ctx, session, request.target, peg, *range)?);
    }
    let youngest = ranges.iter().map(|(a, b)| *a.max(b)).max().unwrap_or(located.peg);
    move_to(session, located.peg, youngest)?;
    let paths: Vec<&RelPath> = match request.below {
        [] => vec![RelPath::ROOT],
        below => below.iter().map(RelPathBuf::as_path).collect(),
    };
    run(session, &ranges, youngest, request, &paths, receiver)
}

/// Both ends of a range as numbers.
fn numbers(
    ctx: &Context,
    session: &dyn Session,
    target: &str,
    peg: Revision,
    range: Range,
) -> SvnResult<(Revnum, Revnum)> {
    let Range { mut start, mut end } = range;
    if start.is_given() && !end.is_given() {
        end = start;
    } else if !start.is_given() {
        start = peg;
        end = end.or(Revision::Number(Revnum::ZERO));
    }
    let first = number_at(ctx, session, target, start)?;
    let last = if start == end { first } else { number_at(ctx, session, target, end)? };
    Ok((first, last))
}

/// Asks for one range after the other, each where the target was at that time.
fn run(
    session: &dyn Session,
    ranges: &[(Revnum, Revnum)],
    youngest: Revnum,
    request: &Request<'_>,
    paths: &[&RelPath],
    receiver: LogReceiver<'_>,
) -> SvnResult<()> {
    let here = session.url();
    let mut left = request.limit;
    for (start, end) in ranges {
        if ranges.len() > 1 && here != session.root_url() {
            session.reparent(&here)?;
            // The log itself reports a gap in the history.
            let _ = move_to(session, youngest, *start.max(end));
        }
        let mut sent = 0u64;
        let one = LogRequest {
            paths,
            start: Some(*start),
            end: Some(*end),
            limit: left,
            changed_paths: request.changed_paths,
            strict_node_history: request.stop_on_copy,
            include_merged_revisions: request.merged,
            revprops: request.revprops,
        };
        session.log(&one, &mut |entry| {
            sent = sent.plus(1);
            receiver(entry)
        })?;
        if request.limit > 0 {
            // A server may send more than was requested.
            left = left.saturating_sub(sent);
            if left == 0 {
                break;
            }
        }
    }
    Ok(())
}
