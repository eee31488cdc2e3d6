//! Lists of revision ranges and their arithmetic.

use crate::Exact;
use std::fmt;

use crate::error::{ErrorCode, SvnError, SvnResult};

/// A range of revisions: after `start`, up to and with `end`. `start` is the greater one in a
/// reverse range, which means the same revisions taken away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MergeRange {
    /// The boundary that is not part of the range (one less than the oldest revision).
    pub start: u64,
    /// The youngest revision.
    pub end: u64,
    /// Whether children inherit the range (no `*` behind it).
    pub inheritable: bool,
}

impl MergeRange {
    fn before(&self, other: &Self) -> bool {
        (self.start, self.end) < (other.start, other.end)
    }

    /// Whether both touch or overlap.
    fn touches(&self, other: &Self) -> bool {
        self.start <= other.end && other.start <= self.end
    }

    /// Whether both have a revision in common and (where asked) one inheritability.
    fn overlaps(&self, other: &Self, consider_inheritance: bool) -> bool {
        self.start < other.end
            && other.start < self.end
            && (!consider_inheritance || self.inheritable == other.inheritable)
    }

    /// Whether `other` lies within this one and (where asked) has its inheritability.
    fn contains(&self, other: &Self, consider_inheritance: bool) -> bool {
        self.start <= other.start
            && other.end <= self.end
            && (!consider_inheritance || self.inheritable == other.inheritable)
    }

    /// One range for both, if they touch and their inheritability allows it.
    fn joined(&self, other: &Self, consider_inheritance: bool) -> Option<Self> {
        let fits = !consider_inheritance || self.inheritable == other.inheritable;
        (self.touches(other) && fits).then(|| Self {
            start: self.start.min(other.start),
            end: self.end.max(other.end),
            inheritable: self.inheritable || other.inheritable,
        })
    }
}

impl fmt::Display for MergeRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (start, end) = (self.start, self.end);
        if start.checked_add(1) == Some(end) {
            write!(f, "{end}")?;
        } else if end.checked_add(1) == Some(start) {
            write!(f, "-{start}")?;
        } else if start < end {
            write!(f, "{}-{end}", start.plus(1))?;
        } else {
            write!(f, "{start}-{}", end.plus(1))?;
        }
        f.write_str(if self.inheritable { "" } else { "*" })
    }
}

/// Ranges in ascending order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RangeList(pub Vec<MergeRange>);

impl fmt::Display for RangeList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0
            .iter()
            .enumerate()
            .try_for_each(|(at, range)| write!(f, "{}{range}", if at > 0 { "," } else { "" }))
    }
}

impl RangeList {
    /// The list of one range.
    #[must_use]
    pub fn one(start: u64, end: u64, inheritable: bool) -> Self {
        Self(vec![MergeRange { start, end, inheritable }])
    }

    /// Whether there are no ranges.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether `revision` is in one of the (forward) ranges.
    #[must_use]
    pub fn contains_revision(&self, revision: u64) -> bool {
        self.0.iter().any(|r| revision > r.start && revision <= r.end)
    }

    /// Only the ranges of inheritability `inheritable`.
    #[must_use]
    pub fn only(&self, inheritable: bool) -> Self {
        Self(self.0.iter().filter(|r| r.inheritable == inheritable).copied().collect())
    }

    /// The same ranges, all of inheritability `inheritable`.
    #[must_use]
    pub fn as_inheritable(&self, inheritable: bool) -> Self {
        let mut out = Self::default();
        for range in &self.0 {
            match out.0.last_mut() {
                Some(last) if last.end == range.start => last.end = range.end,
                _ => out.0.push(MergeRange { inheritable, ..*range }),
            }
        }
        out
    }

    /// The oldest and the youngest boundary of (forward) ranges; `None` when there are none.
    #[must_use]
    pub fn bounds(&self) -> Option<(u64, u64)> {
        self.0.first().zip(self.0.last()).map(|(first, last)| (first.start, last.end))
    }

