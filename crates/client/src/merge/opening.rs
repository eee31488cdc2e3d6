//! Nodes that are opened: whether they can take their change, and what of it is wanted.
//!
//! Invariant: nothing is changed here but a directory that comes, which is made before what is in it.

use sapwood_core::notify::State;
use sapwood_core::paths::RelPath;
use sapwood_core::{Depth, NodeKind, PropList, SvnResult};
use sapwood_wc::conflict::{Action, Reason};
use sapwood_wc::merge::Obstruction;
use sapwood_wc::root::disk_kind;

use super::apply::{Apply, OpenDecision, RecordedConflict, Sides, Verdict};
use super::conflicts::Victim;

impl Apply<'_, '_> {
    /// A node is opened.
    pub(super) fn open(
        &mut self,
        below: &RelPath,
        parent: Option<u64>,
        kind: NodeKind,
        sides: Sides,
    ) -> SvnResult<OpenDecision> {
        let id = self.begin(below, parent, kind, sides)?;
        let opened = OpenDecision { id, skip: false, skip_children: false };
        if self.node(id)?.shadowed {
            return Ok(opened);
        }
        match kind {
            _ if sides.left => self.open_known(opened, sides),
            NodeKind::Dir => self.open_new_dir(opened),
            _ => self.open_new_file(opened),
        }
    }

    /// One that should be there.
    fn open_known(&mut self, mut opened: OpenDecision, sides: Sides) -> SvnResult<OpenDecision> {
        let id = opened.id;
        let relpath = self.node(id)?.relpath.clone();
        let found = self.obstruction(&relpath)?;
        let node = self.node_mut(id)?;
        if !sides.right {
            node.action = Action::Delete;
        }
        node.local_kind = found.kind.filter(|_| !found.deleted);
        if found.state != State::Inapplicable {
            node.local_kind = found.kind;
            return self.open_obstructed(opened, &found, sides);
        }
        match self.verdict_on_known(id, &found)? {
            None if sides.right => {}
            None => self.open_deletion(&mut opened)?,
            Some(Verdict::Skip) => self.skip_in_state(id, State::Missing)?,
            Some(verdict) => {
                self.shadow(id, verdict)?;
                (opened.skip, opened.skip_children) = (true, true);
                self.mark_edited(id)?;
            }
        }
        Ok(opened)
    }

    /// One whose place says why it cannot be changed.
    fn open_obstructed(
        &mut self,
        mut opened: OpenDecision,
        found: &Obstruction,
        sides: Sides,
    ) -> SvnResult<OpenDecision> {
        let is_dir = self.node(opened.id)?.kind == NodeKind::Dir;
        if is_dir && found.state == State::Obstructed && found.working_copy {
            self.shadow(opened.id, Verdict::SkipWorkingCopy)?;
            return Ok(opened);
        }
        self.skip_in_state(opened.id, found.state)?;
        if is_dir && !sides.right {
            (opened.skip, opened.skip_children) = (true, true);
            self.mark_edited(opened.id)?;
        }
        Ok(opened)
    }

    /// What keeps a node that should be there from taking its change.
    fn verdict_on_known(&self, id: u64, found: &Obstruction) -> SvnResult<Option<Verdict>> {
        let node = self.node(id)?;
        let Some(local) = node.local_kind else {
            let least = if node.kind == NodeKind::Dir { Depth::Immediates } else { Depth::Files };
            let shallow = found.parent_depth.is_some_and(|depth| depth < least);
            if node.parent.is_some() && (found.excluded || shallow) {
                return Ok(Some(Verdict::Skip));
            }
            let reason = if found.deleted { Reason::Deleted } else { Reason::Missing };
            return Ok(Some(Verdict::Conflict(reason)));
        };
        (local != node.kind).then(|| self.in_the_way(&node.relpath)).transpose()
    }

    /// Says what keeps a node from taking its change.
    fn shadow(&mut self, id: u64, verdict: Verdict) -> SvnResult<()> {
        let node = self.node_mut(id)?;
        (node.shadowed, node.verdict) = (true, verdict);
        Ok(())
    }

    /// Says that a node is left out, because of the state of its place.
    fn skip_in_state(&mut self, id: u64, state: State) -> SvnResult<()> {
        self.shadow(id, Verdict::Skip)?;
        self.node_mut(id)?.skip_state = state;
        Ok(())
    }

    /// One that is to be deleted: what is below a directory is compared first, unless it goes anyhow.
    fn open_deletion(&mut self, opened: &mut OpenDecision) -> SvnResult<()> {
        let id = opened.id;
        self.mark_edited(id)?;
        let check = self.check_of_parent(id)?;
        let differs = check.map(|at| self.check_mut(at).map(|check| check.differs)).transpose()?;
        if self.node(id)?.kind != NodeKind::Dir {
            opened.skip = differs == Some(true);
            return Ok(());
        }
        if self.node(id)?.shadowed {
            opened.skip_children = true;
            return Ok(());
        }
        self.node_mut(id)?.deletion = check;
        if differs == Some(true) {
            (opened.skip, opened.skip_children) = (true, true);
        } else if self.merge.options.force_delete {
            opened.skip_children = true;
        } else if check.is_none() {
            let check = self.start_check(id);
            self.node_mut(id)?.deletion = Some(check);
        }
        Ok(())
    }

