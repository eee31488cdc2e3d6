//! The table of entries: one row each, under the store's address, the log's name and the number. The server's numbers have a sign: those of
//! entries that are beyond 2^63, which only trials of the store have, are negative there.
//!
//! Invariant: a row is inserted once, if there is none, and never changed; the primary key is what lets one writer win.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use postgres::error::SqlState;
use postgres::types::ToSql;
use sapwood_core::exact::{Exact as _, clamped, signed};
use sapwood_core::len64;
use sapwood_objects::{Attempt, Error, Key, ListedObject, Result};

use super::pool::Pool;
use crate::address::Address;

/// What makes the table, if it is not there. Long entries are stored as they are, so that a part of one is read without the rest.
const TABLE: &str = "CREATE TABLE IF NOT EXISTS sapwood_log (
    store text NOT NULL,
    log text NOT NULL,
    slot bigint NOT NULL,
    entry bytea NOT NULL,
    written timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (store, log, slot)
);
ALTER TABLE sapwood_log ALTER COLUMN entry SET STORAGE EXTERNAL";
const THERE: &str = "SELECT to_regclass('sapwood_log') IS NOT NULL";
const INSERT: &str = "INSERT INTO sapwood_log (store, log, slot, entry) VALUES ($1, $2, $3, $4)
    ON CONFLICT DO NOTHING";
const READ: &str = "SELECT slot, entry FROM sapwood_log
    WHERE store = $1 AND log = $2 AND slot >= $3 ORDER BY slot LIMIT $4";
const GET: &str = "SELECT substring(entry FROM $4 FOR $5) FROM sapwood_log
    WHERE store = $1 AND log = $2 AND slot = $3";
const LIST: &str = "SELECT slot, octet_length(entry), written FROM sapwood_log
    WHERE store = $1 AND log = $2 AND slot >= $3 ORDER BY slot LIMIT $4";
const DELETE: &str = "DELETE FROM sapwood_log WHERE store = $1 AND log = $2 AND slot = $3";

/// Classes of errors by which the server says that a statement is refused, and was not done.
const REFUSALS: [&str; 7] = ["0A", "22", "23", "25", "28", "42", "54"];

/// The table, by the connections to its database.
#[derive(Debug)]
pub(super) struct Table {
    pool: Pool,
    /// Whether it was found, or made.
    is_there: AtomicBool,
}

impl Table {
    pub(super) fn new(pool: Pool) -> Self {
        Self { pool, is_there: AtomicBool::new(false) }
    }

    /// Sees to it that the table is there: the database is asked until it was once.
    pub(super) fn ready(&self) -> std::result::Result<(), Whole> {
        if self.is_there.load(Ordering::Acquire) {
            return Ok(());
        }
        let there: bool = self.pool.ask(|client| Ok(client.query_one(THERE, &[])?.get(0)))?;
        if !there {
            let made = self.pool.once(|client| client.batch_execute(TABLE));
            // Another server makes it at the same time.
            let twice = [SqlState::UNIQUE_VIOLATION, SqlState::DUPLICATE_TABLE];
            let is_twice = |e: &postgres::Error| e.code().is_some_and(|code| twice.contains(code));
            match made {
                Err(error) if is_twice(&error) => {}
                made => made?,
            }
        }
        self.is_there.store(true, Ordering::Release);
        Ok(())
    }
}

/// Entries of the logs of one store.
#[derive(Debug)]
pub(super) struct Entries {
    table: Arc<Table>,
    address: Box<str>,
    /// The address of the store of objects, by which repositories of one database are apart.
    store: String,
}

impl Entries {
    pub(super) fn new(table: Arc<Table>, address: &Address) -> Self {
        Self { table, address: address.to_string().into(), store: address.store.clone() }
    }

    pub(super) fn address(&self) -> &str {
        &self.address
    }

    fn failed(&self, what: &'static str, key: &Key, error: postgres::Error) -> Error {
        Error::failed(what, &self.address, key, Whole(error))
    }

