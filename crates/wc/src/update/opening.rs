//! What is decided when the update opens, adds, deletes or hides a node: whether the node is
//! skipped, becomes an existing one, is shadowed, or is a tree conflict.

use sapwood_core::notify::Action as NotifyAction;
use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{Depth, ErrorCode, NodeKind, path};

use super::batch::{Step, Work};
use super::conflicts::{ConflictSides, tree};
use super::dirs::Dir;
use super::files::OpenFile;
use super::node::OpenNode;
use super::{UpdateEditor, protocol};
use crate::base::{BaseNode, Removal};
use crate::conflict::{Action, Conflict, Reason};
use crate::db::{Kind, NodeRow, Presence};
use crate::error::{Error, Result};
use crate::layout;
use crate::root::disk_kind;
use crate::view::{Addition, Status, View};
use crate::work_item::WorkItem;

/// What an addition meets at its path.
#[derive(Default)]
struct AddCheck {
    /// A conflict that is recorded with the node, at once.
    conflict: Option<Conflict>,
    /// A conflict that is recorded only when something is really changed.
    later: Option<Conflict>,
    /// The local node is an addition.
    local_addition: bool,
}

/// Whether the path of an edit, which begins somewhere above, is that of a node, in names that are plain.
fn is_child(joined: &str, edit_path: &RelPath) -> bool {
    let plain = |name: &str| !matches!(name, "" | "." | "..") && !name.contains('\0');
    let above = joined.strip_suffix(edit_path.as_str());
    edit_path.split('/').all(plain) && above.is_some_and(|a| a.is_empty() || a.ends_with('/'))
}