    /// Whether a node that comes replaces one that the merge deleted; a conflict about that one.
    fn replaced(&mut self, id: u64) -> SvnResult<Option<RecordedConflict>> {
        let node = self.node_mut(id)?;
        node.added = true;
        node.action = Action::Add;
        let (relpath, parent) = (node.relpath.clone(), node.parent);
        let Some(parent) = parent else { return Ok(None) };
        let above = self.node_mut(parent)?;
        let replaces = above.pending.remove(&relpath).is_some();
        let recorded = above.recorded.get(&relpath).cloned();
        let node = self.node_mut(id)?;
        node.replaces = replaces;
        if replaces || recorded.is_some() {
            node.action = Action::Replace;
        }
        if let Some(recorded) = &recorded {
            node.verdict = Verdict::Conflict(recorded.reason);
        }
        Ok(recorded)
    }

    /// Says of a conflict that what came is a replacement.
    fn conflict_again(
        &mut self,
        id: u64,
        old: &RecordedConflict,
        left: Option<NodeKind>,
    ) -> SvnResult<()> {
        let node = self.node(id)?;
        let (relpath, parent) = (node.relpath.clone(), node.parent);
        let victim = Victim {
            relpath: &relpath,
            local: old.local,
            left,
            right: Some(node.kind),
            action: Action::Replace,
            reason: old.reason,
        };
        self.conflict(&victim, parent, Some(old), false)
    }

    /// Looks for what is in the place of a node that comes, which then may not: whether an unversioned directory
    /// there becomes the one that comes.
    ///
    /// A dry run has not made what the node would come into.
    fn look_at_place(&mut self, id: u64) -> SvnResult<bool> {
        let replaces = self.node(id)?.replaces;
        if self.merge.options.dry_run && (self.parent_is_added(id)? || replaces) {
            return Ok(false);
        }
        let (relpath, kind) = (self.node(id)?.relpath.clone(), self.node(id)?.kind);
        let found = self.obstruction(&relpath)?;
        self.node_mut(id)?.local_kind = found.kind;
        let free = found.deleted || found.kind.is_none();
        let taken_over = kind == NodeKind::Dir
            && found.state == State::Obstructed
            && free
            && disk_kind(&self.merge.wc().abspath(&relpath))?.is_some_and(|k| k.is_dir());
        if found.state != State::Inapplicable && !taken_over {
            self.skip_in_state(id, found.state)?;
        } else if !free {
            self.shadow(id, self.in_the_way(&relpath)?)?;
        }
        Ok(taken_over)
    }

    /// A file that comes.
    fn open_new_file(&mut self, mut opened: OpenDecision) -> SvnResult<OpenDecision> {
        let id = opened.id;
        match self.replaced(id)? {
            Some(old) => {
                self.conflict_again(id, &old, old.left.as_ref().and_then(|l| l.kind))?;
                if !is_gone(&old) {
                    opened.skip = true;
                    return Ok(opened);
                }
            }
            None => {
                self.look_at_place(id)?;
            }
        }
        self.mark_edited(id)?;
        Ok(opened)
    }

    /// A directory that comes.
    fn open_new_dir(&mut self, mut opened: OpenDecision) -> SvnResult<OpenDecision> {
        let id = opened.id;
        let old = self.replaced(id)?;
        if let Some(old) = old.as_ref().filter(|old| !is_gone(old)) {
            (opened.skip, opened.skip_children) = (true, true);
            self.conflict_again(id, old, old.left.as_ref().and_then(|l| l.kind))?;
            return Ok(opened);
        }
        let taken_over = self.look_at_place(id)?;
        self.mark_edited(id)?;
        if self.node(id)?.shadowed {
            return Ok(opened);
        }
        if self.merge.options.record_only {
            (opened.skip, opened.skip_children) = (true, true);
            return Ok(opened);
        }
        if !self.merge.options.dry_run {
            self.make_dir(id, taken_over, old.as_ref())?;
        }
        let (relpath, replaces) = (self.node(id)?.relpath.clone(), self.node(id)?.replaces);
        self.merge.record_add(&relpath, NodeKind::Dir, replaces);
        Ok(opened)
    }

    /// Makes the directory, for what comes into it. Its properties come at its end.
    fn make_dir(&mut self, id: u64, there: bool, old: Option<&RecordedConflict>) -> SvnResult<()> {
        let relpath = self.node(id)?.relpath.clone();
        let merge = &*self.merge;
        let wc = merge.wc().clone();
        if !there {
            wc.make_dir(&relpath)?;
        }
        if old.is_some() {
            wc.remove_tree_conflict(&relpath)?;
        }
        if merge.same_repos {
            let origin = merge.origin_of(&relpath, self.right_revision)?;
            wc.add_repos_dir(&relpath, &origin)?;
        } else {
            wc.add_one(&relpath, &PropList::new(), &|_| {})?;
        }
        match old {
            Some(old) => self.conflict_again(id, old, None),
            None => Ok(()),
        }
    }
}

/// Whether a conflict is about a node that is no longer there, so that another can come.
const fn is_gone(old: &RecordedConflict) -> bool {
    matches!(old.reason, Reason::Deleted | Reason::MovedAway)
}
