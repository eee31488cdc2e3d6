//! Which locations revisions of a line of history are merged from: a range over which the source was
//! copied is one source for each location.

use sapwood_core::mergeinfo::{MergeRange, RangeList};
use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{Revnum, Segment, SvnResult};
use sapwood_ra::Session;

use super::source::MergeSource;
use crate::mergeinfo::place::{RepoLocation, location, segments};

/// The sources of ranges of the history of a location, in the order of the ranges; within one the way
/// it goes.
///
/// # Errors
/// E195012 when the location is not there in the youngest of the revisions; those of the session.
pub(super) fn sources_of(
    session: &dyn Session,
    place: &RepoLocation,
    ranges: &RangeList,
) -> SvnResult<Vec<MergeSource>> {
    let Some((oldest, youngest)) = bounds_of(ranges) else { return Ok(Vec::new()) };
    let mut peg = place.clone();
    if peg.revision < youngest {
        // That it is the same node is all that the other side can be asked here.
        location(session, place, youngest)?;
        peg.revision = youngest;
    }
    let history = segments(session, &peg, youngest, oldest)?;
    sources_in(session, place, ranges, history, oldest)
}

/// The oldest and the youngest revision of ranges.
fn bounds_of(ranges: &RangeList) -> Option<(u64, u64)> {
    let bounds = |range: &MergeRange| (range.start.min(range.end), range.start.max(range.end));
    ranges.0.iter().map(bounds).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
}

/// As [`sources_of`], for the node that is where the session is in the youngest revision, which need not be
/// known for that. `None` when it does not answer: then the longer way says why.
///
/// # Errors
/// Those of the session.
pub(super) fn sources_at_head(
    session: &dyn Session,
    ranges: &RangeList,
) -> SvnResult<Option<Vec<MergeSource>>> {
    let Some((oldest, youngest)) = bounds_of(ranges) else { return Ok(Some(Vec::new())) };
    let mut history = Vec::new();
    let (start, end) = (Some(Revnum(youngest)), Some(Revnum(oldest)));
    let result = session.location_segments(RelPath::ROOT, None, start, end, &mut |segment| {
        history.push(segment.clone());
        Ok(())
    });
    if result.is_err() {
        return Ok(None);
    }
    history.sort_by_key(|segment| segment.start);
    let place = RepoLocation::of(session, Revnum(youngest))?;
    sources_in(session, &place, ranges, history, oldest).map(Some)
}

fn sources_in(
    session: &dyn Session,
    place: &RepoLocation,
    ranges: &RangeList,
    mut history: Vec<Segment>,
    oldest: u64,
) -> SvnResult<Vec<MergeSource>> {
    let mut trim = 0;
    if let Some(first) = history.first() {
        if first.start.0 != oldest {
            trim = first.start.0;
        } else if first.path.is_none()
            && let Some(source) = copied_from(session, place, history.get(1))?
        {
            history.insert(0, source);
        }
    }
    let mut sources = Vec::new();
    for range in &ranges.0 {
        if range.start.max(range.end) < trim {
            continue;
        }
        let range = MergeRange { start: range.start.max(trim), end: range.end.max(trim), ..*range };
        sources.extend(cut(&history, place, &range));
    }
    Ok(sources)
}

/// The last revision of what a segment begins as a copy of.
fn copied_from(
    session: &dyn Session,
    place: &RepoLocation,
    segment: Option<&Segment>,
) -> SvnResult<Option<Segment>> {
    let Some((path, start)) = segment.and_then(|s| Some((s.path.as_ref()?, s.start))) else {
        return Ok(None);
    };
    let found = segments(session, &place.at(RelPath::new(path)?, start.0), start.0, 0)?;
    let older = found.into_iter().rev().find(|s| s.path.is_some() && s.end < start);
    Ok(older.map(|segment| Segment { start: segment.end, ..segment }))
}

/// The sources of one range.
fn cut(history: &[Segment], place: &RepoLocation, range: &MergeRange) -> Vec<MergeSource> {
    let min = range.start.min(range.end).saturating_add(1);
    let max = range.start.max(range.end);
    let mut sources = Vec::new();
    for (at, segment) in history.iter().enumerate() {
        let (start, end) = (segment.start.0, segment.end.0);
        let Some(path) = segment.path.as_ref().filter(|_| end >= min && start <= max) else {
            continue;
        };
        let before = |back: usize| at.checked_sub(back).and_then(|at| history.get(at));
        let mut revision = start.max(min).saturating_sub(1);
        let older = if min > start {
            Some(path)
        } else {
            match (before(1).and_then(|s| s.path.as_ref()), before(2)) {
                (Some(path), _) => Some(path),
                // Before a copy from further back there was nothing: what was copied counts.
                (None, Some(Segment { path: Some(path), end: Revnum(end), .. })) => {
                    revision = *end;
                    Some(path)
                }
                (None, _) => None,
            }
        };
        let Some(older) = older else { continue };
        let at = |path: &str, revision| place.at(&RelPathBuf::canonicalize(path), revision);
        let (left, right) = (at(older, revision), at(path, end.min(max)));
        sources.push(if range.start > range.end {
            MergeSource { left: right, right: left, ancestral: true }
        } else {
            MergeSource { left, right, ancestral: true }
        });
    }
    if range.start > range.end {
        sources.reverse();
    }
    sources
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(path: Option<&str>, start: u64, end: u64) -> Segment {
        Segment { path: path.map(RelPathBuf::canonicalize), start: Revnum(start), end: Revnum(end) }
    }

    #[test]
    fn ranges_over_copies() {
        let place = RepoLocation {
            root: sapwood_core::Url::new("file:///r").unwrap().to_owned(),
            uuid: "u".to_owned(),
            relpath: RelPathBuf::trusted("b".to_owned()),
            revision: 20,
        };
        let history = [segment(Some("t"), 1, 5), segment(None, 6, 9), segment(Some("b"), 10, 20)];
        let found = |start, end| {
            let range = MergeRange { start, end, inheritable: true };
            let shown = |p: &RepoLocation| format!("{}@{}", p.relpath, p.revision);
            cut(&history, &place, &range)
                .iter()
                .map(|s| format!("{} {}", shown(&s.left), shown(&s.right)))
                .collect::<Vec<_>>()
        };
        assert_eq!(found(11, 14), ["b@11 b@14"]);
        assert_eq!(found(3, 14), ["t@3 t@5", "t@5 b@14"]);
        assert_eq!(found(14, 3), ["b@14 t@5", "t@5 t@3"]);
    }
}
