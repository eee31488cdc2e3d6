//! Moves: a copy and a deletion that refer to each other, and one rename on disk.

use std::fs;

use rusqlite::params;
use sapwood_core::notify::Action;
use sapwood_core::paths::RelPath;
use sapwood_core::{CancelToken, ErrorCode};

use super::Notifier;
use super::copy::Copy;
use super::delete::Deletion;
use crate::conflict::Conflict;
use crate::db::{Presence, depth_of, parent_of};
use crate::error::{Error, Result};
use crate::root::WorkingCopy;
use crate::view::{Status, View};

impl WorkingCopy {
    /// Moves a node to a path of `dest` that is free: of this working copy, or of another one, where it
    /// becomes a copy and a deletion. Needs locks on both parents.
    ///
    /// # Errors
    /// What is wrong with source or destination; E155040 for directories of mixed revisions, unless
    /// they are allowed.
    #[expect(clippy::too_many_arguments, reason = "two places, two choices, two callbacks")]
    pub fn move_node(
        &self,
        from: &RelPath,
        dest: &Self,
        to: &RelPath,
        metadata_only: bool,
        allow_mixed: bool,
        cancel: &CancelToken,
        notify: &Notifier<'_>,
    ) -> Result<()> {
        self.check_movable(from)?;
        dest.check_copy(self, from, to, true)?;
        if !metadata_only && fs::symlink_metadata(dest.abspath(to)).is_ok() {
            let shown = dest.abspath(to);
            return Err(Error::new(
                ErrorCode::ENTRY_EXISTS,
                format!("'{}' already exists and is in the way", shown.display()),
            ));
        }
        let source = self.require_view(from)?;
        let record = self.is_same(dest) && self.is_one_revision(&source, allow_mixed)?;
        let how = Copy { source: self, root: to, metadata_only: true, is_move: record };
        dest.copy_gathered(from, to, how, cancel, Some(notify))?;
        if record {
            self.db().write(|_| self.undo_move_back(to, from))?;
        }
        if !metadata_only {
            self.rename_or_undo(from, dest, to)?;
        }
        self.remove_moved_markers(&source, dest, to)?;
        let mut deleted = Vec::new();
        let how = Deletion { moved_to: record.then_some(to), dir_externals: true };
        self.db().write(|_| self.delete_node(from, how, &mut deleted))?;
        deleted.sort_unstable();
        deleted.dedup();
        for relpath in &deleted {
            super::notify_path(self, notify, Action::Delete, relpath);
        }
        self.run_queue(cancel)
    }

    /// Whether a node that is to be moved is of one revision, so that the move can be recorded as one. A directory of mixed
    /// revisions is refused, unless they are allowed.
    fn is_one_revision(&self, source: &View, allow_mixed: bool) -> Result<bool> {
        if !source.is_dir() || source.status() != Status::Normal {
            return Ok(true);
        }
        let Some((least, most)) = self.revision_range(source.relpath())? else { return Ok(true) };
        if least != most && !allow_mixed {
            let shown = self.abspath(source.relpath());
            return Err(Error::new(
                ErrorCode::WC_MIXED_REVISIONS,
                format!(
                    "Cannot move mixed-revision subtree '{}' [{least}:{most}]; try updating it \
                     first",
                    shown.display()
                ),
            ));
        }
        Ok(least == most)
    }

    /// Moves what is on disk. Where that fails, nothing was moved, and the copy in the database is undone.
    fn rename_or_undo(&self, from: &RelPath, dest: &Self, to: &RelPath) -> Result<()> {
        let (old, new) = (self.abspath(from), dest.abspath(to));
        let Err(error) = fs::rename(&old, &new) else { return Ok(()) };
        let how = Deletion { moved_to: None, dir_externals: true };
        dest.db().write(|_| dest.delete_node(to, how, &mut Vec::new()))?;
        let what = format!("Can't move '{}' to '{}'", old.display(), new.display());
        Err(Error::Io { what, error })
    }

    /// Refuses the root of the working copy, and of the repository.
    fn check_movable(&self, from: &RelPath) -> Result<()> {
        let shown = self.abspath(from);
        let shown = shown.display();
        let refuse = |text: String| Err(Error::new(ErrorCode::WC_PATH_UNEXPECTED_STATUS, text));
        if from.is_empty() {
            return refuse(format!("'{shown}' is the root of a working copy and cannot be moved"));
        }
        let is_root = |node: &View| {
            node.top().op_depth == 0 && node.top().repos_path.as_deref() == Some(RelPath::ROOT)
        };
        if self.view(from)?.is_some_and(|node| is_root(&node)) {
            return refuse(format!("'{shown}' represents the repository root and cannot be moved"));
        }
        Ok(())
    }

    /// The files of conflicts do not move along.
    fn remove_moved_markers(&self, source: &View, dest: &Self, to: &RelPath) -> Result<()> {
        let from = source.relpath();
        let remove = |wc: &Self, relpath: &RelPath| {
            let path = wc.abspath(relpath);
            match fs::remove_file(&path) {
                Err(e) if !crate::status::is_missing(&e) => {
                    Err(Error::io(e, "Can't remove file", &path))
                }
                _ => Ok(()),
            }
        };
        for row in self.db().actual_subtree(from)? {
            let Some(record) = &row.conflict_data else { continue };
            for file in Conflict::parse(record)?.files() {
                match file.below(from).filter(|below| !below.is_empty()) {
                    Some(below) if source.is_dir() => remove(dest, &to.join(below))?,
                    _ => remove(self, file)?,
                }
            }
        }
        Ok(())
    }

    /// Undoes a move that brought a node back to its source, if nothing differs.
    fn undo_move_back(&self, relpath: &RelPath, moved_from: &RelPath) -> Result<()> {
        let db = self.db();
        let node = self.require_view(relpath)?;
        if node.status() != Status::Added || !node.is_op_root() || relpath.is_empty() {
            return Ok(());
        }
        let top = node.top();
        if !top.moved_here || top.moved_to.as_deref() != Some(moved_from) {
            return Ok(());
        }
        let below = if node.has_more_work() {
            db.top(parent_of(relpath).unwrap_or(RelPath::ROOT))?.map_or(0, |row| row.op_depth)
        } else {
            0
        };
        let depth = depth_of(relpath);
        let mut same = true;
        db.each_in_subtree(relpath, |row| {
            if row.op_depth != depth {
                return Ok(());
            }
            let under = db.node(&row.relpath, below)?;
            same &= match under {
                None => row.presence == Presence::NotPresent,
                Some(under) => {
                    under.presence == row.presence
                        && match row.presence {
                            Presence::NotPresent | Presence::Excluded => true,
                            Presence::Normal => {
                                row.repos_path.is_some()
                                    && row.repos_path == under.repos_path
                                    && row.revision == under.revision
                                    && row.repos_id == under.repos_id
                            }
                            _ => false,
                        }
                }
            };
            Ok(())
        })?;
        if same {
            let (lo, hi) = super::subtree(relpath);
            db.execute(
                "DELETE FROM nodes WHERE wc_id = ?1 AND (local_relpath = ?2 OR (local_relpath > ?3 \
                 AND local_relpath < ?4)) AND op_depth = ?5",
                params![db.wc_id(), relpath.as_str(), lo, hi, depth],
            )?;
        }
        Ok(())
    }
}
