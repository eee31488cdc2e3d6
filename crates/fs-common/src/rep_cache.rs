//! `rep-cache.db`: an SQLite database that says where a text with a given SHA-1 is stored, so that
//! an equal one need not be stored again.
//!
//! It is a hint and may be removed at any time: rows that are missing cost space, nothing else.
//! Rows that are wrong would cost data, so a writer that uses one reads the text it names; and a row
//! never names a revision that is not there: rows are written after the revision is, and removed
//! with it.
//!
//! Schema, journal mode and locks are the reference's: its programs use the file at the same time.

mod follow;
mod kept;

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode as Sqlite, OpenFlags, TransactionBehavior, params};
use sapwood_core::{Revnum, Sha1, SvnError, SvnResult as Result, len64};
use sapwood_store::write::WriteStorage;

pub use self::follow::{FollowSummary, Reach};
pub use self::kept::{OpenRepCache, RepCacheFile};

/// The name of the file below `db`.
pub const NAME: &str = "rep-cache.db";

/// The versions of the schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Schema {
    /// Of FSX, and FSFS up to format 7.
    V1,
    /// Of FSFS from format 8 on: without row numbers.
    V2,
}

/// How long to wait for other programs that hold the database, as the reference does.
const PATIENCE: Duration = Duration::from_secs(10);
/// What SQLite calls a database that another program left half changed, when it must not mend it.
const READONLY_ROLLBACK: i32 = 776;

/// What all connections that write say. Nothing is synced: a row that is lost does no harm.
const PRAGMAS: &str = "PRAGMA case_sensitive_like = 1; PRAGMA synchronous = OFF; \
    PRAGMA recursive_triggers = ON; PRAGMA foreign_keys = OFF; PRAGMA locking_mode = NORMAL; \
    PRAGMA journal_mode = TRUNCATE; PRAGMA temp_store = MEMORY;";
/// How a database is opened that is made when it is not there.
const CREATED: OpenFlags = OpenFlags::SQLITE_OPEN_READ_WRITE
    .union(OpenFlags::SQLITE_OPEN_CREATE)
    .union(OpenFlags::SQLITE_OPEN_NO_MUTEX);

/// One row: a text, and where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// That of the text.
    pub sha1: Sha1,
    /// Where it is stored.
    pub revision: Revnum,
    /// The item, or in physically addressed filesystems the offset.
    pub item: u64,
    /// Bytes stored.
    pub size: u64,
    /// Bytes of the text. Old programs wrote 0 for a text that is stored as it is.
    pub expanded_size: u64,
}

/// An open database.
#[derive(Debug)]
pub struct RepCache {
    connection: Connection,
    path: PathBuf,
}

/// An error in the reference's form.
fn error(error: &rusqlite::Error) -> SvnError {
    match error {
        rusqlite::Error::SqliteFailure(e, Some(text)) => {
            SvnError::sqlite(Some(e.extended_code), text)
        }
        rusqlite::Error::SqliteFailure(e, None) => SvnError::sqlite(Some(e.extended_code), error),
        other => SvnError::sqlite(None, other),
    }
}

/// The same, when the database could not be opened.
fn opening(path: &Path, e: &rusqlite::Error) -> SvnError {
    let shown = path.display();
    let message = format!("Couldn't open rep-cache database '{shown}'");
    error(e).context(message)
}

/// A number for SQLite, whose integers have a sign.
fn signed(n: u64) -> i64 {
    sapwood_core::exact::signed(n)
}

/// A number out of SQLite.
fn unsigned(row: &rusqlite::Row<'_>, at: usize) -> rusqlite::Result<u64> {
    let n: i64 = row.get(at)?;
    u64::try_from(n).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(at, n))
}

/// A row with all its columns.
fn whole_row(row: &rusqlite::Row<'_>) -> rusqlite::Result<Row> {
    let hash = row.get_ref(0)?.as_bytes()?;
    let sha1 = Sha1::parse(hash)
        .ok_or(rusqlite::Error::InvalidColumnName(String::from_utf8_lossy(hash).into_owned()))?;
    Ok(Row {
        sha1,
        revision: Revnum(unsigned(row, 1)?),
        item: unsigned(row, 2)?,
        size: unsigned(row, 3)?,
        expanded_size: unsigned(row, 4)?,
    })
}

