//! `wc.db`: the connection, transactions, and one file a table with its rows as structs.
//!
//! Methods are statements; they run in the transaction that is open, or in one of their own. A
//! [`Db::write`] takes the database's write lock at once (`BEGIN IMMEDIATE`) and may nest: only the
//! outermost commits. Invariant: nothing is scanned that an index finds (`plans` reads the plans
//! of all statements).

mod actual;
mod external;
mod gathering;
mod lock;
mod node;
mod pristine_row;
mod repository;
pub(crate) mod schema;
mod settings;
mod skel;
mod value;
mod wc_lock;
mod work;

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, Params, Row, TransactionBehavior};
use sapwood_core::ErrorCode;
use sapwood_core::exact::{Exact, len64, signed};
use sapwood_core::paths::RelPath;

use crate::change_journal::listed::ChangedRows;
use crate::change_journal::touched::{self, TrackingState};
use crate::change_journal::{Changes, Since, State};
use crate::clock::{FileClock, RecordedTimes};
use crate::error::{Error, Result};

pub use crate::format::{FORMAT, FORMAT_OPTIONAL_PRISTINES};
pub use actual::ActualRow;
pub use external::ExternalRow;
pub use lock::LockRow;
pub use node::NodeRow;
pub use pristine_row::PristineRow;
pub use repository::Repository;
pub use settings::Settings;
pub(crate) use skel::read_inherited;
pub use skel::{InheritedProps, read_props, write_inherited, write_props};
pub use value::{Kind, Presence};
pub(crate) use value::{Paths, Sha1Column};
pub(crate) use value::{parse_md5, parse_sha1};
pub use wc_lock::WcLockRow;

/// How a database is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// How long to wait for other programs.
    pub busy_timeout: Duration,
    /// Whether to keep other programs out while it is open.
    pub exclusive: bool,
}

impl Default for Access {
    fn default() -> Self {
        Self { busy_timeout: Duration::from_secs(10), exclusive: false }
    }
}

/// An open `wc.db`.
#[derive(Debug)]
pub struct Db {
    connection: Connection,
    path: PathBuf,
    /// The key of the row of WCROOT: always 1 in practice.
    wc_id: i64,
    /// What is open: nothing, a snapshot, or a transaction that writes.
    open: Cell<Open>,
    /// Whether changes are gathered in one transaction, and how many it has.
    gathering: Cell<Option<u32>>,
    /// The list of the paths that its changes touched.
    tracking: Cell<TrackingState>,
    /// What they are.
    listed: ChangedRows,
    /// Its format, and what it says about pristine texts.
    settings: Cell<Settings>,
    /// The clock of the files whose times it records.
    clock: Arc<FileClock>,
}

/// What a statement changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Touches {
    /// Rows of NODES or ACTUAL_NODE, on which a status depends.
    Nodes,
    /// Rows of other tables.
    Others,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Open {
    Nothing,
    Read,
    /// The next query begins a read transaction.
    Asking,
    /// A read transaction that a change may interrupt.
    Asked,
    Write,
    /// A transaction that gathers changes; none is running now.
    Gathered,
}

/// The number of names in a relpath: the op-depth of an operation on it.
#[must_use]
pub fn depth_of(relpath: &RelPath) -> i64 {
    if relpath.is_empty() {
        return 0;
    }
    let slashes = relpath.bytes().filter(|b| *b == b'/').count();
    signed(len64(slashes.plus(1)))
}

/// The parent as columns have it: none for the root.
#[must_use]
pub fn parent_of(relpath: &RelPath) -> Option<&RelPath> {
    (!relpath.is_empty()).then(|| relpath.parent())
}

/// The bounds of what lies below a path, as (greater than, less than).
#[must_use]
pub(crate) fn below(relpath: &RelPath) -> (String, String) {
    match relpath.as_str() {
        // Below the root is everything else: no path has a character that is greater.
        "" => (String::new(), "\u{10ffff}".to_owned()),
        _ => (format!("{relpath}/"), format!("{relpath}0")),
    }
}

