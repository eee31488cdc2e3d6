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
use crate::root::{WorkingCopy, disk_kind};
use crate::view::View;
use crate::work_item::WorkItem;

impl WorkingCopy {
    /// Deletes a node, and all versioned files below it from disk, changed or not, but for what is at or below the
    /// paths in `stays`.
    ///
    /// # Errors
    /// As [`WorkingCopy::delete`].
    pub fn delete_versioned(
        &self,
        relpath: &RelPath,
        stays: &[RelPathBuf],
        cancel: &CancelToken,
        notify: &Notifier<'_>,
    ) -> Result<()> {
        let node = self.view(relpath)?.ok_or_else(|| Error::NodeNotFound(self.abspath(relpath)))?;
        self.check_deletion_state(&node)?;
        let mut work = Vec::new();
        for row in top_rows(self.db(), relpath)?.iter().rev() {
            if !stays.iter().any(|stay| row.relpath.is_at_or_below(stay)) {
                work.extend(self.removal_of(row)?);
            }
        }
        for relpath in self.conflict_files(&node)? {
            work.push(WorkItem::FileRemove { relpath });
        }
        let how = Deletion { moved_to: None, dir_externals: true };
        self.delete_nodes(&[relpath], how, &work, cancel, notify)
    }

    /// The nodes at and below a path that were added here, not as parts of copies.
    ///
    /// # Errors
    /// SQLite's.
    pub fn additions_below(&self, relpath: &RelPath) -> Result<Vec<RelPathBuf>> {
        let rows = top_rows(self.db(), relpath)?;
        let added = rows.into_iter().filter(|row| row.op_depth > 0 && row.repos_path.is_none());
        Ok(added.map(|row| row.relpath).collect())
    }

    /// What removes a node from disk, if it is there. What is in its place otherwise is not versioned.
    fn removal_of(&self, row: &NodeRow) -> Result<Option<WorkItem>> {
        let relpath = row.relpath.clone();
        if self.is_obstructed(&self.require_view(&relpath)?)? {
            return Ok(None);
        }
        Ok(Some(match row.kind {
            Kind::Dir => WorkItem::DirRemove { relpath, recursive: false },
            _ => WorkItem::FileRemove { relpath },
        }))
    }

    /// Whether something of another kind is in a node's place: a folder, a file, or a link or none.
    pub(super) fn is_obstructed(&self, view: &View) -> Result<bool> {
        let Some(found) = disk_kind(&self.abspath(view.relpath()))? else { return Ok(false) };
        if view.is_dir() {
            return Ok(!found.is_dir());
        }
        Ok(found.is_dir() || found.is_symlink() != view.props()?.get(names::SPECIAL).is_some())
    }
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
