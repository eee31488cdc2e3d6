//! Recording what was merged: on the target, and on the nodes below it that would inherit too much or
//! too little.

use std::collections::{BTreeSet, HashSet};
use std::ops::Bound;
use std::rc::Rc;

use sapwood_core::notify::{Action, Notify, State};
use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::props::names;
use sapwood_core::{CancelToken, Depth, ErrorCode, Inherit, NodeKind, Revnum, SvnResult, path};
use sapwood_wc::WorkingCopy;
use sapwood_wc::props::Change;

use super::Merge;
use super::changes::{Changes, WORTH};
use super::checkpoint::Undo;
use super::paths::parents;
use super::remaining::forward;
use super::source::MergeSource;
use super::target::MergeTarget;
use super::trim::plain_log;
use super::types::PathMergeinfo;
use crate::context::Context;
use crate::mergeinfo::local::{Invalid, MergeinfoCache, explicit, find};
use crate::mergeinfo::place::{RepoLocation, visit};
use crate::mergeinfo::{MergeRange, Mergeinfo, RangeList};

/// Sets or removes the mergeinfo of a node without being interrupted halfway; reports it if `notify` is a
/// context.
pub(super) fn write_one(
    wc: &WorkingCopy,
    undo: &Undo,
    relpath: &RelPath,
    mergeinfo: Option<&Mergeinfo>,
    notify: Option<&Context>,
) -> SvnResult<()> {
    let value = mergeinfo.map(|mergeinfo| mergeinfo.to_value().into_bytes());
    let view = wc.require_view(relpath)?;
    let has = |props: sapwood_core::PropList| props.get(names::MERGEINFO).map(<[u8]>::to_vec);
    let before = has(view.props()?);
    let changed = before != has(view.pristine_props()?);
    undo.note(relpath, before);
    let change = Change { name: names::MERGEINFO, value: value.as_deref(), force: true };
    wc.set_prop(relpath, change, Depth::Empty, &HashSet::new(), &CancelToken::new(), &|_| {})?;
    if let Some(ctx) = notify {
        let path = wc.abspath(relpath);
        let shown = path.to_string_lossy();
        let props = if changed { State::Merged } else { State::Changed };
        ctx.notify(&Notify { props, ..Notify::new(Action::MergeRecordInfo, &shown) });
    }
    Ok(())
}

/// Writes the mergeinfo of paths and reports it.
pub(super) fn write(ctx: &Context, target: &MergeTarget, all: PathMergeinfo) -> SvnResult<()> {
    let mut all: Vec<(RelPathBuf, Mergeinfo)> = all.into_iter().collect();
    all.sort_by(|a, b| path::compare(&a.0, &b.0));
    // One change of the database, also of what comes before an error.
    target.wc.db().write(|_| {
        Ok(all.into_iter().try_for_each(|(relpath, mergeinfo)| {
            let undo = Undo::default();
            ignore_missing(write_one(&target.wc, &undo, &relpath, Some(&mergeinfo), Some(ctx)))
        }))
    })?
}

/// Passes over what the server knows and the working copy does not.
fn ignore_missing(result: SvnResult<()>) -> SvnResult<()> {
    match result {
        Err(error) if error.code() == ErrorCode::ENTRY_NOT_FOUND => Ok(()),
        other => other,
    }
}

/// Whether a path of a set is at or below another.
fn has_below(set: &BTreeSet<RelPathBuf>, relpath: &RelPath) -> bool {
    if relpath.is_empty() {
        return !set.is_empty();
    }
    let below = format!("{relpath}/");
    set.contains(relpath)
        || set
            .range::<str, _>((Bound::Included(below.as_str()), Bound::Unbounded))
            .next()
            .is_some_and(|p| p.starts_with(&below))
}

/// The mergeinfo for a range of a node, without the node's own history.
fn without_own(fspath: &str, implicit: Option<&Mergeinfo>, range: &MergeRange) -> RangeList {
    let asked = RangeList(vec![*range]);
    match implicit.and_then(|implicit| implicit.0.get(fspath)) {
        Some(own) if range.start < range.end => RangeList::remove(own, &asked, false),
        _ => asked,
    }
}

