//! `svn merge`: fetches a difference between two locations of a repository and applies it to a working
//! copy.
//!
//! | file | holds |
//! | --- | --- |
//! | `source` | the two sides of a difference |
//! | `entry` | the operations, and what they ask of their target |
//! | `target` | the target, and whether it is fit to be one |
//! | `run` | going through sources one after the other |
//! | `drive` | one range of a directory or of a file |
//! | `buffered_edit` | takes the repository's edit, and passes it on in pieces |
//! | `editor` | takes the pieces |
//! | `rebased_edit` | an edit that is requested from the parent directory |
//! | `apply`, `dirs`, `files` | what becomes of each node |
//! | `conflicts` | tree conflicts and skipped nodes |
//! | `props` | which changes of properties are taken |
//! | `normalize` | which locations a range of history is merged from |
//! | `tracked` | slices of what is missing, one after the other |
//! | `subtrees`, `paths` | the nodes of the target that need ranges of their own |
//! | `remaining`, `trim`, `changes` | what each of them needs |
//! | `record`, `elide` | that it was merged |
//! | `automatic`, `reintegrate` | what is to be merged when no revisions are given |
//! | `begin_notice` | the line that says which revisions come next |
//! | `left_props` | the properties of many files by one request |
//! | `checkpoint`, `resume` | the progress of a merge that is stopped, and continuing it |
//!
//! A [`Merge`] is the state of one run over some sources; everything that happens to paths is noted
//! in it, for the record of what was merged. Paths are relpaths below the working copy's root.

mod apply;
mod automatic;
mod begin_notice;
mod buffered_edit;
pub mod changes;
pub mod checkpoint;
mod conflicts;
mod dirs;
pub mod drive;
mod editor;
mod elide;
mod entry;
mod files;
mod left_props;
mod normalize;
mod opening;
pub mod paths;
mod props;
mod rebased_edit;
mod record;
mod reintegrate;
mod remaining;
mod report;
mod resume;
pub mod run;
pub mod source;
mod subtrees;
pub mod target;
mod tracked;
mod trim;
pub mod types;

use std::collections::BTreeSet;
use std::rc::Rc;

use sapwood_core::mergeinfo::MergeRange;
use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{Depth, SvnResult};
use sapwood_ra::Session;
use sapwood_wc::WorkingCopy;
use sapwood_wc::conflict::Conflict;
use sapwood_wc::local::Choice;

use self::checkpoint::{Checkpoint, Stage, Undo};
pub(crate) use self::entry::merge_two_reporting;
pub use self::entry::{TwoSources, merge_peg, merge_reintegrate, merge_two};
pub use self::paths::MergePath;
pub(crate) use self::props::props_state;
pub use self::source::MergeSource;
pub use self::target::MergeTarget;
use crate::context::Context;
use crate::mergeinfo::place::Lines;

/// Chooses how a conflict is resolved at once; `None` leaves it open.
pub type Settle = dyn Fn(&WorkingCopy, &RelPath, &Conflict) -> Option<Choice>;

/// How it is merged.
#[derive(Clone, Default)]
pub struct MergeOptions {
    /// How deep; `None` when it was not said.
    pub depth: Option<Depth>,
    /// Whether nothing is looked up or recorded of what was merged before.
    pub ignore_mergeinfo: bool,
    /// Whether unrelated nodes of the same name count as one that changed.
    pub ignore_ancestry: bool,
    /// Whether nodes are deleted that are not what the left side has.
    pub force_delete: bool,
    /// Whether it is recorded that changes were merged, without merging them.
    pub record_only: bool,
    /// Whether everything is only reported and nothing is done.
    pub dry_run: bool,
    /// Whether the target may be of several revisions.
    pub allow_mixed: bool,
    /// The options of text comparisons.
    pub diff: sapwood_diff::Options,
    /// How conflicts are resolved before the next range is merged.
    pub settle: Option<Rc<Settle>>,
}

impl std::fmt::Debug for MergeOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MergeOptions").field("depth", &self.depth).finish_non_exhaustive()
    }
}

/// Paths that a merge touched.
#[derive(Clone, Debug, Default)]
pub struct TouchedPaths {
    /// Changed, added or deleted.
    pub merged: BTreeSet<RelPathBuf>,
    /// Left out.
    pub skipped: BTreeSet<RelPathBuf>,
    /// Roots of what was added.
    pub added: BTreeSet<RelPathBuf>,
    /// In tree conflict.
    pub tree_conflicts: BTreeSet<RelPathBuf>,
}

