//! Applying incoming changes of a move's source to its destination.
//!
//! After an update BASE has the new state at the source of a move, and the layer of the move still has
//! the old one at its destination. The two are compared node by node. Differences are merged into the
//! working files and properties at the destination, or become conflicts there; at the end the layer is
//! updated. All of it is one transaction; files follow by work items.

use std::collections::BTreeMap;

use sapwood_core::exact::Exact;
use sapwood_core::notify::{Action as NotifyAction, Notify, State};
use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{CancelToken, ErrorCode, NodeKind, PropList, Sha1};

use super::Notifier;
use super::move_conflict::{About, ConflictSides, failure};
use crate::base::follow::copy_layer;
use crate::conflict::{
    self, Action, Conflict, Location, Operation, PropChange, PropState, Reason, TextMerge,
    TextOutcome, merge_props, merge_text,
};
use crate::db::{Db, NodeRow, Presence, depth_of};
use crate::error::{Error, Result};
use crate::local::move_conflict::{
    check_single, conflict_of_move, layer_under, location_of, require_lock,
};
use crate::node::prefix;
use crate::root::{Disk, WorkingCopy, disk_kind};
use crate::view::Status;
use crate::work_item::WorkItem;

/// What is reported of one path when the transaction is complete.
pub(super) struct PendingNotice {
    pub(super) action: NotifyAction,
    pub(super) kind: Option<NodeKind>,
    pub(super) content: State,
    pub(super) props: State,
}

/// A node on the way down.
#[derive(Default)]
pub(super) struct Step {
    pub(super) source: RelPathBuf,
    pub(super) target: RelPathBuf,
    pub(super) skip: bool,
    pub(super) shadowed: bool,
    pub(super) edited: bool,
}

/// One layer of a node.
pub(super) struct Layer {
    pub(super) kind: Option<NodeKind>,
    pub(super) checksum: Option<Sha1>,
    pub(super) props: PropList,
    pub(super) children: Vec<String>,
}

/// The names that are in one of two directories, or in both, in order.
pub(super) fn either(mut names: Vec<String>, more: Vec<String>) -> Vec<String> {
    names.extend(more);
    names.sort();
    names.dedup();
    names
}

/// A walk through two trees, of which one is to get the changes of the other.
pub(super) struct MoveUpdate<'a> {
    pub(super) wc: &'a WorkingCopy,
    pub(super) source_depth: i64,
    pub(super) target_depth: i64,
    pub(super) operation: Operation,
    pub(super) old: Location,
    pub(super) new: Location,
    pub(super) cancel: &'a CancelToken,
    /// The nodes above and the one that is looked at, the last.
    pub(super) steps: Vec<Step>,
    pub(super) said: BTreeMap<RelPathBuf, PendingNotice>,
    /// Nodes of the source whose changes could not be brought to the destination.
    pub(super) left: Vec<RelPathBuf>,
}

/// Applies the change of a node that was moved away, which is the victim of a tree conflict, to
/// its destination, and reports it. Needs locks over source and destination.
///
/// # Errors
/// E155027 when it was not moved or its source has several revisions; E155015 for another conflict
/// in the way.
pub(super) fn update_moved(
    wc: &WorkingCopy,
    victim: &RelPath,
    deletion: &RelPath,
    operation: Operation,
    cancel: &CancelToken,
    notify: &Notifier<'_>,
) -> Result<()> {
    let (said, new) = wc.db().write(|db| {
        let shown = wc.abspath(victim);
        let source_depth = layer_under(wc.db(), wc.disk(), victim, depth_of(deletion))?;
        let moved = db.moved_to_of(victim, source_depth)?.ok_or_else(|| {
            failure(format!("The node '{}' has not been moved away", shown.display()))
        })?;
        require_lock(wc, &moved.source)?;
        require_lock(wc, &moved.target)?;
        let target_depth = depth_of(&moved.target);
        let mut update = MoveUpdate {
            wc,
            source_depth,
            target_depth,
            operation,
            new: location_of(wc.db(), wc.disk(), &moved.source, source_depth)?,
            old: location_of(wc.db(), wc.disk(), &moved.target, target_depth)?,
            cancel,
            steps: Vec::new(),
            said: BTreeMap::new(),
            left: Vec::new(),
        };
        if source_depth == 0 {
            check_single(wc.db(), wc.disk(), &moved.source)?;
        }
        update.steps.push(Step {
            source: moved.source.clone(),
            target: moved.target.clone(),
            ..Step::default()
        });
        update.node()?;
        copy_layer(wc.db(), &moved.source, source_depth, &moved.target)?;
        Ok((update.said, update.new.revision))
    })?;
    notify_recorded(wc.disk(), said, victim, new, notify);
    Ok(())
}

