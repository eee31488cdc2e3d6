//! Open directories of an update.

use std::collections::{BTreeMap, HashMap};

use sapwood_core::date::Timestamp;
use sapwood_core::notify::{Action as NotifyAction, Notify, State};
use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::props::names;
use sapwood_core::{Depth, NodeKind, PropList, Revnum, path};

use super::batch::{Step, Work};
use super::conflicts::ConflictSides;
use super::{UpdateEditor, sort_changes};
use crate::base::BaseNode;
use crate::conflict::{Conflict, PropChange, PropState, merge_props, names as files_beside};
use crate::db::{Kind, NodeRow, Presence, write_inherited, write_props};
use crate::error::Result;
use crate::work_item::WorkItem;

/// The last change of a node.
#[derive(Clone, Debug, Default)]
pub(crate) struct LastChange {
    pub(crate) revision: Option<Revnum>,
    pub(crate) date: Option<Timestamp>,
    pub(crate) author: Option<String>,
}

impl LastChange {
    pub(super) fn of(row: &NodeRow) -> Self {
        Self {
            revision: row.changed_revision,
            date: row.changed_date,
            author: row.changed_author.clone(),
        }
    }

    /// Takes the values of the entry properties.
    pub(super) fn take(&mut self, entry: &[PropChange]) {
        for (name, value) in entry {
            let Some(value) = value else { continue };
            match name.as_str() {
                names::ENTRY_COMMITTED_REV => {
                    self.revision = Revnum::parse(value).or(self.revision);
                }
                names::ENTRY_COMMITTED_DATE => {
                    self.date = Timestamp::parse(value).ok().or(self.date);
                }
                names::ENTRY_LAST_AUTHOR => {
                    self.author = Some(sapwood_core::ascii::readable(value).into_owned());
                }
                _ => {}
            }
        }
    }

    pub(super) fn put(&self, row: &mut NodeRow) {
        row.changed_revision = self.revision;
        row.changed_date = self.date;
        row.changed_author.clone_from(&self.author);
    }
}

/// A directory that is open.
#[derive(Debug)]
pub(super) struct Dir {
    pub(super) relpath: RelPathBuf,
    pub(super) parent: Option<u64>,
    /// Its path in the repository after the update.
    pub(super) repos_path: RelPathBuf,
    pub(super) old_revision: Option<Revnum>,
    pub(super) old_repos_path: Option<RelPathBuf>,
    /// It and everything in it is skipped.
    pub(super) skip: bool,
    pub(super) notified: bool,
    pub(super) adding: bool,
    /// BASE changes; the user's layer above it does not.
    pub(super) shadowed: bool,
    /// Another node is in its place on disk.
    pub(super) obstructed: bool,
    pub(super) obstruction_found: bool,
    /// A local addition becomes this node.
    pub(super) add_existed: bool,
    pub(super) edited: bool,
    /// A conflict that is recorded only if the update really changes something here.
    pub(super) conflict: Option<Conflict>,
    /// Conflicts of children that were deleted, in case they are added again.
    pub(super) deletions: HashMap<String, Conflict>,
    /// Children that are not in the database yet, and would be missing if the update stopped.
    pub(super) not_present: BTreeMap<String, Kind>,
    pub(super) changes: Vec<PropChange>,
    pub(super) changed: LastChange,
    pub(super) depth: Depth,
    pub(super) was_incomplete: bool,
}

impl Dir {
    pub(super) fn new(relpath: RelPathBuf, parent: Option<u64>, adding: bool) -> Self {
        Self {
            relpath,
            parent,
            repos_path: RelPathBuf::default(),
            old_revision: None,
            old_repos_path: None,
            skip: false,
            notified: false,
            adding,
            shadowed: false,
            obstructed: false,
            obstruction_found: false,
            add_existed: false,
            edited: false,
            conflict: None,
            deletions: HashMap::new(),
            not_present: BTreeMap::new(),
            changes: Vec::new(),
            changed: LastChange::default(),
            depth: Depth::Unknown,
            was_incomplete: false,
        }
    }

    pub(super) fn places(&self) -> ConflictSides<'_> {
        ConflictSides {
            old_path: self.old_repos_path.as_deref(),
            old_revision: self.old_revision,
            old_kind: Some(NodeKind::Dir),
            new_path: &self.repos_path,
            new_kind: Some(NodeKind::Dir),
        }
    }
}

