//! Open directories of an update.

use std::collections::{BTreeMap, HashMap};

use sapwood_core::notify::{Notify, State};
use sapwood_core::paths::RelPath;
use sapwood_core::{Depth, NodeKind, PropList};

use super::batch::Step;
use super::node::OpenNode;
use super::{UpdateEditor, sort_changes};
use crate::base::BaseNode;
use crate::conflict::{Conflict, PropChange, PropState, merge_props};
use crate::db::{Kind, NodeRow, Presence};
use crate::error::Result;

/// A directory that is open.
#[derive(Debug)]
pub(super) struct Dir {
    pub(super) node: OpenNode,
    /// Conflicts of children that were deleted, in case they are added again.
    pub(super) deletions: HashMap<String, Conflict>,
    /// Children that are not in the database yet, and would be missing if the update stopped.
    pub(super) not_present: BTreeMap<String, Kind>,
    pub(super) depth: Depth,
    pub(super) was_incomplete: bool,
}

impl Dir {
    pub(super) fn new(node: OpenNode) -> Self {
        Self {
            node,
            deletions: HashMap::new(),
            not_present: BTreeMap::new(),
            depth: Depth::Unknown,
            was_incomplete: false,
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
    /// The properties that the user sees of a directory before changes come to them.
    fn props_to_merge_into(&self, dir: &Dir, base_props: &PropList) -> Result<PropList> {
        if dir.node.adding && (dir.node.shadowed || !dir.node.add_existed) {
            return Ok(PropList::new());
        }
        if dir.node.shadowed {
            return Ok(base_props.clone());
        }
        self.wc.view(&dir.node.relpath)?.map_or_else(|| Ok(PropList::new()), |v| v.props())
    }

    /// The depth that a directory has after the update.
    fn depth_after(&self, dir: &Dir) -> Depth {
        let own = if dir.depth == Depth::Unknown { Depth::Infinity } else { dir.depth };
        let wanted = self.params.depth;
        let is_wanted =
            wanted == Depth::Infinity || (dir.node.relpath == self.target && wanted > own);
        if self.params.depth_is_sticky && is_wanted { wanted } else { own }
    }

    /// Ends a directory.
    pub(super) fn end_dir(&mut self, handle: u64) -> Result<()> {
        let Some(mut dir) = self.dirs.remove(&handle) else {
            return Err(super::protocol("A directory that is not open was closed"));
        };
        if dir.node.skip || (self.file_external && dir.node.parent.is_none()) {
            return Ok(());
        }
        let mut conflict = dir.node.conflict.take().filter(|_| dir.node.edited);
        let sorted = sort_changes(std::mem::take(&mut dir.node.changes));
        let mut regular = sorted.regular;
        let base_props = if dir.node.adding && !dir.node.add_existed {
            PropList::new()
        } else {
            // Marking the directory as begun is no reason to write a batch for each directory.
            if self.batch.touches_props(&dir.node.relpath) {
                self.flush()?;
            }
            self.old_props(&dir.node.relpath, dir.node.add_existed)?
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
        dir.node.changed.take_entry_props(&sorted.entry);
        self.missing_children(&dir)?;
        if dir.node.parent.is_none() && !self.params.target.is_empty() {
            // The anchor of an update of one of its children is not changed itself.
            return self.dir_closed(&dir, state);
        }
        dir.depth = self.depth_after(&dir);
        self.close_conflict(&dir.node, conflict.as_mut(), &mut work)?;
        let has_new = new_props.is_some();
        let mut row = self.row_after(&dir.node, &new_props.unwrap_or(base_props), sorted.dav);
        row.depth = Some(dir.depth);
        let mut node = BaseNode::new(row);
        node.actual_props = new_actual.filter(|_| has_new && !dir.node.shadowed);
        node.conflict = conflict.as_ref().map(Conflict::write);
        self.step(Step::Put(Box::new(node), work))?;
        self.dir_closed(&dir, state)
    }

    fn dir_closed(&mut self, dir: &Dir, props: State) -> Result<()> {
        self.note_written(&dir.node)?;
        if !dir.node.notified && dir.node.edited {
            let revision = self.revision;
            let kind = Some(NodeKind::Dir);
            let value = Notify { kind, props, revision, ..Notify::new(dir.node.action(), "") };
            self.notify_value(&dir.node.relpath, value);
        }
        self.edited |= dir.node.edited;
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

    /// Rows for children that the repository has and this update did not send.
    fn missing_children(&mut self, dir: &Dir) -> Result<()> {
        let mut missing: Vec<(String, Kind)> = Vec::new();
        if let Some(children) = self.params.children.remove(&dir.node.repos_path) {
            self.flush()?;
            for (name, kind) in children {
                if dir.depth < Depth::Immediates && kind == NodeKind::Dir {
                    continue;
                }
                let child = dir.node.relpath.child(&name);
                if self.wc.db().base(&child)?.is_none() || self.is_other_root(&child) {
                    missing.push((name, kind.into()));
                }
            }
        }
        missing.extend(dir.not_present.iter().map(|(name, kind)| (name.clone(), *kind)));
        for (name, kind) in missing {
            let relpath = dir.node.relpath.child(&name);
            let mut row = NodeRow::new(relpath, 0, Presence::NotPresent, kind);
            row.repos_id = Some(self.repos_id);
            row.repos_path = Some(dir.node.repos_path.child(&name));
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
