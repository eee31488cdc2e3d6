//! Reverting the rows of one path, or of it and all below.
//!
//! Invariant: a layer goes whole or stays: no row is left above a parent that is gone.

use rusqlite::params;
use sapwood_core::ErrorCode;
use sapwood_core::paths::{RelPath, RelPathBuf};

use super::RevertOptions;
use super::removed_rows::RemovedRows;
use crate::base::MovedSource;
use crate::conflict::{Conflict, Operation, Reason};
use crate::db::{Db, Paths as _, depth_of};
use crate::error::{Error, Result};
use crate::local::resolve_tree::raise_moves;
use crate::local::{SubtreeSql, subtree};
use crate::root::Disk;

/// Reverts the rows of one path.
pub(super) fn revert_row(
    db: &Db,
    disk: &Disk,
    relpath: &RelPath,
    options: &RevertOptions,
    gone: &mut RemovedRows,
) -> Result<()> {
    let children = || {
        Error::new(
            ErrorCode::WC_INVALID_OPERATION_DEPTH,
            format!(
                "Can't revert '{}' without reverting children",
                disk.abspath(relpath).display()
            ),
        )
    };
    let Some(top) = db.top(relpath)? else {
        gone.actual(db, relpath, false)?;
        if !db.remove_actual(relpath)? {
            return Err(Error::NodeNotFound(disk.abspath(relpath)));
        }
        return if db.actual_children(relpath)?.is_empty() { Ok(()) } else { Err(children()) };
    };
    let op_depth = top.op_depth;
    if let Some(to) = &top.moved_to {
        let source = MovedSource { relpath: relpath.to_owned(), op_depth, moved_to: to.clone() };
        db.break_move(&source)?;
    }
    if op_depth > 0 && op_depth == depth_of(relpath) {
        let (lo, hi) = subtree(relpath);
        let id = db.wc_id();
        if has_own_children(db, relpath, op_depth)? {
            return Err(children());
        }
        let deepened = db.execute(
            "UPDATE nodes SET op_depth = ?3 + 1 WHERE wc_id = ?1 AND local_relpath > ?4 AND \
             local_relpath < ?5 AND op_depth = ?3 AND ?2 = ?2",
            params![id, relpath.as_str(), op_depth, lo, hi],
        )?;
        gone.layers(db, relpath, op_depth, false)?;
        db.remove_node(relpath, op_depth)?;
        if db.top(relpath)?.is_none() {
            db.remove_wc_lock(relpath)?;
        }
        if top.moved_here {
            clear_moved_to(db, relpath)?;
        }
        if deepened > 0 && top.moved_to.is_none() {
            for raised in raise_moves_of_revert(db, disk, relpath)? {
                gone.raise(raised);
            }
        }
    }
    gone.actual(db, relpath, false)?;
    db.clear_actual(relpath, options.clear_changelists)
}

/// When a deletion goes that is in conflict with an update: what was moved away from below it is in
/// conflict now. Returns where.
fn raise_moves_of_revert(db: &Db, disk: &Disk, relpath: &RelPath) -> Result<Vec<RelPathBuf>> {
    let Some(record) = db.actual(relpath)?.and_then(|a| a.conflict_data) else {
        return Ok(Vec::new());
    };
    let conflict = Conflict::parse(&record)?;
    let gone = conflict
        .tree
        .as_ref()
        .is_some_and(|tree| matches!(tree.reason, Reason::Deleted | Reason::Replaced));
    let operation =
        conflict.operation.filter(|o| gone && matches!(o, Operation::Update | Operation::Switch));
    let under = db.top(relpath)?.map(|row| row.op_depth);
    let (Some(operation), Some(under)) = (operation, under) else { return Ok(Vec::new()) };
    let raised = raise_moves(db, disk, relpath, under, &conflict, operation)?;
    Ok(raised.into_iter().map(|(relpath, _)| relpath).collect())
}

/// Reverts the rows of a path and all below.
pub(super) fn revert_rows_below(
    disk: &Disk,
    db: &Db,
    relpath: &RelPath,
    options: &RevertOptions,
    gone: &mut RemovedRows,
) -> Result<()> {
    let Some(top) = db.top(relpath)? else {
        gone.actual(db, relpath, false)?;
        if db.remove_actual(relpath)? {
            return Ok(());
        }
        return Err(Error::NodeNotFound(disk.abspath(relpath)));
    };
    let op_depth = top.op_depth;
    if op_depth > 0 && op_depth != depth_of(relpath) {
        return Err(Error::new(
            ErrorCode::WC_INVALID_OPERATION_DEPTH,
            format!("Can't revert '{}' without reverting parent", disk.abspath(relpath).display()),
        ));
    }
    let (lo, hi) = subtree(relpath);
    let outside = db.all(
        "SELECT local_relpath, op_depth, moved_to FROM nodes WHERE wc_id = ?1 AND (local_relpath \
         = ?2 OR (local_relpath > ?3 AND local_relpath < ?4)) AND op_depth >= ?5 AND moved_to IS \
         NOT NULL AND NOT (moved_to > ?3 AND moved_to < ?4)",
        params![db.wc_id(), relpath.as_str(), lo, hi, op_depth],
        |row| {
            let (relpath, op_depth) = (row.relpath(0)?, row.get(1)?);
            Ok(MovedSource { relpath, op_depth, moved_to: row.relpath(2)? })
        },
    )?;
    for source in outside {
        db.break_move(&source)?;
    }
    let from = op_depth.max(1);
    gone.layers(db, relpath, from, true)?;
    db.remove_layers_from(relpath, from)?;
    gone.actual(db, relpath, true)?;
    db.clear_actual_below(relpath, options.clear_changelists)?;
    db.remove_orphan_locks(relpath)?;
    db.execute(
        "UPDATE nodes SET moved_to = NULL WHERE wc_id = ?1 AND op_depth > 0 AND moved_to > ?2 AND \
         moved_to < ?3",
        params![db.wc_id(), lo, hi],
    )?;
    if op_depth > 0 && top.moved_here {
        clear_moved_to(db, relpath)?;
    }
    Ok(())
}

/// Whether there are children that a revert of a directory alone would take the ground from: changed ones, those of its own
/// layer, or conflicts without a node.
fn has_own_children(db: &Db, relpath: &RelPath, op_depth: i64) -> Result<bool> {
    let found: Option<i64> = db.first(
        "SELECT 1 FROM nodes WHERE wc_id = ?1 AND parent_relpath = ?2 AND (op_depth > ?3 OR \
         (op_depth = ?3 AND presence IN ('normal', 'incomplete'))) UNION ALL SELECT 1 FROM \
         actual_node a WHERE wc_id = ?1 AND parent_relpath = ?2 AND NOT EXISTS (SELECT 1 FROM \
         nodes n WHERE wc_id = ?1 AND n.local_relpath = a.local_relpath)",
        params![db.wc_id(), relpath.as_str(), op_depth],
        |row| row.get(0),
    )?;
    Ok(found.is_some())
}

fn clear_moved_to(db: &Db, relpath: &RelPath) -> Result<()> {
    db.execute(
        "UPDATE nodes SET moved_to = NULL WHERE wc_id = ?1 AND moved_to = ?2 AND op_depth > 0",
        params![db.wc_id(), relpath.as_str()],
    )?;
    Ok(())
}
