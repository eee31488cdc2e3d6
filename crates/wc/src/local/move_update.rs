//! Applying incoming changes of a move's source to its destination.
//!
//! After an update BASE has the new state at the source of a move, and the layer of the move still has
//! the old one at its destination. The two are compared node by node. Differences are merged into the
//! working files and properties at the destination, or become conflicts there; at the end the layer is
//! updated. All of it is one transaction; files follow by work items.

use std::collections::BTreeMap;

use sapwood_core::notify::{Action as NotifyAction, State};
use sapwood_core::paths::RelPath;
use sapwood_core::{CancelToken, NodeKind, PropList};

use super::Notifier;
use super::move_conflict::{About, check_single, failure, layer_under, location_of, require_lock};
use super::move_walk::{Layer, MoveUpdate, Step, either, notify_recorded, notify_state};
use crate::base::follow::copy_layer;
use crate::conflict::{
    Action, Conflict, Operation, PropChange, PropState, Reason, TextMerge, TextOutcome,
    merge_props, merge_text,
};
use crate::db::depth_of;
use crate::error::{Error, Result};
use crate::root::{WorkingCopy, disk_kind};
use crate::view::Status;
use crate::work_item::WorkItem;

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

impl MoveUpdate<'_> {
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
            work.push(WorkItem::put(relpath.to_owned(), kind));
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
                work.push(WorkItem::install(relpath.to_owned(), false));
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
