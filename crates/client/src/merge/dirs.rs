//! Directories: what is decided when they are opened, and what closing them does. A change that has begun
//! is not stopped halfway.

use sapwood_core::notify::{Action as NotifyAction, State};
use sapwood_core::paths::RelPath;
use sapwood_core::props::names;
use sapwood_core::{CancelToken, Depth, ErrorCode, NodeKind, PropList, SvnResult};
use sapwood_wc::conflict::{Action, PropChange, PropState, Reason};
use sapwood_wc::merge::PropsMerge;
use sapwood_wc::root::disk_kind;
use sapwood_wc::status::{Options as StatusOptions, State as Letter};

use super::apply::{Apply, OpenDecision, RecordedConflict, Sides, Verdict};
use super::conflicts::Victim;
use super::props::{is_regular, props_state, same_props};

impl Apply<'_, '_> {
    /// A directory is opened.
    pub(super) fn open_dir(
        &mut self,
        below: &RelPath,
        parent: Option<u64>,
        sides: Sides,
    ) -> SvnResult<OpenDecision> {
        let id = self.begin(below, parent, NodeKind::Dir, sides)?;
        let opened = OpenDecision { id, skip: false, skip_children: false };
        if self.node(id)?.shadowed {
            return Ok(opened);
        }
        if sides.left { self.open_known_dir(opened, sides) } else { self.open_new_dir(opened) }
    }

    /// One that should be there.
    fn open_known_dir(
        &mut self,
        mut opened: OpenDecision,
        sides: Sides,
    ) -> SvnResult<OpenDecision> {
        let id = opened.id;
        let (relpath, parent) = (self.node(id)?.relpath.clone(), self.node(id)?.parent);
        let found = self.obstruction(&relpath)?;
        let node = self.node_mut(id)?;
        if !sides.right {
            node.action = Action::Delete;
        }
        node.local_kind = found.kind;
        if found.state != State::Inapplicable {
            node.shadowed = true;
            if found.state == State::Obstructed && found.working_copy {
                node.verdict = Verdict::SkipWorkingCopy;
                return Ok(opened);
            }
            node.verdict = Verdict::Skip;
            node.skip_state = found.state;
            if !sides.right {
                (opened.skip, opened.skip_children) = (true, true);
                self.mark_edited(id)?;
            }
            return Ok(opened);
        }
        if found.deleted {
            node.local_kind = None;
        }
        let verdict = match node.local_kind {
            None => {
                node.shadowed = true;
                let shallow = found.parent_depth.is_some_and(|depth| depth < Depth::Immediates);
                if parent.is_some() && (found.excluded || shallow) {
                    node.verdict = Verdict::Skip;
                    node.skip_state = State::Missing;
                    return Ok(opened);
                }
                let reason = if found.deleted { Reason::Deleted } else { Reason::Missing };
                Some(Verdict::Conflict(reason))
            }
            Some(NodeKind::Dir) => None,
            Some(_) => Some(self.in_the_way(&relpath)?),
        };
        if let Some(verdict) = verdict {
            let node = self.node_mut(id)?;
            node.shadowed = true;
            node.verdict = verdict;
            (opened.skip, opened.skip_children) = (true, true);
            self.mark_edited(id)?;
            return Ok(opened);
        }
        if !sides.right {
            self.open_deletion(&mut opened)?;
        }
        Ok(opened)
    }

    /// One that is to be deleted: unless it goes anyhow, what is below it is compared first.
    fn open_deletion(&mut self, opened: &mut OpenDecision) -> SvnResult<()> {
        let id = opened.id;
        self.mark_edited(id)?;
        if self.node(id)?.shadowed {
            opened.skip_children = true;
            return Ok(());
        }
        let check = self.check_of_parent(id)?;
        self.node_mut(id)?.deletion = check;
        match check {
            Some(check) if self.check_mut(check)?.differs => {
                (opened.skip, opened.skip_children) = (true, true);
            }
            _ if self.merge.options.force_delete => opened.skip_children = true,
            Some(_) => {}
            None => {
                let check = self.start_check(id);
                self.node_mut(id)?.deletion = Some(check);
            }
        }
        Ok(())
    }

