//! Ranges that are not requested for nodes below the target: revisions that change nothing where they
//! are missing, and those in which a node's source is not there.

use std::rc::Rc;

use sapwood_core::paths::RelPath;
use sapwood_core::{Revnum, SvnResult, path};
use sapwood_ra::{LogReceiver, LogRequest, RevpropSelection, Session};

use super::Merge;
use super::paths::{MergePath, parents};
use super::remaining::forward;
use super::source::MergeSource;
use crate::mergeinfo::place::{Lines, RepoLocation, visit};
use crate::mergeinfo::{MergeRange, RangeList};

/// The log of one path, without properties of revisions.
pub(super) fn plain_log(
    session: &dyn Session,
    relpath: &RelPath,
    range: (u64, u64),
    changed_paths: bool,
    receiver: LogReceiver<'_>,
) -> SvnResult<()> {
    let paths = [relpath];
    let whole = LogRequest::whole(&paths, range, RevpropSelection::Names(&[]));
    session.log(&LogRequest { changed_paths, ..whole }, receiver)
}

/// The ranges in which something was changed.
pub(super) fn operative(
    session: &dyn Session,
    place: &RepoLocation,
    ranges: &RangeList,
) -> SvnResult<RangeList> {
    let bounds = |range: &MergeRange| (range.start.min(range.end), range.start.max(range.end));
    let all = ranges.0.iter().map(bounds).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
    let Some((oldest, youngest)) = all else { return Ok(RangeList::default()) };
    let mut changed = Vec::new();
    let range = (youngest, oldest.saturating_add(1));
    visit(session, &place.url(), || {
        plain_log(session, RelPath::ROOT, range, false, &mut |entry| {
            changed.extend(entry.revision.map(|revision| revision.0));
            Ok(())
        })
    })?;
    changed.sort_unstable();
    let has_some = |range: &&MergeRange| {
        let (after, end) = bounds(range);
        let first = changed.partition_point(|revision| *revision <= after);
        changed.get(first).is_some_and(|revision| *revision <= end)
    };
    Ok(RangeList(ranges.0.iter().filter(has_some).copied().collect()))
}

/// Revisions of a log that come in ascending order.
#[derive(Default)]
struct Revisions(RangeList);

impl Revisions {
    fn add(&mut self, revision: u64) {
        let before = revision.saturating_sub(1);
        match self.0.0.last_mut() {
            Some(last) if last.end == before => last.end = revision,
            _ => self.0.0.push(MergeRange { start: before, end: revision, inheritable: true }),
        }
    }
}