/// Joins a source's fspath and what is below the target.
fn source_below(fspath: &str, below: &RelPath) -> String {
    path::join(fspath, below)
}

impl Merge<'_> {
    fn notify_recording(&self, relpath: &RelPath, (start, end): (u64, u64)) {
        let path = self.wc().abspath(relpath);
        let shown = path.to_string_lossy();
        let range = Some((Revnum(start), Revnum(end)));
        self.ctx.notify(&Notify { range, ..Notify::new(Action::MergeRecordInfoBegin, &shown) });
    }

    /// Adds a range to the mergeinfo of a node (or takes it away), or to the catalog.
    fn add_range(
        &self,
        relpath: &RelPath,
        fspath: String,
        ranges: &RangeList,
        reverse: bool,
        catalog: Option<&mut PathMergeinfo>,
    ) -> SvnResult<()> {
        let wc = self.wc();
        let own = match explicit(wc, relpath) {
            Err(error)
                if [ErrorCode::WC_PATH_NOT_FOUND, ErrorCode::WC_NOT_LOCKED]
                    .contains(&error.code()) =>
            {
                return Ok(());
            }
            other => other?,
        };
        let own = match own {
            // Nothing is recorded to override what is inherited.
            None if ranges.is_empty() => {
                find(wc, relpath, Inherit::NearestAncestor, None, Invalid::Refuse)?.mergeinfo
            }
            own => own,
        };
        let mut mergeinfo = own.unwrap_or_default();
        let list = mergeinfo.0.entry(fspath).or_default();
        if reverse {
            *list = RangeList::remove(&forward(ranges, true), list, false);
        } else {
            list.merge(ranges);
        }
        mergeinfo.drop_empty();
        match catalog {
            Some(catalog) => {
                catalog.entry(relpath.to_owned()).or_default().merge(&mergeinfo);
                Ok(())
            }
            None => {
                ignore_missing(write_one(wc, &self.undo, relpath, Some(&mergeinfo), Some(self.ctx)))
            }
        }
    }

    /// Whether the merge did something at or below a path.
    fn touches(&self, relpath: &RelPath) -> bool {
        let touched = &self.touched;
        [&touched.merged, &touched.skipped, &touched.added, &touched.tree_conflicts]
            .into_iter()
            .any(|set| has_below(set, relpath))
    }

    /// Paths that were left out do not inherit what the target is about to get.
    fn override_skipped(&self, fspath: &str, reverse: bool) -> SvnResult<()> {
        for relpath in &self.touched.skipped {
            if self.takes_no_mergeinfo(relpath)? {
                continue;
            }
            let source = source_below(fspath, self.below_target(relpath));
            self.add_range(relpath, source, &RangeList::default(), reverse, None)?;
        }
        Ok(())
    }

    /// Whether a path is not under version control, deleted, missing on disk, or something else is there.
    fn takes_no_mergeinfo(&self, relpath: &RelPath) -> SvnResult<bool> {
        let is_target = *relpath == self.target.relpath;
        let (found, _) = self.wc().obstruction(relpath, is_target)?;
        let in_the_way = matches!(found.state, State::Obstructed | State::Missing);
        Ok(in_the_way || found.deleted || found.kind.is_none())
    }

    /// Directories below the target in which something more would have been merged had the merge not
    /// been limited in depth.
    fn operative_children(
        &self,
        range: &MergeRange,
        fspath: &str,
    ) -> SvnResult<BTreeSet<RelPathBuf>> {
        let depth = self.depth();
        let mut found = BTreeSet::new();
        let session = Rc::clone(&self.left);
        // As in 1.14 the left side is asked: of a source that was copied since, this is what it was
        // copied from, whose changes say nothing of the source.
        let url = self.source.left.url();
        visit(session.as_ref(), &url, || {
            let bounds = (range.end, range.start.saturating_add(1));
            plain_log(session.as_ref(), RelPath::ROOT, bounds, true, &mut |entry| {
                for change in &entry.changes {
                    let Some(below) = path::skip_ancestor(fspath, change.path) else { continue };
                    if below.is_empty() {
                        continue;
                    }
                    let child = match path::dirname(below) {
                        "" if depth == Depth::Immediates => continue,
                        "" if depth == Depth::Files && change.kind != Some(NodeKind::Dir) => {
                            continue;
                        }
                        "" => below,
                        dir => dir,
                    };
                    found.insert(self.target.relpath.join(RelPath::new(child)?));
                }
                Ok(())
            })
        })?;
        Ok(found)
    }

    /// Decides which nodes get mergeinfo, and which of them such that children do not inherit.
    fn flag(&mut self, range: &MergeRange, fspath: &str, operative: bool) -> SvnResult<()> {
        let depth = self.depth();
        let limited = !self.options.record_only && range.start <= range.end;
        let children = match limited && depth < Depth::Infinity {
            true => self.operative_children(range, fspath)?,
            false => BTreeSet::new(),
        };
        let above = parents(&self.paths);
        // Switched nodes that are recorded, by their parents: what is below comes first here.
        let mut switched: HashSet<RelPathBuf> = HashSet::new();
        for at in (0..above.len()).rev() {
            let Some(mut entry) = self.paths.get(at).cloned() else { continue };
            if entry.absent || self.touched.skipped.contains(&entry.relpath) {
                continue;
            }
            let relpath = entry.relpath.clone();
            entry.record |= at == 0
                || (self.options.record_only && !self.reintegrate)
                || (entry.immediate_dir && entry.before.is_none() && children.contains(&relpath));
            if operative && self.touches(&relpath) {
                entry.record = true;
                if !self.reintegrate && !has_below(&self.touched.skipped, &relpath) {
                    entry.missing_child = false;
                }
                entry.switched_child &= switched.contains(&relpath);
            }
            let is_dir = || -> SvnResult<bool> {
                let view = self.wc().view(&relpath)?;
                Ok(view.is_some_and(|view| view.is_dir() && view.top().presence.is_there()))
            };
            if entry.record && is_dir()? {
                entry.noninheritable = entry.missing_child || entry.switched_child;
                if at == 0 {
                    entry.noninheritable |= depth < Depth::Immediates && !children.is_empty();
                } else if depth == Depth::Immediates {
                    entry.noninheritable |= children.contains(&relpath);
                }
            }
            if !entry.record && entry.child_of_noninheritable {
                // It got some before the merge, in case it would be touched.
                write_one(self.wc(), &self.undo, &relpath, None, None)?;
            }
            if entry.record && entry.switched {
                switched.insert(relpath.parent().to_owned());
            }
            if let Some(place) = self.paths.get_mut(at) {
                *place = entry;
            }
        }
        Ok(())
    }

    fn source_at(&self, fspath: &str, revision: u64) -> RepoLocation {
        RepoLocation {
            root: self.target.root.clone(),
            uuid: self.target.uuid.clone(),
            relpath: RelPathBuf::canonicalize(fspath),
            revision,
        }
    }

    fn line_of_source(&self, fspath: &str, range: &MergeRange) -> SvnResult<Mergeinfo> {
        let place = self.source_at(fspath, range.end);
        let session = self.right.as_ref();
        Ok(self.lines.history(session, &place, range.end, range.start)?.mergeinfo)
    }

    /// Asks for the lines that will be needed when the database is being changed: for many by a log of the
    /// source. What cannot be answered is asked again where it counts.
    fn ask_for_lines(&self, range: &MergeRange, fspath: &str) {
        if range.start >= range.end || (self.options.record_only && !self.reintegrate) {
            return;
        }
        let mut wanted = Vec::new();
        for entry in self.paths.iter().filter(|entry| entry.record) {
            let source = source_below(fspath, self.below_target(&entry.relpath));
            let place = self.source_at(&source, range.end);
            if !without_own(&source, entry.implicit.as_ref(), range).is_empty()
                && !self.lines.has(&place, (range.start, range.end))
            {
                wanted.push(place);
            }
        }
        let session = self.right.as_ref();
        let [many, _] = WORTH;
        if wanted.len() >= many && !self.reintegrate && self.gap.is_none() {
            let source = self.source_at(fspath, range.end);
            let asked = Changes::ask(session, &source, (range.start, range.end));
            if let Ok(Some(changes)) = asked {
                wanted.retain(|place| {
                    let there = matches!(changes.presence(session, place), Ok(Some(true)));
                    if there {
                        self.lines.learn(place, changes.bounds());
                    }
                    !there
                });
            }
        }
        for place in wanted {
            let _ = self.lines.segments(session, &place, range.end, range.start);
        }
    }

    /// The part of a node's ranges in which its source was there, and was what it is at their end.
    fn existing(
        &self,
        ranges: RangeList,
        fspath: &str,
        range: &MergeRange,
        inheritable: bool,
    ) -> SvnResult<RangeList> {
        let history = match self.line_of_source(fspath, range) {
            Err(error) if error.is_no_node() => return Ok(ranges),
            other => other?,
        };
        let own = history.0.get(fspath).cloned().unwrap_or_default();
        let both = RangeList::intersect(&ranges, &own, false);
        Ok(if inheritable { both } else { both.as_inheritable(false) })
    }
}

