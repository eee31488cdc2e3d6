//! What a run hands to the merge of a source and gets back from it.

use std::collections::{BTreeMap, BTreeSet};

use sapwood_core::mergeinfo::Mergeinfo;
use sapwood_core::paths::RelPathBuf;
use sapwood_core::{ErrorCode, SvnError, SvnResult};

use super::MergeOptions;
use super::source::MergeSource;
use super::target::MergeTarget;

/// Mergeinfo by path below the working copy's root.
pub(crate) type PathMergeinfo = BTreeMap<RelPathBuf, Mergeinfo>;

/// A range that left conflicts open.
#[derive(Clone, Debug)]
pub struct RangeConflict {
    /// The range.
    pub range: MergeSource,
    /// The sources that remain after it.
    pub remaining: Option<MergeSource>,
}

/// The task of a run.
#[derive(Debug)]
pub struct MergeRun<'r> {
    /// The sources.
    pub sources: &'r [MergeSource],
    /// The target.
    pub target: &'r MergeTarget,
    /// How.
    pub options: MergeOptions,
    /// Whether both sides of the sources have a common ancestor.
    pub related: bool,
    /// Whether the sources are in the target's repository.
    pub same_repos: bool,
    /// Whether it is a merge back into where the source came from.
    pub reintegrate: bool,
    /// Whether the notification of recorded mergeinfo is left out.
    pub quiet: bool,
    /// With `record_only`: the paths that were touched; mergeinfo is recorded on subtrees with some.
    pub only: Option<&'r BTreeSet<RelPathBuf>>,
    /// Takes the mergeinfo that would be recorded; it is not recorded then.
    pub catalog: Option<&'r mut PathMergeinfo>,
}

/// How a run ended.
#[derive(Clone, Debug, Default)]
pub struct MergeOutcome {
    /// The paths that were touched.
    pub touched: BTreeSet<RelPathBuf>,
    /// The paths that are changed or in conflict now.
    pub changed: BTreeSet<RelPathBuf>,
    /// The range that left conflicts open, and whether it was the last one.
    pub conflict: Option<(MergeSource, bool)>,
}

impl MergeOutcome {
    /// Checks that no conflict keeps revisions from being merged.
    ///
    /// # Errors
    /// E155015 when one does.
    pub fn check(&self, target: &MergeTarget) -> SvnResult<()> {
        let Some((range, false)) = &self.conflict else { return Ok(()) };
        Err(SvnError::new(
            ErrorCode::WC_FOUND_CONFLICT,
            format!(
                "One or more conflicts were produced while merging r{}:{} into\n'{}' --\nresolve all \
                 conflicts and rerun the merge to apply the remaining\nunmerged revisions",
                range.left.revision,
                range.right.revision,
                target.display_path()
            ),
        ))
    }

    /// Whether nothing more may be merged before conflicts are resolved.
    #[must_use]
    pub(crate) const fn is_stopped(&self) -> bool {
        matches!(self.conflict, Some((_, false)))
    }
}