    /// Turns every range around, and their order.
    pub fn reverse(&mut self) {
        self.0.reverse();
        for range in &mut self.0 {
            std::mem::swap(&mut range.start, &mut range.end);
        }
    }

    fn is_canonical(&self) -> bool {
        self.0.iter().all(|r| r.start < r.end)
            && self.0.windows(2).all(|pair| match pair {
                [a, b] => a.end < b.start || (a.end == b.start && a.inheritable != b.inheritable),
                _ => true,
            })
    }

    /// Sorts, and joins ranges that touch and have one inheritability.
    ///
    /// # Errors
    /// E200020 when ranges of different inheritability overlap.
    pub fn canonicalize(&mut self) -> SvnResult<()> {
        if self.is_canonical() {
            return Ok(());
        }
        self.0.sort_by_key(|r| (r.start, r.end));
        let mut out: Vec<MergeRange> = Vec::with_capacity(self.0.len());
        for range in self.0.drain(..) {
            match out.last_mut() {
                Some(last) if last.touches(&range) => {
                    if last.inheritable == range.inheritable {
                        last.end = last.end.max(range.end);
                    } else if range.start < last.end {
                        return Err(SvnError::new(
                            ErrorCode::MERGEINFO_PARSE_ERROR,
                            format!(
                                "Unable to parse overlapping revision ranges '{last}' and \
                                 '{range}' with different inheritance types"
                            ),
                        ));
                    } else {
                        out.push(range);
                    }
                }
                _ => out.push(range),
            }
        }
        self.0 = out;
        Ok(())
    }

    /// Adds what `other` has; where both have a revision, it is inheritable if it is in either.
    pub fn merge(&mut self, other: &Self) {
        let mut out = Builder::default();
        let (mut mine, mut theirs) = (Intervals::new(&self.0), Intervals::new(&other.0));
        let (mut a, mut b) = (mine.next(), theirs.next());
        let mut from = 0;
        loop {
            let (to, kind) = match (a, b) {
                (Some(a), Some(b)) => (a.end.min(b.end), a.kind.max(b.kind)),
                (Some(only), None) | (None, Some(only)) => (only.end, only.kind),
                (None, None) => break,
            };
            out.add(from, to, kind);
            if a.is_some_and(|i| i.end <= to) {
                a = mine.next();
            }
            if b.is_some_and(|i| i.end <= to) {
                b = theirs.next();
            }
            from = from.max(to);
        }
        *self = out.finish();
    }

    /// What is in both. Without `consider_inheritance`, a common range is inheritable unless it is
    /// not in either.
    #[must_use]
    pub fn intersect(a: &Self, b: &Self, consider_inheritance: bool) -> Self {
        Self::intersect_or_remove(a, b, false, consider_inheritance)
    }

    /// What is in `whiteboard` and not in `eraser`.
    #[must_use]
    pub fn remove(eraser: &Self, whiteboard: &Self, consider_inheritance: bool) -> Self {
        Self::intersect_or_remove(eraser, whiteboard, true, consider_inheritance)
    }

    /// Whether both hold the same revisions (and inheritability, where asked).
    #[must_use]
    pub fn equals(&self, other: &Self, consider_inheritance: bool) -> bool {
        if self.0.len() == other.0.len() {
            let mut same = true;
            for (a, b) in self.0.iter().zip(&other.0) {
                if (a.start, a.end) != (b.start, b.end) {
                    same = false;
                    break;
                }
                if consider_inheritance && a.inheritable != b.inheritable {
                    return false;
                }
            }
            if same {
                return true;
            }
        }
        Self::remove(other, self, consider_inheritance).is_empty()
            && Self::remove(self, other, consider_inheritance).is_empty()
    }