impl TouchedPaths {
    /// All of them.
    #[must_use]
    pub fn all(&self) -> BTreeSet<RelPathBuf> {
        let sets = [&self.merged, &self.skipped, &self.added, &self.tree_conflicts];
        sets.into_iter().flatten().cloned().collect()
    }
}

/// A merge under way.
pub struct Merge<'a> {
    /// The caller.
    pub ctx: &'a Context,
    /// The target.
    pub target: &'a MergeTarget,
    /// How.
    pub options: MergeOptions,
    /// Whether the sources are in the target's repository.
    pub same_repos: bool,
    /// Whether the other side keeps track of merges.
    pub mergeinfo_capable: bool,
    /// Whether it is a merge back into where the source came from.
    pub reintegrate: bool,
    /// The present source.
    pub source: MergeSource,
    /// Revisions in which the present source was not there (after them the copy that made it).
    pub gap: Option<MergeRange>,
    /// The target (first) and nodes below it that need ranges of their own, by path. One of the
    /// target alone where nothing is looked up of what was merged before.
    pub paths: Vec<MergePath>,
    /// The changes to each path, over all sources.
    pub touched: TouchedPaths,
    /// Paths in conflict with the present source.
    pub conflicted: BTreeSet<RelPathBuf>,
    /// Paths that had no mergeinfo, and got some from the present source.
    pub new_mergeinfo: BTreeSet<RelPathBuf>,
    /// Paths whose mergeinfo the present source took away.
    pub deleted_mergeinfo: BTreeSet<RelPathBuf>,
    /// A session at the left side, for edits.
    pub left: Rc<dyn Session>,
    /// Another, for content that edits do not contain.
    pub right: Rc<dyn Session>,
    /// Histories of locations that were requested.
    pub lines: Lines,
    /// The path of the last line that said which revisions come.
    pub begun: Option<RelPathBuf>,
    /// Every path that was changed or is in conflict now, over all sources.
    pub changed: BTreeSet<RelPathBuf>,
    /// How far the present source came when it was stopped.
    pub stage: Option<Stage>,
    /// How far its edit came.
    pub reached: Checkpoint,
    /// The changed paths of the missing revisions of the source, if requested.
    pub changes: Option<changes::Changes>,
    /// Mergeinfo that a step wrote over which is not done yet.
    pub undo: Undo,
    /// Whether the source is a directory.
    pub(in crate::merge) kind: SourceKind,
}

/// How the kind of a source is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::merge) enum SourceKind {
    /// The server was asked.
    Known,
    /// It is assumed to be a directory until its edit comes, which is requested from the parent directory.
    Assumed,
    /// Such an edit confirmed that it is one.
    Confirmed,
    /// It is not one, or an edit from above does not send it as one.
    Refused,
}

impl SourceKind {
    /// What is known after an edit from above that was `opened` as a directory, or `refused`.
    const fn after(self, opened: bool, refused: bool) -> Self {
        match self {
            _ if opened => Self::Confirmed,
            // A user who may not read what is above it is refused, too.
            Self::Assumed if refused => Self::Refused,
            other => other,
        }
    }
}

impl std::fmt::Debug for Merge<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Merge").field("source", &self.source).finish_non_exhaustive()
    }
}

impl Merge<'_> {
    /// The working copy.
    #[must_use]
    pub fn wc(&self) -> &WorkingCopy {
        &self.target.wc
    }

    /// Whether earlier merges count.
    #[must_use]
    pub(crate) fn honors_mergeinfo(&self) -> bool {
        self.mergeinfo_capable
            && self.source.ancestral
            && self.same_repos
            && !self.options.ignore_mergeinfo
    }

    /// Whether the merge is recorded.
    #[must_use]
    pub fn records_mergeinfo(&self) -> bool {
        self.honors_mergeinfo() && !self.options.dry_run
    }

    /// Whether it is noted which paths are touched.
    fn notes_paths(&self) -> bool {
        self.source.ancestral || self.reintegrate
    }

    /// The depth.
    #[must_use]
    pub fn depth(&self) -> Depth {
        match self.options.depth {
            None | Some(Depth::Unknown) => Depth::Infinity,
            Some(depth) => depth,
        }
    }

    fn check_cancel(&self) -> SvnResult<()> {
        self.ctx.check_cancel()
    }
}
