//! The format of a database, and the table SETTINGS, which format 32 has.
//!
//! Invariant: before format 32 all pristine texts are kept, and no statement here names a column that
//! the format does not have.

use rusqlite::params;

use super::{Db, FORMAT, FORMAT_OPTIONAL_PRISTINES, schema};
use crate::error::Result;

/// What kind of working copy a database is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// `PRAGMA user_version`.
    pub format: i64,
    /// Whether the text of each file is kept in `.svn` too. If not, those of modified files are there
    /// only, brought when they are needed.
    pub store_pristine: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { format: FORMAT, store_pristine: true }
    }
}

impl Settings {
    /// Whether rows of PRISTINE say if the text is there.
    pub(super) const fn has_marks(self) -> bool {
        self.format >= FORMAT_OPTIONAL_PRISTINES
    }
}

impl Db {
    /// The format and the settings, as they were when it was opened.
    #[must_use]
    pub fn settings(&self) -> Settings {
        self.settings.get()
    }

    /// The number of the format.
    #[must_use]
    pub fn format(&self) -> i64 {
        self.settings.get().format
    }

    /// Reads the format and the settings.
    pub(super) fn read_settings(&self) -> Result<()> {
        let format = self.connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
        let mut settings = Settings { format, store_pristine: true };
        if format == FORMAT_OPTIONAL_PRISTINES {
            let sql = "SELECT store_pristine FROM settings WHERE wc_id = ?1";
            let found = self.first(sql, [self.wc_id], |row| row.get::<_, Option<bool>>(0))?;
            settings.store_pristine = found.flatten().unwrap_or(true);
        }
        self.settings.set(settings);
        Ok(())
    }

    /// Makes a database of format 31 one of format 32. All texts stay.
    ///
    /// # Errors
    /// SQLite's.
    pub fn allow_missing_pristines(&self) -> Result<()> {
        self.write(|db| {
            db.connection.execute_batch(schema::TO_32)?;
            db.read_settings()
        })
    }

    /// Says whether pristine texts are kept. Only for format 32.
    ///
    /// # Errors
    /// SQLite's.
    pub fn set_store_pristine(&self, keep: bool) -> Result<()> {
        self.write(|db| {
            db.execute(
                "INSERT INTO settings (wc_id, store_pristine) VALUES (?1, ?2) \
                 ON CONFLICT(wc_id) DO UPDATE SET store_pristine = ?2",
                params![db.wc_id, keep],
            )?;
            db.read_settings()
        })
    }
}
