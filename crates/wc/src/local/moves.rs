//! Moves: a copy and a deletion that refer to each other, and one rename on disk.

use std::fs;

use rusqlite::params;
use sapwood_core::notify::Action;
use sapwood_core::paths::RelPath;
use sapwood_core::{CancelToken, ErrorCode};

use super::Notifier;
use super::copy::Copy;
use super::copy_origin::is_same;
use super::delete::Deletion;
use crate::conflict::Conflict;
use crate::db::{Db, Presence, depth_of, parent_of};
use crate::error::{Error, Result};
use crate::local::copy::{check_copy, copy_gathered, revision_range};
use crate::local::delete::delete_node;
use crate::node::require_view;
use crate::root::{Disk, WorkingCopy};
use crate::view::{Status, View};

/// As [`WorkingCopy::move_node`].
#[expect(clippy::too_many_arguments, reason = "two places, two choices, two callbacks")]
pub(crate) fn move_node(
    wc: &WorkingCopy,
    from: &RelPath,
    dest: &WorkingCopy,
    to: &RelPath,
    metadata_only: bool,
    allow_mixed: bool,
    cancel: &CancelToken,
    notify: &Notifier<'_>,
) -> Result<()> {
    check_movable(wc.db(), wc.disk(), from)?;
    check_copy(dest.db(), dest.disk(), wc, from, to, true)?;
    if !metadata_only && fs::symlink_metadata(dest.abspath(to)).is_ok() {
        let shown = dest.abspath(to);
        return Err(Error::new(
            ErrorCode::ENTRY_EXISTS,
            format!("'{}' already exists and is in the way", shown.display()),
        ));
    }
    let source = wc.require_view(from)?;
    let record =
        is_same(wc.disk(), dest) && is_one_revision(wc.db(), wc.disk(), &source, allow_mixed)?;
    let how = Copy { source: wc, root: to, metadata_only: true, is_move: record };
    copy_gathered(dest, from, to, how, cancel, Some(notify))?;
    if record {
        wc.db().write(|_| undo_move_back(wc.db(), wc.disk(), to, from))?;
    }
    if !metadata_only {
        rename_or_undo(wc.disk(), from, dest, to)?;
    }
    remove_moved_markers(wc, &source, dest, to)?;
    let mut deleted = Vec::new();
    let how = Deletion { moved_to: record.then_some(to), dir_externals: true };
    wc.db().write(|_| delete_node(wc.db(), wc.disk(), from, how, &mut deleted))?;
    deleted.sort_unstable();
    deleted.dedup();
    for relpath in &deleted {
        super::notify_path(wc.disk(), notify, Action::Delete, relpath);
    }
    wc.run_queue(cancel)
}

/// Whether a node that is to be moved is of one revision, so that the move can be recorded as one. A directory of mixed
/// revisions is refused, unless they are allowed.
fn is_one_revision(db: &Db, disk: &Disk, source: &View, allow_mixed: bool) -> Result<bool> {
    if !source.is_dir() || source.status() != Status::Normal {
        return Ok(true);
    }
    let Some((least, most)) = revision_range(db, source.relpath())? else { return Ok(true) };
    if least != most && !allow_mixed {
        let shown = disk.abspath(source.relpath());
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
fn rename_or_undo(disk: &Disk, from: &RelPath, dest: &WorkingCopy, to: &RelPath) -> Result<()> {
    let (old, new) = (disk.abspath(from), dest.abspath(to));
    let Err(error) = fs::rename(&old, &new) else { return Ok(()) };
    let how = Deletion { moved_to: None, dir_externals: true };
    dest.db().write(|_| delete_node(dest.db(), dest.disk(), to, how, &mut Vec::new()))?;
    let what = format!("Can't move '{}' to '{}'", old.display(), new.display());
    Err(Error::Io { what, error })
}

/// Refuses the root of the working copy, and of the repository.
fn check_movable(db: &Db, disk: &Disk, from: &RelPath) -> Result<()> {
    let shown = disk.abspath(from);
    let shown = shown.display();
    let refuse = |text: String| Err(Error::new(ErrorCode::WC_PATH_UNEXPECTED_STATUS, text));
    if from.is_empty() {
        return refuse(format!("'{shown}' is the root of a working copy and cannot be moved"));
    }
    let is_root = |node: &View| {
        node.top().op_depth == 0 && node.top().repos_path.as_deref() == Some(RelPath::ROOT)
    };
    if db.view(from)?.is_some_and(|node| is_root(&node)) {
        return refuse(format!("'{shown}' represents the repository root and cannot be moved"));
    }
    Ok(())
}

/// The files of conflicts do not move along.
fn remove_moved_markers(
    wc: &WorkingCopy,
    source: &View,
    dest: &WorkingCopy,
    to: &RelPath,
) -> Result<()> {
    let from = source.relpath();
    let remove = |wc: &WorkingCopy, relpath: &RelPath| {
        let path = wc.abspath(relpath);
        match fs::remove_file(&path) {
            Err(e) if !crate::status::is_missing(&e) => {
                Err(Error::io(e, "Can't remove file", &path))
            }
            _ => Ok(()),
        }
    };
    for row in wc.db().actual_subtree(from)? {
        let Some(record) = &row.conflict_data else { continue };
        for file in Conflict::parse(record)?.files() {
            match file.below(from).filter(|below| !below.is_empty()) {
                Some(below) if source.is_dir() => remove(dest, &to.join(below))?,
                _ => remove(wc, file)?,
            }
        }
    }
    Ok(())
}

/// Undoes a move that brought a node back to its source, if nothing differs.
fn undo_move_back(db: &Db, disk: &Disk, relpath: &RelPath, moved_from: &RelPath) -> Result<()> {
    let node = require_view(db, disk, relpath)?;
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
