//! Rows of ACTUAL_NODE: local properties, changelists and conflicts. A row that says nothing is
//! removed.

use rusqlite::{Row, params};
use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{PropList, Sha1};

use super::value::{Paths, Sha1Column};
use super::{Db, at_and_below, below, parent_of, read_props};
use crate::error::Result;

/// A row of ACTUAL_NODE.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ActualRow {
    /// The path below the working copy's root.
    pub relpath: RelPathBuf,
    /// The local properties as a skel; `None` when they are the pristine ones.
    pub properties: Option<Vec<u8>>,
    /// The changelist that the path is on.
    pub changelist: Option<String>,
    /// The conflict, as a skel.
    pub conflict_data: Option<Vec<u8>>,
    /// Pristine texts of a conflict: the common ancestor.
    pub older_checksum: Option<Sha1>,
    /// The left side.
    pub left_checksum: Option<Sha1>,
    /// The right side.
    pub right_checksum: Option<Sha1>,
}

impl ActualRow {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let sum = |at: usize| -> rusqlite::Result<Option<Sha1>> {
            Ok(row.get::<_, Option<Sha1Column>>(at)?.map(|c| c.0))
        };
        Ok(Self {
            relpath: row.relpath(0)?,
            properties: row.get(1)?,
            changelist: row.get(2)?,
            conflict_data: row.get(3)?,
            older_checksum: sum(4)?,
            left_checksum: sum(5)?,
            right_checksum: sum(6)?,
        })
    }

    /// The local properties, if they differ from the pristine ones.
    ///
    /// # Errors
    /// When the column is no property list.
    pub fn props(&self) -> Result<Option<PropList>> {
        self.properties.as_deref().map(read_props).transpose()
    }

    /// Whether there is nothing to say.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.properties.is_none()
            && self.changelist.is_none()
            && self.conflict_data.is_none()
            && self.older_checksum.is_none()
            && self.left_checksum.is_none()
            && self.right_checksum.is_none()
    }
}

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT local_relpath, properties, changelist, conflict_data, older_checksum, \
             left_checksum, right_checksum FROM actual_node ",
            $rest
        )
    };
}

impl Db {
    /// The row of a path.
    ///
    /// # Errors
    /// SQLite's, as for all methods here.
    pub fn actual(&self, relpath: &RelPath) -> Result<Option<ActualRow>> {
        let sql = select!("WHERE wc_id = ?1 AND local_relpath = ?2");
        self.first(sql, params![self.wc_id, relpath.as_str()], ActualRow::read)
    }

    /// The rows of the children of a directory, by path.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn actual_children(&self, relpath: &RelPath) -> Result<Vec<ActualRow>> {
        let sql = select!("WHERE wc_id = ?1 AND parent_relpath = ?2 ORDER BY local_relpath");
        self.all(sql, params![self.wc_id, relpath.as_str()], ActualRow::read)
    }

    /// The rows of a path and all below it, by path.
    ///
    /// # Errors
    /// SQLite's.
    pub fn actual_subtree(&self, relpath: &RelPath) -> Result<Vec<ActualRow>> {
        if relpath.is_empty() {
            let sql = select!("WHERE wc_id = ?1 ORDER BY local_relpath");
            return self.all(sql, [self.wc_id], ActualRow::read);
        }
        let mut rows: Vec<ActualRow> = self.actual(relpath)?.into_iter().collect();
        let (above, end) = below(relpath);
        let sql = select!(
            "WHERE wc_id = ?1 AND local_relpath > ?2 AND local_relpath < ?3 ORDER BY local_relpath"
        );
        rows.extend(self.all(sql, params![self.wc_id, above, end], ActualRow::read)?);
        Ok(rows)
    }

    /// Whether a path, or anything below it, has local properties that differ from the pristine ones.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn has_changed_props(&self, relpath: &RelPath) -> Result<bool> {
        let (rows, (above, end)) = (at_and_below(relpath), below(relpath));
        let found: Option<i64> = self.first(
            &format!("SELECT 1 FROM actual_node WHERE {rows} AND properties IS NOT NULL LIMIT 1"),
            params![self.wc_id, relpath.as_str(), above, end],
            |row| row.get(0),
        )?;
        Ok(found.is_some())
    }

    /// Writes a row, in place of one that is there; removes it when it says nothing.
    ///
    /// # Errors
    /// SQLite's.
    pub fn put_actual(&self, row: &ActualRow) -> Result<()> {
        if row.is_empty() {
            self.remove_actual(&row.relpath)?;
            return Ok(());
        }
        self.execute(
            "INSERT OR REPLACE INTO actual_node (wc_id, local_relpath, parent_relpath, properties, \
             changelist, conflict_data, older_checksum, left_checksum, right_checksum) VALUES (?1, \
             ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            params![
                self.wc_id,
                row.relpath.as_str(),
                parent_of(&row.relpath).map(RelPath::as_str),
                row.properties,
                row.changelist,
                row.conflict_data,
                row.older_checksum.map(Sha1Column),
                row.left_checksum.map(Sha1Column),
                row.right_checksum.map(Sha1Column),
            ],
        )?;
        Ok(())
    }

    /// Removes a row; whether it was there.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn remove_actual(&self, relpath: &RelPath) -> Result<bool> {
        let sql = "DELETE FROM actual_node WHERE wc_id = ?1 AND local_relpath = ?2";
        Ok(self.execute(sql, params![self.wc_id, relpath.as_str()])? > 0)
    }
}
