//! Rows of LOCK: the repository's locks whose tokens this working copy holds.

use rusqlite::{Row, params};
use sapwood_core::date::Timestamp;
use sapwood_core::paths::{RelPath, RelPathBuf};

use super::Db;
use super::value::Paths;
use crate::error::Result;

/// A row of LOCK.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockRow {
    /// The repository.
    pub repos_id: i64,
    /// The path in the repository, relative to its root.
    pub repos_relpath: RelPathBuf,
    /// The token.
    pub token: String,
    /// The user that made the lock.
    pub owner: Option<String>,
    /// Why.
    pub comment: Option<String>,
    /// When.
    pub date: Option<Timestamp>,
}

impl LockRow {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            repos_id: row.get(0)?,
            repos_relpath: row.relpath(1)?,
            token: row.get(2)?,
            owner: row.get(3)?,
            comment: row.get(4)?,
            date: row.get::<_, Option<i64>>(5)?.map(Timestamp),
        })
    }
}

impl Db {
    /// The lock of a path in a repository.
    ///
    /// # Errors
    /// SQLite's, as for all methods here.
    pub fn lock(&self, repos_id: i64, repos_relpath: &RelPath) -> Result<Option<LockRow>> {
        self.first(
            "SELECT repos_id, repos_relpath, lock_token, lock_owner, lock_comment, lock_date \
             FROM lock WHERE repos_id = ?1 AND repos_relpath = ?2",
            params![repos_id, repos_relpath.as_str()],
            LockRow::read,
        )
    }

    /// All locks.
    ///
    /// # Errors
    /// SQLite's.
    pub fn locks(&self) -> Result<Vec<LockRow>> {
        self.all(
            "SELECT repos_id, repos_relpath, lock_token, lock_owner, lock_comment, lock_date \
             FROM lock ORDER BY repos_id, repos_relpath",
            [],
            LockRow::read,
        )
    }

    /// Writes a lock, in place of one that is there.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn put_lock(&self, row: &LockRow) -> Result<()> {
        self.execute_aside(
            "INSERT OR REPLACE INTO lock (repos_id, repos_relpath, lock_token, lock_owner, \
             lock_comment, lock_date) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![
                row.repos_id,
                row.repos_relpath.as_str(),
                row.token,
                row.owner,
                row.comment,
                row.date.map(|t| t.0)
            ],
        )?;
        Ok(())
    }

    /// Forgets a lock; whether it was there.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn remove_lock(&self, repos_id: i64, repos_relpath: &RelPath) -> Result<bool> {
        let sql = "DELETE FROM lock WHERE repos_id = ?1 AND repos_relpath = ?2";
        Ok(self.execute_aside(sql, params![repos_id, repos_relpath.as_str()])? > 0)
    }
}
