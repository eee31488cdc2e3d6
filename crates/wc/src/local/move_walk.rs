//! A walk through two trees, of which one is to get the changes of the other: where it is, what is in the way, and what is
//! said when it is complete.
//!
//! Invariant: a node whose changes cannot be applied is marked, and nothing below it is looked at.

use std::collections::BTreeMap;

use sapwood_core::exact::Exact;
use sapwood_core::notify::{Action as NotifyAction, Notify, State};
use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{CancelToken, ErrorCode, NodeKind, PropList, Sha1};

use super::Notifier;
use super::move_conflict::{About, ConflictSides, conflict_of_move};
use crate::conflict::{self, Action, Conflict, Location, Operation, PropState, Reason};
use crate::db::{Db, NodeRow, Presence};
use crate::error::{Error, Result};
use crate::node::prefix;
use crate::root::{Disk, WorkingCopy};
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

    pub(super) fn layer(&self, relpath: &RelPath, op_depth: i64) -> Result<Layer> {
        layer_of(self.wc.db(), relpath, op_depth)
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
    pub(super) fn mark_hidden(
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

    /// Completes the record of a conflict in texts or properties, whose old path in the repository is known, and has its
    /// `.prej` file written.
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
}

/// A step that is not there: a mistake in this file.
fn lost() -> Error {
    Error::new(ErrorCode::ASSERTION_FAIL, "internal error in move_update: no step")
}
