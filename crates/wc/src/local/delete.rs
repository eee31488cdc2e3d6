//! Deletions: a node and all below it get rows "base-deleted" in a layer of their own, local layers
//! there are removed, and nodes that were moved out of the tree keep their `moved_to`.

use rusqlite::params;
use sapwood_core::notify::Action;
use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{CancelToken, ErrorCode};

use super::{Notifier, SubtreeSql, subtree};
use crate::db::{Db, Kind, Paths, Presence, depth_of};
use crate::error::{Error, Result};
use crate::root::{Disk, WorkingCopy};
use crate::status::{self, State};
use crate::view::{Status, View, status_of};
use crate::work_item::WorkItem;

/// How many targets are looked at under one lock of the database.
const TOGETHER: usize = 100;

/// A node whose `moved_to` must be written again after the rows of a tree went.
#[derive(Debug)]
struct MovedTo {
    relpath: RelPathBuf,
    op_depth: i64,
    to: RelPathBuf,
    /// The layer in which the node had been moved here, if that layer goes.
    from_depth: Option<i64>,
}

/// A row with `moved_to` in a tree.
struct MovedRow {
    relpath: RelPathBuf,
    to: RelPathBuf,
    op_depth: i64,
    here_depth: Option<i64>,
}

/// How a node is deleted.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Deletion<'d> {
    /// Where it is moved to, if this is one half of a move.
    pub(crate) moved_to: Option<&'d RelPath>,
    /// Whether directories that `svn:externals` put below go too.
    pub(crate) dir_externals: bool,
}

/// As [`WorkingCopy::delete`].
pub(crate) fn delete(
    wc: &WorkingCopy,
    targets: &[RelPathBuf],
    force: bool,
    keep_local: bool,
    cancel: &CancelToken,
    notify: &Notifier<'_>,
) -> Result<()> {
    let mut some_there = force || keep_local;
    for together in targets.chunks(TOGETHER) {
        some_there |= wc.db().questions(|| {
            let mut some_there = false;
            for target in together {
                check_external(wc.db(), wc.disk(), target)?;
                if !force && !keep_local {
                    some_there |= !check_deletable(wc, target, cancel)?;
                }
            }
            Ok::<_, Error>(some_there)
        })?;
    }
    wc.delete_unchecked(targets, keep_local || !some_there, cancel, notify)
}

/// Refuses file externals.
fn check_external(db: &Db, disk: &Disk, relpath: &RelPath) -> Result<()> {
    let external = db.external(relpath)?;
    let Some(external) = external.filter(|e| e.kind != Kind::Dir) else { return Ok(()) };
    let shown = disk.abspath(relpath);
    let defined = disk.abspath(&external.def_relpath);
    Err(Error::new(
        ErrorCode::WC_CANNOT_DELETE_FILE_EXTERNAL,
        format!(
            "Cannot remove the external at '{}'; please edit or delete the svn:externals \
             property on '{}'",
            shown.display(),
            defined.display()
        ),
    ))
}

/// Refuses to delete what a deletion would lose; whether the target itself is missing on disk.
fn check_deletable(wc: &WorkingCopy, relpath: &RelPath, cancel: &CancelToken) -> Result<bool> {
    let options = status::Options { cancel: cancel.clone(), ..status::Options::default() };
    let mut missing = false;
    wc.status(relpath, &options, &mut |status| {
        if status.node == State::Missing && status.relpath == relpath {
            missing = true;
        }
        let shown = wc.abspath(&status.relpath);
        let shown = shown.display();
        if status.node == State::Obstructed {
            return Err(Error::new(
                ErrorCode::NODE_UNEXPECTED_KIND,
                format!("'{shown}' is in the way of the resource actually under version control"),
            ));
        }
        if !status.versioned {
            return Err(Error::new(
                ErrorCode::UNVERSIONED_RESOURCE,
                format!("'{shown}' is not under version control"),
            ));
        }
        let plain_copy = matches!(status.node, State::Added | State::Replaced)
            && status.text == State::Normal
            && matches!(status.props, State::Normal | State::None);
        let harmless = matches!(status.node, State::Normal | State::Deleted | State::Missing);
        // A copy is shown with its own states, a conflict as the local change that it is.
        if !plain_copy && !harmless {
            return Err(Error::new(
                ErrorCode::CLIENT_MODIFIED,
                format!("'{shown}' has local modifications -- commit or revert them first"),
            ));
        }
        Ok(())
    })?;
    Ok(missing)
}

