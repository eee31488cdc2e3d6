//! Merges that look up what was merged before.

use sapwood_core::{ErrorCode, SvnError, SvnResult};

use super::Merge;
use super::run::{PathMergeinfo, RangeConflict};
use super::source::MergeSource;

fn not_there<T>() -> SvnResult<T> {
    Err(SvnError::new(
        ErrorCode::UNSUPPORTED_FEATURE,
        "This svn cannot merge without --ignore-ancestry yet",
    ))
}

/// Merges what a directory and the nodes below it with ranges of their own lack.
pub(super) fn directory(
    _: &mut Merge<'_>,
    _: &MergeSource,
    _: Option<&mut PathMergeinfo>,
    _: bool,
) -> SvnResult<Option<RangeConflict>> {
    not_there()
}

/// Merges what a file lacks.
pub(super) fn file(
    _: &mut Merge<'_>,
    _: &MergeSource,
    _: bool,
    _: Option<&mut PathMergeinfo>,
    _: bool,
) -> SvnResult<Option<RangeConflict>> {
    not_there()
}