/// Records a merge into a directory.
pub(super) fn directory(
    merge: &mut Merge<'_>,
    merged: &MergeRange,
    fspath: &str,
    catalog: Option<&mut PathMergeinfo>,
    quiet: bool,
) -> SvnResult<()> {
    let operative = merge.touches(&merge.target.relpath);
    merge.paths.retain(|entry| !entry.absent);
    let wc = merge.wc().clone();
    wc.db().questions(|| merge.flag(merged, fspath, operative))?;
    merge.ask_for_lines(merged, fspath);
    // One change of the database, also of what comes before an error.
    wc.db().write(|_| Ok(flagged(merge, merged, fspath, catalog, quiet)))?
}

/// Records a merge on the nodes that are to have it.
fn flagged(
    merge: &mut Merge<'_>,
    merged: &MergeRange,
    fspath: &str,
    mut catalog: Option<&mut PathMergeinfo>,
    quiet: bool,
) -> SvnResult<()> {
    let reverse = merged.start > merged.end;
    let mut range = *merged;
    let above = parents(&merge.paths);
    let mut elsewhere: Vec<bool> = Vec::with_capacity(above.len());
    let gap = merge.gap.map(|gap| RangeList(vec![gap]));
    let seen = MergeinfoCache::default();
    for (at, above) in above.into_iter().enumerate() {
        let Some(entry) = merge.paths.get(at).cloned() else { break };
        let inherits = above.and_then(|above| elsewhere.get(above)).copied().unwrap_or(false);
        elsewhere.push(at > 0 && (entry.switched || inherits));
        if entry.record {
            let source = source_below(fspath, merge.below_target(&entry.relpath));
            let mut ranges = without_own(&source, entry.implicit.as_ref(), &range);
            if ranges.is_empty() {
                continue;
            }
            if !quiet {
                // As in the reference, which shortens the range for the message: what is recorded here was computed
                // before, and the nodes that follow are recorded by the shortened range.
                skip_gap(&mut range, merge.gap);
                merge.notify_recording(&entry.relpath, (range.start, range.end));
            }
            if at == 0 {
                merge.override_skipped(fspath, reverse)?;
            }
            if entry.noninheritable {
                ranges = ranges.as_inheritable(false);
            }
            if entry.inherited {
                let before = entry.before.as_ref();
                write_one(merge.wc(), &merge.undo, &entry.relpath, before, None)?;
            }
            ranges = without_gap(ranges, gap.as_ref(), reverse);
            if (!merge.options.record_only || merge.reintegrate) && !reverse {
                ranges = merge.existing(ranges, &source, &range, !entry.noninheritable)?;
            }
            let catalog = catalog.as_deref_mut();
            merge.add_range(&entry.relpath, source, &ranges, reverse, catalog)?;
            merge.touched.added.remove(&entry.relpath);
            seen.forget();
        }
        if at > 0 {
            let limit = match elsewhere.last() {
                Some(true) => None,
                _ => Some(merge.target.relpath.as_path()),
            };
            merge.elide(&entry.relpath, limit, None, &seen)?;
        }
    }
    Ok(())
}