/// The condition of [`at_and_below`] for the root. The plus keeps SQLite from walking the index and looking each row
/// up: all rows come in their own order.
const ALL_ROWS: &str = "+wc_id = ?1 AND ?2 = '' AND ?3 < ?4";
/// The same for another path.
const ROWS_BELOW: &str =
    "wc_id = ?1 AND (local_relpath = ?2 OR (local_relpath > ?3 AND local_relpath < ?4))";

/// The condition of rows at and below a path: `?1` is the number of the working copy, `?2` the path, `?3` and `?4`
/// are what [`below`] says of it.
pub(crate) fn at_and_below(relpath: &RelPath) -> &'static str {
    if relpath.is_root() { ALL_ROWS } else { ROWS_BELOW }
}

/// The root of the working copy that a database is of, as it is shown.
fn root_of(db: &Path) -> std::path::Display<'_> {
    db.parent().and_then(Path::parent).unwrap_or(db).display()
}

impl Db {
    /// Opens an existing database. Its format is not checked.
    ///
    /// # Errors
    /// E155016 when it is no database; SQLite's.
    pub fn open(path: &Path, access: Access) -> Result<Self> {
        Self::open_it(path, access).map_err(|error| {
            use rusqlite::ErrorCode::{CannotOpen, NotADatabase};
            let found = match &error {
                Error::Sqlite(rusqlite::Error::SqliteFailure(e, _)) => e.code,
                _ => return error,
            };
            if !matches!(found, CannotOpen | NotADatabase) {
                return error;
            }
            let shown = root_of(path);
            let message = format!("The working copy database at '{shown}' is corrupt.");
            Error::new(ErrorCode::WC_CORRUPT, message)
        })
    }