#[allow(clippy::missing_errors_doc, reason = "all: `Error` says what its variants mean")]
impl RepCache {
    /// Opens the database of the filesystem in the folder `db` to change it; makes it with `schema` when it is not there.
    ///
    /// # Errors
    /// E200030 and kin, for what SQLite reports; system errors.
    pub fn open(db: &Path, storage: &dyn WriteStorage, schema: Schema) -> Result<Self> {
        let path = db.join(NAME);
        let io = |error: &io::Error, what: &str| {
            SvnError::io(error, format_args!("{what} '{}'", path.display()))
        };
        // SQLite would make the file with permissions of its own choice.
        if storage.stamp(&path).is_err_and(|e| e.kind() == io::ErrorKind::NotFound) {
            // Where revisions are in a store of objects, there is no `current`.
            let current = db.join("current");
            let is_here = storage.stamp(&current).is_ok();
            let like = if is_here { current } else { db.join("fs-type") };
            match storage.create_with(&path, b"") {
                Ok(()) => storage
                    .copy_permissions(&like, &path)
                    .map_err(|e| io(&e, "Can't set permissions on"))?,
                // Another process was faster.
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(io(&e, "Can't create file")),
            }
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let this = Self::connect(path, flags)?;
        this.connection
            .execute_batch(PRAGMAS)
            .and_then(|()| this.make_schema(schema))
            .map_err(|e| opening(&this.path, &e))?;
        Ok(this)
    }

    /// Opens the database at `path` to read it; it is not changed, unless another program was
    /// killed while it changed it, which has to be undone first.
    pub fn open_read_only(path: PathBuf) -> Result<Self> {
        let read = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let this = Self::connect(path, read)?;
        match this.version() {
            Err(rusqlite::Error::SqliteFailure(e, _)) if e.extended_code == READONLY_ROLLBACK => {
                let write = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
                Self::connect(this.path, write)
            }
            Err(e) => Err(opening(&this.path, &e)),
            Ok(_) => Ok(this),
        }
    }

    fn connect(path: PathBuf, flags: OpenFlags) -> Result<Self> {
        if let Some(folder) = path.parent() {
            sapwood_store::handles::make_room_for_sqlite(folder);
        }
        let open = || {
            let connection = Connection::open_with_flags(&path, flags)?;
            connection.busy_timeout(PATIENCE)?;
            Ok(connection)
        };
        match open() {
            Ok(connection) => Ok(Self { connection, path }),
            Err(e) => Err(opening(&path, &e)),
        }
    }

    /// Copies the database at `from` to `to`, as it is at one moment, and then removes rows of
    /// revisions after `youngest`: for a copy that is no repository yet.
    pub fn hotcopy(from: PathBuf, to: PathBuf, youngest: Revnum) -> Result<()> {
        const PAGES: i32 = 1024;
        const PAUSE: Duration = Duration::from_millis(25);
        let from = Self::open_read_only(from)?;
        let mut to = Self::connect(to, CREATED)?;
        rusqlite::backup::Backup::new(&from.connection, &mut to.connection)
            .and_then(|backup| {
                use rusqlite::backup::StepResult::Done;
                while backup.step(PAGES)? != Done {
                    // Either there is more, or another program holds the database: both pass.
                    if backup.progress().remaining == 0 {
                        std::thread::sleep(PAUSE);
                    }
                }
                Ok(())
            })
            .map_err(|e| error(&e))?;
        to.connection.execute_batch(PRAGMAS).map_err(|e| error(&e))?;
        if to.version().map_err(|e| error(&e))? == 0 {
            return Ok(());
        }
        to.remove_younger(youngest)
    }

    fn version(&self) -> rusqlite::Result<i64> {
        self.connection.query_row("PRAGMA user_version", [], |row| row.get(0))
    }

    /// Makes the table in a new file.
    fn make_schema(&self, schema: Schema) -> rusqlite::Result<()> {
        if self.version()? > 0 {
            return Ok(());
        }
        let (version, option) = match schema {
            Schema::V1 => (1, ""),
            Schema::V2 => (2, "WITHOUT ROWID"),
        };
        // Two processes may be here at once: the second finds the table.
        self.connection.execute_batch(&format!(
            "BEGIN IMMEDIATE; \
             CREATE TABLE IF NOT EXISTS rep_cache (hash TEXT NOT NULL PRIMARY KEY, \
             revision INTEGER NOT NULL, offset INTEGER NOT NULL, size INTEGER NOT NULL, \
             expanded_size INTEGER NOT NULL) {option}; \
             PRAGMA user_version = {version}; COMMIT;"
        ))
    }

    /// Where a text is.
    pub fn find(&self, sha1: Sha1) -> Result<Option<Row>> {
        let find = || {
            let mut statement = self.connection.prepare_cached(
                "SELECT revision, offset, size, expanded_size FROM rep_cache WHERE hash = ?1",
            )?;
            let mut rows = statement.query([sha1.to_hex()])?;
            let Some(row) = rows.next()? else { return Ok(None) };
            Ok(Some(Row {
                sha1,
                revision: Revnum(unsigned(row, 0)?),
                item: unsigned(row, 1)?,
                size: unsigned(row, 2)?,
                expanded_size: unsigned(row, 3)?,
            }))
        };
        find().map_err(|e| error(&e))
    }

    /// Adds rows, all or none. Texts that have one keep theirs.
    pub fn add(&mut self, rows: &[Row]) -> Result<()> {
        let mut add = || {
            let transaction =
                self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            {
                let mut statement = transaction.prepare_cached(
                    "INSERT OR IGNORE INTO rep_cache (hash, revision, offset, size, \
                     expanded_size) VALUES (?1, ?2, ?3, ?4, ?5)",
                )?;
                for row in rows {
                    statement.execute(params![
                        row.sha1.to_hex(),
                        signed(row.revision.0),
                        signed(row.item),
                        signed(row.size),
                        signed(row.expanded_size),
                    ])?;
                }
            }
            transaction.commit()
        };
        let mut added = add();
        if let (Err(rusqlite::Error::SqliteFailure(e, _)), Some(folder)) =
            (&added, self.path.parent())
            && e.code == Sqlite::CannotOpen
        {
            // The journal, perhaps: there was room when the database was opened.
            sapwood_store::handles::make_room_for_sqlite(folder);
            added = add();
        }
        added.map_err(|e| error(&e))
    }

    /// Keeps other programs from changing the database, until this is dropped.
    pub fn hold(&self) -> Result<()> {
        self.connection.execute_batch("BEGIN IMMEDIATE").map_err(|e| error(&e))
    }

    /// Removes the rows of all revisions after `youngest`.
    pub fn remove_younger(&self, youngest: Revnum) -> Result<()> {
        self.connection
            .execute("DELETE FROM rep_cache WHERE revision > ?1", [signed(youngest.0)])
            .map(drop)
            .map_err(|e| error(&e))
    }

    /// The youngest revision that a row names.
    pub fn youngest(&self) -> Result<Option<Revnum>> {
        let youngest = || {
            if self.version()? == 0 {
                return Ok(None);
            }
            let max: Option<i64> =
                self.connection
                    .query_row("SELECT MAX(revision) FROM rep_cache", [], |row| row.get(0))?;
            // A negative one is found when the row is read.
            Ok(max.and_then(|n| u64::try_from(n).ok()).map(Revnum))
        };
        youngest().map_err(|e| error(&e))
    }

    /// The rows whose texts come after this one, in the order of their SHA-1, and so many at most: who reads all of them holds the database for a
    /// moment only.
    pub fn rows_after(&self, last: Option<Sha1>, most: usize) -> Result<Vec<Row>> {
        let fail = |e| error(&e);
        if self.version().map_err(fail)? == 0 {
            return Ok(Vec::new());
        }
        let mut statement = self
            .connection
            .prepare_cached(
                "SELECT hash, revision, offset, size, expanded_size FROM rep_cache \
                 WHERE hash > ?1 ORDER BY hash LIMIT ?2",
            )
            .map_err(fail)?;
        let last = last.map_or(String::new(), |sha1| sha1.to_hex());
        let rows =
            statement.query_map(params![last, signed(len64(most))], whole_row).map_err(fail)?;
        rows.collect::<rusqlite::Result<_>>().map_err(fail)
    }

    /// Calls `found` with each row of the revisions from `start` to `end`. No order is promised;
    /// it is the reference's. The database is locked against writers meanwhile: be quick.
    pub fn rows(
        &self,
        start: Revnum,
        end: Revnum,
        found: &mut dyn FnMut(Row) -> Result<()>,
    ) -> Result<()> {
        let fail = |e| error(&e);
        // A file that nothing was written to yet.
        if self.version().map_err(fail)? == 0 {
            return Ok(());
        }
        let mut statement = self
            .connection
            .prepare(
                "SELECT hash, revision, offset, size, expanded_size FROM rep_cache \
                 WHERE revision >= ?1 AND revision <= ?2",
            )
            .map_err(fail)?;
        let mut rows = statement.query([signed(start.0), signed(end.0)]).map_err(fail)?;
        while let Some(row) = rows.next().map_err(fail)? {
            found(whole_row(row).map_err(fail)?)?;
        }
        Ok(())
    }
}