/// Ranges without the revisions in which the source did not exist.
fn without_gap(ranges: RangeList, gap: Option<&RangeList>, reverse: bool) -> RangeList {
    let Some(gap) = gap else { return ranges };
    forward(&RangeList::remove(gap, &forward(&ranges, reverse), false), reverse)
}

/// A range as it is reported: without revisions in which the source did not exist.
fn skip_gap(range: &mut MergeRange, gap: Option<MergeRange>) {
    let Some(gap) = gap else { return };
    if range.start < range.end {
        if gap.start == range.start {
            range.start = gap.end;
        }
    } else if gap.start == range.end {
        range.end = gap.end;
    }
}

/// Records a merge on what it added that has mergeinfo from the source, or does not inherit what was
/// recorded above it.
pub(super) fn additions(
    merge: &Merge<'_>,
    range: &MergeRange,
    fspath: &str,
    quiet: bool,
    partial: bool,
) -> SvnResult<()> {
    let wc = merge.wc();
    for relpath in &merge.touched.added {
        let own = explicit(wc, relpath)?;
        if own.is_none() {
            let above = explicit(wc, relpath.parent())?;
            if !above.is_some_and(|above| above.has_noninheritable()) {
                continue;
            }
        }
        let source = source_below(fspath, merge.below_target(relpath));
        let place = RepoLocation {
            root: merge.target.root.clone(),
            uuid: merge.target.uuid.clone(),
            relpath: RelPathBuf::canonicalize(&source),
            revision: range.end,
        };
        // It came at some revision of the range, perhaps more than once.
        let session = merge.right.as_ref();
        let history = match merge.lines.history(session, &place, range.end, range.start) {
            // A stopped merge may add younger revisions than its record has.
            Err(error) if partial && error.is_no_node() => continue,
            other => other?,
        };
        let mut all = Mergeinfo::new();
        all.0.insert(source, RangeList::one(range.start, range.end, true));
        let mut all = all.intersect(&history.mergeinfo, false);
        if let Some(own) = own {
            all.merge(&own);
        }
        let notify = (!quiet).then_some(merge.ctx);
        write_one(wc, &merge.undo, relpath, Some(&all), notify)?;
    }
    Ok(())
}

