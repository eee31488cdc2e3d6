//! Merging a directory that was added here into one that an update added in the same place.
//!
//! BASE has the incoming nodes, the layers above it the local ones. The two are compared node by node: nodes
//! that only BASE has are installed, nodes that both have are merged, and then the layer of the local
//! addition is removed. What was added below it stays as an addition. All of it is one transaction; files
//! follow by work items.

use std::collections::BTreeMap;
use std::fs;

use rusqlite::params;
use sapwood_core::notify::{Action as NotifyAction, State};
use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{CancelToken, NodeKind, PropList};

use super::choice::forget_conflict;
use super::move_walk::{
    Layer, PendingNotice, either, layer_of, notify_recorded, notify_state, working_layer,
};
use super::{Notifier, subtree};
use crate::conflict::{
    Action, Conflict, Operation, PropChange, PropState, Reason, TextMerge, TextOutcome,
    TreeConflict, merge_props, merge_text, names,
};
use crate::db::depth_of;
use crate::error::{Error, Result};
use crate::local::move_conflict::{location_of, require_lock};
use crate::local_mods::is_magic;
use crate::root::{WorkingCopy, disk_kind};
use crate::translate::{Translation, same_as_pristine};
use crate::work_item::WorkItem;

struct AddUpdate<'a> {
    wc: &'a WorkingCopy,
    cancel: &'a CancelToken,
    said: BTreeMap<RelPathBuf, PendingNotice>,
}

/// As [`WorkingCopy::update_local_add`].
pub(crate) fn update_local_add(
    wc: &WorkingCopy,
    relpath: &RelPath,
    cancel: &CancelToken,
    notify: &Notifier<'_>,
) -> Result<()> {
    let (said, revision) = wc.db().write(|db| {
        require_lock(wc, relpath)?;
        let base = db.base(relpath)?;
        let base = base.ok_or_else(|| Error::NodeNotFound(wc.abspath(relpath)))?;
        let mut update = AddUpdate { wc, cancel, said: BTreeMap::new() };
        update.node(relpath)?;
        let (lo, hi) = subtree(relpath);
        db.execute(
            "DELETE FROM nodes WHERE wc_id = ?1 AND (local_relpath = ?2 OR (local_relpath > ?3 AND \
             local_relpath < ?4)) AND op_depth = ?5",
            params![db.wc_id(), relpath.as_str(), lo, hi, depth_of(relpath)],
        )?;
        forget_conflict(wc.db(), relpath, |conflict| conflict.tree = None)?;
        Ok((update.said, base.revision))
    })?;
    notify_recorded(wc.disk(), said, relpath, revision, notify);
    wc.run_queue(cancel)
}

const NONE: State = State::Inapplicable;

