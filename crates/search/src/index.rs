//! The database of an index: one file of SQLite in a folder of caches (`docs/formats/search-index.md`).
//!
//! Invariant: a file that is of another format, repository or scope, or damaged, is made anew by those who write, and does not
//! exist for those who only ask.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, OptionalExtension as _, params};
use sapwood_core::Revnum;
use sha1::{Digest as _, Sha1};

use crate::error::{Error, Result};
use crate::scope::Scope;

/// The number of the format, in the database's `user_version`.
const FORMAT: i64 = 3;
/// How long others that write are waited for.
const PATIENCE: Duration = Duration::from_secs(5);
/// Bytes of the file of an index that gets no older revisions any more.
const MOST_BYTES: u64 = 4 << 30;
/// KiB of pages that are held in memory.
const PAGES: &str = "-8000";

const SCHEMA: &str = "
CREATE TABLE state (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE path (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, is_dir INTEGER NOT NULL);
CREATE VIRTUAL TABLE path_grams USING fts5
    (grams, content = '', contentless_delete = 1, detail = none, tokenize = 'trigram');
CREATE VIRTUAL TABLE text_grams USING fts5
    (grams, content = '', contentless_delete = 1, detail = none, tokenize = 'trigram');
CREATE VIRTUAL TABLE prop_grams USING fts5
    (grams, content = '', contentless_delete = 1, detail = none, tokenize = 'trigram');
CREATE VIRTUAL TABLE change_grams USING fts5
    (grams, content = '', contentless_delete = 1, detail = none, tokenize = 'trigram');
CREATE VIRTUAL TABLE message_grams USING fts5
    (grams, content = '', contentless_delete = 1, detail = none, tokenize = 'trigram');
";

/// The rows of the table `state`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// The repository's UUID.
    Uuid,
    /// [`Scope::key`]
    Scope,
    /// The youngest revision whose log message is in the index.
    Messages,
    /// The revision whose paths and texts are in the index.
    Tree,
    /// The oldest revision whose changed lines are in it.
    History,
    /// While these are added for the first time: the path that was added last. Missing after that.
    Cursor,
}

impl State {
    const fn name(self) -> &'static str {
        match self {
            Self::Uuid => "uuid",
            Self::Scope => "scope",
            Self::Messages => "messages",
            Self::Tree => "tree",
            Self::History => "history",
            Self::Cursor => "cursor",
        }
    }
}

/// The index of one repository, open.
#[derive(Debug)]
pub struct Index {
    pub(crate) connection: Connection,
    path: PathBuf,
    /// Bytes of the file from which on no older revisions are added.
    pub(crate) most_bytes: u64,
}

impl Index {
    /// The file of the index of the repository at `repository`, in a folder of caches.
    #[must_use]
    pub fn file(folder: &Path, repository: &Path) -> PathBuf {
        let whole = repository.canonicalize().unwrap_or_else(|_| repository.to_owned());
        let digest = Sha1::digest(whole.as_os_str().as_encoded_bytes());
        let digest: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        let name = whole.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
        folder.join(format!("{name}-{digest}.search"))
    }

    /// Opens an index to ask it. `None` when there is none of this repository that can be used.
    ///
    /// # Errors
    /// Of the database.
    pub fn open(file: &Path, uuid: &str) -> Result<Option<Self>> {
        if !file.exists() {
            return Ok(None);
        }
        let index = match Self::connect(file, OpenFlags::SQLITE_OPEN_READ_ONLY) {
            Err(error) if error.is_damage() => return Ok(None),
            index => index?,
        };
        match index.is_of(uuid) {
            Err(error) if error.is_damage() => Ok(None),
            is_usable => Ok(is_usable?.then_some(index)),
        }
    }

