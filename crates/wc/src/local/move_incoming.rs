//! Moving local changes of a directory to where an update found it moved.
//!
//! The update left the changed nodes as a copy of their former state. That copy is compared with the layers
//! above it, and the differences are applied at the destination, which is in BASE and has no local changes.
//! All of it is one transaction; files follow by work items.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use sapwood_core::notify::{Action as NotifyAction, State};
use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{CancelToken, NodeKind, PropList};

use super::Notifier;
use super::move_conflict::{About, failure};
use super::move_walk::{
    Layer, MoveUpdate, Step, either, layer_of, notify_recorded, notify_state, working_layer,
};
use super::rows::SubtreeSql as _;
use crate::conflict::{
    Action, Conflict, Operation, PropChange, PropState, Reason, TextMerge, TextMerged, TextOutcome,
    merge_props, merge_text,
};
use crate::db::{Presence, depth_of};
use crate::error::{Error, Result};
use crate::local::delete_versioned::is_obstructed;
use crate::local::move_conflict::{check_single, location_of, require_lock};
use crate::local_mods::is_magic;
use crate::root::{Disk, WorkingCopy, disk_kind};
use crate::work_item::WorkItem;

/// Of a file that was changed here, and deleted or moved on there.
const FILE_WAS_DELETED: About = About {
    old_kind: Some(NodeKind::File),
    new_kind: None,
    reason: Reason::Edited,
    action: Action::Delete,
    move_source: None,
};

/// As [`WorkingCopy::update_incoming_move`].
pub(crate) fn update_incoming_move(
    wc: &WorkingCopy,
    victim: &RelPath,
    target: &RelPath,
    cancel: &CancelToken,
    notify: &Notifier<'_>,
) -> Result<Vec<RelPathBuf>> {
    let record = wc.db().actual(victim)?.and_then(|actual| actual.conflict_data);
    let Some(record) = record else { return Ok(Vec::new()) };
    let operation = Conflict::parse(&record)?.operation.unwrap_or(Operation::Update);
    let (said, new, left) = wc.db().write(|_| {
        require_lock(wc, victim)?;
        require_lock(wc, target)?;
        if wc.has_local_changes(target)? {
            return Err(failure(format!(
                "Cannot merge local changes from '{}' because '{}' already contains other local \
                 changes (please commit or revert these other changes and try again)",
                wc.abspath(victim).display(),
                wc.abspath(target).display()
            )));
        }
        check_single(wc.db(), wc.disk(), target)?;
        let source_depth = depth_of(victim);
        let mut update = MoveUpdate {
            wc,
            source_depth,
            target_depth: depth_of(target),
            operation,
            new: location_of(wc.db(), wc.disk(), target, 0)?,
            old: location_of(wc.db(), wc.disk(), victim, source_depth)?,
            cancel,
            steps: vec![Step {
                source: victim.to_owned(),
                target: target.to_owned(),
                ..Step::default()
            }],
            said: BTreeMap::new(),
            left: Vec::new(),
        };
        update.changed_node()?;
        Ok((update.said, update.new.revision, update.left))
    })?;
    notify_recorded(wc.disk(), said, victim, new, notify);
    wc.run_queue(cancel)?;
    Ok(left)
}

fn kind_on_disk(disk: &Disk, relpath: &RelPath) -> Result<Option<NodeKind>> {
    let found = disk_kind(&disk.abspath(relpath))?;
    Ok(found.map(|found| if found.is_dir() { NodeKind::Dir } else { NodeKind::File }))
}