/// Reports what was recorded for single paths, and that the operation is complete.
pub(super) fn notify_recorded(
    disk: &Disk,
    said: BTreeMap<RelPathBuf, PendingNotice>,
    victim: &RelPath,
    revision: Option<sapwood_core::Revnum>,
    notify: &Notifier<'_>,
) {
    for (relpath, saying) in said {
        let path = disk.abspath(&relpath);
        let shown = path.to_string_lossy();
        notify(&Notify {
            kind: saying.kind,
            content: saying.content,
            props: saying.props,
            revision,
            ..Notify::new(saying.action, &shown)
        });
    }
    let path = disk.abspath(victim);
    let shown = path.to_string_lossy();
    notify(&Notify { revision, ..Notify::new(NotifyAction::UpdateCompleted, &shown) });
}

/// What the user sees of a node: nothing if it is deleted.
pub(super) fn working_layer(db: &Db, relpath: &RelPath) -> Result<Layer> {
    let view = db.view(relpath)?;
    let there = view.filter(|v| matches!(v.status(), Status::Normal | Status::Added));
    let Some(view) = there else {
        let (kind, checksum) = (None, None);
        return Ok(Layer { kind, checksum, props: PropList::new(), children: Vec::new() });
    };
    let mut children = Vec::new();
    if view.is_dir() {
        let known = db.children(relpath)?;
        children = known.iter().map(|child| child.top().name().to_owned()).collect();
        children.sort();
    }
    Ok(Layer {
        kind: view.kind(),
        checksum: view.pristine_row().and_then(|row| row.checksum),
        props: view.props()?,
        children,
    })
}

/// What one layer has of a node.
pub(super) fn layer_of(db: &Db, relpath: &RelPath, op_depth: i64) -> Result<Layer> {
    let nothing =
        Layer { kind: None, checksum: None, props: PropList::new(), children: Vec::new() };
    let Some(row) = db.node(relpath, op_depth)? else { return Ok(nothing) };
    let there =
        row.presence == Presence::Normal || (op_depth > 0 && row.presence == Presence::Incomplete);
    if !there {
        return Ok(nothing);
    }
    let mut children = Vec::new();
    if row.kind.node_kind() == Some(NodeKind::Dir) {
        let rows = db.children_at(relpath, op_depth)?;
        let there = rows.iter().filter(|row| row.presence.is_there());
        children = there.map(|row| row.name().to_owned()).collect();
        children.sort();
    }
    Ok(Layer { kind: row.kind.node_kind(), checksum: row.checksum, props: row.props()?, children })
}

pub(super) const fn notify_state(state: PropState) -> State {
    match state {
        PropState::Unchanged => State::Unchanged,
        PropState::Changed => State::Changed,
        PropState::Merged => State::Merged,
        PropState::Conflicted => State::Conflicted,
    }
}

