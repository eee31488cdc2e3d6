//! How far a merge came, so that it can go on there: of one source ([`Stage`]), and of the edit under
//! way ([`Checkpoint`]).
//!
//! Invariant: what is noted as done is whole in the working copy. A change of a node is not stopped halfway, and
//! is noted right after it, before anything that can be stopped.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::Bound;

use sapwood_core::mergeinfo::{MergeRange, Mergeinfo, RangeList};
use sapwood_core::notify::State;
use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::props::names;
use sapwood_core::{CancelToken, Depth, ErrorCode, NodeKind, Revnum, SvnError, SvnResult};
use sapwood_wc::WorkingCopy;
use sapwood_wc::conflict::{Action, Location, Reason};
use sapwood_wc::props::Change;

use super::TouchedPaths;
use super::apply::{Node, RecordedConflict, Verdict};
use super::paths::MergePath;
use super::source::MergeSource;
use super::types::RangeConflict;
use crate::cache_file::{Serialize, stored_enum, stored_struct};
use crate::mergeinfo::place::RepoLocation;

/// The merge of one source, or of the part of it that is left.
#[derive(Clone, Debug)]
pub struct Stage {
    /// The sources.
    pub source: MergeSource,
    /// The range that is recorded in the end: the revisions from the first that is missing.
    pub range: MergeRange,
    /// The slice under way.
    pub slice: Option<(u64, u64)>,
    /// Whether the edit of that slice is done, and only its bookkeeping is left.
    pub driven: bool,
    /// The end of the last slice that is whole.
    pub whole: Option<u64>,
    /// Whether it is merged, as far as conflicts let it.
    pub merged: bool,
    /// The conflict that it ended with.
    pub conflict: Option<RangeConflict>,
    /// Whether it is recorded too, and only elision is left.
    pub recorded: bool,
}

impl Stage {
    /// The beginning.
    pub(super) const fn new(source: MergeSource) -> Self {
        let range = source.range();
        Self {
            source,
            range,
            slice: None,
            driven: false,
            whole: None,
            merged: false,
            conflict: None,
            recorded: false,
        }
    }
}

/// How far one edit came. Paths are below the target.
#[derive(Clone, Debug, Default)]
pub struct Checkpoint {
    /// Nodes that are done, with all below them.
    pub(super) done: BTreeSet<RelPathBuf>,
    /// Nodes that were deleted, or whose deletion was decided on.
    pub(super) gone: BTreeSet<RelPathBuf>,
    /// Nodes that were open.
    pub(super) open: BTreeMap<RelPathBuf, OpenNode>,
}

/// A node that was open when an edit was stopped.
#[derive(Clone, Debug)]
pub(super) struct OpenNode {
    pub(super) skip: bool,
    pub(super) skip_children: bool,
    pub(super) added: bool,
    pub(super) node: Node,
}

fn forget_below(set: &mut BTreeSet<RelPathBuf>, below: &RelPath) {
    if below.is_empty() {
        return set.clear();
    }
    let inside = format!("{below}/");
    let rest = set.range::<str, _>((Bound::Included(inside.as_str()), Bound::Unbounded));
    let found: Vec<RelPathBuf> =
        rest.take_while(|path| path.starts_with(&inside)).cloned().collect();
    for path in found {
        set.remove(&path);
    }
}

/// Whether something holds of a path or of one above it.
fn any_above(below: &RelPath, holds: impl Fn(&RelPath) -> bool) -> bool {
    let mut at = below;
    while !holds(at) {
        if at.is_empty() {
            return false;
        }
        at = at.parent();
    }
    true
}

impl Checkpoint {
    /// A node is done, and so is what is below it.
    pub(super) fn finish(&mut self, below: &RelPath) {
        forget_below(&mut self.done, below);
        forget_below(&mut self.gone, below);
        self.done.insert(below.to_owned());
    }

    /// Whether a node is done.
    pub(super) fn is_done(&self, below: &RelPath) -> bool {
        self.done.contains(below)
    }

    /// Whether a node or one above it is done.
    pub(super) fn covers(&self, below: &RelPath) -> bool {
        any_above(below, |at| self.is_done(at))
    }

    /// Whether a node is in a directory that was open, and is added.
    pub(super) fn is_within_addition(&self, below: &RelPath) -> bool {
        any_above(below, |at| self.open.get(at).is_some_and(|open| open.added))
    }
}

/// Values of mergeinfo that a step wrote over, so that it can be taken back.
#[derive(Debug, Default)]
pub struct Undo(RefCell<Vec<(RelPathBuf, Option<Vec<u8>>)>>);

impl Undo {
    /// A value is about to be written over.
    pub(super) fn note(&self, relpath: &RelPath, before: Option<Vec<u8>>) {
        self.0.borrow_mut().push((relpath.to_owned(), before));
    }

    /// The written part stays.
    pub(super) fn clear(&self) {
        self.0.borrow_mut().clear();
    }