/// Applies changes to a property list.
pub(super) fn patched(base: &PropList, changes: &[PropChange]) -> PropList {
    let mut new = base.clone();
    for (name, value) in changes {
        match value {
            Some(value) => drop(new.set(name, value)),
            None => drop(new.remove(name)),
        }
    }
    new
}

/// The state that is reported for a merge of properties.
pub(super) const fn notify_state(state: PropState) -> State {
    match state {
        PropState::Unchanged => State::Unchanged,
        PropState::Changed => State::Changed,
        PropState::Merged => State::Merged,
        PropState::Conflicted => State::Conflicted,
    }
}

impl UpdateEditor<'_> {
    /// The update really changes something in a directory: it and its parents count as edited, and
    /// conflicts that were waiting for this are recorded.
    pub(super) fn mark_dir_edited(&mut self, handle: u64) -> Result<()> {
        if self.dir(handle)?.edited {
            return Ok(());
        }
        if let Some(parent) = self.dir(handle)?.parent {
            self.mark_dir_edited(parent)?;
        }
        let dir = self.dir_mut(handle)?;
        dir.edited = true;
        let Some(mut conflict) = dir.conflict.take() else { return Ok(()) };
        dir.notified = true;
        let relpath = dir.relpath.clone();
        self.complete(&mut conflict, &self.dir(handle)?.places(), None)?;
        self.raise(&relpath, &conflict, NodeKind::Dir)?;
        self.dir_mut(handle)?.conflict = Some(conflict);
        Ok(())
    }

    /// The properties that the user sees of a directory before changes come to them.
    fn props_to_merge_into(&self, dir: &Dir, base_props: &PropList) -> Result<PropList> {
        if dir.adding && (dir.shadowed || !dir.add_existed) {
            return Ok(PropList::new());
        }
        if dir.shadowed {
            return Ok(base_props.clone());
        }
        self.wc.view(&dir.relpath)?.map_or_else(|| Ok(PropList::new()), |v| v.props())
    }

    /// The depth that a directory has after the update.
    fn depth_after(&self, dir: &Dir) -> Depth {
        let own = if dir.depth == Depth::Unknown { Depth::Infinity } else { dir.depth };
        let wanted = self.params.depth;
        let is_wanted = wanted == Depth::Infinity || (dir.relpath == self.target && wanted > own);
        if self.params.depth_is_sticky && is_wanted { wanted } else { own }
    }

    /// Ends a directory.
    pub(super) fn end_dir(&mut self, handle: u64) -> Result<()> {
        let Some(mut dir) = self.dirs.remove(&handle) else {
            return Err(super::protocol("A directory that is not open was closed"));
        };
        if dir.skip || (self.file_external && dir.parent.is_none()) {
            return Ok(());
        }
        let mut conflict = dir.conflict.take().filter(|_| dir.edited);
        let sorted = sort_changes(std::mem::take(&mut dir.changes));
        let mut regular = sorted.regular;
        let base_props = if dir.adding && !dir.add_existed {
            PropList::new()
        } else {
            // Marking the directory as begun is no reason to write a batch for each directory.
            if self.batch.touches_props(&dir.relpath) {
                self.flush()?;
            }
            self.old_props(&dir.relpath, dir.add_existed)?
        };
        if dir.was_incomplete {
            delete_missing(&base_props, &mut regular);
        }
        let mut state = State::Unknown;
        let mut new_props = None;
        let mut new_actual = None;
        let mut work = Vec::new();
        if !regular.is_empty() {
            let actual = self.props_to_merge_into(&dir, &base_props)?;
            let merged = merge_props(&base_props, &base_props, &actual, &regular);
            state = notify_state(merged.state);
            if let Some(prop) = merged.conflict {
                conflict.get_or_insert_default().prop = Some(prop);
            }
            new_props = Some(patched(&base_props, &regular));
            new_actual = Some(merged.actual);
        }
        dir.changed.take(&sorted.entry);
        self.missing_children(&dir)?;
        if dir.parent.is_none() && !self.params.target.is_empty() {
            // The anchor of an update of one of its children is not changed itself.
            return self.dir_closed(&dir, state);
        }
        dir.depth = self.depth_after(&dir);
        if let Some(conflict) = &mut conflict {
            let deletion = self.deletion_of(dir.parent, &dir.relpath);
            self.complete(conflict, &dir.places(), deletion.as_ref())?;
            self.add_marker(&dir.relpath, conflict, &mut work)?;
        }
        let mut row = NodeRow::new(dir.relpath.clone(), 0, Presence::Normal, Kind::Dir);
        row.repos_id = Some(self.repos_id);
        row.repos_path = Some(dir.repos_path.clone());
        row.revision = self.revision;
        let has_new = new_props.is_some();
        row.properties = Some(write_props(&new_props.unwrap_or(base_props)));
        row.depth = Some(dir.depth);
        dir.changed.put(&mut row);
        let dav: PropList = sorted.dav.into_iter().filter_map(|(n, v)| Some((n, v?))).collect();
        row.dav_cache = (!dav.is_empty()).then(|| write_props(&dav));
        row.inherited_props =
            self.params.inherited.remove(&dir.relpath).map(|list| write_inherited(&list));
        let mut node = BaseNode::new(row);
        node.actual_props = new_actual.filter(|_| has_new && !dir.shadowed);
        node.conflict = conflict.as_ref().map(Conflict::write);
        self.step(Step::Put(Box::new(node), work))?;
        self.dir_closed(&dir, state)
    }

    fn dir_closed(&mut self, dir: &Dir, props: State) -> Result<()> {
        if let Some(parent) = dir.parent {
            let name = path::basename(&dir.relpath);
            self.dir_mut(parent)?.not_present.remove(name);
        }
        if !dir.notified && dir.edited {
            let action = if dir.shadowed || dir.obstructed {
                NotifyAction::UpdateShadowedUpdate
            } else if dir.obstruction_found || dir.add_existed {
                NotifyAction::Exists
            } else {
                NotifyAction::UpdateUpdate
            };
            let value = Notify {
                kind: Some(NodeKind::Dir),
                props,
                revision: self.revision,
                ..Notify::new(action, "")
            };
            self.notify_value(&dir.relpath, value);
        }
        self.edited |= dir.edited;
        Ok(())
    }

    /// The pristine properties before the update.
    pub(super) fn old_props(&self, relpath: &RelPath, add_existed: bool) -> Result<PropList> {
        if add_existed {
            return self
                .wc
                .view(relpath)?
                .map_or_else(|| Ok(PropList::new()), |v| v.pristine_props());
        }
        self.wc.db().base(relpath)?.map_or_else(|| Ok(PropList::new()), |row| row.props())
    }

    /// The conflict of a deletion that this node follows.
    pub(super) fn deletion_of(&self, parent: Option<u64>, relpath: &RelPath) -> Option<Conflict> {
        let parent = self.dirs.get(&parent?)?;
        parent.deletions.get(path::basename(relpath)).cloned()
    }

    /// Reserves the file that describes a property conflict, and queues writing it.
    pub(super) fn add_marker(
        &self,
        relpath: &RelPath,
        conflict: &mut Conflict,
        work: &mut Vec<Work>,
    ) -> Result<()> {
        if let Some(prop) = &mut conflict.prop
            && prop.marker.is_none()
        {
            prop.marker = Some(files_beside::reserve_prej(&self.wc, relpath)?);
            let item = WorkItem::PrejInstall { relpath: relpath.to_owned(), old_skel: None };
            work.push(Work::Item(item));
        }
        Ok(())
    }

    /// Rows for children that the repository has and this update did not send.
    fn missing_children(&mut self, dir: &Dir) -> Result<()> {
        let mut missing: Vec<(String, Kind)> = Vec::new();
        if let Some(children) = self.params.children.remove(&dir.repos_path) {
            self.flush()?;
            for (name, kind) in children {
                if dir.depth < Depth::Immediates && kind == NodeKind::Dir {
                    continue;
                }
                let child = dir.relpath.child(&name);
                if self.wc.db().base(&child)?.is_none() || self.is_other_root(&child) {
                    missing.push((name, kind.into()));
                }
            }
        }
        missing.extend(dir.not_present.iter().map(|(name, kind)| (name.clone(), *kind)));
        for (name, kind) in missing {
            let relpath = dir.relpath.child(&name);
            let mut row = NodeRow::new(relpath, 0, Presence::NotPresent, kind);
            row.repos_id = Some(self.repos_id);
            row.repos_path = Some(dir.repos_path.child(&name));
            row.revision = self.revision;
            self.step(Step::Put(Box::new(BaseNode::new(row)), Vec::new()))?;
        }
        Ok(())
    }
}

/// All properties were sent: those that did not come are deleted.
fn delete_missing(base_props: &PropList, changes: &mut Vec<PropChange>) {
    let gone: Vec<PropChange> = base_props
        .iter()
        .filter(|(name, _)| changes.iter().all(|(n, _)| n != name))
        .map(|(name, _)| (name.to_owned(), None))
        .collect();
    changes.extend(gone);
}
