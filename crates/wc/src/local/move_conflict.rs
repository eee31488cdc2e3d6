//! What is asked and recorded around moves whose source was changed: in which layer they began, where
//! from, and the tree conflicts that they get.

use std::fs;

use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{ErrorCode, NodeKind};

use crate::conflict::{Action, Conflict, Location, Operation, Reason, TreeConflict};
use crate::error::{Error, Result};
use crate::layout;
use crate::root::WorkingCopy;
use crate::view::Status;

/// What a conflict is about.
pub(super) struct About {
    pub(super) old_kind: Option<NodeKind>,
    pub(super) new_kind: Option<NodeKind>,
    pub(super) reason: Reason,
    pub(super) action: Action,
    pub(super) move_source: Option<RelPathBuf>,
}

/// What was being done when it came up, and with what.
pub(super) struct ConflictSides<'p> {
    pub(super) operation: Operation,
    pub(super) old: Option<&'p Location>,
    pub(super) new: &'p Location,
    /// The old path of the node itself.
    pub(super) old_relpath: &'p RelPath,
}

impl WorkingCopy {
    /// The highest layer of a node below one.
    pub(super) fn layer_under(&self, relpath: &RelPath, op_depth: i64) -> Result<i64> {
        let layers = self.db().layers(relpath)?;
        let found = layers.iter().map(|row| row.op_depth).find(|depth| *depth < op_depth);
        found.ok_or_else(|| {
            let shown = self.abspath(relpath);
            Error::new(
                ErrorCode::WC_PATH_UNEXPECTED_STATUS,
                format!("'{}' is not deleted", shown.display()),
            )
        })
    }

    pub(super) fn require_lock(&self, relpath: &RelPath) -> Result<()> {
        if self.owns_lock(relpath) {
            return Ok(());
        }
        let shown = self.abspath(relpath);
        Err(Error::new(ErrorCode::WC_NOT_LOCKED, format!("No write-lock in '{}'", shown.display())))
    }

    /// Where a layer of a node comes from.
    pub(super) fn location_of(&self, relpath: &RelPath, op_depth: i64) -> Result<Location> {
        let row = self
            .db()
            .node(relpath, op_depth)?
            .ok_or_else(|| Error::NodeNotFound(self.abspath(relpath)))?;
        let repository = row.repos_id.map(|id| self.db().repository(id)).transpose()?;
        Ok(Location {
            root: repository.as_ref().map_or(String::new(), |r| r.root.to_string()),
            uuid: repository.map(|r| r.uuid),
            relpath: row.repos_path.unwrap_or_default(),
            revision: row.revision,
            kind: row.kind.node_kind(),
        })
    }

    /// Refuses switched nodes and several revisions in BASE.
    pub(super) fn check_single(&self, relpath: &RelPath) -> Result<()> {
        let Some(base) = self.db().base(relpath)? else { return Ok(()) };
        let root = base.base_path()?.to_owned();
        for row in self.db().rows_of_layer(relpath, 0)? {
            let below = row.relpath.rest_below(relpath)?;
            if row.repos_path.as_deref() != Some(root.join(below).as_path()) {
                let shown = self.abspath(&row.relpath);
                return Err(failure(format!(
                    "Cannot apply update because '{}' is a switched path (please switch it back to \
                     its original URL and try again)",
                    shown.display()
                )));
            }
            if row.revision != base.revision {
                let shown = self.abspath(relpath);
                return Err(failure(format!(
                    "Cannot apply update because '{}' is a mixed-revision working copy (please \
                     update and try again)",
                    shown.display()
                )));
            }
        }
        Ok(())
    }

    /// The record of a tree conflict at a node of a move whose destination's root is `root`: added to
    /// what is recorded there.
    pub(super) fn conflict_of_move(
        &self,
        relpath: &RelPath,
        root: &RelPath,
        places: &ConflictSides<'_>,
        about: &About,
    ) -> Result<Conflict> {
        let in_conflict = || {
            let shown = self.abspath(relpath);
            let text = format!("'{}' already in conflict", shown.display());
            Error::new(ErrorCode::WC_FOUND_CONFLICT, text)
        };
        let mut found = match self.db().actual(relpath)?.and_then(|a| a.conflict_data) {
            Some(bytes) => Conflict::parse(&bytes)?,
            None => Conflict::default(),
        };
        if !found.is_resolved() {
            if !matches!(found.operation, Some(Operation::Update | Operation::Switch)) {
                return Err(in_conflict());
            }
            if let Some(tree) = &found.tree {
                let same = tree.reason == about.reason
                    && tree.action == about.action
                    && (about.reason != Reason::MovedAway || tree.move_source == about.move_source);
                return if same { Ok(found) } else { Err(in_conflict()) };
            }
        }
        let is_move = about.reason == Reason::MovedAway;
        found.tree = Some(TreeConflict {
            reason: about.reason,
            action: about.action,
            move_source: about.move_source.clone().filter(|_| is_move),
            move_destination: is_move.then(|| root.to_owned()),
        });
        let below = places
            .old
            .and_then(|old| places.old_relpath.below(&old.relpath))
            .or_else(|| relpath.below(root))
            .unwrap_or_default();
        let old = places.old.map(|old| Location {
            relpath: places.old_relpath.to_owned(),
            kind: about.old_kind,
            ..old.clone()
        });
        let new = Location {
            relpath: places.new.relpath.join(below),
            kind: about.new_kind,
            ..places.new.clone()
        };
        found.operation = Some(places.operation);
        found.locations = vec![old, Some(new)];
        Ok(found)
    }

    /// Whether there is anything at or below a versioned path that is not versioned.
    ///
    /// # Errors
    /// SQLite's; that a directory cannot be read.
    pub fn has_unversioned(&self, relpath: &RelPath) -> Result<bool> {
        let dir = self.abspath(relpath);
        if !fs::symlink_metadata(&dir).is_ok_and(|found| found.is_dir()) {
            return Ok(false);
        }
        let failed = |e| Error::io(e, "Can't open directory", &dir);
        for entry in fs::read_dir(&dir).map_err(failed)? {
            let name = entry.map_err(failed)?.file_name();
            if name == layout::ADM {
                continue;
            }
            let Some(name) = name.to_str() else { return Ok(true) };
            let child = relpath.child(name);
            let known = self.view(&child)?.is_some_and(|view| {
                matches!(view.status(), Status::Normal | Status::Added | Status::Incomplete)
            });
            if !known || self.has_unversioned(&child)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// An error that says that a conflict cannot be resolved.
pub(super) fn failure(text: String) -> Error {
    Error::new(ErrorCode::WC_CONFLICT_RESOLVER_FAILURE, text)
}
