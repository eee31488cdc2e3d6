//! Rows of WC_LOCK: which directories a program is changing now, or was when it was killed.

use rusqlite::params;

use super::value::Paths;
use super::{Db, below};
use crate::error::Result;
use sapwood_core::paths::{RelPath, RelPathBuf};

/// A row of WC_LOCK.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WcLockRow {
    /// The directory.
    pub relpath: RelPathBuf,
    /// How many levels below it are locked: 0 for the directory alone, -1 for all.
    pub levels: i64,
}

impl Db {
    /// The lock that stands at a path itself.
    ///
    /// # Errors
    /// SQLite's, as for all methods here.
    pub fn wc_lock(&self, relpath: &RelPath) -> Result<Option<WcLockRow>> {
        let sql = "SELECT locked_levels FROM wc_lock WHERE wc_id = ?1 AND local_dir_relpath = ?2";
        self.first(sql, params![self.wc_id, relpath.as_str()], |row| {
            Ok(WcLockRow { relpath: relpath.to_owned(), levels: row.get(0)? })
        })
    }

    /// The locks below a path, by path.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn wc_locks_below(&self, relpath: &RelPath) -> Result<Vec<WcLockRow>> {
        let read = |row: &rusqlite::Row<'_>| {
            Ok(WcLockRow { relpath: row.relpath(0)?, levels: row.get(1)? })
        };
        let (above, end) = below(relpath);
        self.all(
            "SELECT local_dir_relpath, locked_levels FROM wc_lock WHERE wc_id = ?1 AND \
             local_dir_relpath > ?2 AND local_dir_relpath < ?3 ORDER BY local_dir_relpath",
            params![self.wc_id, above, end],
            read,
        )
    }

    pub(crate) fn add_wc_lock(&self, relpath: &RelPath, levels: i64) -> Result<()> {
        self.execute_aside(
            "INSERT INTO wc_lock (wc_id, local_dir_relpath, locked_levels) VALUES (?1, ?2, ?3)",
            params![self.wc_id, relpath.as_str(), levels],
        )?;
        Ok(())
    }

    pub(crate) fn remove_wc_lock(&self, relpath: &RelPath) -> Result<bool> {
        let sql = "DELETE FROM wc_lock WHERE wc_id = ?1 AND local_dir_relpath = ?2";
        Ok(self.execute_aside(sql, params![self.wc_id, relpath.as_str()])? > 0)
    }
}
