//! The nodes that an edit has opened: what is known of them, and how changes are applied.
//!
//! A node that cannot take its change is *shadowed*: nothing below it is touched. Why it cannot is
//! found out when it is opened, and reported (as a tree conflict or as a skip) only when a change to it
//! or to something below it comes, so that nodes which the merge does not touch are not mentioned.

use std::collections::{BTreeMap, HashMap, HashSet};

use sapwood_core::exact::Exact;
use sapwood_core::notify::State;
use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{ErrorCode, NodeKind, Revnum, SvnError, SvnResult, path};
use sapwood_wc::conflict::{Action, Location, Reason};
use sapwood_wc::merge::{NodeOnDisk, Obstruction};

use super::Merge;

/// The obstacle that keeps a node from taking its change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Nothing, or what keeps one above.
    #[default]
    None,
    /// A tree conflict.
    Conflict(Reason),
    /// It is left out.
    Skip,
    /// It is left out: another working copy is in its place.
    SkipWorkingCopy,
}

/// A tree conflict that was recorded in this edit: the other half of a replacement may follow.
#[derive(Clone, Debug)]
pub(super) struct RecordedConflict {
    pub(super) reason: Reason,
    pub(super) local: Option<NodeKind>,
    pub(super) left: Option<Location>,
}

/// Which sides have a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sides {
    pub(super) left: bool,
    pub(super) right: bool,
}

impl Sides {
    pub(super) const BOTH: Self = Self { left: true, right: true };
    pub(super) const DELETED: Self = Self { left: true, right: false };
    pub(super) const ADDED: Self = Self { left: false, right: true };
}

/// An open node.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) relpath: RelPathBuf,
    pub(super) kind: NodeKind,
    pub(super) parent: Option<u64>,
    /// There is nothing here that could take a change.
    pub(super) shadowed: bool,
    /// A change came to it or to something below it.
    pub(super) edited: bool,
    pub(super) verdict: Verdict,
    pub(super) action: Action,
    pub(super) local_kind: Option<NodeKind>,
    pub(super) left_kind: Option<NodeKind>,
    pub(super) right_kind: Option<NodeKind>,
    pub(super) skip_state: State,
    /// The merge adds it.
    pub(super) added: bool,
    /// The merge deleted something else in its place before.
    pub(super) replaces: bool,
    /// Deletions below it that are not reported yet: they may be replacements.
    pub(super) pending: BTreeMap<RelPathBuf, NodeKind>,
    pub(super) recorded: HashMap<RelPathBuf, RecordedConflict>,
    /// The check of a tree that is to be deleted, if it is in one.
    pub(super) deletion: Option<usize>,
}

/// Whether a tree that is to be deleted is what the left side has.
#[derive(Debug, Default)]
pub(super) struct DeletionCheck {
    /// The directory that goes as a whole.
    pub(super) root: u64,
    pub(super) differs: bool,
    pub(super) compared: HashSet<RelPathBuf>,
}

/// The decision about a node that was opened.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpenDecision {
    pub(super) id: u64,
    /// Its own change is not wanted.
    pub(super) skip: bool,
    /// The part below it is not wanted.
    pub(super) skip_children: bool,
}

/// Applies one edit.
pub(super) struct Apply<'m, 'a> {
    pub(super) merge: &'m mut Merge<'a>,
    /// The revisions of both sides, as they are reported.
    pub(super) left_revision: Revnum,
    pub(super) right_revision: Revnum,
    pub(super) checks: Vec<DeletionCheck>,
    nodes: HashMap<u64, Node>,
    next: u64,
    /// The file that was opened last, as it was found, until something is done to it.
    seen: Option<NodeOnDisk>,
}

fn not_open() -> SvnError {
    SvnError::new(
        ErrorCode::INCORRECT_PARAMS,
        "Internal error: a merge uses a node that is not open",
    )
}

impl<'m, 'a> Apply<'m, 'a> {
    pub(super) fn new(merge: &'m mut Merge<'a>, left: Revnum, right: Revnum) -> Self {
        Self {
            merge,
            left_revision: left,
            right_revision: right,
            checks: Vec::new(),
            nodes: HashMap::new(),
            next: 0,
            seen: None,
        }
    }

    /// Where a path of the edit is. One that leads elsewhere is refused.
    pub(super) fn place(&self, below: &RelPath) -> SvnResult<RelPathBuf> {
        let good = path::components(below).all(|name| !matches!(name, "" | "." | ".." | ".svn"));
        if !good || below.starts_with('/') {
            return Err(SvnError::new(
                ErrorCode::WC_OBSTRUCTED_UPDATE,
                format!("Path '{below}' is not in the working copy"),
            ));
        }
        Ok(self.merge.target.relpath.join(below))
    }

