//! Rows of EXTERNALS: what `svn:externals` brought into the working copy.

use rusqlite::{Row, params};
use sapwood_core::Revnum;
use sapwood_core::paths::{RelPath, RelPathBuf};

use super::value::{Kind, Paths, Presence, revision_of, revision_value};
use super::{Db, below};
use crate::error::Result;

/// A row of EXTERNALS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExternalRow {
    /// Where the external is, below the working copy's root.
    pub relpath: RelPathBuf,
    /// Its repository.
    pub repos_id: i64,
    /// Normal, as long as it is wanted.
    pub presence: Presence,
    /// A file, or a directory (which is a working copy of its own).
    pub kind: Kind,
    /// The directory whose property says so.
    pub def_relpath: RelPathBuf,
    /// The path in the repository.
    pub def_repos_relpath: RelPathBuf,
    /// The peg revision, when there is one.
    pub def_peg: Option<Revnum>,
    /// The operative revision, when there is one.
    pub def_revision: Option<Revnum>,
}

impl ExternalRow {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        // Both revisions are columns of type TEXT.
        let number = |at: usize| -> rusqlite::Result<Option<Revnum>> {
            let text: Option<String> = row.get(at)?;
            Ok(revision_of(text.and_then(|t| t.parse().ok())))
        };
        Ok(Self {
            relpath: row.relpath(0)?,
            repos_id: row.get(1)?,
            presence: row.get(2)?,
            kind: row.get(3)?,
            def_relpath: row.relpath(4)?,
            def_repos_relpath: row.relpath(5)?,
            def_peg: number(6)?,
            def_revision: number(7)?,
        })
    }
}

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT local_relpath, repos_id, presence, kind, def_local_relpath, def_repos_relpath, \
             def_operational_revision, def_revision FROM externals ",
            $rest
        )
    };
}

impl Db {
    /// The external at a path.
    ///
    /// # Errors
    /// SQLite's, as for all methods here.
    pub fn external(&self, relpath: &RelPath) -> Result<Option<ExternalRow>> {
        let sql = select!("WHERE wc_id = ?1 AND local_relpath = ?2");
        self.first(sql, params![self.wc_id, relpath.as_str()], ExternalRow::read)
    }

    /// The externals at and below a path, by path.
    ///
    /// # Errors
    /// SQLite's.
    pub fn externals(&self, relpath: &RelPath) -> Result<Vec<ExternalRow>> {
        if relpath.is_empty() {
            let sql = select!("WHERE wc_id = ?1 ORDER BY local_relpath");
            return self.all(sql, [self.wc_id], ExternalRow::read);
        }
        let mut rows: Vec<ExternalRow> = self.external(relpath)?.into_iter().collect();
        let (above, end) = below(relpath);
        let sql = select!(
            "WHERE wc_id = ?1 AND local_relpath > ?2 AND local_relpath < ?3 ORDER BY local_relpath"
        );
        rows.extend(self.all(sql, params![self.wc_id, above, end], ExternalRow::read)?);
        Ok(rows)
    }

    /// Writes a row, in place of one that is there.
    ///
    /// # Errors
    /// SQLite's.
    pub fn put_external(&self, row: &ExternalRow) -> Result<()> {
        self.execute_aside(
            "INSERT OR REPLACE INTO externals (wc_id, local_relpath, parent_relpath, repos_id, \
             presence, kind, def_local_relpath, def_repos_relpath, def_operational_revision, \
             def_revision) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
            params![
                self.wc_id,
                row.relpath.as_str(),
                row.relpath.parent().as_str(),
                row.repos_id,
                row.presence,
                row.kind,
                row.def_relpath.as_str(),
                row.def_repos_relpath.as_str(),
                revision_value(row.def_peg),
                revision_value(row.def_revision),
            ],
        )?;
        Ok(())
    }

    /// Removes a row; whether it was there.
    ///
    /// # Errors
    /// SQLite's.
    pub fn remove_external(&self, relpath: &RelPath) -> Result<bool> {
        let sql = "DELETE FROM externals WHERE wc_id = ?1 AND local_relpath = ?2";
        let params = params![self.wc_id, relpath.as_str()];
        Ok(self.execute_aside(sql, params)? > 0)
    }
}