/// As [`WorkingCopy::delete_unchecked`].
pub(crate) fn delete_unchecked(
    wc: &WorkingCopy,
    targets: &[RelPathBuf],
    keep_local: bool,
    cancel: &CancelToken,
    notify: &Notifier<'_>,
) -> Result<()> {
    let mut versioned = Vec::new();
    let mut work = Vec::new();
    wc.db().questions(|| {
        for target in targets {
            let Some(node) = wc.view(target)? else {
                if !keep_local {
                    erase_unversioned(wc.disk(), target)?;
                }
                continue;
            };
            check_deletion_state(wc.disk(), &node)?;
            versioned.push(target.as_path());
            if !keep_local {
                queue_removal(wc.disk(), &node, &mut work)?;
            }
        }
        Ok::<_, Error>(())
    })?;
    if versioned.is_empty() {
        return Ok(());
    }
    let how = Deletion { moved_to: None, dir_externals: !keep_local };
    delete_nodes(wc, &versioned, how, &work, cancel, notify)
}

/// Deletes nodes and queues the work on disk that belongs to it, in one transaction, and then runs it.
pub(super) fn delete_nodes(
    wc: &WorkingCopy,
    targets: &[&RelPath],
    how: Deletion<'_>,
    work: &[WorkItem],
    cancel: &CancelToken,
    notify: &Notifier<'_>,
) -> Result<()> {
    let mut deleted = Vec::new();
    wc.db().write(|db| {
        for target in targets {
            delete_node(wc.db(), wc.disk(), target, how, &mut deleted)?;
        }
        work.iter().try_for_each(|item| db.add_work(item).map(|_| ()))
    })?;
    deleted.sort_unstable();
    deleted.dedup();
    for relpath in &deleted {
        super::notify_path(wc.disk(), notify, Action::Delete, relpath);
    }
    wc.run_queue(cancel)
}

pub(super) fn check_deletion_state(disk: &Disk, node: &View) -> Result<()> {
    let shown = disk.abspath(node.relpath());
    let shown = shown.display();
    if matches!(node.status(), Status::Excluded | Status::NotPresent) {
        return Err(Error::new(
            ErrorCode::WC_PATH_NOT_FOUND,
            format!("'{shown}' cannot be deleted"),
        ));
    }
    let unexpected = |what: &str| {
        Err(Error::new(ErrorCode::WC_PATH_UNEXPECTED_STATUS, format!("'{shown}' {what}")))
    };
    if node.relpath().is_empty() {
        return unexpected("is the root of a working copy and cannot be deleted");
    }
    let base_path = node.top().repos_path.as_deref();
    if node.top().op_depth == 0 && base_path == Some(RelPath::ROOT) {
        return unexpected("represents the repository root and cannot be deleted");
    }
    Ok(())
}

/// What removes a node from disk: itself, and the files of its conflict.
pub(crate) fn queue_removal(disk: &Disk, node: &View, work: &mut Vec<WorkItem>) -> Result<()> {
    let relpath = node.relpath().to_owned();
    work.push(if node.is_dir() {
        WorkItem::DirRemove { relpath, recursive: true }
    } else {
        WorkItem::FileRemove { relpath }
    });
    for marker in conflict_files(disk, node)? {
        work.push(WorkItem::FileRemove { relpath: marker });
    }
    Ok(())
}

/// The files on disk that belong to a conflict of a node.
pub(crate) fn conflict_files(disk: &Disk, node: &View) -> Result<Vec<RelPathBuf>> {
    let Some(record) = node.conflict_data() else { return Ok(Vec::new()) };
    Ok(crate::status::markers(record)?
        .into_iter()
        .filter(|file| crate::files::is_leftover(&disk.abspath(file)))
        .collect())
}