impl AddUpdate<'_> {
    fn disk(&self, relpath: &RelPath) -> Result<Option<NodeKind>> {
        let found = disk_kind(&self.wc.abspath(relpath))?;
        Ok(found.map(|found| if found.is_dir() { NodeKind::Dir } else { NodeKind::File }))
    }

    fn say(
        &mut self,
        relpath: &RelPath,
        action: NotifyAction,
        kind: Option<NodeKind>,
        states: (State, State),
    ) {
        let (content, props) = states;
        self.said.insert(relpath.to_owned(), PendingNotice { action, kind, content, props });
    }

    /// A file that is missing on disk is left out.
    fn skip(&mut self, relpath: &RelPath, kind: Option<NodeKind>, found: Option<NodeKind>) {
        let content = if found.is_none() { State::Missing } else { State::Obstructed };
        self.say(relpath, NotifyAction::Skip, kind, (content, NONE));
    }

    fn work(&self, work: &[WorkItem]) -> Result<()> {
        work.iter().try_for_each(|item| self.wc.db().add_work(item).map(|_| ()))
    }

    fn node(&mut self, relpath: &RelPath) -> Result<()> {
        if self.cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        let base = layer_of(self.wc.db(), relpath, 0)?;
        let own = working_layer(self.wc.db(), relpath)?;
        let goes_on = match own.kind {
            None => self.install(relpath, base.kind)?,
            Some(kind) if own.kind != base.kind => self.added(relpath, kind, base.kind)?,
            Some(NodeKind::File) => {
                if base.props != own.props || !self.has_text(relpath, &own, &base)? {
                    self.merge_file(relpath, &base, &own)?;
                }
                false
            }
            Some(NodeKind::Dir) => {
                base.props == own.props || self.merge_dir_props(relpath, &base, &own)?
            }
        };
        if !goes_on {
            return Ok(());
        }
        let names = either(base.children, own.children);
        names.iter().try_for_each(|name| self.node(&relpath.child(name)))
    }

    /// What only BASE has comes to the disk; whether there is more below.
    fn install(&mut self, relpath: &RelPath, kind: Option<NodeKind>) -> Result<bool> {
        let found = self.disk(relpath)?;
        let Some(kind) = kind else { return Ok(false) };
        if found.is_some_and(|found| found != kind) {
            self.skip(relpath, Some(kind), found);
            return Ok(false);
        }
        self.work(&[WorkItem::put(relpath.to_owned(), kind)])?;
        self.say(relpath, NotifyAction::UpdateAdd, Some(kind), (NONE, NONE));
        Ok(kind == NodeKind::Dir)
    }

    /// What is here and not, or not as this kind, in BASE; whether there is more below.
    fn added(&mut self, relpath: &RelPath, kind: NodeKind, base: Option<NodeKind>) -> Result<bool> {
        if base.is_some() {
            let mut conflict = Conflict::new(
                Operation::Update,
                None,
                Some(location_of(self.wc.db(), self.wc.disk(), relpath, 0)?),
            );
            conflict.tree = Some(TreeConflict {
                reason: Reason::Added,
                action: Action::Add,
                move_source: None,
                move_destination: None,
            });
            self.wc.db().mark_conflict(relpath, &conflict.write())?;
            self.say(relpath, NotifyAction::TreeConflict, Some(kind), (NONE, NONE));
            return Ok(false);
        }
        let found = self.disk(relpath)?;
        if found != Some(kind) {
            self.skip(relpath, Some(kind), found);
            return Ok(false);
        }
        self.say(relpath, NotifyAction::UpdateAdd, Some(kind), (NONE, NONE));
        Ok(kind == NodeKind::Dir)
    }

    /// Whether a working file has, as it is, the text that BASE has.
    fn has_text(&self, relpath: &RelPath, own: &Layer, base: &Layer) -> Result<bool> {
        let Some(checksum) = base.checksum else { return Ok(false) };
        let kept = self.wc.text_base_file(relpath, &checksum)?;
        let pristine = kept.path();
        let failed = |e| Error::io(e, "Can't open file", pristine);
        let len = fs::metadata(pristine).map_err(failed)?.len();
        if self.disk(relpath)? != Some(NodeKind::File) {
            return Ok(false);
        }
        let how = Translation::of(&own.props, None);
        let place = self.wc.abspath(relpath);
        Ok(same_as_pristine(&place, &how, len, || {
            fs::File::open(pristine).map_err(|e| failed(e).into())
        })?)
    }

    /// Merges the properties that are here into those of BASE.
    fn merge_props(
        &self,
        relpath: &RelPath,
        base: &Layer,
        own: &Layer,
        conflict: &mut Conflict,
    ) -> Result<(Vec<PropChange>, PropState)> {
        let nothing = PropList::new();
        let changes = nothing.diff_to(&own.props);
        let merged = merge_props(&nothing, &base.props, &own.props, &changes);
        if let Some(prop) = merged.conflict {
            conflict.prop = Some(prop);
        }
        if !merged.actual.is_empty() {
            self.wc.db().set_actual_props(relpath, Some(&merged.actual))?;
            if changes.iter().any(|(name, _)| is_magic(name)) {
                self.wc.db().record_fileinfo(relpath, -1, 0)?;
            }
        }
        Ok((changes, merged.state))
    }

    /// Records a conflict of texts or properties, with the work that belongs to it.
    fn record(
        &self,
        relpath: &RelPath,
        mut conflict: Conflict,
        mut work: Vec<WorkItem>,
    ) -> Result<()> {
        if let Some(prop) = &mut conflict.prop {
            prop.marker = Some(names::reserve_prej(self.wc, relpath)?);
            work.push(WorkItem::PrejInstall { relpath: relpath.to_owned(), old_skel: None });
        }
        if !conflict.is_resolved() {
            conflict.operation = Some(Operation::Update);
            conflict.locations =
                vec![None, Some(location_of(self.wc.db(), self.wc.disk(), relpath, 0)?)];
            self.wc.db().mark_conflict(relpath, &conflict.write())?;
        }
        self.work(&work)
    }

    /// A directory that both have; whether there is more below.
    fn merge_dir_props(&mut self, relpath: &RelPath, base: &Layer, own: &Layer) -> Result<bool> {
        let found = self.disk(relpath)?;
        if found != Some(NodeKind::Dir) {
            self.skip(relpath, Some(NodeKind::Dir), found);
            return Ok(false);
        }
        let mut conflict = Conflict::default();
        let (_, state) = self.merge_props(relpath, base, own, &mut conflict)?;
        self.record(relpath, conflict, Vec::new())?;
        self.say(
            relpath,
            NotifyAction::UpdateUpdate,
            Some(NodeKind::Dir),
            (NONE, notify_state(state)),
        );
        Ok(true)
    }

    /// A file that both have.
    fn merge_file(&mut self, relpath: &RelPath, base: &Layer, own: &Layer) -> Result<()> {
        let wc = self.wc;
        let found = self.disk(relpath)?;
        if found != Some(NodeKind::File) {
            self.skip(relpath, Some(NodeKind::File), found);
            return Ok(());
        }
        let mut conflict = Conflict::default();
        let (changes, state) = self.merge_props(relpath, base, own, &mut conflict)?;
        let Some(checksum) = base.checksum else { return Ok(()) };
        let right = wc.text_base_file(relpath, &checksum)?;
        let empty = wc.temporary();
        fs::write(&empty, b"").map_err(|e| Error::io(e, "Can't write to file", &empty))?;
        let merged = merge_text(
            wc,
            &TextMerge {
                relpath,
                left: &empty,
                right: right.path(),
                left_label: ".old",
                right_label: ".new",
                target_label: ".working",
                actual: &PropList::new(),
                changes: &changes,
                options: sapwood_diff::Options::default(),
                external: None,
                suffix: Some(".tmp"),
            },
        );
        let mut merged = merged?;
        merged.work.push(WorkItem::FileRemove { relpath: wc.relpath(&empty)? });
        right.leave(wc, &mut merged.work)?;
        let content = match merged.outcome {
            TextOutcome::Conflict => State::Conflicted,
            TextOutcome::Merged | TextOutcome::Unchanged => State::Merged,
        };
        conflict.text = merged.conflict;
        self.record(relpath, conflict, merged.work)?;
        self.say(
            relpath,
            NotifyAction::UpdateUpdate,
            Some(NodeKind::File),
            (content, notify_state(state)),
        );
        Ok(())
    }
}