    pub(super) fn node(&self, id: u64) -> SvnResult<&Node> {
        self.nodes.get(&id).ok_or_else(not_open)
    }

    pub(super) fn node_mut(&mut self, id: u64) -> SvnResult<&mut Node> {
        self.nodes.get_mut(&id).ok_or_else(not_open)
    }

    pub(super) fn close(&mut self, id: u64) {
        self.nodes.remove(&id);
    }

    /// A node as it is when it is opened; one below a shadowed one is shadowed.
    pub(super) fn begin(
        &mut self,
        below: &RelPath,
        parent: Option<u64>,
        kind: NodeKind,
        sides: Sides,
    ) -> SvnResult<u64> {
        self.merge.check_cancel()?;
        let relpath = self.place(below)?;
        let above = parent.map(|id| self.node(id)).transpose()?;
        let shadowed = above.is_some_and(|above| above.shadowed);
        let node = Node {
            relpath,
            kind,
            parent,
            shadowed,
            edited: false,
            verdict: Verdict::None,
            action: Action::Edit,
            local_kind: None,
            left_kind: sides.left.then_some(kind),
            right_kind: sides.right.then_some(kind),
            skip_state: above.map_or(State::Unknown, |above| above.skip_state),
            added: shadowed && !sides.left && kind == NodeKind::Dir,
            replaces: false,
            pending: BTreeMap::new(),
            recorded: HashMap::new(),
            deletion: None,
        };
        self.next = self.next.wrapping_add(1);
        self.nodes.insert(self.next, node);
        Ok(self.next)
    }

    /// Opens a node again that was open when the merge was stopped.
    pub(super) fn open_again(&mut self, parent: Option<u64>, mut node: Node) -> u64 {
        node.parent = parent;
        self.next = self.next.wrapping_add(1);
        self.nodes.insert(self.next, node);
        self.next
    }

    /// A directory that stands above a single file, so that its deletion and addition are a
    /// replacement.
    pub(super) fn begin_above_file(&mut self) -> SvnResult<u64> {
        self.begin(RelPath::ROOT, None, NodeKind::Dir, Sides::BOTH)
    }

    pub(super) fn obstruction(&mut self, relpath: &RelPath) -> SvnResult<Obstruction> {
        let is_target = relpath == self.merge.target.relpath;
        let (found, seen) = self.merge.wc().obstruction(relpath, is_target)?;
        self.seen = seen;
        Ok(found)
    }

    /// The state of a file when it was opened, unless another node was opened since.
    pub(super) fn node_on_disk(&self, relpath: &RelPath) -> Option<&NodeOnDisk> {
        self.seen.as_ref().filter(|seen| seen.view.relpath() == relpath)
    }

    /// Forgets it: something is done to the file.
    pub(super) fn forget_seen(&mut self) {
        self.seen = None;
    }

    pub(super) fn is_added(&self, relpath: &RelPath) -> SvnResult<bool> {
        use sapwood_wc::view::Status;
        let view = self.merge.wc().view(relpath)?;
        Ok(view.is_some_and(|view| view.status() == Status::Added))
    }

    /// The reason of a conflict with a node of another kind, or one where none should be.
    pub(super) fn in_the_way(&self, relpath: &RelPath) -> SvnResult<Verdict> {
        let added = self.is_added(relpath)?;
        Ok(Verdict::Conflict(if added { Reason::Added } else { Reason::Obstructed }))
    }

    /// The parent of a node, if it is added by the merge.
    pub(super) fn parent_is_added(&self, id: u64) -> SvnResult<bool> {
        match self.node(id)?.parent {
            Some(parent) => Ok(self.node(parent)?.added),
            None => Ok(false),
        }
    }

    /// The check of the tree that a node's parent is in.
    pub(super) fn check_of_parent(&self, id: u64) -> SvnResult<Option<usize>> {
        match self.node(id)?.parent {
            Some(parent) => Ok(self.node(parent)?.deletion),
            None => Ok(None),
        }
    }

    pub(super) fn check_mut(&mut self, at: usize) -> SvnResult<&mut DeletionCheck> {
        self.checks.get_mut(at).ok_or_else(not_open)
    }

    /// Begins to check a tree that is to be deleted.
    pub(super) fn start_check(&mut self, root: u64) -> usize {
        self.checks.push(DeletionCheck { root, ..DeletionCheck::default() });
        self.checks.len().minus(1)
    }
}