fn erase_unversioned(disk: &Disk, relpath: &RelPath) -> Result<()> {
    let path = disk.abspath(relpath);
    let found = match std::fs::symlink_metadata(&path) {
        Ok(found) => found,
        Err(e) if status::is_missing(&e) => {
            return Err(Error::new(
                ErrorCode::BAD_FILENAME,
                format!("'{}' does not exist", path.display()),
            ));
        }
        Err(e) => return Err(Error::io(e, "Can't stat", &path)),
    };
    let removed =
        if found.is_dir() { std::fs::remove_dir_all(&path) } else { std::fs::remove_file(&path) };
    removed.map_err(|e| Error::io(e, "Can't remove", &path))
}

/// The database's part of a deletion, inside a transaction. `deleted` gets the paths that went.
pub(crate) fn delete_node(
    db: &Db,
    disk: &Disk,
    relpath: &RelPath,
    how: Deletion<'_>,
    deleted: &mut Vec<RelPathBuf>,
) -> Result<()> {
    let layers = db.layers(relpath)?;
    let not_found = || Error::NodeNotFound(disk.abspath(relpath));
    let top = layers.first().ok_or_else(not_found)?;
    let delete_depth = depth_of(relpath);
    let working_depth = top.op_depth;
    let op_root = working_depth >= delete_depth;
    // The layer that the deletion is of, if there is one to delete.
    let keep_depth = if op_root {
        layers
            .get(1)
            .filter(|b| !matches!(b.presence, Presence::NotPresent | Presence::BaseDeleted))
            .map(|below| below.op_depth)
    } else {
        Some(working_depth)
    };
    match status_of(top) {
        Status::Deleted | Status::NotPresent => return Ok(()),
        Status::Normal if top.kind == Kind::Dir => check_server_excluded(db, disk, relpath)?,
        Status::ServerExcluded => return Err(cannot_delete(disk, relpath, " by server")),
        Status::Excluded => return Err(cannot_delete(disk, relpath, "")),
        _ => {}
    }
    let node = View::of(layers.clone(), None).ok_or_else(not_found)?;
    let moved = moves_in_tree(db, &node, op_root, how.moved_to)?;
    let id = db.wc_id();
    if how.moved_to.is_none() {
        forget_moves_into(db, relpath, op_root)?;
    }
    let has_externals = list_deleted(db, relpath, working_depth, deleted)?;
    db.remove_layers_from(relpath, delete_depth)?;
    db.clear_actual_below(relpath, false)?;
    db.remove_orphan_locks(relpath)?;
    if let Some(keep) = keep_depth {
        db.insert_deletion(relpath, keep, delete_depth)?;
    }
    for node in moved {
        db.execute(
            "UPDATE nodes SET moved_to = ?4 WHERE wc_id = ?1 AND local_relpath = ?2 AND \
             op_depth = ?3",
            params![id, node.relpath.as_str(), node.op_depth, node.to.as_str()],
        )?;
    }
    remove_externals_below(db, relpath, how.dir_externals, has_externals)
}

/// Adds a path to `deleted`, and what is seen below it of the layer `from` or above. Returns whether a file of an
/// external is below.
fn list_deleted(
    db: &Db,
    relpath: &RelPath,
    from: i64,
    deleted: &mut Vec<RelPathBuf>,
) -> Result<bool> {
    deleted.push(relpath.to_owned());
    let (lo, hi) = subtree(relpath);
    let mut has_externals = false;
    // The rows of a path follow each other: what is seen is the last of them.
    let (mut last, mut is_seen) = (RelPathBuf::default(), false);
    db.each(
        "SELECT local_relpath, op_depth >= ?4 AND file_external IS NULL AND presence NOT IN \
         ('base-deleted', 'not-present', 'excluded', 'server-excluded'), file_external IS NOT \
         NULL FROM nodes WHERE wc_id = ?1 AND local_relpath > ?2 AND local_relpath < ?3 \
         ORDER BY local_relpath, op_depth",
        params![db.wc_id(), lo, hi, from],
        |row| {
            let path = row.relpath(0)?;
            has_externals |= row.get::<_, bool>(2)?;
            let before = std::mem::replace(&mut last, path);
            if is_seen && before != last {
                deleted.push(before);
            }
            is_seen = row.get(1)?;
            Ok(())
        },
    )?;
    if is_seen {
        deleted.push(last);
    }
    Ok(has_externals)
}

