//! Merges that look up what was merged before, merge what is missing in slices that are the same for
//! all nodes, and record it.

use std::rc::Rc;

use sapwood_core::{ErrorCode, Inherit, SvnResult, path};

use super::Merge;
use super::paths::{MergePath, nearest};
use super::record::{self, write_one};
use super::remaining::{Calculation, own_history};
use super::run::{PathMergeinfo, RangeConflict};
use super::source::MergeSource;
use super::{subtrees, trim};
use crate::mergeinfo::local::{explicit, find_anywhere};
use crate::mergeinfo::{MergeRange, RangeList};

/// Merges what a directory and the nodes below it with ranges of their own lack.
pub(super) fn directory(
    merge: &mut Merge<'_>,
    source: &MergeSource,
    catalog: Option<&mut PathMergeinfo>,
    quiet: bool,
) -> SvnResult<Option<RangeConflict>> {
    merge.paths = subtrees::collect(merge)?;
    merge.find_remaining(source)?;
    let mut range = source.range();
    let mut conflict = None;
    if !merge.reintegrate {
        if let Some(start) = first_revision(merge, source, |range| range.start) {
            range.start = start;
        }
        if !source.is_reverse() {
            merge.drop_inoperative(source)?;
        }
        merge.fit_to_parents(source)?;
        conflict = slices(merge, source)?;
        if let Some(found) = &conflict {
            range.end = found.range.right.revision;
        }
    } else if !merge.options.record_only {
        merge.begun = None;
        merge.drive_dir(source)?;
    }
    if merge.records_mergeinfo() {
        let fspath = source.primary().fspath();
        record::directory(merge, &range, &fspath, catalog, quiet)?;
        if range.start < range.end {
            record::additions(merge, &range, &fspath, quiet)?;
        }
    }
    Ok(conflict)
}

/// The boundary from which on something is left to be merged, taken from the first range of each node.
fn first_revision(
    merge: &Merge<'_>,
    source: &MergeSource,
    boundary: impl Fn(&MergeRange) -> u64,
) -> Option<u64> {
    let present = merge.paths.iter().filter(|entry| !entry.absent);
    let all = present.filter_map(|entry| entry.next().map(&boundary));
    if source.is_reverse() { all.max() } else { all.min() }
}

/// Merges slice after slice, until nothing is left or there are conflicts.
fn slices(merge: &mut Merge<'_>, source: &MergeSource) -> SvnResult<Option<RangeConflict>> {
    let reverse = source.is_reverse();
    loop {
        merge.ctx.check_cancel()?;
        let start = first_revision(merge, source, |range| range.start);
        let end = first_revision(merge, source, |range| range.end);
        let (Some(start), Some(mut end)) = (start, end) else { return Ok(None) };
        // The edit begins with the target: a slice must not reach into what the target needs only
        // from a later revision on.
        let first = merge.paths.first().and_then(MergePath::next).map(|range| range.start);
        if let Some(first) = first.filter(|first| *first != start) {
            end = if reverse { end.max(first) } else { end.min(first) };
        }
        for entry in merge.paths.iter_mut().filter(|entry| !entry.absent) {
            cut(entry.remaining.as_mut(), end);
        }
        merge.begun = None;
        let slice = source.part(start, end);
        merge.drive_dir(&slice)?;
        if !merge.options.dry_run {
            take_new_mergeinfo(merge)?;
        }
        let deleted = &merge.deleted_mergeinfo;
        let target = &merge.target.relpath;
        merge.paths.retain(|entry| entry.relpath == *target || !deleted.contains(&entry.relpath));
        for entry in merge.paths.iter_mut().filter(|entry| !entry.absent) {
            if entry.next().is_some_and(|range| range.end == end)
                && let Some(remaining) = &mut entry.remaining
            {
                remaining.0.remove(0);
            }
        }
        if !merge.conflicted.is_empty() {
            let right = source.right.revision;
            let rest = (end != right).then(|| source.part(end, right));
            return Ok(merge.range_conflict(&slice, rest));
        }
    }
}

/// Cuts the first range in two if a revision is within it.
fn cut(ranges: Option<&mut RangeList>, revision: u64) {
    let Some(ranges) = ranges else { return };
    let Some(first) = ranges.0.first_mut() else { return };
    let (low, high) = (first.start.min(first.end), first.start.max(first.end));
    if low < revision && revision < high {
        let rest = MergeRange { start: revision, ..*first };
        first.end = revision;
        ranges.0.insert(1, rest);
    }
}