impl MoveUpdate<'_> {
    /// Compares the node at the end of the steps, and all below, with its local changes.
    fn changed_node(&mut self) -> Result<()> {
        if self.cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        let (source, target) = {
            let step = self.step()?;
            (step.source.clone(), step.target.clone())
        };
        let old = layer_of(self.wc.db(), &source, self.source_depth)?;
        let own = working_layer(self.wc.db(), &source)?;
        if own.kind.is_none() || (old.kind.is_some() && old.kind != own.kind) {
            self.delete_there(&target, old.kind, own.kind)?;
        }
        if self.skips() {
            if own.kind.is_some() {
                self.leave_here();
            }
            return Ok(());
        }
        match own.kind {
            Some(kind) if own.kind != old.kind => {
                self.add_there(&source, &target, kind, old.kind)?
            }
            Some(NodeKind::File) => {
                // What is in a file's place otherwise is not versioned: it stays where it is.
                let view = self.wc.require_view(&source)?;
                let modified =
                    !is_obstructed(self.wc.disk(), &view)? && self.wc.file_modified(&view)?;
                if modified || old.props != own.props {
                    self.change_file_there(&source, &target, &old, &own, modified)?;
                }
            }
            Some(NodeKind::Dir) if old.props != own.props => {
                self.change_dir_there(&target, &old, &own)?;
            }
            _ => {}
        }
        if self.skips() || own.kind != Some(NodeKind::Dir) {
            return Ok(());
        }
        for name in either(own.children, old.children) {
            self.steps.push(Step {
                source: source.child(&name),
                target: target.child(&name),
                ..Step::default()
            });
            let done = self.changed_node();
            self.steps.pop();
            done?;
            if self.skips() {
                self.leave_here();
                break;
            }
        }
        Ok(())
    }

    /// The local changes of the node at the end of the steps, and below, are not moved to the
    /// destination.
    fn leave_here(&mut self) {
        self.left.extend(self.steps.last().map(|step| step.source.clone()));
    }

    /// A node was deleted, or replaced by one of another kind.
    fn delete_there(
        &mut self,
        relpath: &RelPath,
        old_kind: Option<NodeKind>,
        new_kind: Option<NodeKind>,
    ) -> Result<()> {
        self.mark_parent_edited()?;
        if self.skips() {
            return Ok(());
        }
        let wc = self.wc;
        let db = wc.db();
        let mut conflict = Conflict::default();
        // A node that was moved on or deleted there cannot be resolved.
        wc.require_view(relpath)?;
        if wc.has_local_changes(relpath)? || wc.has_unversioned(relpath)? {
            db.make_copy(relpath, false)?;
            let action = if new_kind.is_none() { Action::Delete } else { Action::Replace };
            let about =
                About { old_kind, new_kind, reason: Reason::Edited, action, move_source: None };
            conflict = self.tree_conflict(relpath, &about)?;
            self.step_mut()?.skip = true;
        } else if db.base(relpath)?.is_some() {
            db.insert_deletion(relpath, 0, depth_of(relpath))?;
        }
        if conflict.is_resolved() && new_kind.is_some() {
            return Ok(());
        }
        let none = State::Inapplicable;
        self.close(
            relpath,
            (NotifyAction::UpdateDelete, new_kind, none, none),
            &conflict,
            Vec::new(),
        )
    }

    /// The row and the local properties of a node once more, elsewhere.
    fn copy_node(&self, source: &RelPath, target: &RelPath) -> Result<()> {
        let db = self.wc.db();
        let Some(mut row) = db.top(source)? else { return Ok(()) };
        let depth = depth_of(target);
        row.moved_to = db.node(target, depth)?.and_then(|known| known.moved_to);
        target.clone_into(&mut row.relpath);
        row.op_depth = depth;
        row.presence = Presence::Normal;
        row.moved_here = false;
        db.put_node(&row)?;
        let actual = db.actual(source)?;
        let props = actual.map(|row| row.props()).transpose()?.flatten();
        db.set_actual_props(target, props.as_ref())
    }

    /// Refuses to put a node where it has no parent: the parent was moved on, or is gone there. (1.14 ends there
    /// without a message, and without a change.)
    fn require_parent_there(&self, source: &RelPath, relpath: &RelPath) -> Result<()> {
        let parent = relpath.parent();
        if self.wc.view(parent)?.is_some_and(|view| view.top().presence.is_there()) {
            return Ok(());
        }
        Err(failure(format!(
            "Cannot merge local changes from '{}' because there is no '{}'",
            self.wc.abspath(source).display(),
            self.wc.abspath(parent).display()
        )))
    }

    /// A node was added here.
    fn add_there(
        &mut self,
        source: &RelPath,
        relpath: &RelPath,
        kind: NodeKind,
        old_kind: Option<NodeKind>,
    ) -> Result<()> {
        self.mark_parent_edited()?;
        if self.skips() {
            self.leave_here();
            return Ok(());
        }
        let found = kind_on_disk(self.wc.disk(), relpath)?.filter(|found| Some(*found) != old_kind);
        let mut conflict = Conflict::default();
        let mut work = Vec::new();
        if found.is_some() {
            self.leave_here();
            let action = if old_kind.is_none() { Action::Add } else { Action::Replace };
            let about = About {
                old_kind,
                new_kind: Some(kind),
                reason: Reason::Unversioned,
                action,
                move_source: None,
            };
            conflict = self.tree_conflict(relpath, &about)?;
            self.step_mut()?.skip = true;
        } else {
            self.require_parent_there(source, relpath)?;
            self.copy_node(source, relpath)?;
            work = match kind {
                NodeKind::Dir => vec![WorkItem::DirInstall { relpath: relpath.to_owned() }],
                NodeKind::File => self.install_from(source, relpath)?,
            };
        }
        let action =
            if old_kind.is_none() { NotifyAction::UpdateAdd } else { NotifyAction::UpdateReplace };
        let none = State::Inapplicable;
        self.close(relpath, (action, Some(kind), none, none), &conflict, work)
    }

    /// Work that puts the text of a working file elsewhere.
    fn install_from(&self, source: &RelPath, relpath: &RelPath) -> Result<Vec<WorkItem>> {
        let wc = self.wc;
        let temporary = wc.temporary();
        let failed = |e| Error::io(e, "Can't create temporary file", &temporary);
        let mut copy = fs::File::create_new(&temporary).map_err(failed)?;
        wc.copy_in_normal_form(source, &mut copy)?;
        let copy = wc.relpath(&temporary)?;
        Ok(vec![
            WorkItem::FileInstall {
                relpath: relpath.to_owned(),
                use_commit_times: false,
                record_fileinfo: true,
                source: Some(copy.clone()),
            },
            WorkItem::FileRemove { relpath: copy },
        ])
    }

    /// Merges a change of properties into those of a node that is in BASE.
    fn change_props_there(
        &self,
        relpath: &RelPath,
        old: &Layer,
        own: &Layer,
        conflict: &mut Conflict,
    ) -> Result<PropState> {
        let db = self.wc.db();
        let view = self.wc.require_view(relpath)?;
        let (pristine, actual) = (view.pristine_props()?, view.props()?);
        let changes = old.props.diff_to(&own.props);
        let merged = merge_props(&old.props, &pristine, &actual, &changes);
        if let Some(prop) = merged.conflict {
            conflict.prop = Some(prop);
        }
        let changed = (merged.actual != pristine).then_some(&merged.actual);
        db.set_actual_props(relpath, changed)?;
        if changes.iter().any(|(name, _)| is_magic(name)) {
            db.record_fileinfo(relpath, -1, 0)?;
        }
        Ok(merged.state)
    }

    /// A conflict where the destination has no node of this kind, in BASE or on disk.
    fn check_there(&self, relpath: &RelPath, kind: NodeKind) -> Result<Conflict> {
        let base = self.wc.db().base(relpath)?.and_then(|row| row.kind.node_kind());
        let disk = kind_on_disk(self.wc.disk(), relpath)?;
        let wrong = [base, disk].into_iter().find(|found| *found != Some(kind));
        let Some(found) = wrong else { return Ok(Conflict::default()) };
        let about = About {
            old_kind: Some(kind),
            new_kind: found,
            reason: if found.is_none() { Reason::Missing } else { Reason::Obstructed },
            action: Action::Edit,
            move_source: None,
        };
        self.tree_conflict(relpath, &about)
    }

    fn base_path(&self, relpath: &RelPath) -> Result<RelPathBuf> {
        let base = self.wc.db().base(relpath)?;
        base.and_then(|row| row.repos_path)
            .ok_or_else(|| Error::NodeNotFound(self.wc.abspath(relpath)))
    }

    fn change_dir_there(&mut self, relpath: &RelPath, old: &Layer, own: &Layer) -> Result<()> {
        let at = self.last();
        self.mark_edited(at)?;
        if self.skips() {
            return Ok(());
        }
        let mut conflict = self.check_there(relpath, NodeKind::Dir)?;
        let mut work = Vec::new();
        let mut state = PropState::Unchanged;
        if conflict.tree.is_none() {
            state = self.change_props_there(relpath, old, own, &mut conflict)?;
        }
        if state == PropState::Conflicted {
            let from = self.base_path(relpath)?;
            self.complete_from(relpath, from, NodeKind::Dir, &mut conflict, &mut work)?;
        }
        let saying = (
            NotifyAction::UpdateUpdate,
            Some(NodeKind::Dir),
            State::Inapplicable,
            notify_state(state),
        );
        self.close(relpath, saying, &conflict, work)
    }

    fn change_file_there(
        &mut self,
        source: &RelPath,
        relpath: &RelPath,
        old: &Layer,
        own: &Layer,
        modified: bool,
    ) -> Result<()> {
        let at = self.last();
        self.mark_edited(at)?;
        if self.skips() {
            self.leave_here();
            return Ok(());
        }
        let wc = self.wc;
        let mut work = Vec::new();
        let mut conflict;
        let (mut state, mut content) = (PropState::Unchanged, State::Unchanged);
        if wc.db().base(relpath)?.is_none() {
            // It was deleted there, or moved on: what is here is kept, as a conflict of its own.
            self.require_parent_there(source, relpath)?;
            self.copy_node(source, relpath)?;
            conflict = self.tree_conflict(relpath, &FILE_WAS_DELETED)?;
            work = self.install_from(source, relpath)?;
        } else {
            conflict = self.check_there(relpath, NodeKind::File)?;
            if conflict.tree.is_some() {
                self.leave_here();
            }
        }
        if conflict.tree.is_none() {
            let actual = wc.require_view(relpath)?.props()?;
            state = self.change_props_there(relpath, old, own, &mut conflict)?;
            if modified && let Some(pristine) = own.checksum {
                let changes = old.props.diff_to(&own.props);
                let left = wc.text_base_file(source, &pristine)?;
                let merged =
                    self.merge_text_there(source, relpath, left.path(), (&actual, &changes))?;
                content = match merged.outcome {
                    TextOutcome::Conflict => State::Conflicted,
                    TextOutcome::Merged | TextOutcome::Unchanged => State::Merged,
                };
                conflict.text = merged.conflict;
                work = merged.work;
                left.leave(wc, &mut work)?;
            }
            if !conflict.is_resolved() {
                let from = self.base_path(relpath)?;
                self.complete_from(relpath, from, NodeKind::File, &mut conflict, &mut work)?;
            }
        }
        let saying =
            (NotifyAction::UpdateUpdate, Some(NodeKind::File), content, notify_state(state));
        self.close(relpath, saying, &conflict, work)
    }

    /// Merges the text of a file that was moved into what is there, whose properties are `actual`. The text that it was
    /// changed from is in the file `left`.
    fn merge_text_there(
        &self,
        source: &RelPath,
        relpath: &RelPath,
        left: &Path,
        (actual, changes): (&PropList, &[PropChange]),
    ) -> Result<TextMerged> {
        let revision = |at: &crate::conflict::Location| {
            at.revision.map_or_else(String::new, |revision| format!(".r{revision}"))
        };
        merge_text(
            self.wc,
            &TextMerge {
                relpath,
                left,
                right: &self.wc.abspath(source),
                left_label: &revision(&self.old),
                right_label: ".working",
                target_label: &revision(&self.new),
                actual,
                changes,
                options: sapwood_diff::Options::default(),
                external: None,
                suffix: None,
            },
        )
    }
}
