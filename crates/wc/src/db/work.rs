//! Rows of WORK_QUEUE: what is still to be done to files. See [`mod@crate::queue`].

use super::Db;
use crate::error::Result;
use crate::work_item::WorkItem;

impl Db {
    /// Adds an item at the end of the queue.
    ///
    /// # Errors
    /// SQLite's, as for all methods here.
    pub(crate) fn add_work(&self, item: &WorkItem) -> Result<i64> {
        self.execute_aside("INSERT INTO work_queue (work) VALUES (?1)", [item.to_skel()])?;
        Ok(self.connection.last_insert_rowid())
    }

    /// The items after a number (0 for all), the oldest first, at most `limit`: number and skel.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn work_after(&self, id: i64, limit: u32) -> Result<Vec<(i64, Vec<u8>)>> {
        let sql = "SELECT id, work FROM work_queue WHERE id > ?1 ORDER BY id LIMIT ?2";
        self.all(sql, [id, i64::from(limit)], |row| Ok((row.get(0)?, row.get(1)?)))
    }

    /// Whether anything is left in the queue.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn has_work(&self) -> Result<bool> {
        Ok(self.first("SELECT id FROM work_queue LIMIT 1", [], |_| Ok(()))?.is_some())
    }

    /// Removes an item that is done.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn remove_work(&self, id: i64) -> Result<()> {
        self.execute_aside("DELETE FROM work_queue WHERE id = ?1", [id])?;
        Ok(())
    }
}