/// Nodes that got mergeinfo from the source inherited something before: that is added, and they are
/// looked at from now on.
fn take_new_mergeinfo(merge: &mut Merge<'_>) -> SvnResult<()> {
    let mut paths: Vec<String> = merge.new_mergeinfo.iter().cloned().collect();
    // What is above comes first, so that it is passed on in the same way always.
    paths.sort_by(|a, b| path::compare(a, b));
    let session = Rc::clone(&merge.right);
    for relpath in paths {
        let Some(mut own) = explicit(merge.wc(), &relpath)? else { continue };
        let node = merge.node(&relpath)?;
        let above = find_anywhere(&node, session.as_ref(), Inherit::NearestAncestor, false)?;
        if let Some(above) = above.mergeinfo {
            own.merge(&above);
            write_one(merge.ctx, merge.wc(), &relpath, Some(&own), false)?;
        }
        let place = merge.paths.binary_search_by(|entry| path::compare(&entry.relpath, &relpath));
        if let Err(place) = place {
            let remaining =
                nearest(&merge.paths, &relpath, false).and_then(|above| above.remaining.clone());
            let entry = MergePath { remaining, ..MergePath::new(relpath) };
            merge.paths.insert(place, entry);
        }
    }
    Ok(())
}

/// Merges what a file lacks.
pub(super) fn file(
    merge: &mut Merge<'_>,
    source: &MergeSource,
    related: bool,
    catalog: Option<&mut PathMergeinfo>,
    quiet: bool,
) -> SvnResult<Option<RangeConflict>> {
    let target = merge.target.relpath.clone();
    let node = merge.node(&target)?;
    let session = Rc::clone(&merge.left);
    let found = find_anywhere(&node, session.as_ref(), Inherit::Inherited, false).map_err(|e| {
        if !e.is_bad_mergeinfo() {
            return e;
        }
        e.wrap(
            ErrorCode::CLIENT_INVALID_MERGEINFO_NO_MERGETRACKING,
            format!(
                "Invalid mergeinfo detected on merge target '{}', merge tracking not possible",
                merge.target.shown()
            ),
        )
    })?;
    let (one, other) = (source.left.revision, source.right.revision);
    let implicit = own_history(session.as_ref(), &node, one.max(other), one.min(other))?;
    let mut range = source.range();
    let mut remaining = source.ranges();
    let mut conflict = None;
    if !merge.options.record_only {
        let calculation = Calculation { session: session.as_ref(), source, gap: merge.gap };
        let known = found.mergeinfo.as_ref();
        remaining = calculation.remaining(&node, known, &mut || Ok(implicit.clone()))?;
        if let (Some(first), Some(last)) = (remaining.0.first(), remaining.0.last()) {
            (range.start, range.end) = (first.start, last.end);
        }
        conflict = file_slices(merge, source, related, &remaining)?;
        if let Some(found) = &conflict {
            range.end = found.range.right.revision;
        }
    }
    if merge.records_mergeinfo() && !remaining.is_empty() {
        let before = found.inherited.then_some(found.mergeinfo).flatten();
        record::file(merge, source, &range, &implicit, before.as_ref(), catalog, quiet)?;
    }
    Ok(conflict)
}

fn file_slices(
    merge: &mut Merge<'_>,
    source: &MergeSource,
    related: bool,
    remaining: &RangeList,
) -> SvnResult<Option<RangeConflict>> {
    let ranges = match remaining.0.len() {
        0 | 1 => remaining.clone(),
        // Both texts of each range would be fetched for nothing.
        _ => trim::operative(merge.left.as_ref(), source.primary(), remaining)?,
    };
    let entry = MergePath::new(merge.target.relpath.clone());
    merge.paths = vec![MergePath { remaining: Some(ranges.clone()), ..entry }];
    for range in ranges.0 {
        merge.begun = None;
        let slice = source.part(range.start, range.end);
        merge.drive_file(&slice, related)?;
        if !merge.conflicted.is_empty() {
            let right = source.right.revision;
            let rest = (range.end != right).then(|| source.part(range.end, right));
            return Ok(merge.range_conflict(&slice, rest));
        }
        let left = merge.paths.first_mut().and_then(|entry| entry.remaining.as_mut());
        if let Some(left) = left.filter(|left| !left.is_empty()) {
            left.0.remove(0);
        }
    }
    Ok(None)
}
