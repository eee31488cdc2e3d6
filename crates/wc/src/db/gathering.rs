//! Changes of many nodes in one transaction.
//!
//! While a database gathers, each [`Db::write`] is one change within a transaction that stays open: if it fails, it
//! alone is undone. Invariant: nothing of an open transaction is left to its end by dropping it; who began to gather
//! calls [`Db::end_gathering`], after an error too.

use sapwood_core::exact::Exact;

use super::{Db, Open};
use crate::error::Result;

impl Db {
    /// From here on changes are gathered; whether they were not already.
    pub(crate) fn begin_gathering(&self) -> bool {
        let begins = self.gathering.get().is_none();
        if begins {
            self.gathering.set(Some(0));
        }
        begins
    }

    /// Commits what was gathered, and gathers no more.
    ///
    /// # Errors
    /// SQLite's; then what was gathered since the last commit is undone.
    pub(crate) fn end_gathering(&self) -> Result<()> {
        let committed = self.commit_gathered();
        self.gathering.set(None);
        committed
    }

    /// Whether changes are gathered.
    pub(crate) fn is_gathering(&self) -> bool {
        self.gathering.get().is_some()
    }

    /// How many changes wait for the commit.
    pub(crate) fn gathered(&self) -> u32 {
        self.gathering.get().unwrap_or(0)
    }

    /// Commits what was gathered so far.
    ///
    /// # Errors
    /// As [`Db::end_gathering`].
    pub(crate) fn commit_gathered(&self) -> Result<()> {
        if self.open.get() != Open::Gathered {
            return Ok(());
        }
        self.open.set(Open::Nothing);
        self.gathering.set(Some(0));
        let committed = self.run("COMMIT");
        if committed.is_err() {
            if !self.connection.is_autocommit() {
                self.run("ROLLBACK")?;
            }
            self.listed.take_back(&self.connection);
        }
        committed
    }

    /// Begins the transaction that changes are gathered in.
    pub(super) fn begin_gathered(&self) -> Result<()> {
        self.before_changes();
        self.run("BEGIN IMMEDIATE")?;
        self.open.set(Open::Gathered);
        self.begin_tracking();
        Ok(())
    }

    /// Runs `work` as one of the gathered changes.
    pub(super) fn gathered_change<T>(&self, work: impl FnOnce(&Self) -> Result<T>) -> Result<T> {
        self.run("SAVEPOINT change")?;
        self.open.set(Open::Write);
        let result = work(self);
        self.open.set(Open::Gathered);
        if result.is_ok() {
            self.run("RELEASE change")?;
            self.count_gathered();
            return result;
        }
        self.listed.take_back(&self.connection);
        if self.connection.is_autocommit() {
            // SQLite has undone the whole transaction: no space, or no memory.
            self.open.set(Open::Nothing);
            return result;
        }
        self.run("ROLLBACK TO change")?;
        self.run("RELEASE change")?;
        self.listed.take_back(&self.connection);
        result
    }

    /// Counts a change that was made.
    pub(super) fn count_gathered(&self) {
        self.gathering.set(self.gathering.get().map(|count| count.plus(1)));
    }

    fn run(&self, sql: &str) -> Result<()> {
        self.connection.prepare_cached(sql)?.execute([])?;
        Ok(())
    }
}
