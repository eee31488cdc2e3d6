//! Rows of PRISTINE: which texts the store holds. Triggers on NODES count the references.

use rusqlite::params;
use sapwood_core::exact::{len64, signed};
use sapwood_core::{Md5, Sha1};

use super::Db;
use super::value::{Sha1Column, md5_text, parse_md5};
use crate::error::{Error, Result};

/// A row of PRISTINE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PristineRow {
    /// The text's name.
    pub sha1: Sha1,
    /// Its MD5.
    pub md5: Md5,
    /// Its length in bytes.
    pub size: u64,
    /// How many rows of NODES refer to it.
    pub refcount: i64,
    /// Whether the store has it: always, before format 32.
    pub hydrated: bool,
}

impl Db {
    /// The row of a text.
    ///
    /// # Errors
    /// SQLite's, as for all methods here.
    pub fn pristine(&self, sha1: &Sha1) -> Result<Option<PristineRow>> {
        let sql = if self.settings().has_marks() {
            "SELECT size, refcount, md5_checksum, hydrated FROM pristine WHERE checksum = ?1"
        } else {
            "SELECT size, refcount, md5_checksum, 1 FROM pristine WHERE checksum = ?1"
        };
        let found = self.first(sql, [Sha1Column(*sha1)], |row| {
            let numbers = (row.get::<_, i64>(0)?, row.get::<_, i64>(1)?);
            Ok((numbers, row.get::<_, String>(2)?, row.get::<_, bool>(3)?))
        })?;
        let Some(((size, refcount), md5, hydrated)) = found else { return Ok(None) };
        let corrupt = || Error::Corrupt {
            path: self.path().to_owned(),
            what: format!("pristine text {sha1} has a wrong row"),
        };
        let md5 = parse_md5(&md5).ok_or_else(corrupt)?;
        let size = u64::try_from(size).map_err(|_| corrupt())?;
        Ok(Some(PristineRow { sha1: *sha1, md5, size, refcount, hydrated }))
    }

    /// Writes the row of a text that is to be in the store; whether it was not there, by the rows.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn add_pristine(&self, sha1: &Sha1, md5: &Md5, size: u64) -> Result<bool> {
        let added = self.execute_aside(
            "INSERT OR IGNORE INTO pristine (checksum, md5_checksum, size, refcount) \
             VALUES (?1, ?2, ?3, 0)",
            params![Sha1Column(*sha1), md5_text(md5), signed(size)],
        )?;
        if added > 0 || !self.settings().has_marks() {
            return Ok(added > 0);
        }
        let sql = "UPDATE pristine SET hydrated = 1 WHERE checksum = ?1 AND hydrated = 0";
        Ok(self.execute_aside(sql, [Sha1Column(*sha1)])? > 0)
    }

    /// Writes the row of a text that the store does not have; leaves one that is there.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn add_missing_pristine(&self, sha1: &Sha1, md5: &Md5, size: i64) -> Result<()> {
        self.execute_aside(
            "INSERT OR IGNORE INTO pristine (checksum, md5_checksum, size, refcount, hydrated) \
             VALUES (?1, ?2, ?3, 0, 0)",
            params![Sha1Column(*sha1), md5_text(md5), size],
        )?;
        Ok(())
    }

    /// Marks a text as one that the store does not have.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn mark_dehydrated(&self, sha1: &Sha1) -> Result<()> {
        let sql = "UPDATE pristine SET hydrated = 0 WHERE checksum = ?1";
        self.execute_aside(sql, [Sha1Column(*sha1)])?;
        Ok(())
    }

    /// The texts that nothing refers to.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn unreferenced_pristines(&self) -> Result<Vec<Sha1>> {
        self.all("SELECT checksum FROM pristine WHERE refcount = 0", [], |row| {
            Ok(row.get::<_, Sha1Column>(0)?.0)
        })
    }

    /// Removes the row of a text that nothing refers to; whether it was there.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn remove_pristine_row(&self, sha1: &Sha1) -> Result<bool> {
        let sql = "DELETE FROM pristine WHERE checksum = ?1 AND refcount = 0";
        Ok(self.execute_aside(sql, [Sha1Column(*sha1)])? > 0)
    }

    /// Runs `work`, which fills a new database that no other program has open, within the transaction that is
    /// open. No trigger counts references to texts meanwhile: `work` writes them down with
    /// [`Db::add_counted_pristine`].
    ///
    /// # Errors
    /// SQLite's and those of `work`.
    pub(crate) fn without_counting(&self, work: impl FnOnce() -> Result<()>) -> Result<()> {
        let of_nodes = "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' \
                        AND tbl_name = 'NODES' COLLATE NOCASE ORDER BY rowid";
        let triggers: Vec<(String, String)> =
            self.all(of_nodes, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
        for (name, _) in &triggers {
            self.execute_all(&format!("DROP TRIGGER {name}"))?;
        }
        work()?;
        triggers.iter().try_for_each(|(_, sql)| self.execute_all(sql))
    }

    /// Writes the row of a text that the store has and that so many rows of NODES refer to.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn add_counted_pristine(
        &self,
        sha1: &Sha1,
        md5: &Md5,
        size: u64,
        references: usize,
    ) -> Result<()> {
        self.execute_aside(
            "INSERT INTO pristine (checksum, md5_checksum, size, refcount) VALUES (?1, ?2, ?3, ?4)",
            params![Sha1Column(*sha1), md5_text(md5), signed(size), signed(len64(references))],
        )?;
        Ok(())
    }
}
