//! Working copies of formats 29 (1.7) and 30 brought to format 31.
//!
//! | from | what changes |
//! | --- | --- |
//! | 29 | conflicts become one skel each in `conflict_data`; indexes of moves and of MD5; `absent` is `server-excluded` |
//! | 30 | the column `inherited_props`, empty where nodes begin that are not their parent's; two indexes with more columns |
//!
//! Each step is one transaction, so that a killed upgrade leaves one format or the other.

use rusqlite::params;

use super::conflicts::OldConflict;
use crate::db::schema::STATISTICS;
use crate::db::{Db, Paths, write_inherited};
use crate::error::Result;
use sapwood_core::paths::{RelPath, RelPathBuf};

const TO_30: &str = "
CREATE UNIQUE INDEX IF NOT EXISTS I_NODES_MOVED ON NODES (wc_id, moved_to, op_depth);
CREATE INDEX IF NOT EXISTS I_PRISTINE_MD5 ON PRISTINE (md5_checksum);
UPDATE nodes SET presence = 'server-excluded' WHERE presence = 'absent';
UPDATE nodes SET file_external = 1 WHERE file_external IS NOT NULL;
PRAGMA user_version = 30;
";

const TO_31: &str = "
ALTER TABLE NODES ADD COLUMN inherited_props BLOB;
DROP INDEX IF EXISTS I_ACTUAL_CHANGELIST;
DROP INDEX IF EXISTS I_EXTERNALS_PARENT;
DROP INDEX I_NODES_PARENT;
CREATE UNIQUE INDEX I_NODES_PARENT ON NODES (wc_id, parent_relpath, local_relpath, op_depth);
DROP INDEX I_ACTUAL_PARENT;
CREATE UNIQUE INDEX I_ACTUAL_PARENT ON ACTUAL_NODE (wc_id, parent_relpath, local_relpath);
PRAGMA user_version = 31;
";

/// Brings a database of format 29 or later to format 31.
///
/// # Errors
/// SQLite's; E155016 for conflicts that are none.
pub(super) fn bump(db: &Db, format: i64) -> Result<()> {
    if format < 30 {
        db.write(to_30)?;
    }
    if format < 31 {
        db.write(to_31)?;
    }
    db.write(statistics)
}

fn to_30(db: &Db) -> Result<()> {
    let conflicts = db.all(
        "SELECT wc_id, local_relpath, conflict_old, conflict_working, conflict_new, prop_reject, \
         CAST(tree_conflict_data AS BLOB) FROM actual_node WHERE conflict_old IS NOT NULL OR \
         conflict_working IS NOT NULL OR conflict_new IS NOT NULL OR prop_reject IS NOT NULL OR \
         tree_conflict_data IS NOT NULL",
        [],
        |row| {
            Ok(OldConflict {
                wc_id: row.get(0)?,
                relpath: row.relpath(1)?,
                old: row.relpath_if_any(2)?,
                mine: row.relpath_if_any(3)?,
                theirs: row.relpath_if_any(4)?,
                reject: row.relpath_if_any(5)?,
                tree: row.get(6)?,
            })
        },
    )?;
    for old in conflicts {
        db.execute(
            "UPDATE actual_node SET conflict_data = ?3, conflict_old = NULL, \
             conflict_working = NULL, conflict_new = NULL, prop_reject = NULL, \
             tree_conflict_data = NULL WHERE wc_id = ?1 AND local_relpath = ?2",
            params![old.wc_id, old.relpath.as_str(), old.conflict()?.write_upgraded()],
        )?;
    }
    db.execute_all(TO_30)
}

/// A node of BASE beside its parent.
struct BaseRow {
    wc_id: i64,
    relpath: RelPathBuf,
    place: (Option<i64>, RelPathBuf),
    /// Repository, path in it, and path here.
    parent: Option<(Option<i64>, Option<RelPathBuf>, RelPathBuf)>,
}

impl BaseRow {
    /// Whether it is where its parent says that it is.
    fn follows(&self) -> bool {
        let Some((id, Some(place), at)) = &self.parent else { return false };
        let below = self.relpath.below(at).unwrap_or(RelPath::ROOT);
        self.place == (*id, place.join(below))
    }
}

fn to_31(db: &Db) -> Result<()> {
    db.execute_all(TO_31)?;
    let rows = db.all(
        "SELECT l.wc_id, l.local_relpath, l.repos_id, l.repos_path, r.repos_id, r.repos_path, \
         r.local_relpath FROM nodes AS l LEFT OUTER JOIN nodes AS r ON l.wc_id = r.wc_id AND \
         r.local_relpath = l.parent_relpath AND r.op_depth = 0 WHERE l.op_depth = 0 AND \
         l.repos_path != ''",
        [],
        |row| {
            let parent = row.relpath_if_any(6)?;
            let (id, place) = (row.get(4)?, row.relpath_if_any(5)?);
            Ok(BaseRow {
                wc_id: row.get(0)?,
                relpath: row.relpath(1)?,
                place: (row.get(2)?, row.relpath(3)?),
                parent: parent.map(|at| (id, place, at)),
            })
        },
    )?;
    let nothing = write_inherited(&[]);
    for row in rows.iter().filter(|row| !row.follows()) {
        db.execute(
            "UPDATE nodes SET inherited_props = ?3 WHERE wc_id = ?1 AND local_relpath = ?2 AND \
             op_depth = 0",
            params![row.wc_id, row.relpath.as_str(), nothing],
        )?;
    }
    Ok(())
}

/// The made-up figures that queries are planned with.
fn statistics(db: &Db) -> Result<()> {
    db.connection().execute_batch(
        "ANALYZE sqlite_schema; DELETE FROM sqlite_stat1 WHERE tbl IN ('NODES', 'ACTUAL_NODE', \
         'LOCK', 'WC_LOCK', 'EXTERNALS');",
    )?;
    for (table, index, figures) in STATISTICS {
        let insert = "INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES (?1, ?2, ?3)";
        db.execute(insert, [table, index, figures])?;
    }
    Ok(db.connection().execute_batch("ANALYZE sqlite_schema;")?)
}
