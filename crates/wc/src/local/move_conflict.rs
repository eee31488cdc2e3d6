//! What is asked and recorded around moves whose source was changed: in which layer they began, where
//! from, and the tree conflicts that they get.

use std::fs;

use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{ErrorCode, NodeKind};

use crate::conflict::{Action, Conflict, Location, Operation, Reason, TreeConflict};
use crate::db::Db;
use crate::error::{Error, Result};
use crate::layout;
use crate::locks::owns_lock;
use crate::root::{Disk, WorkingCopy};
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

/// The highest layer of a node below one.
pub(super) fn layer_under(db: &Db, disk: &Disk, relpath: &RelPath, op_depth: i64) -> Result<i64> {
    let layers = db.layers(relpath)?;
    let found = layers.iter().map(|row| row.op_depth).find(|depth| *depth < op_depth);
    found.ok_or_else(|| {
        let shown = disk.abspath(relpath);
        Error::new(
            ErrorCode::WC_PATH_UNEXPECTED_STATUS,
            format!("'{}' is not deleted", shown.display()),
        )
    })
}

pub(super) fn require_lock(wc: &WorkingCopy, relpath: &RelPath) -> Result<()> {
    if owns_lock(wc, relpath) {
        return Ok(());
    }
    let shown = wc.abspath(relpath);
    Err(Error::new(ErrorCode::WC_NOT_LOCKED, format!("No write-lock in '{}'", shown.display())))
}

/// Where a layer of a node comes from.
pub(super) fn location_of(
    db: &Db,
    disk: &Disk,
    relpath: &RelPath,
    op_depth: i64,
) -> Result<Location> {
    let row =
        db.node(relpath, op_depth)?.ok_or_else(|| Error::NodeNotFound(disk.abspath(relpath)))?;
    let repository = row.repos_id.map(|id| db.repository(id)).transpose()?;
    Ok(Location {
        root: repository.as_ref().map_or(String::new(), |r| r.root.to_string()),
        uuid: repository.map(|r| r.uuid),
        relpath: row.repos_path.unwrap_or_default(),
        revision: row.revision,
        kind: row.kind.node_kind(),
    })
}

/// Refuses switched nodes and several revisions in BASE.
pub(super) fn check_single(db: &Db, disk: &Disk, relpath: &RelPath) -> Result<()> {
    let Some(base) = db.base(relpath)? else { return Ok(()) };
    let root = base.base_path()?.to_owned();
    for row in db.rows_of_layer(relpath, 0)? {
        let below = row.relpath.rest_below(relpath)?;
        if row.repos_path.as_deref() != Some(root.join(below).as_path()) {
            let shown = disk.abspath(&row.relpath);
            return Err(failure(format!(
                "Cannot apply update because '{}' is a switched path (please switch it back to \
                 its original URL and try again)",
                shown.display()
            )));
        }
        if row.revision != base.revision {
            let shown = disk.abspath(relpath);
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
    db: &Db,
    disk: &Disk,
    relpath: &RelPath,
    root: &RelPath,
    places: &ConflictSides<'_>,
    about: &About,
) -> Result<Conflict> {
    let in_conflict = || {
        let shown = disk.abspath(relpath);
        let text = format!("'{}' already in conflict", shown.display());
        Error::new(ErrorCode::WC_FOUND_CONFLICT, text)
    };
    let mut found = match db.actual(relpath)?.and_then(|a| a.conflict_data) {
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

/// As [`WorkingCopy::has_unversioned`].
pub(crate) fn has_unversioned(db: &Db, disk: &Disk, relpath: &RelPath) -> Result<bool> {
    let dir = disk.abspath(relpath);
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
        let known = db.view(&child)?.is_some_and(|view| {
            matches!(view.status(), Status::Normal | Status::Added | Status::Incomplete)
        });
        if !known || has_unversioned(db, disk, &child)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// An error that says that a conflict cannot be resolved.
pub(super) fn failure(text: String) -> Error {
    Error::new(ErrorCode::WC_CONFLICT_RESOLVER_FAILURE, text)
}
