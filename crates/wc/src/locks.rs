//! Locks of the working copy: rows of WC_LOCK that keep other programs from changing the same
//! directories. A program that is killed leaves its rows; `cleanup` steals them.

use sapwood_core::paths::{RelPath, RelPathBuf};

use crate::db::{depth_of, parent_of};
use crate::error::{Error, Result};
use crate::root::{Disk, HeldLock, WorkingCopy};

/// A lock that goes when this value does.
#[derive(Debug)]
pub struct Lock {
    wc: WorkingCopy,
    relpath: RelPathBuf,
    /// Whether a lock that was held before covers this one: nothing to release.
    borrowed: bool,
}

impl Lock {
    /// The directory.
    #[must_use]
    pub fn relpath(&self) -> &RelPath {
        &self.relpath
    }

    /// Releases the lock.
    ///
    /// # Errors
    /// SQLite's.
    pub fn release(mut self) -> Result<()> {
        self.drop_row()
    }

    fn drop_row(&mut self) -> Result<()> {
        if self.borrowed {
            return Ok(());
        }
        self.borrowed = true;
        self.wc.held_locks().borrow_mut().retain(|held| held.relpath != self.relpath);
        self.wc.db().write(|db| {
            // What is left in the queue is for cleanup, which finds it by the row.
            if !db.has_work()? {
                db.remove_wc_lock(&self.relpath)?;
            }
            Ok(())
        })
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // An error here leaves a row that cleanup removes.
        let _ = self.drop_row();
    }
}

/// Whether this process holds a lock over a directory.
#[must_use]
pub(crate) fn owns_lock(wc: &WorkingCopy, relpath: &RelPath) -> bool {
    wc.held_locks().borrow().iter().any(|held| held.covers(relpath))
}

/// As [`WorkingCopy::lock`].
pub(crate) fn lock(wc: &WorkingCopy, relpath: &RelPath, levels: i64) -> Result<Lock> {
    obtain(wc, relpath, levels, false)
}

/// Locks as [`WorkingCopy::lock`] does, but takes locks of others away and does not look at the
/// queue: for cleanup alone.
///
/// # Errors
/// As above.
pub(crate) fn steal_lock(wc: &WorkingCopy, relpath: &RelPath, levels: i64) -> Result<Lock> {
    obtain(wc, relpath, levels, true)
}

fn obtain(wc: &WorkingCopy, relpath: &RelPath, levels: i64, steal: bool) -> Result<Lock> {
    let lock = |borrowed| Lock { wc: wc.clone(), relpath: relpath.to_owned(), borrowed };
    if owns_lock(wc, relpath) {
        return Ok(lock(true));
    }
    wc.db().write(|db| {
        if !relpath.is_empty() && db.top(relpath)?.is_none() {
            return Err(Error::NodeNotFound(wc.abspath(relpath)));
        }
        // What gathered changes have queued is run after them.
        if !steal && db.gathered() == 0 && db.has_work()? {
            return Err(Error::CleanupRequired(wc.root().to_owned()));
        }
        let limit = depth_of(relpath).saturating_add(levels);
        for row in db.wc_locks_below(relpath)? {
            if levels >= 0 && depth_of(&row.relpath) > limit {
                continue;
            }
            let own = wc.held_locks().borrow().iter().any(|held| held.relpath == row.relpath);
            if !own && !steal {
                return Err(locked(wc.disk(), &row.relpath, relpath));
            }
            db.remove_wc_lock(&row.relpath)?;
        }
        if steal {
            db.remove_wc_lock(relpath)?;
        }
        let mut at = Some(relpath);
        while let Some(dir) = at {
            if let Some(row) = db.wc_lock(dir)? {
                let reach = depth_of(dir).saturating_add(row.levels);
                if row.levels < 0 || reach >= depth_of(relpath) {
                    return Err(locked(wc.disk(), dir, relpath));
                }
                break;
            }
            at = parent_of(dir);
        }
        db.add_wc_lock(relpath, levels)
    })?;
    wc.held_locks().borrow_mut().push(HeldLock { relpath: relpath.to_owned(), levels });
    Ok(lock(false))
}

fn locked(disk: &Disk, by: &RelPath, wanted: &RelPath) -> Error {
    let code = sapwood_core::ErrorCode::WC_LOCKED;
    let by = disk.abspath(by);
    let wanted = disk.abspath(wanted);
    let inner = sapwood_core::SvnError::new(code, format!("'{}' is already locked.", by.display()));
    Error::Svn(inner.wrap(code, format!("Working copy '{}' locked.", wanted.display())))
}