impl UpdateEditor<'_> {
    /// The path of a child, which must be a plain name in its parent.
    fn child_of(&self, parent: u64, edit_path: &RelPath) -> Result<RelPathBuf> {
        if self.file_external {
            return Ok(self.target.clone());
        }
        let parent = &self.dir(parent)?.node.relpath;
        // The path comes from a peer, and may be empty.
        let name = Some(edit_path.name()).filter(|name| !name.is_empty());
        let relpath = name.map(|name| parent.child(name));
        let Some(relpath) = relpath.filter(|relpath| is_child(relpath, edit_path)) else {
            let shown = self.wc.abspath(parent);
            let message = format!(
                "'{edit_path}' is not valid as filename in directory '{}'",
                shown.display()
            );
            return Err(Error::new(ErrorCode::WC_OBSTRUCTED_UPDATE, message));
        };
        Ok(relpath)
    }

    fn refuse_adm(&self, relpath: &RelPath, kind: NodeKind) -> Result<()> {
        if path::basename(relpath) == layout::ADM {
            let what = if kind == NodeKind::Dir { "directory" } else { "file" };
            let shown = self.wc.abspath(relpath);
            let message = format!(
                "Failed to add {what} '{}': object of the same name as the administrative directory",
                shown.display()
            );
            return Err(Error::new(ErrorCode::WC_OBSTRUCTED_UPDATE, message));
        }
        Ok(())
    }

    /// The path in the repository that a node will have.
    fn new_repos_path(
        &self,
        relpath: &RelPath,
        old: Option<&RelPath>,
        parent: Option<u64>,
    ) -> Result<RelPathBuf> {
        let below = |parent: u64| -> Result<RelPathBuf> {
            Ok(self.dir(parent)?.node.repos_path.child(path::basename(relpath)))
        };
        match (&self.params.switch_to, parent) {
            (Some(to), None) if self.params.target.is_empty() => Ok(to.clone()),
            (Some(to), Some(parent))
                if *relpath == self.target && self.dir(parent)?.node.parent.is_none() =>
            {
                Ok(to.clone())
            }
            (Some(_), Some(parent)) => below(parent),
            (_, parent) => match (old, parent) {
                (Some(old), _) => Ok(old.to_owned()),
                (None, Some(parent)) => below(parent),
                (None, None) => Err(protocol("The anchor has no place in the repository")),
            },
        }
    }

    /// Opens the anchor.
    pub(super) fn begin_root(&mut self) -> Result<u64> {
        self.root_opened = true;
        let relpath = self.params.anchor.clone();
        let mut dir = Dir::new(OpenNode::new(relpath.clone(), NodeKind::Dir, None, false));
        let handle = self.handle();
        if self.file_external {
            // It has nothing to do with the directory that it is put into, which may have no place in
            // the repository.
            self.dirs.insert(handle, dir);
            return Ok(handle);
        }
        let (conflicted, ignored) = self.conflict_above(&relpath)?;
        if conflicted {
            let target = self.target.clone();
            self.skip(&relpath);
            self.skip(&target);
            dir.node.skip = true;
            dir.node.notified = true;
            self.notify(&target, NotifyAction::SkipConflicted, None);
            self.dirs.insert(handle, dir);
            return Ok(handle);
        }
        let view = self
            .wc
            .view(&relpath)?
            .ok_or_else(|| Error::NodeNotFound(self.wc.abspath(&relpath)))?;
        let base =
            view.base().ok_or_else(|| Error::NodeNotFound(self.wc.abspath(&relpath)))?.clone();
        dir.node.take_base(&base);
        dir.depth = depth_in(&base);
        dir.node.repos_path = self.new_repos_path(&relpath, base.repos_path.as_deref(), None)?;
        if ignored {
            dir.node.shadowed = true;
        } else if view.has_work() {
            dir.node.shadowed = true;
            if let Some(moved) = self.wc.db().moved_to_of(&relpath, 0)? {
                let mut conflict = tree(Reason::MovedAway, Action::Edit);
                if let Some(tree) = &mut conflict.tree {
                    tree.move_source = Some(moved.source.clone());
                    tree.move_destination = Some(moved.target);
                }
                if moved.source == relpath {
                    dir.node.conflict = Some(conflict);
                } else {
                    self.complete(&mut conflict, &dir.node.conflict_sides(), None)?;
                    self.raise(&moved.source, &conflict, NodeKind::Dir)?;
                }
            }
        }
        if self.params.target.is_empty() {
            dir.was_incomplete = base.presence == Presence::Incomplete;
            self.start_directory(&dir)?;
        }
        self.dirs.insert(handle, dir);
        Ok(handle)
    }

    /// Opens a node that BASE has: what is known of it, and its row unless it is skipped.
    fn open_known(
        &mut self,
        edit_path: &RelPath,
        parent: u64,
        kind: NodeKind,
    ) -> Result<(OpenNode, Option<NodeRow>)> {
        self.check_cancel()?;
        let relpath = self.child_of(parent, edit_path)?;
        let mut node = self.child_node(relpath.clone(), kind, parent, false)?;
        if node.skip {
            return Ok((node, None));
        }
        if self.is_other_root(&relpath) {
            self.skip_node(&mut node, NotifyAction::UpdateSkipObstruction, Some(kind));
            return Ok((node, None));
        }
        self.flush_if_touched(&relpath)?;
        let view = self.view_of(&relpath)?;
        let base = self.base_of(&view)?;
        node.take_base(&base);
        node.repos_path =
            self.new_repos_path(&relpath, base.repos_path.as_deref(), Some(parent))?;
        let (conflicted, ignored) = self.node_conflict(&view, node.shadowed)?;
        if conflicted {
            self.skip_node(&mut node, NotifyAction::SkipConflicted, None);
            return Ok((node, None));
        }
        node.shadowed |= ignored;
        if !node.shadowed {
            let found = self.check_tree_conflict(&view, true, Some(kind), Action::Edit)?;
            (node.obstructed, node.shadowed) = obstructed_or_shadowed(found.as_ref());
            node.conflict = found;
        }
        Ok((node, Some(base)))
    }

    /// Skips a node with everything in it, and reports that.
    fn skip_node(&mut self, node: &mut OpenNode, action: NotifyAction, kind: Option<NodeKind>) {
        self.skip(&node.relpath);
        (node.skip, node.notified) = (true, true);
        self.notify(&node.relpath, action, kind);
    }

    fn insert_dir(&mut self, dir: Dir) -> u64 {
        let handle = self.handle();
        self.dirs.insert(handle, dir);
        handle
    }

    fn insert_file(&mut self, file: OpenFile) -> u64 {
        let handle = self.handle();
        self.files.insert(handle, file);
        handle
    }

    /// Opens a directory that BASE has.
    pub(super) fn begin_dir(&mut self, edit_path: &RelPath, parent: u64) -> Result<u64> {
        let (node, base) = self.open_known(edit_path, parent, NodeKind::Dir)?;
        let mut dir = Dir::new(node);
        if let Some(base) = base {
            dir.depth = depth_in(&base);
            dir.was_incomplete = base.presence == Presence::Incomplete;
            self.start_directory(&dir)?;
        }
        Ok(self.insert_dir(dir))
    }

    /// Marks a directory as begun.
    fn start_directory(&mut self, dir: &Dir) -> Result<()> {
        let revision = self.to_revision()?;
        let (relpath, repos_path) = (dir.node.relpath.clone(), dir.node.repos_path.clone());
        self.step(Step::StartDirectory { relpath, repos_path, revision })
    }

    /// Opens a file that BASE has.
    pub(super) fn begin_file(&mut self, edit_path: &RelPath, parent: u64) -> Result<u64> {
        let (node, base) = self.open_known(edit_path, parent, NodeKind::File)?;
        let mut file = OpenFile::new(node);
        file.old_text = base.and_then(|base| base.checksum);
        Ok(self.insert_file(file))
    }

    /// Opens a node that is added: what is known of it, and what it meets.
    fn open_new(
        &mut self,
        edit_path: &RelPath,
        parent: u64,
        kind: NodeKind,
    ) -> Result<(OpenNode, AddCheck)> {
        self.check_cancel()?;
        let relpath = self.child_of(parent, edit_path)?;
        let mut node = self.child_node(relpath.clone(), kind, parent, true)?;
        if node.skip {
            return Ok((node, AddCheck::default()));
        }
        node.repos_path = self.new_repos_path(&relpath, None, Some(parent))?;
        self.mark_edited(parent)?;
        node.edited = true;
        self.refuse_adm(&relpath, kind)?;
        let mut met = self.meet_addition(&mut node, parent)?;
        if let Some(conflict) = &mut met.conflict {
            let deletion = self.deletion_of(Some(parent), &relpath);
            let places = ConflictSides { old_kind: None, ..node.conflict_sides() };
            self.complete(conflict, &places, deletion.as_ref())?;
        }
        Ok((node, met))
    }

    /// Adds a directory.
    pub(super) fn begin_new_dir(&mut self, edit_path: &RelPath, parent: u64) -> Result<u64> {
        let (node, met) = self.open_new(edit_path, parent, NodeKind::Dir)?;
        let mut dir = Dir::new(node);
        if dir.node.skip {
            return Ok(self.insert_dir(dir));
        }
        let relpath = dir.node.relpath.clone();
        dir.depth = self.depth_of_new_dir(&relpath, parent)?;
        self.put_new_dir(&dir, &met)?;
        if met.conflict.is_some() {
            dir.node.notified = true;
            self.notify(&relpath, NotifyAction::TreeConflict, Some(NodeKind::Dir));
        }
        dir.node.conflict = met.conflict.or(met.later);
        if !dir.node.notified && !dir.node.add_existed {
            dir.node.notified = true;
            self.notify(&relpath, dir.node.action(), Some(NodeKind::Dir));
        }
        Ok(self.insert_dir(dir))
    }

    /// Writes that a directory is there, incomplete, and makes it.
    fn put_new_dir(&mut self, dir: &Dir, met: &AddCheck) -> Result<()> {
        let mut node = BaseNode::new(self.row_of_new_dir(dir)?);
        node.delete_here = dir.node.shadowed && dir.node.obstruction_found;
        node.delete_working = !dir.node.shadowed && met.local_addition;
        node.conflict = met.conflict.as_ref().map(Conflict::write);
        let mut work = Vec::new();
        if !dir.node.shadowed {
            let relpath = dir.node.relpath.clone();
            work.push(Work::Item(WorkItem::DirInstall { relpath }));
        }
        self.step(Step::Put(Box::new(node), work))
    }

    /// The row of a new directory, incomplete.
    fn row_of_new_dir(&self, dir: &Dir) -> Result<NodeRow> {
        let mut row = NodeRow::new(dir.node.relpath.clone(), 0, Presence::Incomplete, Kind::Dir);
        row.repos_id = Some(self.repos_id);
        row.repos_path = Some(dir.node.repos_path.clone());
        row.revision = Some(self.to_revision()?);
        row.depth = Some(dir.depth);
        row.properties = Some(b"()".to_vec());
        Ok(row)
    }

    /// How deep a new directory becomes.
    fn depth_of_new_dir(&self, relpath: &RelPath, parent: u64) -> Result<Depth> {
        let wanted = self.params.depth;
        let around = self.dir(parent)?.depth;
        Ok(if relpath == self.target {
            if wanted == Depth::Unknown { Depth::Infinity } else { wanted }
        } else if wanted == Depth::Immediates
            || (wanted == Depth::Unknown && around == Depth::Immediates)
        {
            Depth::Empty
        } else {
            Depth::Infinity
        })
    }

    /// Adds a file.
    pub(super) fn begin_new_file(&mut self, edit_path: &RelPath, parent: u64) -> Result<u64> {
        let (node, met) = self.open_new(edit_path, parent, NodeKind::File)?;
        let mut file = OpenFile::new(node);
        if file.node.skip {
            return Ok(self.insert_file(file));
        }
        let relpath = file.node.relpath.clone();
        if self.dir(parent)?.node.parent.is_some()
            || self.params.target.is_empty()
            || relpath != self.target
        {
            self.miss(parent, &relpath, NodeKind::File)?;
        }
        if let Some(conflict) = &met.conflict {
            self.raise(&relpath, conflict, NodeKind::File)?;
            file.node.notified = true;
        }
        file.node.conflict = met.conflict.or(met.later);
        Ok(self.insert_file(file))
    }

    /// Says that a child would be missing if the update stopped.
    fn miss(&mut self, parent: u64, relpath: &RelPath, kind: NodeKind) -> Result<()> {
        let name = path::basename(relpath).to_owned();
        self.dir_mut(parent)?.not_present.insert(name, kind.into());
        Ok(())
    }

    /// Finds out what is at the path of a node that is to be added.
    fn meet_addition(&mut self, node: &mut OpenNode, parent: u64) -> Result<AddCheck> {
        let mut met = AddCheck::default();
        if self.params.clean_checkout {
            return Ok(met);
        }
        let (relpath, kind) = (node.relpath.clone(), node.kind);
        self.flush_if_touched(&relpath)?;
        let on_disk = disk_kind(&self.wc.abspath(&relpath))?;
        let view = self.wc.view(&relpath)?;
        let status = view.as_ref().map(View::status);
        if matches!(status, Some(Status::Normal | Status::Incomplete))
            || (kind == NodeKind::Dir && status.is_none() && self.is_other_root(&relpath))
        {
            // Added although BASE has it: another working copy, or a file external.
            if self.is_other_root(&relpath) {
                self.miss(parent, &relpath, NodeKind::Dir)?;
            }
            let found = view.as_ref().and_then(|v| v.top().kind.node_kind());
            let found = found.or(Some(NodeKind::Dir));
            self.skip_node(node, NotifyAction::UpdateSkipObstruction, found);
            return Ok(met);
        }
        self.meet_conflict(node, parent, &mut met)?;
        if node.skip || node.shadowed {
            return Ok(met);
        }
        if let Some(view) = view.filter(|v| v.status().is_present()) {
            self.meet_node(&view, node, &mut met)?;
        } else if let Some(found) = on_disk {
            node.obstruction_found = true;
            let same = match kind {
                NodeKind::Dir => found.is_dir(),
                NodeKind::File => found.is_file(),
            };
            if !(same && self.params.allow_obstructions) {
                node.shadowed = true;
                met.conflict = Some(tree(Reason::Unversioned, Action::Add));
            }
        }
        Ok(met)
    }

    /// What a conflict that is recorded at the path of an addition means for it.
    fn meet_conflict(
        &mut self,
        node: &mut OpenNode,
        parent: u64,
        met: &mut AddCheck,
    ) -> Result<()> {
        let actual = self.wc.db().actual(&node.relpath)?;
        let conflicted = actual.is_some_and(|a| a.conflict_data.is_some());
        if !conflicted || (node.kind == NodeKind::File && node.shadowed) {
            return Ok(());
        }
        if let Some(deletion) = self.deletion_of(Some(parent), &node.relpath)
            && let Some(mut tree) = deletion.tree
        {
            // A node that this update deleted with a conflict is added again: a replacement.
            tree.action = Action::Replace;
            met.later = Some(Conflict { tree: Some(tree), ..Conflict::default() });
            node.shadowed = true;
            return Ok(());
        }
        let (conflicted, ignored) = self.conflict_of(&node.relpath, false)?;
        if conflicted {
            self.miss(parent, &node.relpath, node.kind)?;
            let kind = Some(node.kind);
            self.skip_node(node, NotifyAction::SkipConflicted, kind);
        }
        node.shadowed |= ignored && !conflicted;
        Ok(())
    }

    /// A node that is to be added is in the working copy already: a conflict, unless it was added there as well and the
    /// two are made one.
    fn meet_node(&mut self, view: &View, node: &mut OpenNode, met: &mut AddCheck) -> Result<()> {
        let status = view.status();
        met.local_addition = status == Status::Added;
        let plain = met.local_addition && self.wc.addition(view.top())? == Addition::Added;
        let other_kind =
            view.top().kind.node_kind() != Some(node.kind) && status != Status::Deleted;
        if !self.params.adds_as_modification || other_kind || !plain {
            met.conflict = self.check_tree_conflict(view, false, None, Action::Add)?;
        }
        node.add_existed = met.conflict.is_none();
        node.shadowed = met.conflict.is_some();
        Ok(())
    }

    /// Deletes a node.
    pub(super) fn delete(&mut self, edit_path: &RelPath, parent: u64) -> Result<()> {
        self.check_cancel()?;
        let dir = self.dir(parent)?;
        if dir.node.skip {
            return Ok(());
        }
        let (hidden, obstructed) = (dir.node.shadowed, dir.node.obstructed);
        let old_parent = dir.node.old_repos_path.clone();
        self.mark_edited(parent)?;
        let relpath = self.child_of(parent, edit_path)?;
        let is_target = relpath == self.target;
        if self.is_other_root(&relpath) {
            self.skip(&relpath);
            self.notify(&relpath, NotifyAction::UpdateSkipObstruction, None);
            return Ok(());
        }
        self.flush_if_touched(&relpath)?;
        let view = self.view_of(&relpath)?;
        let base = self.base_of(&view)?;
        let kind = view.top().kind.node_kind();
        let name = path::basename(&relpath);
        let switched = match (&old_parent, &base.repos_path) {
            (Some(parent), Some(own)) => own.below(parent).is_none_or(|below| below != name),
            _ => false,
        };
        if self.node_conflict(&view, hidden)?.0 {
            self.skip(&relpath);
            self.notify(&relpath, NotifyAction::SkipConflicted, None);
            return Ok(());
        }
        if !base.presence.is_there() {
            return self.delete_absent(relpath, is_target);
        }
        let conflict = match hidden || obstructed {
            true => None,
            false => self.deletion_conflict(&view, &base, parent)?,
        };
        let marks = is_target || switched;
        let how = Removal {
            keep_as_working: conflict.is_some(),
            marker: marks.then_some(Presence::NotPresent),
            marker_revision: self.revision.filter(|_| marks),
            conflict: conflict.as_ref().map(Conflict::write),
        };
        self.step(Step::Remove(relpath.clone(), how))?;
        if is_target {
            self.target_deleted = true;
        } else if switched {
            self.skip(&relpath);
        }
        let action = match conflict {
            Some(_) => NotifyAction::TreeConflict,
            None if hidden || obstructed => NotifyAction::UpdateShadowedDelete,
            None => NotifyAction::UpdateDelete,
        };
        self.notify(&relpath, action, kind);
        Ok(())
    }

    /// The conflict of a deletion, kept for an addition that may follow.
    fn deletion_conflict(
        &mut self,
        view: &View,
        base: &NodeRow,
        parent: u64,
    ) -> Result<Option<Conflict>> {
        let (relpath, kind) = (&view.top().relpath, view.top().kind.node_kind());
        let Some(mut conflict) = self.check_tree_conflict(view, true, kind, Action::Delete)? else {
            return Ok(None);
        };
        let new_path = self.new_repos_path(relpath, base.repos_path.as_deref(), Some(parent))?;
        let places = ConflictSides {
            old_path: base.repos_path.as_deref(),
            old_revision: base.revision,
            old_kind: kind,
            new_path: &new_path,
            new_kind: None,
        };
        self.complete(&mut conflict, &places, None)?;
        let name = path::basename(relpath).to_owned();
        self.dir_mut(parent)?.deletions.insert(name, conflict.clone());
        Ok(Some(conflict))
    }

    /// Deletes a node of which BASE only says that it is not there.
    fn delete_absent(&mut self, relpath: RelPathBuf, is_target: bool) -> Result<()> {
        let how = Removal {
            keep_as_working: true,
            marker: is_target.then_some(Presence::NotPresent),
            marker_revision: self.revision,
            conflict: None,
        };
        self.step(Step::Remove(relpath, how))?;
        self.target_deleted |= is_target;
        Ok(())
    }

    /// The server hides this node from the user.
    pub(super) fn absent(
        &mut self,
        edit_path: &RelPath,
        kind: NodeKind,
        parent: u64,
    ) -> Result<()> {
        let dir = self.dir(parent)?;
        if dir.node.skip {
            return Ok(());
        }
        let hidden = dir.node.shadowed || dir.node.obstructed;
        let above = dir.node.repos_path.clone();
        let relpath = self.child_of(parent, edit_path)?;
        let repos_path = above.child(path::basename(edit_path));
        self.flush_if_touched(&relpath)?;
        let view = self.wc.view(&relpath)?;
        let status = view.as_ref().map_or(Status::NotPresent, View::status);
        if status != Status::ServerExcluded {
            self.mark_edited(parent)?;
        }
        let mut conflict = None;
        match (&view, status) {
            (Some(view), Status::Normal) if !self.is_other_root(&relpath) => {
                if view.base().is_some_and(|b| b.file_external) {
                    self.notify(&relpath, NotifyAction::UpdateSkipObstruction, None);
                    return Ok(());
                }
                self.delete(edit_path, parent)?;
                self.flush()?;
            }
            (Some(view), Status::Added | Status::Deleted | Status::Incomplete) if !hidden => {
                conflict = self.check_tree_conflict(view, false, None, Action::Add)?;
            }
            _ => {}
        }
        if let Some(conflict) = &mut conflict {
            let places = ConflictSides { new_path: &repos_path, ..ConflictSides::default() };
            self.complete(conflict, &places, None)?;
        }
        let mut row = NodeRow::new(relpath.clone(), 0, Presence::ServerExcluded, kind.into());
        row.repos_id = Some(self.repos_id);
        row.repos_path = Some(repos_path);
        row.revision = Some(self.to_revision()?);
        let mut node = BaseNode::new(row);
        node.conflict = conflict.as_ref().map(Conflict::write);
        self.step(Step::Put(Box::new(node), Vec::new()))?;
        if conflict.is_some() {
            let kind = view.and_then(|v| v.top().kind.node_kind());
            self.notify(&relpath, NotifyAction::TreeConflict, kind);
        }
        Ok(())
    }

    fn view_of(&self, relpath: &RelPath) -> Result<View> {
        self.wc.view(relpath)?.ok_or_else(|| Error::NodeNotFound(self.wc.abspath(relpath)))
    }

    fn base_of(&self, view: &View) -> Result<NodeRow> {
        let base = view.base().cloned();
        base.ok_or_else(|| Error::NodeNotFound(self.wc.abspath(&view.top().relpath)))
    }

    /// Whether a recorded conflict keeps the update from a node, or lets it change BASE only.
    fn node_conflict(&self, view: &View, shadowed: bool) -> Result<(bool, bool)> {
        if shadowed || !view.is_conflicted() {
            return Ok((false, false));
        }
        self.conflict_of(&view.top().relpath, false)
    }
}

/// What a conflict means for an edit: another node is in the way, or the edit changes BASE only.
fn obstructed_or_shadowed(found: Option<&Conflict>) -> (bool, bool) {
    let Some(tree) = found.and_then(|c| c.tree.as_ref()) else { return (false, false) };
    let obstructed = tree.reason == Reason::Obstructed;
    (obstructed, !obstructed)
}

/// The depth of a directory that has this row in BASE.
fn depth_in(base: &NodeRow) -> Depth {
    base.depth.unwrap_or(Depth::Unknown)
}
