//! Which revisions a node still needs: the requested ones, without what its mergeinfo and its own history
//! say it has (or when changes are taken back, only that).

use std::rc::Rc;

use sapwood_core::paths::RelPath;
use sapwood_core::{ErrorCode, Inherit, SvnError, SvnResult, path};
use sapwood_ra::Session;

use sapwood_wc::db::{Kind, Presence};

use super::Merge;
use super::paths::{MergePath, parents};
use super::source::MergeSource;
use crate::mergeinfo::local::{base_revision, find_anywhere};
use crate::mergeinfo::place::{History, Lines, RepoLocation, location};
use crate::mergeinfo::{MergeRange, Mergeinfo, RangeList};
use crate::working::Node;

/// Turns a list of ranges around if changes are taken back: the arithmetic knows forward ranges only.
pub(super) fn forward(list: &RangeList, reverse: bool) -> RangeList {
    let mut list = list.clone();
    if reverse {
        list.reverse();
    }
    list
}

/// The history of a node of the working copy between two revisions, as mergeinfo.
pub(super) fn own_history(
    session: &dyn Session,
    node: &Node,
    (youngest, oldest): (u64, u64),
) -> SvnResult<Mergeinfo> {
    let Some(place) = RepoLocation::origin(node)?.filter(|place| place.revision > oldest) else {
        return Ok(Mergeinfo::new());
    };
    let youngest = youngest.min(place.revision);
    Ok(History::between(session, &place, youngest, oldest)?.mergeinfo)
}

/// The revisions in which the source was not there: before them is what it was copied from.
fn gap_of(
    lines: &Lines,
    session: &dyn Session,
    source: &MergeSource,
) -> SvnResult<Option<MergeRange>> {
    let (one, other) = (source.left.revision, source.right.revision);
    let (oldest, youngest) = (one.min(other), one.max(other));
    if oldest.abs_diff(youngest) == 1 {
        return Ok(None);
    }
    let primary = source.primary();
    let history = lines.history(session, primary, primary.revision, oldest)?.mergeinfo;
    let Some(own) = history.0.get(&primary.fspath()) else { return Ok(None) };
    let gap = |start, end| Some(MergeRange { start, end, inheritable: true });
    Ok(match own.0.as_slice() {
        // Copied from its own past.
        [_, .., last] => gap(oldest, last.start),
        // Renamed.
        _ if history.0.len() > 1 => {
            let asked = RangeList::one(oldest, youngest, true);
            let left = RangeList::remove(&history.all_ranges(), &asked, false);
            left.0.first().and_then(|range| gap(range.start, range.end))
        }
        _ => None,
    })
}

/// The merged and the remaining ranges of a node.
pub(super) struct Calculation<'c> {
    pub(super) session: &'c dyn Session,
    /// The source of this node.
    pub(super) source: &'c MergeSource,
    pub(super) gap: Option<MergeRange>,
}