impl MoveUpdate<'_> {
    pub(super) fn step(&self) -> Result<&Step> {
        self.steps.last().ok_or_else(lost)
    }

    pub(super) fn step_mut(&mut self) -> Result<&mut Step> {
        self.steps.last_mut().ok_or_else(lost)
    }

    pub(super) fn skips(&self) -> bool {
        self.steps.last().is_none_or(|step| step.skip)
    }

    fn layer(&self, relpath: &RelPath, op_depth: i64) -> Result<Layer> {
        layer_of(self.wc.db(), relpath, op_depth)
    }

    /// Compares the node at the end of the steps and all below it.
    fn node(&mut self) -> Result<()> {
        if self.cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        let (source, target) = {
            let step = self.step()?;
            (step.source.clone(), step.target.clone())
        };
        let new = self.layer(&source, self.source_depth)?;
        let old = self.layer(&target, self.target_depth)?;
        if new.kind.is_none() || (old.kind.is_some() && new.kind != old.kind) {
            self.delete(&target, old.kind, new.kind)?;
        }
        if self.skips() {
            return Ok(());
        }
        let props = new.props != old.props;
        match new.kind {
            Some(kind) if new.kind != old.kind => self.add(&target, kind, old.kind)?,
            Some(NodeKind::File) if props || new.checksum != old.checksum => {
                self.alter_file(&target, &old, &new)?;
            }
            Some(NodeKind::Dir) if props => self.alter_dir(&target, &old, &new)?,
            _ => {}
        }
        if self.skips() || new.kind != Some(NodeKind::Dir) {
            return Ok(());
        }
        for name in either(new.children, old.children) {
            let above = self.step()?.shadowed;
            let below = target.child(&name);
            let hidden = self.wc.db().top(&below)?.is_some_and(|r| r.op_depth > self.target_depth);
            self.steps.push(Step {
                source: source.child(&name),
                target: below,
                shadowed: above || hidden,
                ..Step::default()
            });
            let done = self.node();
            self.steps.pop();
            done?;
            if self.skips() {
                break;
            }
        }
        Ok(())
    }

    /// Marks a node, by its place in the steps, and all above it as edited. What is hidden by a local
    /// operation becomes a conflict at that operation's root.
    pub(super) fn mark_edited(&mut self, at: usize) -> Result<()> {
        let Some(above) = at.checked_sub(1) else { return self.mark_one(at, false, false) };
        if self.steps.get(at).is_none_or(|step| step.edited) {
            return Ok(());
        }
        self.mark_edited(above)?;
        let (skip, shadowed) =
            self.steps.get(above).map_or((false, false), |step| (step.skip, step.shadowed));
        self.mark_one(at, skip, shadowed)
    }

    fn mark_one(&mut self, at: usize, skip: bool, shadowed_above: bool) -> Result<()> {
        let Some(step) = self.steps.get_mut(at).filter(|step| !step.edited) else { return Ok(()) };
        step.skip |= skip;
        step.edited = true;
        if step.skip || !step.shadowed || shadowed_above {
            return Ok(());
        }
        let (source, target) = (step.source.clone(), step.target.clone());
        let kind = |row: Option<NodeRow>| row.and_then(|row| row.kind.node_kind());
        let old_kind = kind(self.wc.db().node(&target, self.target_depth)?);
        let new_kind = kind(self.wc.db().node(&source, self.source_depth)?);
        self.mark_hidden(at, old_kind, new_kind, Action::Edit)
    }

    pub(super) fn last(&self) -> usize {
        self.steps.len().minus(1)
    }

    pub(super) fn mark_parent_edited(&mut self) -> Result<()> {
        let Some(above) = self.last().checked_sub(1) else { return Ok(()) };
        self.mark_edited(above)?;
        let skip = self.steps.get(above).is_some_and(|step| step.skip);
        self.step_mut()?.skip |= skip;
        Ok(())
    }

    /// Records a tree conflict at the root of the operation that hides a node.
    fn mark_hidden(
        &mut self,
        at: usize,
        old_kind: Option<NodeKind>,
        new_kind: Option<NodeKind>,
        action: Action,
    ) -> Result<()> {
        let Some(step) = self.steps.get_mut(at) else { return Err(lost()) };
        step.skip = true;
        let target = step.target.clone();
        let moved = match old_kind {
            None => None,
            Some(_) => self.wc.db().moved_to_of(&target, self.target_depth)?,
        };
        let about = About {
            old_kind,
            new_kind,
            reason: if moved.is_some() { Reason::MovedAway } else { Reason::Deleted },
            action,
            move_source: moved.is_some().then(|| target.clone()),
        };
        let conflict = self.tree_conflict(&target, &about)?;
        self.say(
            &target,
            NotifyAction::TreeConflict,
            new_kind,
            State::Inapplicable,
            State::Inapplicable,
        );
        self.record(&target, &conflict, Vec::new())
    }

    /// The record of a tree conflict at a node.
    pub(super) fn tree_conflict(&self, relpath: &RelPath, about: &About) -> Result<Conflict> {
        let root = prefix(relpath, self.target_depth);
        let below = relpath.rest_below(root)?;
        let places = ConflictSides {
            operation: self.operation,
            old: Some(&self.old),
            new: &self.new,
            old_relpath: &self.old.relpath.join(below),
        };
        conflict_of_move(self.wc.db(), self.wc.disk(), relpath, root, &places, about)
    }

    fn say(
        &mut self,
        relpath: &RelPath,
        action: NotifyAction,
        kind: Option<NodeKind>,
        content: State,
        props: State,
    ) {
        self.said.insert(relpath.to_owned(), PendingNotice { action, kind, content, props });
    }

    fn record(&self, relpath: &RelPath, conflict: &Conflict, work: Vec<WorkItem>) -> Result<()> {
        if !conflict.is_resolved() {
            self.wc.db().mark_conflict(relpath, &conflict.write())?;
        }
        work.iter().try_for_each(|item| self.wc.db().add_work(item).map(|_| ()))
    }

    /// Reports a node and records its conflict; of a node with a tree conflict only the conflict is
    /// reported.
    pub(super) fn close(
        &mut self,
        relpath: &RelPath,
        saying: (NotifyAction, Option<NodeKind>, State, State),
        conflict: &Conflict,
        work: Vec<WorkItem>,
    ) -> Result<()> {
        let (action, kind, content, props) = saying;
        if conflict.tree.is_some() {
            let none = State::Inapplicable;
            self.say(relpath, NotifyAction::TreeConflict, kind, none, none);
        } else {
            self.say(relpath, action, kind, content, props);
        }
        self.record(relpath, conflict, work)
    }

    /// Whether anything at or below a path differs from what the layer of the move has.
    fn is_changed(&self, relpath: &RelPath) -> Result<bool> {
        let wc = self.wc;
        let mut names = Vec::new();
        wc.db().each_in_subtree(relpath, |row| {
            if names.last() != Some(&row.relpath) {
                names.push(row.relpath);
            }
            Ok(())
        })?;
        for name in names {
            let Some(view) = wc.view(&name)? else { continue };
            if view.top().op_depth > self.target_depth {
                return Ok(true);
            }
            if !view.top().presence.is_there() {
                continue;
            }
            let found = disk_kind(&wc.abspath(&name))?;
            let as_known = found.is_some_and(|found| found.is_dir() == view.is_dir());
            let text = !view.is_dir() && wc.file_modified(&view)?;
            if !as_known || text || view.props_modified() || view.is_conflicted() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The source has no such node any more, or one of another kind.
    fn delete(
        &mut self,
        relpath: &RelPath,
        old_kind: Option<NodeKind>,
        new_kind: Option<NodeKind>,
    ) -> Result<()> {
        self.mark_parent_edited()?;
        if self.skips() {
            return Ok(());
        }
        if self.step()?.shadowed {
            let at = self.last();
            return self.mark_hidden(at, old_kind, new_kind, Action::Delete);
        }
        let action = if new_kind.is_none() { Action::Delete } else { Action::Replace };
        let wc = self.wc;
        let mut conflict = Conflict::default();
        let mut work = Vec::new();
        if self.is_changed(relpath)? || wc.has_unversioned(relpath)? {
            wc.db().make_copy(relpath, false)?;
            let about =
                About { old_kind, new_kind, reason: Reason::Edited, action, move_source: None };
            conflict = self.tree_conflict(relpath, &about)?;
            self.step_mut()?.skip = true;
        } else {
            let rows = wc.db().rows_of_layer(relpath, self.target_depth)?;
            for row in rows.iter().rev().filter(|row| row.presence.is_there()) {
                let relpath = row.relpath.clone();
                work.push(match row.kind.node_kind() {
                    Some(NodeKind::Dir) => WorkItem::DirRemove { relpath, recursive: false },
                    _ => WorkItem::FileRemove { relpath },
                });
            }
        }
        if !conflict.is_resolved() || new_kind.is_none() {
            let none = State::Inapplicable;
            return self.close(
                relpath,
                (NotifyAction::UpdateDelete, new_kind, none, none),
                &conflict,
                work,
            );
        }
        work.iter().try_for_each(|item| wc.db().add_work(item).map(|_| ()))
    }

    /// The source has a node that the destination has not.
    fn add(&mut self, relpath: &RelPath, kind: NodeKind, old_kind: Option<NodeKind>) -> Result<()> {
        self.mark_parent_edited()?;
        if self.skips() {
            return Ok(());
        }
        let shadowed = self.step()?.shadowed;
        let mut reason = Reason::Unversioned;
        let mut found = None;
        if shadowed && let Some(view) = self.wc.view(relpath)? {
            found = view.kind();
            match view.status() {
                Status::Deleted => reason = Reason::Deleted,
                Status::Added if old_kind.is_none() => reason = Reason::Added,
                Status::Added => reason = Reason::Replaced,
                _ => found = None,
            }
        }
        if found.is_none() {
            found = disk_kind(&self.wc.abspath(relpath))?
                .map(|found| if found.is_dir() { NodeKind::Dir } else { NodeKind::File });
        }
        if kind == NodeKind::Dir && !shadowed && found == old_kind {
            found = None;
        }
        let mut conflict = Conflict::default();
        let mut work = Vec::new();
        if found.is_some() && (shadowed || found != old_kind) {
            let action = if old_kind.is_none() { Action::Add } else { Action::Replace };
            let about = About { old_kind, new_kind: Some(kind), reason, action, move_source: None };
            conflict = self.tree_conflict(relpath, &about)?;
            self.step_mut()?.skip = true;
        } else {
            let relpath = relpath.to_owned();
            work.push(match kind {
                NodeKind::Dir => WorkItem::DirInstall { relpath },
                NodeKind::File => WorkItem::FileInstall {
                    relpath,
                    use_commit_times: false,
                    record_fileinfo: true,
                    source: None,
                },
            });
        }
        let action =
            if old_kind.is_none() { NotifyAction::UpdateAdd } else { NotifyAction::UpdateReplace };
        let none = State::Inapplicable;
        self.close(relpath, (action, Some(kind), none, none), &conflict, work)
    }

    /// A conflict when something of another kind is in the way of an edit.
    fn obstruction(&self, relpath: &RelPath, kind: NodeKind) -> Result<Conflict> {
        let found = disk_kind(&self.wc.abspath(relpath))?
            .map(|found| if found.is_dir() { NodeKind::Dir } else { NodeKind::File });
        if found.is_none_or(|found| found == kind) {
            return Ok(Conflict::default());
        }
        let about = About {
            old_kind: Some(kind),
            new_kind: Some(kind),
            reason: Reason::Obstructed,
            action: Action::Edit,
            move_source: None,
        };
        self.tree_conflict(relpath, &about)
    }

    /// Merges a change of properties into the local ones; what they were before, and the changes.
    fn merge_props(
        &self,
        relpath: &RelPath,
        old: &Layer,
        new: &Layer,
        conflict: &mut Conflict,
    ) -> Result<(PropList, Vec<PropChange>, PropState)> {
        let actual = self.wc.require_view(relpath)?.props()?;
        let changes = old.props.diff_to(&new.props);
        let merged = merge_props(&old.props, &old.props, &actual, &changes);
        if let Some(prop) = merged.conflict {
            conflict.prop = Some(prop);
        }
        let own = (merged.actual != new.props).then_some(&merged.actual);
        self.wc.db().set_actual_props(relpath, own)?;
        if changes.iter().any(|(name, _)| crate::local_mods::is_magic(name)) {
            self.wc.db().record_fileinfo(relpath, -1, 0)?;
        }
        Ok((actual, changes, merged.state))
    }

    /// Completes the record of a conflict in texts or properties, and has its `.prej` file written.
    fn complete(
        &self,
        relpath: &RelPath,
        kind: NodeKind,
        conflict: &mut Conflict,
        work: &mut Vec<WorkItem>,
    ) -> Result<()> {
        let row = self.wc.db().node(relpath, self.target_depth)?;
        let old = row.and_then(|row| row.repos_path).unwrap_or_default();
        self.complete_from(relpath, old, kind, conflict, work)
    }

    /// The same of a node whose old path in the repository is known.
    pub(super) fn complete_from(
        &self,
        relpath: &RelPath,
        old: RelPathBuf,
        kind: NodeKind,
        conflict: &mut Conflict,
        work: &mut Vec<WorkItem>,
    ) -> Result<()> {
        if conflict.tree.is_none() {
            let part = old
                .below(&self.old.relpath)
                .or_else(|| old.below(&self.new.relpath))
                .unwrap_or_default();
            let new = self.new.relpath.join(part);
            let place = |from: &Location, relpath: RelPathBuf| Location {
                relpath,
                kind: Some(kind),
                ..from.clone()
            };
            conflict.operation = Some(self.operation);
            conflict.locations =
                vec![Some(place(&self.old, old.clone())), Some(place(&self.new, new))];
        }
        if let Some(prop) = &mut conflict.prop
            && prop.marker.is_none()
        {
            prop.marker = Some(conflict::names::reserve_prej(self.wc, relpath)?);
            work.push(WorkItem::PrejInstall { relpath: relpath.to_owned(), old_skel: None });
        }
        Ok(())
    }

    fn alter_dir(&mut self, relpath: &RelPath, old: &Layer, new: &Layer) -> Result<()> {
        let at = self.last();
        self.mark_edited(at)?;
        if self.skips() {
            return Ok(());
        }
        let mut conflict = self.obstruction(relpath, NodeKind::Dir)?;
        let mut work = Vec::new();
        let (_, _, state) = self.merge_props(relpath, old, new, &mut conflict)?;
        if state == PropState::Conflicted {
            self.complete(relpath, NodeKind::Dir, &mut conflict, &mut work)?;
        }
        let saying = (
            NotifyAction::UpdateUpdate,
            Some(NodeKind::Dir),
            State::Inapplicable,
            notify_state(state),
        );
        self.close(relpath, saying, &conflict, work)
    }

    fn alter_file(&mut self, relpath: &RelPath, old: &Layer, new: &Layer) -> Result<()> {
        let at = self.last();
        self.mark_edited(at)?;
        if self.skips() {
            return Ok(());
        }
        let wc = self.wc;
        let mut conflict = self.obstruction(relpath, NodeKind::File)?;
        let mut work = Vec::new();
        let modified = wc.file_modified(&wc.require_view(relpath)?)?;
        let obstructed = conflict.tree.is_some();
        let (actual, changes, state) = self.merge_props(relpath, old, new, &mut conflict)?;
        let mut content = State::Unchanged;
        if !obstructed
            && new.checksum != old.checksum
            && let (Some(from), Some(to)) = (old.checksum, new.checksum)
        {
            if modified {
                let left = wc.text_base_file(relpath, &from)?;
                let right = wc.text_base_file(relpath, &to)?;
                let merge = TextMerge {
                    relpath,
                    left: left.path(),
                    right: right.path(),
                    left_label: ".old",
                    right_label: ".new",
                    target_label: ".working",
                    actual: &actual,
                    changes: &changes,
                    options: sapwood_diff::Options::default(),
                    external: None,
                    suffix: Some(".tmp"),
                };
                let merged = merge_text(wc, &merge)?;
                content = match merged.outcome {
                    TextOutcome::Conflict => State::Conflicted,
                    TextOutcome::Merged | TextOutcome::Unchanged => State::Merged,
                };
                conflict.text = merged.conflict;
                work = merged.work;
                left.leave(wc, &mut work)?;
                right.leave(wc, &mut work)?;
            } else {
                content = State::Changed;
                work.push(WorkItem::FileInstall {
                    relpath: relpath.to_owned(),
                    use_commit_times: false,
                    record_fileinfo: true,
                    source: None,
                });
            }
        }
        if !conflict.is_resolved() {
            self.complete(relpath, NodeKind::File, &mut conflict, &mut work)?;
        }
        let saying =
            (NotifyAction::UpdateUpdate, Some(NodeKind::File), content, notify_state(state));
        self.close(relpath, saying, &conflict, work)
    }
}

/// A step that is not there: a mistake in this file.
fn lost() -> Error {
    Error::new(ErrorCode::ASSERTION_FAIL, "internal error in move_update: no step")
}
