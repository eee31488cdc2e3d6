//! Properties of revisions that were copied before, once more.

use sapwood_core::exact::Exact;
use sapwood_core::paths::Url;
use sapwood_core::{Revnum, SvnResult};

use super::{Mirror, invalid};
use crate::revision::{Range, Revision};

/// The range that is meant; the last merged revision stands for `HEAD`.
fn resolve(range: Range, last: Revnum) -> (Revnum, Revnum) {
    let one = |spec| match spec {
        Revision::Number(revision) => Some(revision),
        Revision::Unspecified => None,
        _ => Some(last),
    };
    match (one(range.start), one(range.end)) {
        (None, _) => (Revnum::ZERO, last),
        (Some(start), end) => (start, end.unwrap_or(start)),
    }
}

impl Mirror<'_> {
    /// Copies the properties of a range of revisions (all; `HEAD` is the last that is there) from the source,
    /// which is at `from` or where the mirror says.
    ///
    /// # Errors
    /// E22 for revisions that are not there yet.
    pub fn copy_revprops(&mut self, from: Option<&Url>, range: Range) -> SvnResult<()> {
        self.locked(|run| copy(run, from, range))
    }
}

fn copy(run: &mut Mirror<'_>, from: Option<&Url>, range: Range) -> SvnResult<()> {
    let (source, last) = run.source(from)?;
    let (start, end) = resolve(range, last);
    if let Some(revision) = [start, end].into_iter().find(|revision| *revision > last) {
        return Err(invalid(format!(
            "Cannot copy revprops for a revision ({revision}) that has not been synchronized yet"
        )));
    }
    let mut normalized = 0u64;
    let mut revision = start;
    loop {
        let count = run.copy_props(source.as_ref(), revision, true)?;
        normalized.tally(count);
        if revision == end {
            break;
        }
        revision = if start > end { revision.prev().unwrap_or(end) } else { revision.next() };
    }
    run.notify_normalized(normalized, 0)
}