impl Merge<'_> {
    /// Takes revisions from the nodes below the target which the target does not need, and which
    /// change nothing that does not have them.
    pub(super) fn drop_inoperative(&mut self, source: &MergeSource) -> SvnResult<()> {
        let Some((target, below)) = self.paths.split_first() else { return Ok(()) };
        let had = target.remaining.clone().unwrap_or_default();
        let mut gaps = RangeList::remove(&had, &source.ranges(), false);
        if below.is_empty() || gaps.is_empty() {
            return Ok(());
        }
        let (wanted, common) = wanted_below(below);
        gaps = RangeList::intersect(&gaps, &wanted, false);
        let (Some((oldest, youngest)), Some(common)) = (gaps.bounds(), common) else {
            return Ok(());
        };
        let common = self.below_target(common).to_owned();
        let all = RangeList::one(oldest, youngest, true);
        let session = self.primary_session(source);
        let (mut operative, mut merged) = (Revisions::default(), Revisions::default());
        let fspath = source.right.fspath();
        let result = visit(session.as_ref(), &source.right.url(), || {
            let range = (oldest.saturating_add(1), youngest);
            plain_log(session.as_ref(), &common, range, true, &mut |entry| {
                let Some(revision) = entry.revision else { return Ok(()) };
                if entry.changes.is_empty() {
                    return Ok(());
                }
                operative.add(revision.0);
                if entry.changes.iter().all(|change| self.has_it(&fspath, change.path, revision.0))
                {
                    merged.add(revision.0);
                }
                Ok(())
            })
        });
        let useless = match result {
            Ok(()) => {
                let mut useless = RangeList::remove(&operative.0, &all, false);
                useless.merge(&merged.0);
                useless
            }
            Err(error) if !error.is_no_node() && !common.is_empty() => {
                return Err(error);
            }
            // The source has nothing there.
            Err(_) => all,
        };
        for entry in self.paths.iter_mut().skip(1) {
            if let Some(remaining) = entry.remaining.as_mut().filter(|left| !left.is_empty()) {
                *remaining = RangeList::remove(&useless, remaining, false);
            }
        }
        Ok(())
    }

    /// Whether mergeinfo says that a revision was merged to what a changed path stands for.
    fn has_it(&self, source: &str, changed: &str, revision: u64) -> bool {
        let Some(below) = path::skip_ancestor(source, changed) else { return true };
        let Ok(below) = RelPath::new(below) else { return true };
        let affected = self.target.relpath.join(below);
        let mut at = affected.as_path();
        let mut fspath = changed;
        loop {
            let entry = self.entry(at);
            if let Some(before) = entry.and_then(|entry| entry.before.as_ref()) {
                return before.0.get(fspath).is_some_and(|ranges| {
                    ranges.0.iter().any(|range| {
                        range.start < revision
                            && revision <= range.end
                            && (range.inheritable || at == affected)
                    })
                });
            }
            if at == self.target.relpath {
                return false;
            }
            (at, fspath) = (at.parent(), path::dirname(fspath));
        }
    }

    /// The entry of a path.
    pub(super) fn entry(&self, relpath: &RelPath) -> Option<&MergePath> {
        let found = self.paths.binary_search_by(|entry| path::compare(&entry.relpath, relpath));
        found.ok().and_then(|at| self.paths.get(at))
    }

    /// Where the source of a node below the target is not there in some of its revisions, these become
    /// what the parent's are, so that no server is asked about what is not there.
    pub(super) fn fit_to_parents(&mut self, source: &MergeSource) -> SvnResult<()> {
        let session = self.primary_session(source);
        for (at, above) in parents(&self.paths).into_iter().enumerate() {
            let Some(above) = above else { continue };
            let (Some(entry), Some(above)) = (self.paths.get(at), self.paths.get(above)) else {
                continue;
            };
            let (Some(own), Some(others)) = (&entry.remaining, &above.remaining) else { continue };
            let reverse = source.is_reverse();
            let (own, others) = (forward(own, reverse), forward(others, reverse));
            if own.equals(&others, true) {
                continue;
            }
            let place = source.primary().below(self.below_target(&entry.relpath));
            let (one, other) = (source.left.revision, source.right.revision);
            let bounds = (one.min(other), one.max(other));
            if let Some(changes) = &self.changes {
                let at_youngest = place.at(&place.relpath, bounds.1);
                match changes.presence(session.as_ref(), &at_youngest)? {
                    Some(true) => {
                        self.lines.learn(&at_youngest, changes.bounds());
                        continue;
                    }
                    Some(false) => {
                        let others = forward(&others, reverse);
                        if let Some(entry) = self.paths.get_mut(at) {
                            entry.remaining = Some(others);
                        }
                        continue;
                    }
                    None => {}
                }
            }
            if let Some(fitted) = fitted(&self.lines, &session, &place, bounds, &own, &others)?
                && let Some(entry) = self.paths.get_mut(at)
            {
                entry.remaining = Some(forward(&fitted, reverse));
            }
        }
        Ok(())
    }
}

/// The revisions that any of these nodes still has to get, and the path that all of them are below.
fn wanted_below(nodes: &[MergePath]) -> (RangeList, Option<&RelPath>) {
    let mut wanted = RangeList::default();
    let mut common: Option<&RelPath> = None;
    for entry in nodes.iter().filter(|entry| entry.has_remaining()) {
        common = Some(match common {
            Some(common) => common.common_ancestor(&entry.relpath),
            None => &entry.relpath,
        });
        if let Some(remaining) = &entry.remaining {
            wanted.merge(remaining);
        }
    }
    (wanted, common)
}

/// The ranges of a node, as far as its source exists, else those of its parent; `None` when they
/// stay as they are.
fn fitted(
    lines: &Lines,
    session: &Rc<dyn Session>,
    place: &RepoLocation,
    (oldest, youngest): (u64, u64),
    own: &RangeList,
    others: &RangeList,
) -> SvnResult<Option<RangeList>> {
    let session = session.as_ref();
    let within = |list: &RangeList, from: u64, to: u64| match from < to {
        true => RangeList::intersect(&RangeList::one(from, to, true), list, false),
        false => RangeList::default(),
    };
    let at_youngest = place.at(&place.relpath, youngest);
    let found = match lines.segments(session, &at_youngest, youngest, oldest) {
        Ok(found) => found,
        Err(error) if error.is_no_node() => {
            let deleted = visit(session, &place.url(), || {
                match session.check_path(RelPath::ROOT, Some(Revnum(oldest)))? {
                    None => Ok(None),
                    Some(_) => session.deleted_rev(RelPath::ROOT, Revnum(oldest), Revnum(youngest)),
                }
            })?;
            let Some(last) = deleted.map(|revision| revision.0.saturating_sub(1)) else {
                return Ok(Some(others.clone()));
            };
            let mut fitted = within(own, oldest, last);
            fitted.merge(&within(others, last, youngest));
            return Ok(Some(fitted));
        }
        Err(error) => return Err(error),
    };
    let Some(begin) = found.last().map(|segment| segment.start.0) else { return Ok(None) };
    if begin == oldest {
        return Ok(None);
    }
    let mut fitted = within(own, begin, youngest);
    fitted.merge(&within(others, oldest, begin));
    Ok(Some(fitted))
}