    /// Whether a node that comes replaces one that the merge deleted; a conflict about that one.
    pub(super) fn replaced(&mut self, id: u64) -> SvnResult<Option<RecordedConflict>> {
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
    pub(super) fn conflict_again(
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

    /// One that comes.
    fn open_new_dir(&mut self, mut opened: OpenDecision) -> SvnResult<OpenDecision> {
        let id = opened.id;
        let old = self.replaced(id)?;
        if let Some(old) = &old
            && !matches!(old.reason, Reason::Deleted | Reason::MovedAway)
        {
            (opened.skip, opened.skip_children) = (true, true);
            self.conflict_again(id, old, old.left.as_ref().and_then(|l| l.kind))?;
            return Ok(opened);
        }
        let relpath = self.node(id)?.relpath.clone();
        let dry_run = self.merge.options.dry_run;
        let foretold = dry_run && (self.parent_is_added(id)? || self.node(id)?.replaces);
        let mut taken_over = false;
        if !foretold {
            let found = self.obstruction(&relpath)?;
            self.node_mut(id)?.local_kind = found.kind;
            let free = found.deleted || found.kind.is_none();
            taken_over = found.state == State::Obstructed
                && free
                && disk_kind(&self.merge.wc().abspath(&relpath))?.is_some_and(|k| k.is_dir());
            if found.state != State::Inapplicable && !taken_over {
                let node = self.node_mut(id)?;
                node.shadowed = true;
                node.verdict = Verdict::Skip;
                node.skip_state = found.state;
            } else if !free {
                let verdict = self.in_the_way(&relpath)?;
                let node = self.node_mut(id)?;
                node.shadowed = true;
                node.verdict = verdict;
            }
        }
        self.mark_edited(id)?;
        if self.node(id)?.shadowed {
            return Ok(opened);
        }
        if self.merge.options.record_only {
            (opened.skip, opened.skip_children) = (true, true);
            return Ok(opened);
        }
        if !dry_run {
            self.make_dir(id, taken_over, old.as_ref())?;
        }
        let replaces = self.node(id)?.replaces;
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

    /// The properties of a directory that both sides have differ.
    pub(super) fn dir_changed(
        &mut self,
        id: u64,
        left: &PropList,
        changes: &[PropChange],
    ) -> SvnResult<()> {
        self.notify_pending(id)?;
        self.mark_edited(id)?;
        if self.shadowed(id, NotifyAction::UpdateShadowedUpdate)? {
            return Ok(());
        }
        let relpath = self.node(id)?.relpath.clone();
        let changes = self.merge.prepare_props(&relpath, changes)?;
        if changes.is_empty() {
            return Ok(());
        }
        let kind = Some(NodeKind::Dir);
        let merge = &mut *self.merge;
        let state = merge.wc().merge_node_props(
            &PropsMerge {
                relpath: &relpath,
                locations: Some(merge.locations(&relpath, None, kind, kind)),
                left,
                changes: &changes,
                dry_run: merge.options.dry_run,
            },
            merge.ctx.cancel(),
        )?;
        if state == PropState::Conflicted {
            merge.conflicted.insert(relpath.clone());
        }
        if state != PropState::Unchanged {
            let state = props_state(state);
            merge.record_change(&relpath, NodeKind::File, State::Inapplicable, state);
        }
        Ok(())
    }

    /// All of a new directory has come.
    pub(super) fn dir_added(&mut self, id: u64, props: &PropList) -> SvnResult<()> {
        self.notify_pending(id)?;
        self.mark_edited(id)?;
        if self.shadowed(id, NotifyAction::UpdateShadowedAdd)? {
            return Ok(());
        }
        let relpath = self.node(id)?.relpath.clone();
        let inside = self.parent_is_added(id)?;
        let merge = &mut *self.merge;
        if merge.notes_paths() && !inside {
            merge.touched.added.insert(relpath.clone());
        }
        let dry_run = merge.options.dry_run;
        if merge.same_repos {
            if !dry_run {
                merge.wc().complete_repos_dir(&relpath, props)?;
            }
            if props.get(names::MERGEINFO).is_some() {
                merge.new_mergeinfo.insert(relpath);
            }
            return Ok(());
        }
        if dry_run {
            return Ok(());
        }
        let changes: Vec<PropChange> = props
            .iter()
            .filter(|(name, _)| is_regular(name) && *name != names::MERGEINFO)
            .map(|(name, value)| (name.to_owned(), Some(value.to_vec())))
            .collect();
        merge.wc().merge_node_props(
            &PropsMerge {
                relpath: &relpath,
                locations: Some(merge.locations(&relpath, None, None, Some(NodeKind::Dir))),
                left: &PropList::new(),
                changes: &changes,
                dry_run,
            },
            merge.ctx.cancel(),
        )?;
        Ok(())
    }

    /// All below a directory that is to be deleted was compared, or nothing had to be.
    pub(super) fn dir_deleted(&mut self, id: u64, left: &PropList) -> SvnResult<()> {
        self.notify_pending(id)?;
        self.mark_edited(id)?;
        if self.shadowed(id, NotifyAction::UpdateShadowedDelete)? || self.merge.options.record_only
        {
            return Ok(());
        }
        let (relpath, parent) = (self.node(id)?.relpath.clone(), self.node(id)?.parent);
        let wc = self.merge.wc().clone();
        let props = wc.require_view(&relpath)?.props()?;
        let mut same = true;
        if !self.merge.options.force_delete
            && let Some(at) = self.node(id)?.deletion
        {
            let equal = same_props(left, &props);
            let check = self.check_mut(at)?;
            if equal {
                check.compared.insert(relpath.clone());
            } else {
                check.differs = true;
            }
            if check.root != id {
                return Ok(());
            }
            same = !check.differs && self.all_compared(at, &relpath)?;
        }
        if same && !self.merge.options.dry_run {
            match wc.delete_versioned(&relpath, &[], &CancelToken::new(), &|_| {}) {
                Ok(()) => {}
                Err(error) => {
                    let error = sapwood_core::SvnError::from(error);
                    if error.code() != ErrorCode::WC_LEFT_LOCAL_MOD {
                        return Err(error);
                    }
                    same = false;
                }
            }
        }
        if !same {
            let kind = Some(NodeKind::Dir);
            let victim = Victim {
                relpath: &relpath,
                local: kind,
                left: kind,
                right: None,
                action: Action::Delete,
                reason: Reason::Edited,
            };
            return self.conflict(&victim, parent, None, true);
        }
        if props.get(names::MERGEINFO).is_some() {
            self.merge.deleted_mergeinfo.insert(relpath.clone());
        }
        self.deleted(&relpath, parent, NodeKind::Dir)
    }

    /// Whether there is nothing in a tree but what was compared.
    fn all_compared(&mut self, at: usize, relpath: &RelPath) -> SvnResult<bool> {
        let options = StatusOptions {
            all: true,
            ignores: self.merge.ctx.ignores(),
            cancel: self.merge.ctx.cancel().clone(),
            ..StatusOptions::default()
        };
        let wc = self.merge.wc().clone();
        let check = self.check_mut(at)?;
        let mut differs = false;
        wc.status(relpath, &options, &mut |status| {
            let known = matches!(status.node, Letter::Deleted | Letter::Ignored | Letter::None);
            differs |= !known && !check.compared.contains(&status.relpath);
            Ok(())
        })?;
        check.differs = differs;
        Ok(!differs)
    }

    /// A directory had no change of its own.
    pub(super) fn dir_closed(&mut self, id: u64) -> SvnResult<()> {
        self.notify_pending(id)
    }

    /// Something that may not be seen.
    pub(super) fn absent(&mut self, below: &RelPath, parent: u64) -> SvnResult<()> {
        let relpath = self.place(below)?;
        let shadow = self.node(parent)?.shadowed;
        self.merge.record_skip(&relpath, None, NotifyAction::Skip, State::Missing, shadow);
        Ok(())
    }
}