    fn open_it(path: &Path, access: Access) -> Result<Self> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut this = Self::connect(path, flags, access)?;
        if let Some(id) =
            this.first("SELECT id FROM wcroot WHERE local_abspath IS NULL", [], |r| r.get(0))?
        {
            this.wc_id = id;
            this.read_settings()?;
            return Ok(this);
        }
        let message = format!("Missing a row in WCROOT for '{}'.", root_of(path));
        Err(Error::new(ErrorCode::WC_CORRUPT, message))
    }

    /// Creates a database with only the root's row.
    ///
    /// # Errors
    /// SQLite's; that it is there already.
    pub fn create(path: &Path, access: Access) -> Result<Self> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let failed = |e| Error::io(e, "Can't create", path);
        // It is renamed to its final name when it is complete: a kill leaves no empty one.
        let folder = path.parent().unwrap_or(path);
        let tmp = folder.join(crate::layout::TMP);
        let folder = if tmp.is_dir() { tmp } else { folder.to_owned() };
        let new = folder.join(format!("svn-{}.db", std::process::id()));
        let this = Self::connect(&new, flags | OpenFlags::SQLITE_OPEN_CREATE, access)?;
        this.write(|db| {
            db.connection.execute_batch(schema::CREATE)?;
            for (table, index, figures) in schema::STATISTICS {
                let insert = "INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES (?1, ?2, ?3)";
                db.execute(insert, [table, index, figures])?;
            }
            db.execute("INSERT INTO wcroot (local_abspath) VALUES (NULL)", [])?;
            Ok(())
        })?;
        drop(this);
        // The journal is truncated, not removed, by SQLite.
        let _ = std::fs::remove_file(new.with_extension("db-journal"));
        if path.metadata().is_ok_and(|found| found.len() > 0) {
            let _ = std::fs::remove_file(&new);
            return Err(failed(std::io::ErrorKind::AlreadyExists.into()));
        }
        std::fs::rename(&new, path).map_err(failed)?;
        Self::connect(path, flags, access)
    }

    fn connect(path: &Path, flags: OpenFlags, access: Access) -> Result<Self> {
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(access.busy_timeout)?;
        connection.set_prepared_statement_cache_capacity(256);
        // Otherwise SQLite would prepare a statement again each time its values change, to see
        // whether another plan would be better: a quarter of a checkout's instructions.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        connection.execute_batch(schema::PRAGMAS)?;
        if access.exclusive {
            connection.execute_batch(schema::EXCLUSIVE)?;
        }
        // Of a database that is held alone the file need not say what is in it.
        let tracking = if access.exclusive { TrackingState::Off } else { TrackingState::Idle };
        Ok(Self {
            connection,
            path: path.to_owned(),
            wc_id: 1,
            open: Cell::new(Open::Nothing),
            gathering: Cell::new(None),
            tracking: Cell::new(tracking),
            listed: ChangedRows::default(),
            settings: Cell::new(Settings::default()),
            clock: RecordedTimes::default().clock(&path.with_file_name(crate::layout::TMP)),
        })
    }

    /// From now on, recorded times are noted at this clock.
    pub(crate) fn note_times_at(&mut self, clock: Arc<FileClock>) {
        self.clock = clock;
    }

    /// The clock that stamps the files of the working copy.
    pub(crate) fn clock(&self) -> &FileClock {
        &self.clock
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether a transaction that writes is open.
    pub(crate) fn is_writing(&self) -> bool {
        matches!(self.open.get(), Open::Write | Open::Gathered)
    }

    /// The connection, for statements that have no method here. `wc_id` is [`Db::wc_id`].
    #[must_use]
    pub const fn connection(&self) -> &Connection {
        &self.connection
    }

    /// The number of this working copy in its database.
    #[must_use]
    pub(crate) const fn wc_id(&self) -> i64 {
        self.wc_id
    }

    /// Runs `work` on one snapshot of the database.
    ///
    /// # Errors
    /// SQLite's and those of `work`.
    pub fn read<T>(&self, work: impl FnOnce(&Self) -> Result<T>) -> Result<T> {
        match self.open.get() {
            Open::Nothing => self.transaction(TransactionBehavior::Deferred, Open::Read, work),
            _ => {
                self.begin_questions()?;
                work(self)
            }
        }
    }

    /// Runs `work` as one change of the database: all of it or, when it fails, nothing.
    ///
    /// # Errors
    /// SQLite's and those of `work`.
    pub fn write<T>(&self, work: impl FnOnce(&Self) -> Result<T>) -> Result<T> {
        match self.open.get() {
            Open::Write => work(self),
            Open::Gathered => self.gathered_change(work),
            Open::Nothing if self.gathering.get().is_some() => {
                self.begin_gathered()?;
                self.gathered_change(work)
            }
            Open::Nothing => self.transaction(TransactionBehavior::Immediate, Open::Write, work),
            Open::Asking | Open::Asked => self.released(|| self.write(work)),
            Open::Read => Err(Error::new(
                ErrorCode::WC_DB_ERROR,
                "Internal error: a change of wc.db began inside of a snapshot",
            )),
        }
    }

    /// Runs `work`, whose statements share one lock that each alone would take and release (nine
    /// system calls). Unlike in [`Db::read`] changes are allowed: they happen at once, in
    /// transactions of their own, and later queries see them. `work` must be short and must not wait
    /// for other programs: no other writer can commit meanwhile.
    ///
    /// # Errors
    /// SQLite's and those of `work`.
    pub fn questions<T, E: From<Error>>(
        &self,
        work: impl FnOnce() -> std::result::Result<T, E>,
    ) -> std::result::Result<T, E> {
        if self.open.get() != Open::Nothing || self.gathering.get().is_some() {
            return work();
        }
        self.open.set(Open::Asking);
        let result = work();
        let ended = self.end_questions();
        self.open.set(Open::Nothing);
        let value = result?;
        ended?;
        Ok(value)
    }

    /// Called before a query: within [`Db::questions`], begins the transaction that they share.
    fn begin_questions(&self) -> Result<()> {
        if self.open.get() == Open::Asking {
            self.connection.prepare_cached("BEGIN")?.execute([])?;
            self.open.set(Open::Asked);
        }
        Ok(())
    }

    fn end_questions(&self) -> Result<()> {
        if self.open.get() == Open::Asked && !self.connection.is_autocommit() {
            self.connection.prepare_cached("COMMIT")?.execute([])?;
        }
        Ok(())
    }

    /// Within [`Db::questions`]: releases the lock until the next query, for callers that have to wait for other
    /// programs.
    ///
    /// # Errors
    /// SQLite's.
    pub fn let_go(&self) -> Result<()> {
        if self.open.get() == Open::Asked {
            self.end_questions()?;
            self.open.set(Open::Asking);
        }
        Ok(())
    }

    /// Within [`Db::questions`]: releases the lock while `work` runs, which may wait for other programs or
    /// change something.
    ///
    /// # Errors
    /// SQLite's and those of `work`.
    pub fn released<T, E: From<Error>>(
        &self,
        work: impl FnOnce() -> std::result::Result<T, E>,
    ) -> std::result::Result<T, E> {
        if !matches!(self.open.get(), Open::Asking | Open::Asked) {
            return work();
        }
        self.end_questions()?;
        self.open.set(Open::Nothing);
        let result = work();
        self.open.set(Open::Asking);
        result
    }

    fn transaction<T>(
        &self,
        behavior: TransactionBehavior,
        open: Open,
        work: impl FnOnce(&Self) -> Result<T>,
    ) -> Result<T> {
        if open == Open::Write {
            self.before_changes();
        }
        let transaction = rusqlite::Transaction::new_unchecked(&self.connection, behavior)?;
        self.open.set(open);
        if open == Open::Write {
            self.begin_tracking();
        }
        let result = work(self);
        self.open.set(Open::Nothing);
        let committed = result.and_then(|value| {
            transaction.commit()?;
            Ok(value)
        });
        if committed.is_err() && open == Open::Write {
            self.listed.take_back(&self.connection);
        }
        committed
    }

    /// Called within a transaction that writes, before its first change.
    fn begin_tracking(&self) {
        if self.tracking.get() == TrackingState::Ready {
            self.tracking.set(touched::begin(&self.connection, &self.path));
        }
    }

    /// Called outside of a transaction: from now on the paths of changed rows are listed.
    fn before_changes(&self) {
        if self.tracking.get() == TrackingState::Idle
            && let Some(adm) = self.path.parent()
        {
            self.tracking.set(touched::prepare(adm));
        }
    }

    /// Writes a note of the changes so far, for the next status. Does nothing within a transaction, and while a
    /// directory is locked.
    pub(crate) fn note_changes(&self) {
        let TrackingState::Since(from, version) = self.tracking.get() else { return };
        if self.open.get() != Open::Nothing
            || !self.connection.is_autocommit()
            || touched::is_locked(&self.connection).unwrap_or(true)
        {
            return;
        }
        touched::end(&self.connection, self.wc_id, &self.path, &self.listed, (from, version));
        self.tracking.set(TrackingState::Ready);
    }

    /// The state since which no other connection changed what a status depends on, and what this one
    /// touched since then; `None` when that is not certain.
    pub(crate) fn since(&self) -> Option<Since> {
        let asked = self.read(|db| {
            // The query takes the lock that keeps writers out.
            let now = db.data_version()?;
            let nothing_since = |state| Since { state, changes: Changes::none() };
            Ok(match db.tracking.get() {
                TrackingState::Idle | TrackingState::Off | TrackingState::Ready => {
                    State::of(&db.path).map(nothing_since)
                }
                TrackingState::Since(state, version) if version == now => {
                    let changes = db.listed.changes(&db.connection, db.wc_id)?;
                    changes.map(|changes| Since { state, changes })
                }
                TrackingState::Since(..) => None,
            })
        });
        asked.ok().flatten()
    }

    /// Runs a statement that brings all rows of BASE to a revision and changes nothing else. Its rows need not
    /// be listed.
    pub(crate) fn bump_all(&self, revision: i64, sql: &str, params: impl Params) -> Result<usize> {
        self.write(|db| {
            if !matches!(db.tracking.get(), TrackingState::Since(..)) {
                return db.execute(sql, params);
            }
            let all = || db.connection.prepare(sql)?.execute(params);
            Ok(db.listed.bump(&db.connection, revision, all)?)
        })
    }

    /// Called before changes of many rows: pages stay in memory until the commit, so that each is written
    /// once.
    pub(crate) fn expect_changes(&self) -> Result<()> {
        Ok(self.connection.execute_batch(schema::CACHE)?)
    }

    fn data_version(&self) -> Result<i64> {
        Ok(touched::data_version(&self.connection)?)
    }

    /// The first row of a query.
    pub(crate) fn first<T>(
        &self,
        sql: &str,
        params: impl Params,
        row: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>> {
        self.begin_questions()?;
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query(params)?;
        Ok(match rows.next()? {
            Some(found) => Some(row(found)?),
            None => None,
        })
    }

    /// All rows of a query.
    pub(crate) fn all<T>(
        &self,
        sql: &str,
        params: impl Params,
        row: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>> {
        self.begin_questions()?;
        let mut statement = self.connection.prepare_cached(sql)?;
        let rows = statement.query_map(params, row)?;
        Ok(rows.collect::<rusqlite::Result<Vec<T>>>()?)
    }

    /// Calls a function with each row of a query: none is kept.
    pub(crate) fn each(
        &self,
        sql: &str,
        params: impl Params,
        mut row: impl FnMut(&Row<'_>) -> rusqlite::Result<()>,
    ) -> Result<()> {
        self.begin_questions()?;
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query(params)?;
        while let Some(found) = rows.next()? {
            row(found)?;
        }
        Ok(())
    }

    /// Runs a statement that can change any rows; returns how many it changed.
    pub(crate) fn execute(&self, sql: &str, params: impl Params) -> Result<usize> {
        self.execute_on(Touches::Nodes, sql, params)
    }

    /// Runs a statement that changes rows of other tables than NODES and ACTUAL_NODE; returns how many.
    pub(crate) fn execute_aside(&self, sql: &str, params: impl Params) -> Result<usize> {
        self.execute_on(Touches::Others, sql, params)
    }

    fn execute_on(&self, touches: Touches, sql: &str, params: impl Params) -> Result<usize> {
        if matches!(self.open.get(), Open::Asking | Open::Asked) {
            return self.released(|| self.execute_on(touches, sql, params));
        }
        if self.open.get() == Open::Nothing {
            self.before_changes();
            if self.gathering.get().is_some() {
                self.begin_gathered()?;
            } else if self.tracking.get() == TrackingState::Ready {
                return self.write(|db| db.execute_on(touches, sql, params));
            }
        }
        if touches == Touches::Nodes {
            self.list_changes();
        }
        let changed = self.connection.prepare_cached(sql)?.execute(params)?;
        if self.open.get() == Open::Gathered {
            // A statement alone is undone by itself when it fails.
            self.count_gathered();
        }
        Ok(changed)
    }

    /// Runs statements that can change any rows, within a transaction.
    pub(crate) fn execute_all(&self, sql: &str) -> Result<()> {
        self.list_changes();
        Ok(self.connection.execute_batch(sql)?)
    }

    /// Has the rows listed that statements change; if that fails, nothing is cached from here on.
    fn list_changes(&self) {
        if matches!(self.tracking.get(), TrackingState::Since(..))
            && self.listed.listen(&self.connection).is_err()
        {
            self.tracking.set(TrackingState::Off);
        }
    }
}

impl Drop for Db {
    fn drop(&mut self) {
        self.note_changes();
    }
}

#[cfg(test)]
mod plans;
#[cfg(test)]
mod tests;