    fn intersect_or_remove(list1: &Self, list2: &Self, remove: bool, consider: bool) -> Self {
        let mut out = Self::default();
        let mut first = list1.0.iter().copied().peekable();
        let mut second = list2.0.iter().copied();
        // What is left of the current range of the second list.
        let mut current = second.next();
        while let (Some(one), Some(two)) = (first.peek().copied(), current) {
            let inheritable = one.inheritable || two.inheritable;
            if one.contains(&two, consider) {
                if !remove {
                    out.append(MergeRange { inheritable, ..two }, consider);
                }
                current = second.next();
                if (one.start, one.end) == (two.start, two.end) {
                    first.next();
                }
            } else if one.overlaps(&two, consider) {
                if two.start < one.start {
                    let part = if remove {
                        MergeRange { end: one.start, ..two }
                    } else {
                        MergeRange { start: one.start, end: two.end.min(one.end), inheritable }
                    };
                    out.append(part, consider);
                }
                if two.end > one.end {
                    if !remove {
                        let start = two.start.max(one.start);
                        out.append(MergeRange { start, end: one.end, inheritable }, consider);
                    }
                    current = Some(MergeRange { start: one.end, ..two });
                } else {
                    current = second.next();
                }
            } else if one.before(&two) {
                first.next();
            } else {
                if remove {
                    match out.0.last_mut() {
                        Some(last) => match last.joined(&two, consider) {
                            Some(both) => *last = both,
                            None => out.0.push(two),
                        },
                        None => out.0.push(two),
                    }
                }
                current = second.next();
            }
        }
        if remove {
            for range in current.into_iter().chain(second) {
                out.append(range, consider);
            }
        }
        out
    }

    /// Adds a range that reaches no further back than the last one. With `consider`, an overlap
    /// of different inheritability becomes inheritable and the rest keeps its own.
    fn append(&mut self, range: MergeRange, consider: bool) {
        let Some(last) = self.0.last_mut() else {
            self.0.push(range);
            return;
        };
        if let Some(both) = last.joined(&range, consider) {
            *last = both;
        } else if consider && last.overlaps(&range, false) {
            let last = *last;
            self.0.pop();
            let mut list = Self(vec![last]);
            list.merge(&Self(vec![range]));
            self.0.extend(list.0);
        } else {
            let sorted = last.before(&range);
            self.0.push(range);
            if !sorted {
                self.0.sort_by_key(|r| (r.start, r.end));
            }
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    #[default]
    Gap,
    NonInheritable,
    Inheritable,
}

#[derive(Clone, Copy, Debug, Default)]
struct Interval {
    start: u64,
    end: u64,
    kind: Kind,
}

/// The ranges of a list and the gaps before and between them, empty ones left out.
struct Intervals<'a> {
    ranges: std::slice::Iter<'a, MergeRange>,
    /// The range that follows the gap returned last.
    pending: Option<MergeRange>,
    at: u64,
}

impl<'a> Intervals<'a> {
    fn new(ranges: &'a [MergeRange]) -> Self {
        Self { ranges: ranges.iter(), pending: None, at: 0 }
    }

    fn next(&mut self) -> Option<Interval> {
        loop {
            if let Some(range) = self.pending.take() {
                let kind = if range.inheritable { Kind::Inheritable } else { Kind::NonInheritable };
                self.at = range.end;
                if range.start < range.end {
                    return Some(Interval { start: range.start, end: range.end, kind });
                }
                continue;
            }
            let range = *self.ranges.next()?;
            self.pending = Some(range);
            if range.start > self.at {
                return Some(Interval { start: self.at, end: range.start, kind: Kind::Gap });
            }
        }
    }
}

/// Joins consecutive intervals of one kind.
#[derive(Default)]
struct Builder {
    out: RangeList,
    current: Interval,
}

impl Builder {
    fn add(&mut self, start: u64, end: u64, kind: Kind) {
        if start >= end {
            return;
        }
        if kind == self.current.kind {
            self.current.end = end;
        } else {
            self.flush();
            self.current = Interval { start, end, kind };
        }
    }

    fn flush(&mut self) {
        if self.current.kind != Kind::Gap {
            self.out.0.push(MergeRange {
                start: self.current.start,
                end: self.current.end,
                inheritable: self.current.kind == Kind::Inheritable,
            });
        }
    }

    fn finish(mut self) -> RangeList {
        self.flush();
        self.out
    }
}
