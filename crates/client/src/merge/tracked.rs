//! Merges that look up what was merged before, merge what is missing in slices that are the same for
//! all nodes, and record it.

use std::rc::Rc;

use sapwood_core::paths::RelPathBuf;
use sapwood_core::{ErrorCode, Inherit, SvnResult, path};

use super::Merge;
use super::checkpoint::Stage;
use super::paths::{MergePath, nearest};
use super::record::{self, write_one};
use super::remaining::{Calculation, own_history};
use super::source::MergeSource;
use super::types::{PathMergeinfo, RangeConflict};
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
    let mut stage = match merge.stage.take() {
        Some(stage) => stage,
        None => {
            let wc = merge.wc().clone();
            wc.db().questions(|| begin(merge, source))?
        }
    };
    merge.undo.clear();
    if !stage.merged {
        let result = all_slices(merge, &mut stage).and_then(|()| merge.make_sure());
        stage.merged = result.is_ok();
        keep(merge, &stage, result)?;
    }
    let mut range = stage.range;
    if let Some(found) = &stage.conflict {
        range.end = found.range.right.revision;
    }
    if merge.records_mergeinfo() {
        // The record is taken back when it is not made to its end.
        merge.undo.clear();
        let fspath = source.primary().fspath();
        let result = record_in(merge, &range, &fspath, catalog, quiet);
        keep(merge, &stage, result)?;
    }
    Ok(stage.conflict)
}

/// Keeps how far it came when it goes no further.
fn keep<T>(merge: &mut Merge<'_>, stage: &Stage, result: SvnResult<T>) -> SvnResult<T> {
    if result.is_err() {
        merge.stage = Some(stage.clone());
    }
    result
}

fn record_in(
    merge: &mut Merge<'_>,
    range: &MergeRange,
    fspath: &str,
    catalog: Option<&mut PathMergeinfo>,
    quiet: bool,
) -> SvnResult<()> {
    record::directory(merge, range, fspath, catalog, quiet)?;
    if range.start < range.end {
        record::additions(merge, range, fspath, quiet, false)?;
    }
    Ok(())
}

/// Finds out what is missing where.
fn begin(merge: &mut Merge<'_>, source: &MergeSource) -> SvnResult<Stage> {
    let mut stage = Stage::new(source.clone());
    merge.paths = subtrees::collect(merge)?;
    merge.find_remaining(source)?;
    if !merge.reintegrate {
        if let Some(start) = first_revision(merge, source, |range| range.start) {
            stage.range.start = start;
        }
        merge.learn_changes(source)?;
        if !source.is_reverse() {
            merge.drop_inoperative(source)?;
        }
        merge.fit_to_parents(source)?;
    }
    Ok(stage)
}

fn all_slices(merge: &mut Merge<'_>, stage: &mut Stage) -> SvnResult<()> {
    if !merge.reintegrate {
        stage.conflict = slices(merge, stage)?;
    } else if !merge.options.record_only {
        merge.begun = None;
        merge.drive_dir(&stage.source)?;
    }
    Ok(())
}

/// Records what is whole of a merge that is stopped: the slices before the one under way.
pub(super) fn record_whole(merge: &mut Merge<'_>) -> SvnResult<()> {
    let Some(stage) = merge.stage.clone().filter(|_| merge.records_mergeinfo()) else {
        return Ok(());
    };
    let Some(whole) = stage.whole.filter(|_| !stage.recorded) else { return Ok(()) };
    let range = MergeRange { end: whole, ..stage.range };
    let fspath = stage.source.primary().fspath();
    record::directory(merge, &range, &fspath, None, false)?;
    if range.start < range.end {
        record::additions(merge, &range, &fspath, false, true)?;
    }
    Ok(())
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
fn slices(merge: &mut Merge<'_>, stage: &mut Stage) -> SvnResult<Option<RangeConflict>> {
    let source = stage.source.clone();
    loop {
        let Some((start, end)) = next_slice(merge, stage, &source) else { return Ok(None) };
        let slice = source.part(start, end);
        if !stage.driven {
            merge.ctx.check_cancel()?;
            merge.begun = None;
            merge.drive_dir(&slice)?;
            stage.driven = true;
        }
        if !merge.options.dry_run {
            let wc = merge.wc().clone();
            wc.db().questions(|| take_new_mergeinfo(merge))?;
            merge.undo.clear();
        }
        finish_slice(merge, stage, end);
        if !merge.conflicted.is_empty() {
            let right = source.right.revision;
            let rest = (end != right).then(|| source.part(end, right));
            return Ok(merge.range_conflict(&slice, rest));
        }
    }
}

/// The slice under way, or the next one: what all nodes that need its beginning need.
fn next_slice(
    merge: &mut Merge<'_>,
    stage: &mut Stage,
    source: &MergeSource,
) -> Option<(u64, u64)> {
    if stage.slice.is_some() {
        return stage.slice;
    }
    let start = first_revision(merge, source, |range| range.start);
    let end = first_revision(merge, source, |range| range.end);
    let (start, mut end) = (start?, end?);
    // The edit begins with the target: a slice must not reach into what the target needs only
    // from a later revision on.
    let first = merge.paths.first().and_then(MergePath::next).map(|range| range.start);
    if let Some(first) = first.filter(|first| *first != start) {
        end = if source.is_reverse() { end.max(first) } else { end.min(first) };
    }
    for entry in merge.paths.iter_mut().filter(|entry| !entry.absent) {
        cut(entry.remaining.as_mut(), end);
    }
    stage.slice = Some((start, end));
    stage.slice
}

/// A slice is whole: no node needs it any more.
fn finish_slice(merge: &mut Merge<'_>, stage: &mut Stage, end: u64) {
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
    (stage.slice, stage.driven, stage.whole) = (None, false, Some(end));
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
    let mut paths: Vec<RelPathBuf> = merge.new_mergeinfo.iter().cloned().collect();
    // Parents come first, so that the order is always the same.
    paths.sort_by(|a, b| path::compare(a, b));
    let session = Rc::clone(&merge.right);
    for relpath in paths {
        let Some(mut own) = explicit(merge.wc(), &relpath)? else { continue };
        let node = merge.node(&relpath)?;
        let above = find_anywhere(&node, session.as_ref(), Inherit::NearestAncestor, false)?;
        if let Some(above) = above.mergeinfo {
            own.merge(&above);
            write_one(merge.wc(), &merge.undo, &relpath, Some(&own), None)?;
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
                merge.target.display_path()
            ),
        )
    })?;
    let (one, other) = (source.left.revision, source.right.revision);
    let implicit = own_history(session.as_ref(), &node, (one.max(other), one.min(other)))?;
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
        let mut whole = None;
        let result = file_slices(merge, source, related, &remaining, &mut whole);
        if let (Err(_), Some(end)) = (&result, whole)
            && merge.records_mergeinfo()
        {
            // The merged part is recorded, so that the same merge continues after it.
            range.end = end;
            let before = found.inherited.then_some(found.mergeinfo.clone()).flatten();
            record::file(merge, source, &range, &implicit, before.as_ref(), None, quiet)?;
        }
        conflict = result?;
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
    whole: &mut Option<u64>,
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
        *whole = Some(range.end);
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
