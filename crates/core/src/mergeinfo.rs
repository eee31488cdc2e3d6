//! The `svn:mergeinfo` property: paths, each with the ranges of revisions merged from there.
//!
//! [`Mergeinfo`] is one property value, [`RangeList`] the ranges of one merge source. The text
//! form is one line a source, `/path:1-3,5*`; `*` marks ranges that children do not inherit.
//! Invariant of the arithmetic here: a canonical list in gives a canonical list out (ascending,
//! not overlapping, adjacent ranges of one inheritability joined).

mod parse;
mod rangelist;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt::Write as _;

pub use rangelist::{MergeRange, RangeList};

use crate::SvnResult;
use crate::path;

/// Merge sources (fspaths) and what was merged from each. Iteration is in bytewise order of the
/// sources.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mergeinfo(pub BTreeMap<String, RangeList>);

impl Mergeinfo {
    /// No merges.
    #[must_use]
    pub const fn new() -> Self {
        Self(BTreeMap::new())
    }

    /// Parses a property value.
    ///
    /// # Errors
    /// E200020 with the reference's sentences for anything malformed.
    pub fn parse(value: &[u8]) -> SvnResult<Self> {
        parse::parse(value)
    }

    /// The property value: sources in path order, one a line, no newline at the end.
    #[must_use]
    pub fn to_value(&self) -> String {
        let mut sources: Vec<(&String, &RangeList)> = self.0.iter().collect();
        sources.sort_by(|a, b| path::compare(a.0, b.0));
        let mut out = String::new();
        for (at, (source, ranges)) in sources.into_iter().enumerate() {
            if at > 0 {
                out.push('\n');
            }
            if !source.starts_with('/') {
                out.push('/');
            }
            // Writing to a String cannot fail.
            let _ = write!(out, "{source}:{ranges}");
        }
        out
    }

    /// Whether there are no merge sources.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds what `other` has.
    pub fn merge(&mut self, other: &Self) {
        for (source, ranges) in &other.0 {
            match self.0.entry(source.clone()) {
                Entry::Occupied(mut mine) => mine.get_mut().merge(ranges),
                Entry::Vacant(place) => {
                    place.insert(ranges.clone());
                }
            }
        }
    }

    /// What was deleted from and what was added to `from` to make `to`. With
    /// `consider_inheritance` ranges that differ only in inheritability differ.
    #[must_use]
    pub fn diff(from: &Self, to: &Self, consider_inheritance: bool) -> (Self, Self) {
        (from.without(to, consider_inheritance), to.without(from, consider_inheritance))
    }

    /// [`Mergeinfo::diff`] where either side may be missing; nothing differs when both are.
    #[must_use]
    pub fn diff_options(
        from: Option<&Self>,
        to: Option<&Self>,
        consider_inheritance: bool,
    ) -> (Self, Self) {
        match (from, to) {
            (Some(from), Some(to)) => Self::diff(from, to, consider_inheritance),
            (Some(from), None) => (from.clone(), Self::new()),
            (None, Some(to)) => (Self::new(), to.clone()),
            (None, None) => (Self::new(), Self::new()),
        }
    }

    /// What is here and not in `eraser`.
    #[must_use]
    pub fn without(&self, eraser: &Self, consider_inheritance: bool) -> Self {
        let mut out = Self::new();
        for (source, ranges) in &self.0 {
            let left = match eraser.0.get(source) {
                Some(erase) => RangeList::remove(erase, ranges, consider_inheritance),
                None => ranges.clone(),
            };
            if !left.is_empty() || !eraser.0.contains_key(source) {
                out.0.insert(source.clone(), left);
            }
        }
        out
    }

    /// What is in both.
    #[must_use]
    pub fn intersect(&self, other: &Self, consider_inheritance: bool) -> Self {
        let mut out = Self::new();
        for (source, ranges) in &self.0 {
            if let Some(theirs) = other.0.get(source) {
                let both = RangeList::intersect(ranges, theirs, consider_inheritance);
                if !both.is_empty() {
                    out.0.insert(source.clone(), both);
                }
            }
        }
        out
    }

    /// Whether both say the same, however their ranges are cut.
    #[must_use]
    pub fn equals(&self, other: &Self, consider_inheritance: bool) -> bool {
        self.0.len() == other.0.len()
            && self.0.iter().all(|(source, mine)| {
                other.0.get(source).is_some_and(|theirs| mine.equals(theirs, consider_inheritance))
            })
    }

    /// Only the ranges of inheritability `inheritable`; sources without any are left out.
    #[must_use]
    pub fn only(&self, inheritable: bool) -> Self {
        Self(
            self.0
                .iter()
                .map(|(source, ranges)| (source.clone(), ranges.only(inheritable)))
                .filter(|(_, ranges)| !ranges.is_empty())
                .collect(),
        )
    }

    /// All ranges, whatever their source.
    #[must_use]
    pub fn all_ranges(&self) -> RangeList {
        let mut all = RangeList::default();
        self.0.values().for_each(|ranges| all.merge(ranges));
        all
    }

    /// The oldest and the youngest boundary of all ranges; `None` when there are none.
    #[must_use]
    pub fn bounds(&self) -> Option<(u64, u64)> {
        self.0
            .values()
            .filter_map(RangeList::bounds)
            .reduce(|(oldest, youngest), (start, end)| (oldest.min(start), youngest.max(end)))
    }

    /// Only what is after `oldest`, up to and with `youngest`; sources without any are left out.
    #[must_use]
    pub fn within(&self, oldest: u64, youngest: u64) -> Self {
        let window = RangeList::one(oldest, youngest, true);
        Self(
            self.0
                .iter()
                .map(|(source, ranges)| {
                    (source.clone(), RangeList::intersect(&window, ranges, false))
                })
                .filter(|(_, ranges)| !ranges.is_empty())
                .collect(),
        )
    }

    /// Whether children do not inherit some of the ranges.
    #[must_use]
    pub fn has_noninheritable(&self) -> bool {
        self.0.values().any(|ranges| ranges.0.iter().any(|range| !range.inheritable))
    }

    /// Drops sources without ranges.
    pub fn drop_empty(&mut self) {
        self.0.retain(|_, ranges| !ranges.is_empty());
    }

    /// The same ranges with `relpath` appended to every source: what a child inherits.
    #[must_use]
    pub fn with_suffix(&self, relpath: &str) -> Self {
        Self(
            self.0
                .iter()
                .map(|(source, ranges)| (path::join(source, relpath), ranges.clone()))
                .collect(),
        )
    }
}
