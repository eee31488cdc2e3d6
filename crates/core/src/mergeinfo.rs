//! The `svn:mergeinfo` property: paths, each with the ranges of revisions merged from there.

use std::collections::BTreeMap;

use crate::SvnResult;

/// A range of revisions: after `start`, up to and with `end`. `start` is the greater one in a
/// reverse range, which then means the same revisions taken away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MergeRange {
    /// The boundary that is not part of the range (one less than the oldest revision).
    pub start: u64,
    /// The youngest revision.
    pub end: u64,
    /// Whether children inherit the range (no `*` behind it).
    pub inheritable: bool,
}

/// Ranges in ascending order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RangeList(pub Vec<MergeRange>);

/// Merge sources (fspaths) and what was merged from each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mergeinfo(pub BTreeMap<String, RangeList>);

#[allow(clippy::missing_errors_doc, unused_variables)]
impl Mergeinfo {
    /// Parses a property value; E200020 with the reference's sentences for anything malformed.
    pub fn parse(value: &[u8]) -> SvnResult<Self> {
        todo!()
    }

    /// The property value.
    #[must_use]
    pub fn to_value(&self) -> String {
        todo!()
    }
}
