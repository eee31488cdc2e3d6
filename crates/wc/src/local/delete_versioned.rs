//! Deletions that the user did not request directly: a change from elsewhere deletes a directory, or moves it away.
//! On disk only versioned nodes are removed; unversioned ones stay where they are, and so do their directories, as
//! after an update that deletes a directory.

use sapwood_core::CancelToken;
use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::props::names;

use super::Notifier;
use super::delete::Deletion;
use crate::db::{Db, Kind, NodeRow, Presence};
use crate::error::{Error, Result};
use crate::local::delete::{check_deletion_state, conflict_files, delete_nodes};
use crate::node::require_view;
use crate::root::{Disk, WorkingCopy, disk_kind};
use crate::view::View;
use crate::work_item::WorkItem;

/// As [`WorkingCopy::delete_versioned`].
pub(crate) fn delete_versioned(
    wc: &WorkingCopy,
    relpath: &RelPath,
    stays: &[RelPathBuf],
    cancel: &CancelToken,
    notify: &Notifier<'_>,
) -> Result<()> {
    let node = wc.view(relpath)?.ok_or_else(|| Error::NodeNotFound(wc.abspath(relpath)))?;
    check_deletion_state(wc.disk(), &node)?;
    let mut work = Vec::new();
    for row in top_rows(wc.db(), relpath)?.iter().rev() {
        if !stays.iter().any(|stay| row.relpath.is_at_or_below(stay)) {
            work.extend(removal_of(wc.db(), wc.disk(), row)?);
        }
    }
    for relpath in conflict_files(wc.disk(), &node)? {
        work.push(WorkItem::FileRemove { relpath });
    }
    let how = Deletion { moved_to: None, dir_externals: true };
    delete_nodes(wc, &[relpath], how, &work, cancel, notify)
}

/// As [`WorkingCopy::additions_below`].
pub(crate) fn additions_below(db: &Db, relpath: &RelPath) -> Result<Vec<RelPathBuf>> {
    let rows = top_rows(db, relpath)?;
    let added = rows.into_iter().filter(|row| row.op_depth > 0 && row.repos_path.is_none());
    Ok(added.map(|row| row.relpath).collect())
}

/// What removes a node from disk, if it is there. What is in its place otherwise is not versioned.
fn removal_of(db: &Db, disk: &Disk, row: &NodeRow) -> Result<Option<WorkItem>> {
    let relpath = row.relpath.clone();
    if is_obstructed(disk, &require_view(db, disk, &relpath)?)? {
        return Ok(None);
    }
    Ok(Some(match row.kind {
        Kind::Dir => WorkItem::DirRemove { relpath, recursive: false },
        _ => WorkItem::FileRemove { relpath },
    }))
}

/// Whether something of another kind is in a node's place: a folder, a file, or a link or none.
pub(super) fn is_obstructed(disk: &Disk, view: &View) -> Result<bool> {
    let Some(found) = disk_kind(&disk.abspath(view.relpath()))? else { return Ok(false) };
    if view.is_dir() {
        return Ok(!found.is_dir());
    }
    Ok(found.is_dir() || found.is_symlink() != view.props()?.get(names::SPECIAL).is_some())
}

/// The highest layers at and below a path, by path, of what is there for the user.
fn top_rows(db: &Db, relpath: &RelPath) -> Result<Vec<NodeRow>> {
    let mut rows = Vec::new();
    let mut last = None;
    db.each_in_subtree(relpath, |row| {
        if last.as_ref() != Some(&row.relpath) {
            last = Some(row.relpath.clone());
            if matches!(row.presence, Presence::Normal | Presence::Incomplete) {
                rows.push(row);
            }
        }
        Ok(())
    })?;
    Ok(rows)
}
