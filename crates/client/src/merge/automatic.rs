//! Merges without revisions: what the target lacks is found out.

use sapwood_core::{ErrorCode, SvnError, SvnResult};
use sapwood_ra::Session;

use super::source::MergeSource;
use super::target::MergeTarget;
use crate::context::Context;
use crate::mergeinfo::place::Place;

/// What an automatic merge has to do.
#[derive(Clone, Debug)]
pub(super) struct AutomaticMerge {
    /// The youngest common ancestor.
    pub(super) ancestor: Place,
    /// Where what is left to merge begins.
    pub(super) base: Place,
    /// What is merged.
    pub(super) right: Place,
    /// Whether the last merge between the two went the other way.
    pub(super) reintegrate_like: bool,
}

fn not_there<T>() -> SvnResult<T> {
    Err(SvnError::new(
        ErrorCode::UNSUPPORTED_FEATURE,
        "This svn cannot merge without revisions yet",
    ))
}

/// Finds out what is to be merged from a source (in the revision of its place) into a target.
pub(super) fn find(
    _: &Context,
    _: &dyn Session,
    _: &Place,
    _: &MergeTarget,
) -> SvnResult<AutomaticMerge> {
    not_there()
}

/// The two sides of a merge back, and the youngest common ancestor; `None` when there is nothing to
/// merge.
pub(super) fn find_reintegrate(
    _: &Context,
    _: &dyn Session,
    _: &Place,
    _: &MergeTarget,
) -> SvnResult<Option<(MergeSource, Place)>> {
    not_there()
}
