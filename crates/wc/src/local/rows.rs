//! Statements on whole trees of rows, as several operations need them.

use rusqlite::params;

use super::subtree;
use crate::db::Db;
use crate::error::Result;
use sapwood_core::paths::RelPath;

/// Statements on a path and all below it.
pub(crate) trait SubtreeSql {
    /// Removes all rows of `op_depth` and above of a path and what is below.
    fn remove_layers_from(&self, relpath: &RelPath, op_depth: i64) -> Result<()>;
    /// Adds a deletion, in layer `to`, of what layer `from` has at a path and below.
    fn insert_deletion(&self, relpath: &RelPath, from: i64, to: i64) -> Result<()>;
    /// Forgets local properties and conflicts of a path and what is below; changelists of files that
    /// are still there stay unless `changelists` is set.
    fn clear_actual_below(&self, relpath: &RelPath, changelists: bool) -> Result<()>;
    /// The same for one path.
    fn clear_actual(&self, relpath: &RelPath, changelists: bool) -> Result<()>;
    /// Removes locks of directories that are gone.
    fn remove_orphan_locks(&self, relpath: &RelPath) -> Result<()>;
}

impl SubtreeSql for Db {
    fn remove_layers_from(&self, relpath: &RelPath, op_depth: i64) -> Result<()> {
        let (lo, hi) = subtree(relpath);
        self.execute(
            "DELETE FROM nodes WHERE wc_id = ?1 AND (local_relpath = ?2 OR (local_relpath > ?3 AND \
             local_relpath < ?4)) AND op_depth >= ?5",
            params![self.wc_id(), relpath.as_str(), lo, hi, op_depth],
        )?;
        Ok(())
    }

    fn insert_deletion(&self, relpath: &RelPath, from: i64, to: i64) -> Result<()> {
        let (lo, hi) = subtree(relpath);
        self.execute(
            "INSERT INTO nodes (wc_id, local_relpath, op_depth, parent_relpath, presence, kind) \
             SELECT wc_id, local_relpath, ?6, parent_relpath, 'base-deleted', kind FROM nodes WHERE \
             wc_id = ?1 AND local_relpath = ?2 AND op_depth = ?5 UNION ALL SELECT wc_id, \
             local_relpath, ?6, parent_relpath, 'base-deleted', kind FROM nodes WHERE wc_id = ?1 AND \
             local_relpath > ?3 AND local_relpath < ?4 AND op_depth = ?5 AND presence NOT IN \
             ('base-deleted', 'not-present', 'excluded', 'server-excluded') AND file_external IS \
             NULL ORDER BY local_relpath",
            params![self.wc_id(), relpath.as_str(), lo, hi, from, to],
        )?;
        Ok(())
    }

    fn clear_actual_below(&self, relpath: &RelPath, changelists: bool) -> Result<()> {
        let (lo, hi) = subtree(relpath);
        let id = self.wc_id();
        let keep = if changelists { "" } else { KEEP_CHANGELIST };
        self.execute(
            &format!(
                "DELETE FROM actual_node WHERE wc_id = ?1 AND (local_relpath = ?2 OR (local_relpath \
                 > ?3 AND local_relpath < ?4)) {keep}"
            ),
            params![id, relpath.as_str(), lo, hi],
        )?;
        if !changelists {
            self.execute(
                &format!(
                    "{CLEAR} AND (local_relpath = ?2 OR (local_relpath > ?3 AND local_relpath < ?4))"
                ),
                params![id, relpath.as_str(), lo, hi],
            )?;
        }
        Ok(())
    }

    fn clear_actual(&self, relpath: &RelPath, changelists: bool) -> Result<()> {
        let id = self.wc_id();
        let keep = if changelists { "" } else { KEEP_CHANGELIST };
        let removed = self.execute(
            &format!("DELETE FROM actual_node WHERE wc_id = ?1 AND local_relpath = ?2 {keep}"),
            params![id, relpath.as_str()],
        )?;
        if removed == 0 && !changelists {
            self.execute(
                &format!("{CLEAR} AND local_relpath = ?2"),
                params![id, relpath.as_str()],
            )?;
        }
        Ok(())
    }

    fn remove_orphan_locks(&self, relpath: &RelPath) -> Result<()> {
        let (lo, hi) = subtree(relpath);
        self.execute(
            "DELETE FROM wc_lock WHERE wc_id = ?1 AND (local_dir_relpath = ?2 OR \
             (local_dir_relpath > ?3 AND local_dir_relpath < ?4)) AND NOT EXISTS (SELECT 1 FROM \
             nodes WHERE nodes.wc_id = ?1 AND nodes.local_relpath = wc_lock.local_dir_relpath)",
            params![self.wc_id(), relpath.as_str(), lo, hi],
        )?;
        Ok(())
    }
}

const KEEP_CHANGELIST: &str = "AND (changelist IS NULL OR NOT EXISTS (SELECT 1 FROM nodes c WHERE \
     c.wc_id = ?1 AND c.local_relpath = actual_node.local_relpath AND c.op_depth = (SELECT \
     MAX(m.op_depth) FROM nodes m WHERE m.wc_id = ?1 AND m.local_relpath = c.local_relpath) AND \
     c.kind = 'file'))";

const CLEAR: &str = "UPDATE actual_node SET properties = NULL, text_mod = NULL, conflict_data = \
     NULL, tree_conflict_data = NULL, older_checksum = NULL, left_checksum = NULL, right_checksum = \
     NULL WHERE wc_id = ?1";
