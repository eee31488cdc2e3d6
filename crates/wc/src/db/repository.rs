//! Rows of REPOSITORY: root URL and UUID of each repository that nodes come from.

use rusqlite::params;
use rusqlite::types::Type;
use sapwood_core::paths::UrlBuf;

use super::Db;
use crate::error::{Error, Result};

/// A row of REPOSITORY.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repository {
    /// The row's number, by which NODES, LOCK and EXTERNALS refer to it.
    pub id: i64,
    /// The root's URL.
    pub root: UrlBuf,
    /// The UUID.
    pub uuid: String,
}

impl Db {
    /// The repository of a number.
    ///
    /// # Errors
    /// SQLite's; that it is missing.
    pub fn repository(&self, id: i64) -> Result<Repository> {
        let row = self.first("SELECT id, root, uuid FROM repository WHERE id = ?1", [id], read)?;
        row.ok_or_else(|| Error::Corrupt {
            path: self.path().to_owned(),
            what: format!("No REPOSITORY table entry for id '{id}'"),
        })
    }

    /// All repositories, by number.
    ///
    /// # Errors
    /// SQLite's.
    pub fn repositories(&self) -> Result<Vec<Repository>> {
        self.all("SELECT id, root, uuid FROM repository ORDER BY id", [], read)
    }

    /// The number of a repository, which gets one when it has none.
    ///
    /// # Errors
    /// SQLite's; that the URL is known with another UUID.
    pub fn repository_id(&self, root: &str, uuid: &str) -> Result<i64> {
        let known =
            self.first("SELECT id, root, uuid FROM repository WHERE root = ?1", [root], read)?;
        if let Some(row) = known.filter(|row| row.uuid == uuid) {
            return Ok(row.id);
        }
        self.execute_aside(
            "INSERT INTO repository (root, uuid) VALUES (?1, ?2)",
            params![root, uuid],
        )?;
        Ok(self.connection.last_insert_rowid())
    }
}

fn read(row: &rusqlite::Row<'_>) -> rusqlite::Result<Repository> {
    let text = row.get_ref(1)?.as_str()?;
    let root = UrlBuf::canonicalize(text)
        .map_err(|error| rusqlite::Error::FromSqlConversionFailure(1, Type::Text, error.into()))?;
    Ok(Repository { id: row.get(0)?, root, uuid: row.get(2)? })
}