impl Calculation<'_> {
    /// The ranges that are left. `implicit` gets the node's own history if that matters.
    pub(super) fn remaining(
        &self,
        node: &Node,
        mergeinfo: Option<&Mergeinfo>,
        implicit: &mut dyn FnMut() -> SvnResult<Mergeinfo>,
    ) -> SvnResult<RangeList> {
        let fspath = self.source.primary().fspath();
        let recorded =
            mergeinfo.and_then(|mergeinfo| mergeinfo.0.get(&fspath)).map(|ranges| match self.gap {
                Some(gap) => RangeList::remove(&RangeList(vec![gap]), ranges, false),
                None => ranges.clone(),
            });
        let remaining = if self.source.is_reverse() {
            let asked = forward(&self.source.ranges(), true);
            let known = recorded.map_or_else(RangeList::default, |recorded| {
                RangeList::intersect(&recorded, &asked, false)
            });
            let all = if RangeList::remove(&known, &asked, false).is_empty() {
                asked
            } else {
                let implicit = implicit()?;
                let mut all = implicit
                    .0
                    .get(&fspath)
                    .map(|own| RangeList::intersect(own, &asked, false))
                    .unwrap_or_default();
                all.merge(&known);
                all
            };
            forward(&all, true)
        } else {
            let asked = self.source.ranges();
            let left = match recorded {
                Some(recorded) => RangeList::remove(&recorded, &asked, false),
                None => asked,
            };
            if left.is_empty() {
                left
            } else {
                match implicit()?.0.get(&fspath) {
                    Some(own) => RangeList::remove(own, &left, false),
                    None => left,
                }
            }
        };
        if remaining.is_empty() {
            self.refuse_future(node)?;
        }
        Ok(remaining)
    }

    /// E195020 when changes of the node's own line are to be taken back that it does not have yet:
    /// nothing would happen, and the user would not know why.
    fn refuse_future(&self, node: &Node) -> SvnResult<()> {
        let base = base_revision(&node.wc, &node.relpath)?;
        let Some(base) = base.filter(|_| self.source.is_reverse()) else { return Ok(()) };
        if base.0 > self.source.right.revision {
            return Ok(());
        }
        match location(self.session, &self.source.left, base.0) {
            Ok(place) if place.url() == node.url()? => Err(SvnError::new(
                ErrorCode::CLIENT_MERGE_UPDATE_REQUIRED,
                "Cannot reverse-merge a range from a path's own future history; try updating first",
            )),
            Ok(_) => Ok(()),
            Err(error) if error.is_not_there_then() => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// Fits ranges to the gap of the source: nothing may begin or end within it.
fn fit_to_gap(ranges: &mut RangeList, gap: MergeRange) {
    for range in &ranges.0 {
        if (range.start <= gap.start && gap.end < range.end)
            || (range.start < gap.start && gap.end <= range.end)
        {
            return;
        }
        if (range.start, range.end) == (gap.start, gap.end) {
            break;
        }
        if gap.start <= range.end && range.start <= gap.end {
            ranges.merge(&RangeList(vec![gap]));
            return;
        }
    }
    *ranges = RangeList::remove(&RangeList(vec![gap]), ranges, false);
}

/// Ranges made to fit a gap, in the order of the merge.
fn fitted(ranges: &RangeList, gap: MergeRange, reverse: bool) -> RangeList {
    let mut list = forward(ranges, reverse);
    fit_to_gap(&mut list, gap);
    forward(&list, reverse)
}

impl Merge<'_> {
    /// The node of a path below the working copy's root.
    pub(super) fn node(&self, relpath: &RelPath) -> SvnResult<Node> {
        let abspath = self.wc().abspath(relpath);
        if let Some(top) = self.wc().db().top(relpath)?
            && top.presence == Presence::Normal
            && (top.kind != Kind::Dir || relpath == self.target.relpath)
        {
            // A directory may contain another working copy, anything else cannot.
            return Ok(Node { wc: self.wc().clone(), relpath: relpath.to_owned(), top });
        }
        Node::find(self.ctx, &abspath.to_string_lossy())
    }

    /// The path below the target.
    pub(super) fn below_target<'p>(&self, relpath: &'p RelPath) -> &'p RelPath {
        relpath.below(&self.target.relpath).unwrap_or_default()
    }

    /// The session at the younger side.
    pub(super) fn primary_session(&self, source: &MergeSource) -> Rc<dyn Session> {
        Rc::clone(if source.is_reverse() { &self.left } else { &self.right })
    }

    /// Finds out what is left for each of [`Merge::paths`].
    pub(super) fn find_remaining(&mut self, source: &MergeSource) -> SvnResult<()> {
        let session = self.primary_session(source);
        let above = parents(&self.paths);
        let all = !self.honors_mergeinfo() || self.options.record_only;
        if !all {
            self.gap = gap_of(&self.lines, session.as_ref(), source)?;
        }
        let (one, other) = (source.left.revision, source.right.revision);
        let (oldest, youngest) = (one.min(other), one.max(other));
        for (at, above) in above.into_iter().enumerate() {
            let Some(entry) = self.paths.get(at) else { break };
            if entry.absent && !all {
                continue;
            }
            let relpath = entry.relpath.clone();
            let above = above.filter(|_| !entry.switched);
            // Absent nodes are none of the working copy's.
            let node = if entry.absent { None } else { self.node(&relpath).ok() };
            let history = (youngest, oldest);
            let mut implicit = match &node {
                Some(node) if at == 0 => Some(own_history(session.as_ref(), node, history)?),
                _ => None,
            };
            if all {
                if at > 0 {
                    let node = node.as_ref();
                    implicit =
                        self.implicit_of(session.as_ref(), node, above, &relpath, history)?;
                }
                self.set_remaining(at, Some(source.ranges()), implicit);
                continue;
            }
            let node = match node {
                Some(node) => node,
                None => self.node(&relpath)?,
            };
            let mut find_implicit = |merge: &Self| -> SvnResult<Mergeinfo> {
                if let Some(found) = &implicit {
                    return Ok(found.clone());
                }
                let node = Some(&node);
                let found = merge.implicit_of(session.as_ref(), node, above, &relpath, history)?;
                Ok(implicit.insert(found.unwrap_or_default()).clone())
            };
            let left =
                self.remaining_of(at, &node, (session.as_ref(), source), &mut find_implicit)?;
            self.set_remaining(at, Some(left), implicit);
        }
        Ok(())
    }

    /// What is left for a node of [`Merge::paths`], whose mergeinfo is noted there. Its own history is asked for only where
    /// that counts.
    fn remaining_of(
        &mut self,
        at: usize,
        node: &Node,
        (session, source): (&dyn Session, &MergeSource),
        implicit: &mut dyn FnMut(&Self) -> SvnResult<Mergeinfo>,
    ) -> SvnResult<RangeList> {
        let Some(entry) = self.paths.get(at) else { return Ok(RangeList::default()) };
        let (mut before, mut inherited) = (entry.before.clone(), entry.inherited);
        let below = self.below_target(&entry.relpath).to_owned();
        if before.is_none() {
            let found = find_anywhere(node, session, Inherit::Inherited, false)?;
            (before, inherited) = (found.mergeinfo, found.inherited);
        }
        let child = MergeSource {
            left: source.left.below(&below),
            right: source.right.below(&below),
            ancestral: source.ancestral,
        };
        let calculation = Calculation { session, source: &child, gap: self.gap };
        let mut remaining =
            calculation.remaining(node, before.as_ref(), &mut || implicit(&*self))?;
        if let Some(gap) = self.gap.filter(|_| !remaining.is_empty()) {
            remaining = fitted(&remaining, gap, source.is_reverse());
        }
        if let Some(entry) = self.paths.get_mut(at) {
            (entry.before, entry.inherited) = (before, inherited);
        }
        Ok(remaining)
    }

    fn set_remaining(
        &mut self,
        at: usize,
        remaining: Option<RangeList>,
        implicit: Option<Mergeinfo>,
    ) {
        if let Some(entry) = self.paths.get_mut(at) {
            entry.remaining = remaining;
            if implicit.is_some() {
                entry.implicit = implicit;
            }
        }
    }

    /// The own history of a node below the target: that of what is above it, unless the node is
    /// switched.
    fn implicit_of(
        &self,
        session: &dyn Session,
        node: Option<&Node>,
        above: Option<usize>,
        relpath: &RelPath,
        history: (u64, u64),
    ) -> SvnResult<Option<Mergeinfo>> {
        if let Some(above) = above.and_then(|above| self.paths.get(above)) {
            let below = path::skip_ancestor(&above.relpath, relpath).unwrap_or_default();
            // Where the parent had no need to ask for it, 1.14 finds nothing of use either.
            let implicit = above.implicit.as_ref().map(|implicit| implicit.with_suffix(below));
            return Ok(Some(implicit.unwrap_or_default()));
        }
        let Some(node) = node else { return Ok(None) };
        own_history(session, node, history).map(Some)
    }
}

impl MergePath {
    /// Whether something is left to be merged.
    #[must_use]
    pub fn has_remaining(&self) -> bool {
        self.remaining.as_ref().is_some_and(|ranges| !ranges.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> RangeList {
        Mergeinfo::parse(format!("/a:{text}").as_bytes()).unwrap().0.remove("/a").unwrap()
    }

    #[test]
    fn ranges_and_gaps() {
        let gap = MergeRange { start: 4, end: 8, inheritable: true };
        for (ranges, want) in [
            // Begins before it and ends after it.
            ("3-10", "3-10"),
            ("5-10", "5-10"),
            ("4-8", "4-8"),
            // Is the gap.
            ("5-8", ""),
            // Touches it.
            ("9-12", "5-12"),
            ("10-12", "10-12"),
            ("7-12", "5-12"),
        ] {
            let mut found = list(ranges);
            fit_to_gap(&mut found, gap);
            assert_eq!(found.to_string(), want, "{ranges}");
        }
    }
}