    /// Opens an index to write to it: it is made if there is none that can be used.
    ///
    /// # Errors
    /// Of the database and the disk.
    pub fn create(file: &Path, uuid: &str, scope: &Scope) -> Result<Self> {
        let folder = file.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder).map_err(|source| Error::Io {
            what: "make",
            path: folder.to_owned(),
            source,
        })?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        match Self::connect(file, flags).and_then(|index| index.if_usable(uuid, scope)) {
            Ok(Some(index)) => return Ok(index),
            Err(error) if !error.is_damage() => return Err(error),
            Ok(None) | Err(_) => remove(file)?,
        }
        let index = Self::connect(file, flags)?;
        index.make(uuid, scope)?;
        Ok(index)
    }

    fn if_usable(self, uuid: &str, scope: &Scope) -> Result<Option<Self>> {
        let is_same =
            self.is_of(uuid)? && self.text(State::Scope)?.as_deref() == Some(&scope.key());
        Ok(is_same.then_some(self))
    }

    fn connect(file: &Path, flags: OpenFlags) -> Result<Self> {
        let open = || -> rusqlite::Result<Connection> {
            let connection =
                Connection::open_with_flags(file, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
            connection.busy_timeout(PATIENCE)?;
            connection.pragma_update(None, "cache_size", PAGES)?;
            Ok(connection)
        };
        let connection = open().map_err(|source| failed(file, source))?;
        Ok(Self { connection, path: file.to_owned(), most_bytes: MOST_BYTES })
    }

    fn make(&self, uuid: &str, scope: &Scope) -> Result<()> {
        self.run(|connection| {
            connection.pragma_update(None, "journal_mode", "WAL")?;
            connection.pragma_update(None, "synchronous", "NORMAL")?;
            connection.execute_batch(&format!(
                "BEGIN IMMEDIATE; {SCHEMA} PRAGMA user_version = {FORMAT}; COMMIT;"
            ))
        })?;
        self.set(State::Uuid, uuid)?;
        self.set(State::Scope, &scope.key())
    }

    /// Whether this has the present format, and is of this repository.
    fn is_of(&self, uuid: &str) -> Result<bool> {
        let format: i64 =
            self.run(|c| c.pragma_query_value(None, "user_version", |row| row.get(0)))?;
        Ok(format == FORMAT && self.text(State::Uuid)?.as_deref() == Some(uuid))
    }

    /// What is in the index of the tree.
    ///
    /// # Errors
    /// Of the database.
    pub fn scope(&self) -> Result<Scope> {
        Ok(self.text(State::Scope)?.map_or_else(Scope::default, |key| Scope::of_key(&key)))
    }

    /// Does some work as one transaction.
    pub(crate) fn transaction<T>(&self, work: impl FnOnce(&Self) -> Result<T>) -> Result<T> {
        self.run(|connection| connection.execute_batch("BEGIN IMMEDIATE"))?;
        let done = work(self);
        let end = if done.is_ok() { "COMMIT" } else { "ROLLBACK" };
        let ended = self.run(|connection| connection.execute_batch(end));
        // The first error is the one that matters.
        done.and_then(|value| ended.map(|()| value))
    }

    /// Runs statements; their errors name the file.
    pub(crate) fn run<T>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T> {
        work(&self.connection).map_err(|source| failed(&self.path, source))
    }

    pub(crate) fn text(&self, state: State) -> Result<Option<String>> {
        self.run(|connection| {
            let mut statement =
                connection.prepare_cached("SELECT value FROM state WHERE name = ?1")?;
            statement.query_row([state.name()], |row| row.get(0)).optional()
        })
    }

    pub(crate) fn set(&self, state: State, value: &str) -> Result<()> {
        let sql = "INSERT OR REPLACE INTO state VALUES (?1, ?2)";
        self.run(|c| c.prepare_cached(sql)?.execute(params![state.name(), value])).map(drop)
    }

    pub(crate) fn unset(&self, state: State) -> Result<()> {
        let sql = "DELETE FROM state WHERE name = ?1";
        self.run(|c| c.prepare_cached(sql)?.execute([state.name()])).map(drop)
    }

    pub(crate) fn revision(&self, state: State) -> Result<Option<Revnum>> {
        Ok(self.text(state)?.and_then(|text| Revnum::parse(text.as_bytes())))
    }

    /// The revision whose log messages, paths and texts are all in the index; `None` while it is made for the first time.
    ///
    /// # Errors
    /// Of the database.
    pub fn complete_to(&self) -> Result<Option<Revnum>> {
        if self.text(State::Cursor)?.is_some() {
            return Ok(None);
        }
        let (messages, tree) = (self.revision(State::Messages)?, self.revision(State::Tree)?);
        Ok(messages.zip(tree).map(|(messages, tree)| messages.min(tree)))
    }

    /// The number of a path in the index.
    pub(crate) fn id(&self, path: &str) -> Result<Option<u64>> {
        self.run(|connection| {
            let mut statement = connection.prepare_cached("SELECT id FROM path WHERE path = ?1")?;
            statement.query_row([path], |row| number(row, 0)).optional()
        })
    }
}

/// A number out of SQLite, whose integers have a sign.
pub(crate) fn number(row: &rusqlite::Row<'_>, at: usize) -> rusqlite::Result<u64> {
    let number: i64 = row.get(at)?;
    u64::try_from(number).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(at, number))
}

fn failed(file: &Path, source: rusqlite::Error) -> Error {
    Error::Database { path: file.to_owned(), source }
}

/// Removes an index that cannot be used, and its journal.
fn remove(file: &Path) -> Result<()> {
    for ending in ["", "-wal", "-shm"] {
        let mut path = file.as_os_str().to_owned();
        path.push(ending);
        match std::fs::remove_file(&path) {
            Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::Io { what: "remove", path: path.into(), source });
            }
            _ => {}
        }
    }
    Ok(())
}