fn cannot_delete(disk: &Disk, relpath: &RelPath, by: &str) -> Error {
    Error::new(
        ErrorCode::WC_PATH_UNEXPECTED_STATUS,
        format!("Cannot delete '{}' as it is excluded{by}", disk.abspath(relpath).display()),
    )
}

fn check_server_excluded(db: &Db, disk: &Disk, relpath: &RelPath) -> Result<()> {
    let (lo, hi) = subtree(relpath);
    let found: Option<RelPathBuf> = db.first(
        "SELECT local_relpath FROM nodes WHERE wc_id = ?1 AND local_relpath > ?2 AND \
         local_relpath < ?3 AND op_depth = 0 AND presence = 'server-excluded' LIMIT 1",
        params![db.wc_id(), lo, hi],
        |row| row.relpath(0),
    )?;
    let Some(excluded) = found else { return Ok(()) };
    Err(Error::new(
        ErrorCode::WC_PATH_UNEXPECTED_STATUS,
        format!(
            "Cannot delete '{}' as '{}' is excluded by server",
            disk.abspath(relpath).display(),
            disk.abspath(&excluded).display()
        ),
    ))
}

/// Which `moved_to` must be written again when a tree is deleted or moved on.
fn moves_in_tree(
    db: &Db,
    node: &View,
    op_root: bool,
    moved_to: Option<&RelPath>,
) -> Result<Vec<MovedTo>> {
    let relpath = node.relpath();
    let delete_depth = depth_of(relpath);
    let mut list = Vec::new();
    if let Some(to) = moved_to {
        record_move(db, node, op_root, to, &mut list)?;
    }
    let (lo, hi) = subtree(relpath);
    let rows = db.all(
        "SELECT local_relpath, moved_to, op_depth, (SELECT CASE WHEN r.moved_here THEN \
         r.op_depth END FROM nodes r WHERE r.wc_id = ?1 AND r.local_relpath = n.local_relpath \
         AND r.op_depth < n.op_depth ORDER BY r.op_depth DESC LIMIT 1) FROM nodes n WHERE \
         wc_id = ?1 AND (local_relpath = ?2 OR (local_relpath > ?3 AND local_relpath < ?4)) AND \
         moved_to IS NOT NULL AND op_depth >= ?5",
        params![db.wc_id(), relpath.as_str(), lo, hi, delete_depth],
        |row| {
            Ok(MovedRow {
                relpath: row.relpath(0)?,
                to: row.relpath(1)?,
                op_depth: row.get(2)?,
                here_depth: row.get(3)?,
            })
        },
    )?;
    for row in rows {
        list.extend(carried_move(relpath, moved_to, row));
    }
    let mut out = Vec::new();
    for mut moved in list {
        if let Some(depth) = moved.from_depth {
            let Some((from, op_depth)) = resolve_moved_from(db, relpath, &moved.relpath, depth)?
            else {
                continue;
            };
            moved.relpath = from;
            moved.op_depth = op_depth;
        }
        out.push(moved);
    }
    Ok(out)
}

/// The half of a move that is a deletion: the root records its destination, and so do others
/// that were moved into it.
fn record_move(
    db: &Db,
    node: &View,
    op_root: bool,
    to: &RelPath,
    list: &mut Vec<MovedTo>,
) -> Result<()> {
    let relpath = node.relpath();
    let added = node.status() == Status::Added;
    let from = node.moved_from(db)?;
    if op_root && let Some((from, _)) = &from {
        let source = match from.below(relpath) {
            Some(part) => to.join(part),
            None => from.clone(),
        };
        let depth = db.moved_from(relpath)?.map_or(0, |row| row.op_depth);
        list.push(MovedTo {
            relpath: source,
            op_depth: depth,
            to: to.to_owned(),
            from_depth: None,
        });
    } else if !op_root && (!added || node.origin(db)?.is_some()) {
        list.push(MovedTo {
            relpath: relpath.to_owned(),
            op_depth: depth_of(relpath),
            to: to.to_owned(),
            from_depth: None,
        });
    }
    let (lo, hi) = subtree(relpath);
    db.execute(
        "UPDATE nodes SET moved_to = ?4 || substr(moved_to, length(?5) + 1) WHERE wc_id = ?1 AND \
         moved_to > ?2 AND moved_to < ?3",
        params![db.wc_id(), lo, hi, to.as_str(), relpath.as_str()],
    )?;
    Ok(())
}