/// Records a merge into a file. `before` is what it inherited until now.
pub(super) fn file(
    merge: &Merge<'_>,
    source: &MergeSource,
    range: &MergeRange,
    implicit: &Mergeinfo,
    before: Option<&Mergeinfo>,
    catalog: Option<&mut PathMergeinfo>,
    quiet: bool,
) -> SvnResult<()> {
    let fspath = source.primary().fspath();
    let ranges = without_own(&fspath, Some(implicit), range);
    let target = &merge.target.relpath;
    let (Some(first), Some(last)) = (ranges.0.first(), ranges.0.last()) else { return Ok(()) };
    if !merge.touched.skipped.is_empty() {
        return Ok(());
    }
    if before.is_some() {
        write_one(merge.wc(), &merge.undo, target, before, None)?;
    }
    if !quiet {
        merge.notify_recording(target, (first.start, last.end));
    }
    merge.add_range(target, fspath, &ranges, source.is_reverse(), catalog)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_of_paths() {
        let set: BTreeSet<RelPathBuf> =
            ["a-b", "a/b/c", "b"].map(RelPath::trusted).map(RelPath::to_owned).into();
        for (relpath, want) in
            [("", true), ("a", true), ("a/b", true), ("a/b/c/d", false), ("a-", false), ("b", true)]
        {
            assert_eq!(has_below(&set, RelPath::trusted(relpath)), want, "{relpath}");
        }
        assert!(!has_below(&BTreeSet::new(), RelPath::ROOT));
    }
}
