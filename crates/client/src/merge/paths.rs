//! Nodes of the target that need ranges of their own.

use sapwood_core::mergeinfo::{MergeRange, Mergeinfo, RangeList};
use sapwood_core::path;
use sapwood_core::paths::{RelPath, RelPathBuf};

/// The target, or a node below it that differs in what was merged, or in what can be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MergePath {
    /// The path below the working copy's root.
    pub relpath: RelPathBuf,
    /// A directory that lacks some of its children.
    pub missing_child: bool,
    /// A directory with a child that is switched.
    pub switched_child: bool,
    /// It is switched.
    pub switched: bool,
    /// Its mergeinfo has ranges that children do not inherit.
    pub has_noninheritable: bool,
    /// It is not in the working copy.
    pub absent: bool,
    /// A child of one with ranges that children do not inherit.
    pub child_of_noninheritable: bool,
    /// A directory right below the target of a merge of depth immediates.
    pub immediate_dir: bool,
    /// Whether it gets mergeinfo of this merge.
    pub record: bool,
    /// Whether children do not inherit that.
    pub noninheritable: bool,
    /// Its mergeinfo is its parent's.
    pub inherited: bool,
    /// The ranges that remain to be merged; `None` if unknown.
    pub remaining: Option<RangeList>,
    /// Its mergeinfo before the merge.
    pub before: Option<Mergeinfo>,
    /// Its own history.
    pub implicit: Option<Mergeinfo>,
}

impl MergePath {
    /// A path with nothing else to say.
    #[must_use]
    pub fn new(relpath: impl Into<RelPathBuf>) -> Self {
        Self { relpath: relpath.into(), ..Self::default() }
    }

    /// The range that is merged next.
    #[must_use]
    pub fn next(&self) -> Option<&MergeRange> {
        self.remaining.as_ref()?.0.first()
    }
}

/// For each path of a list (in the order of paths) the location of the nearest one above it.
#[must_use]
pub fn parents(paths: &[MergePath]) -> Vec<Option<usize>> {
    let mut above: Vec<usize> = Vec::new();
    let mut found = Vec::with_capacity(paths.len());
    for (at, path) in paths.iter().enumerate() {
        let is_above = |other: &usize| {
            let other = paths.get(*other);
            other.is_some_and(|other| path::is_ancestor(&other.relpath, &path.relpath))
        };
        while above.last().is_some_and(|last| !is_above(last)) {
            above.pop();
        }
        found.push(above.last().copied());
        above.push(at);
    }
    found
}

/// The nearest path of the list at or (unless it counts itself) above another.
#[must_use]
pub fn nearest<'p>(
    paths: &'p [MergePath],
    relpath: &RelPath,
    itself: bool,
) -> Option<&'p MergePath> {
    ancestors(paths, relpath, itself).next()
}

fn ancestors<'p>(
    paths: &'p [MergePath],
    relpath: &RelPath,
    itself: bool,
) -> impl Iterator<Item = &'p MergePath> {
    paths.iter().rev().filter(move |path| {
        path::is_ancestor(&path.relpath, relpath) && (itself || path.relpath != relpath)
    })
}

/// The farthest path above another whose next range has revisions in common with those of the ones
/// between, and all revisions of these ranges (none where it is not known what is left).
#[must_use]
pub fn farthest<'p>(
    paths: &'p [MergePath],
    relpath: &RelPath,
    itself: bool,
) -> Option<(&'p MergePath, Option<(u64, u64)>)> {
    let mut above = ancestors(paths, relpath, itself);
    let mut found = above.next()?;
    if found.remaining.is_none() {
        return Some((found, None));
    }
    let mut all = found.next().map(|range| (range.start, range.end));
    for path in above {
        let (Some(one), Some(two)) = (found.next(), path.next()) else { continue };
        let reverse = one.start > two.end;
        let forward = |r: &MergeRange| if reverse { (r.end, r.start) } else { (r.start, r.end) };
        let (a, b) = (forward(one), forward(two));
        if a.0 < b.1 && b.0 < a.1 {
            let (start, end) = (one.start, one.end);
            all = Some(if reverse {
                (start.max(two.start), end.min(two.end))
            } else {
                (start.min(two.start), end.max(two.end))
            });
            found = path;
        }
    }
    Some((found, all))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(relpath: &RelPath, start: u64, end: u64) -> MergePath {
        let range = MergeRange { start, end, inheritable: true };
        MergePath { remaining: Some(RangeList(vec![range])), ..MergePath::new(relpath) }
    }

    #[test]
    fn nearest_above() {
        let paths = ["", "a", "a/b/c", "a-b", "d/e"].map(|at| MergePath::new(RelPath::trusted(at)));
        assert_eq!(parents(&paths), [None, Some(0), Some(1), Some(0), Some(0)]);
    }

    #[test]
    fn ranges_in_common() {
        let paths = [
            path(RelPath::ROOT, 3, 9),
            path(RelPath::trusted("a"), 5, 7),
            path(RelPath::trusted("a/b"), 9, 12),
        ];
        let found = |relpath, itself| {
            farthest(&paths, relpath, itself).map(|(p, all)| (p.relpath.as_str(), all))
        };
        assert_eq!(found(RelPath::trusted("a/x"), true), Some(("", Some((3, 9)))));
        assert_eq!(found(RelPath::trusted("a/b/c"), true), Some(("a/b", Some((9, 12)))));
        assert_eq!(found(RelPath::trusted("a"), false), Some(("", Some((3, 9)))));
        assert_eq!(nearest(&paths, RelPath::trusted("a/b"), false).unwrap().relpath, "a");
        assert_eq!(nearest(&paths, RelPath::ROOT, false), None);
    }
}