/// Where a node was before it was moved, maybe several times, inside of the tree `root`.
fn resolve_moved_from(
    db: &Db,
    root: &RelPath,
    relpath: &RelPath,
    op_depth: i64,
) -> Result<Option<(RelPathBuf, i64)>> {
    let at = crate::node::prefix(relpath, op_depth);
    let suffix = relpath.rest_below(at)?;
    let found: Option<(RelPathBuf, i64, Option<i64>)> = db.first(
        "SELECT local_relpath, op_depth, (SELECT CASE WHEN r.moved_here THEN r.op_depth END FROM \
         nodes r WHERE r.wc_id = ?1 AND r.local_relpath = n.local_relpath AND r.op_depth < \
         n.op_depth ORDER BY r.op_depth DESC LIMIT 1) FROM nodes n WHERE wc_id = ?1 AND \
         moved_to = ?2 AND op_depth > 0",
        params![db.wc_id(), at.as_str()],
        |row| Ok((row.relpath(0)?, row.get(1)?, row.get(2)?)),
    )?;
    let Some((from, depth, here)) = found else { return Ok(None) };
    let full = from.join(suffix);
    if !from.is_at_or_below(root) {
        return Ok(Some((full, depth)));
    }
    match here {
        None | Some(0) => Ok(None),
        Some(here) => resolve_moved_from(db, root, &full, here),
    }
}

/// What becomes of a move that began in a tree that is deleted, or moved to `moved_to`.
fn carried_move(root: &RelPath, moved_to: Option<&RelPath>, row: MovedRow) -> Option<MovedTo> {
    let delete_depth = depth_of(root);
    let inside = row.to.is_at_or_below(root);
    let MovedRow { relpath, to, op_depth, here_depth } = row;
    match moved_to {
        None if inside => None,
        None => {
            let here = here_depth.unwrap_or(0);
            Some(if here >= delete_depth {
                MovedTo { relpath, op_depth, to, from_depth: Some(here).filter(|d| *d > 0) }
            } else {
                MovedTo { relpath, op_depth: delete_depth, to, from_depth: None }
            })
        }
        Some(_) if delete_depth == op_depth => {
            Some(MovedTo { relpath, op_depth, to, from_depth: None })
        }
        Some(target) if op_depth >= delete_depth && !inside => {
            let child = target.join(relpath.below(root)?);
            let op_depth = if op_depth > delete_depth && child.is_at_or_below(root) {
                delete_depth
            } else {
                op_depth - depth_of(root) + depth_of(target)
            };
            Some(MovedTo { relpath: child, op_depth, to, from_depth: None })
        }
        Some(_) => None,
    }
}

/// What was moved to below a path, or with `itself` to the path, is a deletion alone.
fn forget_moves_into(db: &Db, relpath: &RelPath, itself: bool) -> Result<()> {
    let (id, (lo, hi)) = (db.wc_id(), subtree(relpath));
    db.execute(
        "UPDATE nodes SET moved_to = NULL WHERE wc_id = ?1 AND moved_to > ?2 AND moved_to < ?3",
        params![id, lo, hi],
    )?;
    if itself {
        db.execute(
            "UPDATE nodes SET moved_to = NULL WHERE wc_id = ?1 AND moved_to = ?2",
            params![id, relpath.as_str()],
        )?;
    }
    Ok(())
}

/// Removes the rows of externals below a path: of files, where there are any, and with `dirs` of directories.
fn remove_externals_below(db: &Db, relpath: &RelPath, dirs: bool, files: bool) -> Result<()> {
    let (id, (lo, hi)) = (db.wc_id(), subtree(relpath));
    if files {
        db.execute(
            "DELETE FROM nodes WHERE wc_id = ?1 AND local_relpath > ?2 AND local_relpath < ?3 AND \
             op_depth = 0 AND file_external IS NOT NULL",
            params![id, lo, hi],
        )?;
    }
    let kinds = if dirs { "" } else { "AND kind != 'dir'" };
    db.execute(
        &format!(
            "DELETE FROM externals WHERE wc_id = ?1 AND local_relpath > ?2 AND \
             local_relpath < ?3 {kinds}"
        ),
        params![id, lo, hi],
    )?;
    Ok(())
}
