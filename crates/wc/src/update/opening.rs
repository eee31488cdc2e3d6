//! What is decided when the update opens, adds, deletes or hides a node: whether the node is
//! skipped, becomes an existing one, is shadowed, or is a tree conflict.

use sapwood_core::notify::Action as NotifyAction;
use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{Depth, ErrorCode, NodeKind, path};

use super::batch::Step;
use super::conflicts::{ConflictSides, tree};
use super::dirs::{Dir, LastChange};
use super::files::OpenFile;
use super::{UpdateEditor, protocol};
use crate::base::{BaseNode, Removal};
use crate::conflict::{Action, Conflict, Reason};
use crate::db::{Kind, NodeRow, Presence};
use crate::error::{Error, Result};
use crate::layout;
use crate::root::disk_kind;
use crate::view::{Addition, Status, View};

/// What is at the path of an addition.
#[derive(Default)]
struct Obstruction {
    skip: bool,
    notified: bool,
    shadowed: bool,
    add_existed: bool,
    obstruction_found: bool,
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
        let parent = &self.dir(parent)?.relpath;
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

    fn refuse_adm(&self, relpath: &RelPath, what: &str) -> Result<()> {
        if path::basename(relpath) == layout::ADM {
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
            Ok(self.dir(parent)?.repos_path.child(path::basename(relpath)))
        };
        match (&self.params.switch_to, parent) {
            (Some(to), None) if self.params.target.is_empty() => Ok(to.clone()),
            (Some(to), Some(parent))
                if *relpath == self.target && self.dir(parent)?.parent.is_none() =>
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
        let mut dir = Dir::new(relpath.clone(), None, false);
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
            dir.skip = true;
            dir.notified = true;
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
        from_base(&mut dir, &base);
        dir.repos_path = self.new_repos_path(&relpath, base.repos_path.as_deref(), None)?;
        if ignored {
            dir.shadowed = true;
        } else if view.has_work() {
            dir.shadowed = true;
            if let Some(moved) = self.wc.db().moved_to_of(&relpath, 0)? {
                let mut conflict = tree(Reason::MovedAway, Action::Edit);
                if let Some(tree) = &mut conflict.tree {
                    tree.move_source = Some(moved.source.clone());
                    tree.move_destination = Some(moved.target);
                }
                if moved.source == relpath {
                    dir.conflict = Some(conflict);
                } else {
                    self.complete(&mut conflict, &dir.places(), None)?;
                    self.raise(&moved.source, &conflict, NodeKind::Dir)?;
                }
            }
        }
        if self.params.target.is_empty() {
            dir.was_incomplete = base.presence == Presence::Incomplete;
            let revision = self.to_revision()?;
            let repos_path = dir.repos_path.clone();
            self.step(Step::StartDirectory { relpath, repos_path, revision })?;
        }
        self.dirs.insert(handle, dir);
        Ok(handle)
    }

    /// Opens a directory that BASE has.
    pub(super) fn begin_dir(&mut self, edit_path: &RelPath, parent: u64) -> Result<u64> {
        self.check_cancel()?;
        let relpath = self.child_of(parent, edit_path)?;
        let mut dir = Dir::new(relpath.clone(), Some(parent), false);
        let handle = self.handle();
        self.inherit_flags(parent, &mut dir.skip, &mut dir.shadowed)?;
        if dir.skip {
            self.dirs.insert(handle, dir);
            return Ok(handle);
        }
        if self.is_other_root(&relpath) {
            self.skip(&relpath);
            (dir.skip, dir.notified) = (true, true);
            self.notify(&relpath, NotifyAction::UpdateSkipObstruction, Some(NodeKind::Dir));
            self.dirs.insert(handle, dir);
            return Ok(handle);
        }
        self.flush_if_touched(&relpath)?;
        let view = self.view_of(&relpath)?;
        let base = self.base_of(&view)?;
        from_base(&mut dir, &base);
        dir.was_incomplete = base.presence == Presence::Incomplete;
        dir.repos_path = self.new_repos_path(&relpath, base.repos_path.as_deref(), Some(parent))?;
        let (conflicted, ignored) = self.node_conflict(&view, dir.shadowed)?;
        if conflicted {
            self.skip(&relpath);
            (dir.skip, dir.notified) = (true, true);
            self.notify(&relpath, NotifyAction::SkipConflicted, None);
            self.dirs.insert(handle, dir);
            return Ok(handle);
        }
        dir.shadowed |= ignored;
        if !dir.shadowed {
            let found = self.check_tree_conflict(&view, true, Some(NodeKind::Dir), Action::Edit)?;
            (dir.obstructed, dir.shadowed) = obstructed_or_shadowed(found.as_ref());
            dir.conflict = found;
        }
        let revision = self.to_revision()?;
        let repos_path = dir.repos_path.clone();
        self.step(Step::StartDirectory { relpath, repos_path, revision })?;
        self.dirs.insert(handle, dir);
        Ok(handle)
    }

    /// Opens a file that BASE has.
    pub(super) fn begin_file(&mut self, edit_path: &RelPath, parent: u64) -> Result<u64> {
        self.check_cancel()?;
        let relpath = self.child_of(parent, edit_path)?;
        let mut file = OpenFile::new(relpath.clone(), parent, false);
        let handle = self.handle();
        self.inherit_flags(parent, &mut file.skip, &mut file.shadowed)?;
        if file.skip {
            self.files.insert(handle, file);
            return Ok(handle);
        }
        if self.is_other_root(&relpath) {
            self.skip(&relpath);
            (file.skip, file.notified) = (true, true);
            self.notify(&relpath, NotifyAction::UpdateSkipObstruction, Some(NodeKind::File));
            self.files.insert(handle, file);
            return Ok(handle);
        }
        self.flush_if_touched(&relpath)?;
        let view = self.view_of(&relpath)?;
        let base = self.base_of(&view)?;
        file.old_revision = base.revision;
        file.old_repos_path.clone_from(&base.repos_path);
        file.changed = LastChange::of(&base);
        file.old_text = base.checksum;
        file.repos_path =
            self.new_repos_path(&relpath, base.repos_path.as_deref(), Some(parent))?;
        let (conflicted, ignored) = self.node_conflict(&view, file.shadowed)?;
        if conflicted {
            self.skip(&relpath);
            (file.skip, file.notified) = (true, true);
            self.notify(&relpath, NotifyAction::SkipConflicted, None);
            self.files.insert(handle, file);
            return Ok(handle);
        }
        file.shadowed |= ignored;
        if !file.shadowed {
            let found =
                self.check_tree_conflict(&view, true, Some(NodeKind::File), Action::Edit)?;
            (file.obstructed, file.shadowed) = obstructed_or_shadowed(found.as_ref());
            file.conflict = found;
        }
        self.files.insert(handle, file);
        Ok(handle)
    }

    /// Adds a directory.
    pub(super) fn begin_new_dir(&mut self, edit_path: &RelPath, parent: u64) -> Result<u64> {
        self.check_cancel()?;
        let relpath = self.child_of(parent, edit_path)?;
        let mut dir = Dir::new(relpath.clone(), Some(parent), true);
        let handle = self.handle();
        self.inherit_flags(parent, &mut dir.skip, &mut dir.shadowed)?;
        if dir.skip {
            self.dirs.insert(handle, dir);
            return Ok(handle);
        }
        dir.repos_path = self.new_repos_path(&relpath, None, Some(parent))?;
        self.mark_dir_edited(parent)?;
        dir.edited = true;
        dir.depth = self.depth_of_new_dir(&relpath, parent)?;
        self.refuse_adm(&relpath, "directory")?;
        let met = self.meet_addition(&relpath, parent, NodeKind::Dir, dir.shadowed)?;
        (dir.skip, dir.notified) = (met.skip, met.notified);
        dir.shadowed |= met.shadowed;
        dir.add_existed = met.add_existed;
        dir.obstruction_found = met.obstruction_found;
        if dir.skip {
            self.dirs.insert(handle, dir);
            return Ok(handle);
        }
        let mut conflict = met.conflict;
        if let Some(conflict) = &mut conflict {
            let deletion = self.deletion_of(Some(parent), &relpath);
            let places = ConflictSides { old_kind: None, ..dir.places() };
            self.complete(conflict, &places, deletion.as_ref())?;
        }
        let mut node = BaseNode::new(self.row_of_new_dir(&dir)?);
        node.delete_here = dir.shadowed && dir.obstruction_found;
        node.delete_working = !dir.shadowed && met.local_addition;
        node.conflict = conflict.as_ref().map(Conflict::write);
        let mut work = Vec::new();
        if !dir.shadowed {
            let relpath = relpath.clone();
            let item = crate::work_item::WorkItem::DirInstall { relpath };
            work.push(super::batch::Work::Item(item));
        }
        self.step(Step::Put(Box::new(node), work))?;
        if node_met_conflict(&conflict) {
            dir.notified = true;
            self.notify(&relpath, NotifyAction::TreeConflict, Some(NodeKind::Dir));
        }
        dir.conflict = conflict.or(met.later);
        if !dir.notified && !dir.add_existed {
            let action = if dir.shadowed {
                NotifyAction::UpdateShadowedAdd
            } else if dir.obstruction_found {
                NotifyAction::Exists
            } else {
                NotifyAction::UpdateAdd
            };
            dir.notified = true;
            self.notify(&relpath, action, Some(NodeKind::Dir));
        }
        self.dirs.insert(handle, dir);
        Ok(handle)
    }

    /// The row of a new directory, incomplete.
    fn row_of_new_dir(&self, dir: &Dir) -> Result<NodeRow> {
        let mut row = NodeRow::new(dir.relpath.clone(), 0, Presence::Incomplete, Kind::Dir);
        row.repos_id = Some(self.repos_id);
        row.repos_path = Some(dir.repos_path.clone());
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
        self.check_cancel()?;
        let relpath = self.child_of(parent, edit_path)?;
        let mut file = OpenFile::new(relpath.clone(), parent, true);
        let handle = self.handle();
        self.inherit_flags(parent, &mut file.skip, &mut file.shadowed)?;
        if file.skip {
            self.files.insert(handle, file);
            return Ok(handle);
        }
        file.repos_path = self.new_repos_path(&relpath, None, Some(parent))?;
        self.mark_dir_edited(parent)?;
        file.edited = true;
        self.refuse_adm(&relpath, "file")?;
        let met = self.meet_addition(&relpath, parent, NodeKind::File, file.shadowed)?;
        (file.skip, file.notified) = (met.skip, met.notified);
        file.shadowed |= met.shadowed;
        file.add_existed = met.add_existed;
        file.obstruction_found = met.obstruction_found;
        if file.skip {
            self.files.insert(handle, file);
            return Ok(handle);
        }
        if self.dir(parent)?.parent.is_some()
            || self.params.target.is_empty()
            || relpath != self.target
        {
            let name = path::basename(&relpath).to_owned();
            self.dir_mut(parent)?.not_present.insert(name, Kind::File);
        }
        if let Some(mut conflict) = met.conflict {
            let deletion = self.deletion_of(Some(parent), &relpath);
            let repos_path = file.repos_path.clone();
            let places = ConflictSides {
                new_path: &repos_path,
                new_kind: Some(NodeKind::File),
                ..ConflictSides::default()
            };
            self.complete(&mut conflict, &places, deletion.as_ref())?;
            self.raise(&relpath, &conflict, NodeKind::File)?;
            file.notified = true;
            file.conflict = Some(conflict);
        } else {
            file.conflict = met.later;
        }
        self.files.insert(handle, file);
        Ok(handle)
    }

    /// Finds out what is at the path of a node that is to be added.
    fn meet_addition(
        &mut self,
        relpath: &RelPath,
        parent: u64,
        kind: NodeKind,
        shadowed: bool,
    ) -> Result<Obstruction> {
        let mut met = Obstruction { shadowed, ..Obstruction::default() };
        if self.params.clean_checkout {
            return Ok(met);
        }
        self.flush_if_touched(relpath)?;
        let on_disk = disk_kind(&self.wc.abspath(relpath))?;
        let view = self.wc.view(relpath)?;
        let status = view.as_ref().map(View::status);
        if matches!(status, Some(Status::Normal | Status::Incomplete))
            || (kind == NodeKind::Dir && status.is_none() && self.is_other_root(relpath))
        {
            // Added although BASE has it: another working copy, or a file external.
            if self.is_other_root(relpath) {
                let name = path::basename(relpath).to_owned();
                self.dir_mut(parent)?.not_present.insert(name, Kind::Dir);
            }
            self.skip(relpath);
            (met.skip, met.notified) = (true, true);
            let kind = view.as_ref().and_then(|v| v.top().kind.node_kind());
            self.notify(relpath, NotifyAction::UpdateSkipObstruction, kind.or(Some(NodeKind::Dir)));
            return Ok(met);
        }
        let actual = self.wc.db().actual(relpath)?;
        let mut conflicted = actual.is_some_and(|a| a.conflict_data.is_some());
        if kind == NodeKind::File && met.shadowed {
            conflicted = false;
        }
        if conflicted && let Some(deletion) = self.deletion_of(Some(parent), relpath) {
            // A node that this update deleted with a conflict is added again: a replacement.
            if let Some(mut tree) = deletion.tree {
                tree.action = Action::Replace;
                met.later = Some(Conflict { tree: Some(tree), ..Conflict::default() });
                met.shadowed = true;
                conflicted = false;
            }
        }
        if conflicted {
            let (conflicted, ignored) = self.conflict_of(relpath, false)?;
            if conflicted {
                self.skip(relpath);
                (met.skip, met.notified) = (true, true);
                let name = path::basename(relpath).to_owned();
                self.dir_mut(parent)?.not_present.insert(name, kind.into());
                self.notify(relpath, NotifyAction::SkipConflicted, Some(kind));
                return Ok(met);
            }
            met.shadowed |= ignored;
        }
        if met.shadowed {
            return Ok(met);
        }
        if let Some(view) = view.filter(|v| v.status().is_present()) {
            self.meet_node(&view, kind, &mut met)?;
        } else if let Some(found) = on_disk {
            met.obstruction_found = true;
            let same = match kind {
                NodeKind::Dir => found.is_dir(),
                NodeKind::File => found.is_file(),
            };
            if !(same && self.params.allow_obstructions) {
                met.shadowed = true;
                met.conflict = Some(tree(Reason::Unversioned, Action::Add));
            }
        }
        Ok(met)
    }

    /// A node that is to be added is in the working copy already: a conflict, unless it was added there as well and the
    /// two are made one.
    fn meet_node(&mut self, view: &View, kind: NodeKind, met: &mut Obstruction) -> Result<()> {
        let status = view.status();
        met.local_addition = status == Status::Added;
        let plain = met.local_addition && self.wc.addition(view.top())? == Addition::Added;
        let other_kind = view.top().kind.node_kind() != Some(kind) && status != Status::Deleted;
        if !self.params.adds_as_modification || other_kind || !plain {
            met.conflict = self.check_tree_conflict(view, false, None, Action::Add)?;
        }
        met.add_existed = met.conflict.is_none();
        met.shadowed = met.conflict.is_some();
        Ok(())
    }

    /// Deletes a node.
    pub(super) fn delete(&mut self, edit_path: &RelPath, parent: u64) -> Result<()> {
        self.check_cancel()?;
        let dir = self.dir(parent)?;
        if dir.skip {
            return Ok(());
        }
        let (hidden, obstructed) = (dir.shadowed, dir.obstructed);
        let old_parent = dir.old_repos_path.clone();
        self.mark_dir_edited(parent)?;
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
        let mut conflict = if hidden || obstructed {
            None
        } else {
            self.check_tree_conflict(&view, true, kind, Action::Delete)?
        };
        if let Some(conflict) = &mut conflict {
            let new_path =
                self.new_repos_path(&relpath, base.repos_path.as_deref(), Some(parent))?;
            let places = ConflictSides {
                old_path: base.repos_path.as_deref(),
                old_revision: base.revision,
                old_kind: kind,
                new_path: &new_path,
                new_kind: None,
            };
            self.complete(conflict, &places, None)?;
            let name = name.to_owned();
            self.dir_mut(parent)?.deletions.insert(name, conflict.clone());
        }
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
        if dir.skip {
            return Ok(());
        }
        let hidden = dir.shadowed || dir.obstructed;
        let above = dir.repos_path.clone();
        let relpath = self.child_of(parent, edit_path)?;
        let repos_path = above.child(path::basename(edit_path));
        self.flush_if_touched(&relpath)?;
        let view = self.wc.view(&relpath)?;
        let status = view.as_ref().map_or(Status::NotPresent, View::status);
        if status != Status::ServerExcluded {
            self.mark_dir_edited(parent)?;
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

    fn inherit_flags(&self, parent: u64, skip: &mut bool, shadowed: &mut bool) -> Result<()> {
        let parent = self.dir(parent)?;
        *skip = parent.skip;
        *shadowed = parent.shadowed || parent.obstructed;
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

const fn node_met_conflict(conflict: &Option<Conflict>) -> bool {
    conflict.is_some()
}

/// What a conflict means for an edit: another node is in the way, or the edit changes BASE only.
fn obstructed_or_shadowed(found: Option<&Conflict>) -> (bool, bool) {
    let Some(tree) = found.and_then(|c| c.tree.as_ref()) else { return (false, false) };
    let obstructed = tree.reason == Reason::Obstructed;
    (obstructed, !obstructed)
}

fn from_base(dir: &mut Dir, base: &NodeRow) {
    dir.old_revision = base.revision;
    dir.old_repos_path.clone_from(&base.repos_path);
    dir.changed = LastChange::of(base);
    dir.depth = base.depth.unwrap_or(Depth::Unknown);
}