    /// All values, the one that was written over last first.
    pub(super) fn take(&self) -> Vec<(RelPathBuf, Option<Vec<u8>>)> {
        let mut all = self.0.take();
        all.reverse();
        all
    }
}

/// Writes values of mergeinfo; nodes that are no more are passed over.
pub(super) fn write_back(
    wc: &WorkingCopy,
    values: &[(RelPathBuf, Option<Vec<u8>>)],
) -> SvnResult<()> {
    for (relpath, value) in values {
        let change = Change { name: names::MERGEINFO, value: value.as_deref(), force: true };
        let none = HashSet::new();
        let token = CancelToken::new();
        match wc.set_prop(relpath, change, Depth::Empty, &none, &token, &|_| {}) {
            Ok(()) => {}
            Err(error) => {
                let error = SvnError::from(error);
                if ![ErrorCode::ENTRY_NOT_FOUND, ErrorCode::WC_PATH_NOT_FOUND]
                    .contains(&error.code())
                {
                    return Err(error);
                }
            }
        }
    }
    Ok(())
}

impl Serialize for Revnum {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
    }

    fn take(input: &mut &[u8]) -> Option<Self> {
        u64::take(input).map(Self)
    }
}

impl Serialize for NodeKind {
    fn put(&self, out: &mut Vec<u8>) {
        (*self == Self::Dir).put(out);
    }

    fn take(input: &mut &[u8]) -> Option<Self> {
        Some(if bool::take(input)? { Self::Dir } else { Self::File })
    }
}

impl Serialize for Verdict {
    fn put(&self, out: &mut Vec<u8>) {
        let (number, reason) = match self {
            Self::None => (0u8, None),
            Self::Conflict(reason) => (1, Some(*reason)),
            Self::Skip => (2, None),
            Self::SkipWorkingCopy => (3, None),
        };
        number.put(out);
        reason.put(out);
    }

    fn take(input: &mut &[u8]) -> Option<Self> {
        match (u8::take(input)?, <Option<Reason> as Serialize>::take(input)?) {
            (0, None) => Some(Self::None),
            (1, Some(reason)) => Some(Self::Conflict(reason)),
            (2, None) => Some(Self::Skip),
            (3, None) => Some(Self::SkipWorkingCopy),
            _ => None,
        }
    }
}

/// States as they are written.
const STATES: [State; 9] = [
    State::Inapplicable,
    State::Unknown,
    State::Unchanged,
    State::Missing,
    State::Obstructed,
    State::Changed,
    State::Merged,
    State::Conflicted,
    State::SourceMissing,
];

stored_enum!(State, STATES);
stored_enum!(Reason, Reason::ALL);
stored_enum!(Action, Action::ALL);
stored_struct!(Location { root, uuid, relpath, revision, kind });
stored_struct!(RecordedConflict { reason, local, left });
stored_struct!(RepoLocation { root, uuid, relpath, revision });
stored_struct!(MergeSource { left, right, ancestral });
stored_struct!(MergeRange { start, end, inheritable });
stored_struct!(RangeList { 0 });
stored_struct!(Mergeinfo { 0 });
stored_struct!(RangeConflict { range, remaining });
stored_struct!(TouchedPaths { merged, skipped, added, tree_conflicts });
stored_struct!(Stage { source, range, slice, driven, whole, merged, conflict, recorded });
stored_struct!(Checkpoint { done, gone, open });
stored_struct!(OpenNode { skip, skip_children, added, node });
stored_struct!(Node {
    relpath,
    kind,
    parent,
    shadowed,
    edited,
    verdict,
    action,
    local_kind,
    left_kind,
    right_kind,
    skip_state,
    added,
    replaces,
    pending,
    recorded,
    deletion,
});
stored_struct!(MergePath {
    relpath,
    missing_child,
    switched_child,
    switched,
    has_noninheritable,
    absent,
    child_of_noninheritable,
    immediate_dir,
    record,
    noninheritable,
    inherited,
    remaining,
    before,
    implicit,
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_that_is_done_stands_for_what_is_in_it() {
        let mut reached = Checkpoint::default();
        for below in ["d/a", "d/b/c", "d-x", "e"] {
            reached.finish(RelPath::trusted(below));
        }
        reached.gone.insert(RelPathBuf::trusted("d/gone".to_owned()));
        assert!(
            reached.covers(RelPath::trusted("d/a"))
                && reached.covers(RelPath::trusted("e/f/g"))
                && !reached.covers(RelPath::trusted("d"))
        );
        reached.finish(RelPath::trusted("d"));
        assert_eq!(reached.done.iter().collect::<Vec<_>>(), ["d", "d-x", "e"]);
        assert!(reached.gone.is_empty() && reached.covers(RelPath::trusted("d/b/c")));
        reached.finish(RelPath::ROOT);
        assert_eq!(reached.done.len(), 1);
        assert!(reached.covers(RelPath::trusted("anything/at/all")));
    }
}
