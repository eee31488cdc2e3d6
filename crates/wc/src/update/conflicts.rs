//! Tree conflicts: where the update and the user have changed the same node in ways that do not
//! fit.

use sapwood_core::notify::Action as NotifyAction;
use sapwood_core::paths::RelPath;
use sapwood_core::{NodeKind, Revnum};

use super::{Step, UpdateEditor};
use crate::conflict::{Action, Conflict, Location, Operation, Reason, TreeConflict};
use crate::db::parent_of;
use crate::error::{Error, Result};
use crate::root::disk_kind;
use crate::view::{Addition, Status, View};

/// Where a node was and will be in the repository, for the record of a conflict.
#[derive(Clone, Debug, Default)]
pub(super) struct ConflictSides<'s> {
    pub(super) old_path: Option<&'s RelPath>,
    pub(super) old_revision: Option<Revnum>,
    pub(super) old_kind: Option<NodeKind>,
    pub(super) new_path: &'s RelPath,
    pub(super) new_kind: Option<NodeKind>,
}

/// A tree conflict without the two repository locations yet.
pub(super) fn tree(reason: Reason, action: Action) -> Conflict {
    let tree = TreeConflict { reason, action, move_source: None, move_destination: None };
    Conflict { tree: Some(tree), ..Conflict::default() }
}

impl UpdateEditor<'_> {
    /// Writes the operation into a conflict; a conflict that has one already is not changed.
    pub(super) fn complete(
        &self,
        conflict: &mut Conflict,
        places: &ConflictSides<'_>,
        deletion: Option<&Conflict>,
    ) -> Result<()> {
        if conflict.operation.is_some() {
            return Ok(());
        }
        let location = |relpath: &RelPath, revision, kind| Location {
            root: self.repos_root.clone(),
            uuid: Some(self.repos_uuid.clone()),
            relpath: relpath.to_owned(),
            revision,
            kind,
        };
        let old = match places.old_path {
            Some(path) => Some(location(path, places.old_revision, places.old_kind)),
            None => deletion.and_then(|d| d.locations.first().cloned().flatten()),
        };
        let new = location(places.new_path, Some(self.to_revision()?), places.new_kind);
        let operation = if self.is_switch() { Operation::Switch } else { Operation::Update };
        conflict.operation = Some(operation);
        conflict.locations = vec![old, Some(new)];
        Ok(())
    }

    /// The tree conflict of an operation on a node, if there is one. `in_repos` says whether BASE
    /// has the node.
    pub(super) fn check_tree_conflict(
        &self,
        view: &View,
        in_repos: bool,
        expected: Option<NodeKind>,
        action: Action,
    ) -> Result<Option<Conflict>> {
        let relpath = view.top().relpath.as_path();
        let mut moved = None;
        let reason = match view.status() {
            Status::Added if in_repos => Some(Reason::Replaced),
            Status::Added => Some(match self.wc.addition(view.top())? {
                Addition::MovedHere => Reason::MovedHere,
                Addition::Added | Addition::Copied => Reason::Added,
            }),
            Status::Deleted => {
                moved = self.wc.db().moved_to_of(relpath, 0)?;
                Some(if moved.is_some() { Reason::MovedAway } else { Reason::Deleted })
            }
            Status::Normal | Status::Incomplete if action == Action::Edit => {
                let found = disk_kind(&self.wc.abspath(relpath))?;
                let obstructed = found.is_some_and(|found| match expected {
                    Some(NodeKind::Dir) => !found.is_dir(),
                    _ => !found.is_file() && !found.is_symlink(),
                });
                obstructed.then_some(Reason::Obstructed)
            }
            Status::Normal | Status::Incomplete => {
                self.wc.has_local_changes(relpath)?.then_some(Reason::Edited)
            }
            Status::Excluded | Status::ServerExcluded | Status::NotPresent => None,
        };
        let Some(reason) = reason else { return Ok(None) };
        let is_addition = matches!(reason, Reason::Added | Reason::MovedHere);
        if is_addition != (action == Action::Add) {
            let shown = self.wc.abspath(relpath);
            let what = if is_addition {
                "Unexpected attempt to edit, delete, or replace a node at path"
            } else {
                "Unexpected attempt to add a node at path"
            };
            return Err(Error::new(
                sapwood_core::ErrorCode::WC_FOUND_CONFLICT,
                format!("{what} '{}'", shown.display()),
            ));
        }
        let mut conflict = tree(reason, action);
        if let (Some(tree), Some(moved)) = (&mut conflict.tree, moved) {
            tree.move_source = Some(moved.deletion);
            tree.move_destination = Some(moved.target);
        }
        Ok(Some(conflict))
    }

    /// Whether a conflict at a node keeps the update from touching it (first), or lets it change BASE
    /// only (second).
    pub(super) fn conflict_of(&self, relpath: &RelPath, tree_only: bool) -> Result<(bool, bool)> {
        let Some(actual) = self.wc.db().actual(relpath)? else { return Ok((false, false)) };
        let Some(bytes) = actual.conflict_data else { return Ok((false, false)) };
        let conflict = Conflict::parse(&bytes)?;
        if let Some(tree) = &conflict.tree {
            // An edit of what was moved away: BASE may go on, the move's target follows later.
            let ignored = tree.reason == Reason::MovedAway && tree.action == Action::Edit;
            if ignored {
                let other = !tree_only && self.wc.is_still_conflicted(&conflict);
                return Ok((other, true));
            }
            return Ok((true, false));
        }
        if tree_only {
            return Ok((false, false));
        }
        Ok((self.wc.is_still_conflicted(&conflict), false))
    }

    /// The same for the edit's root: a tree conflict at it or above it counts.
    pub(super) fn conflict_above(&self, relpath: &RelPath) -> Result<(bool, bool)> {
        let mut at = Some(relpath);
        while let Some(path) = at {
            let found = self.conflict_of(path, true)?;
            if found.0 || found.1 {
                return Ok(found);
            }
            at = parent_of(path);
        }
        Ok((false, false))
    }

    /// Records a conflict now and reports it.
    pub(super) fn raise(
        &mut self,
        relpath: &RelPath,
        conflict: &Conflict,
        kind: NodeKind,
    ) -> Result<()> {
        self.step(Step::Conflict(relpath.to_owned(), conflict.write()))?;
        self.notify(relpath, NotifyAction::TreeConflict, Some(kind));
        Ok(())
    }
}