    pub(super) fn read_from(&self, log: &Key, first: u64, most: usize) -> Result<Vec<Vec<u8>>> {
        let (name, from, limit) = (log.as_str(), first.cast_signed(), signed(len64(most)));
        let question: [&(dyn ToSql + Sync); 4] = [&self.store, &name, &from, &limit];
        let rows = self.table.pool.ask(|client| client.query(READ, &question));
        let rows = rows.map_err(|e| self.failed("read", log, e))?;
        let mut found = Vec::new();
        for row in rows {
            if row.get::<_, i64>(0).cast_unsigned() != first.plus(len64(found.len())) {
                break;
            }
            found.push(row.get(1));
        }
        Ok(found)
    }

    pub(super) fn attempt(&self, log: &Key, slot: u64, bytes: &[u8]) -> Result<Attempt> {
        let (name, number) = (log.as_str(), slot.cast_signed());
        let row: [&(dyn ToSql + Sync); 4] = [&self.store, &name, &number, &bytes];
        match self.table.pool.once(|client| client.execute(INSERT, &row)) {
            Ok(0) => Ok(Attempt::Taken),
            Ok(_) => Ok(Attempt::Created),
            Err(error) => {
                let refused = error.code().is_some_and(is_refusal);
                let failed = self.failed("write", &Key::slot(log, slot)?, error);
                if refused { Err(failed) } else { Ok(Attempt::Unknown(failed)) }
            }
        }
    }

    /// A part of an entry.
    pub(super) fn get(
        &self,
        (log, slot): (&Key, u64),
        range: std::ops::Range<u64>,
    ) -> Result<Option<Vec<u8>>> {
        // Longer than any entry: the server's numbers end there.
        const MOST: u64 = 1 << 30;
        let from = int(range.start.min(MOST).plus(1));
        let len = int(range.end.min(MOST).minus(range.start.min(range.end).min(MOST)));
        let (name, number) = (log.as_str(), slot.cast_signed());
        let question: [&(dyn ToSql + Sync); 5] = [&self.store, &name, &number, &from, &len];
        let row = self.table.pool.ask(|client| client.query_opt(GET, &question));
        let row = row.map_err(|e| self.failed("read", log, e))?;
        Ok(row.map(|row| row.get(0)))
    }

    pub(super) fn list(
        &self,
        log: &Key,
        after: Option<u64>,
        most: usize,
    ) -> Result<Vec<ListedObject>> {
        let first = after.map_or(i64::MIN, |after| after.plus(1).cast_signed());
        let (name, limit) = (log.as_str(), signed(len64(most)));
        let question: [&(dyn ToSql + Sync); 4] = [&self.store, &name, &first, &limit];
        let rows = self.table.pool.ask(|client| client.query(LIST, &question));
        let rows = rows.map_err(|e| self.failed("list", log, e))?;
        let listed = rows.into_iter().map(|row| {
            let (slot, len): (i64, i32) = (row.get(0), row.get(1));
            let (slot, len) = (slot.cast_unsigned(), u64::from(len.unsigned_abs()));
            Ok(ListedObject {
                key: Key::slot(log, slot)?,
                len,
                modified: row.get::<_, SystemTime>(2),
            })
        });
        listed.collect()
    }

    pub(super) fn discard(&self, log: &Key, slot: u64) -> Result<()> {
        let (name, number) = (log.as_str(), slot.cast_signed());
        let row: [&(dyn ToSql + Sync); 3] = [&self.store, &name, &number];
        let done = self.table.pool.ask(|client| client.execute(DELETE, &row));
        done.map(drop).map_err(|e| self.failed("delete", log, e))
    }
}

/// A number of the server's four bytes: it was bounded before.
fn int(number: u64) -> i32 {
    i32::try_from(clamped(number)).unwrap_or(i32::MAX)
}

/// Whether the server has refused a statement, and nothing was done.
fn is_refusal(code: &SqlState) -> bool {
    code.code().get(..2).is_some_and(|class| REFUSALS.contains(&class))
}

/// An error with all that caused it in its text: the library says the outermost only.
#[derive(Debug)]
pub(super) struct Whole(postgres::Error);

impl From<postgres::Error> for Whole {
    fn from(error: postgres::Error) -> Self {
        Self(error)
    }
}

impl std::fmt::Display for Whole {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut cause: Option<&dyn std::error::Error> = Some(&self.0);
        let mut separator = "";
        while let Some(error) = cause {
            write!(f, "{separator}{error}")?;
            separator = ": ";
            cause = error.source();
        }
        Ok(())
    }
}

impl std::error::Error for Whole {}
