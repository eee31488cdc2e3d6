//! The open `rep-cache.db`, which all writers to one filesystem share.
//!
//! Invariant: administrators remove the file to start anew, so what is open is the file that is there now.

use std::path::Path;

use sapwood_core::{Revnum, Sha1, SvnResult as Result};
use sapwood_store::write::WriteStorage;

use super::{NAME, RepCache, Row, Schema};

/// Which database it is.
#[derive(Clone, Copy, Debug)]
pub struct RepCacheFile<'a> {
    /// The folder `db` of its filesystem.
    pub db: &'a Path,
    /// Where that is.
    pub storage: &'a dyn WriteStorage,
    /// How it is made when it is not there.
    pub schema: Schema,
}

impl RepCacheFile<'_> {
    /// The number of the file; `None` when there is none.
    fn inode(&self) -> Option<u64> {
        self.storage.stamp(&self.db.join(NAME)).ok().map(|stamp| stamp.inode)
    }

    /// Opens it to change it; makes it when it is not there.
    ///
    /// # Errors
    /// As [`RepCache::open`].
    pub fn open(&self) -> Result<RepCache> {
        RepCache::open(self.db, self.storage, self.schema)
    }
}

/// The open database. It is opened when it is needed first.
#[derive(Debug, Default)]
pub struct OpenRepCache {
    cache: Option<RepCache>,
    inode: Option<u64>,
}

#[allow(clippy::missing_errors_doc, reason = "all: E200030 and kin, for what SQLite reports")]
impl OpenRepCache {
    /// Closes the database: whether it was open. The next to need it opens it again.
    pub fn close(&mut self) -> bool {
        self.cache.take().is_some()
    }

    /// The open database. When there is none: makes it if `create`.
    fn get(&mut self, file: &RepCacheFile<'_>, create: bool) -> Result<Option<&mut RepCache>> {
        let before = file.inode();
        if before.is_none() && !create {
            return Ok(None);
        }
        if before.is_none() || before != self.inode {
            self.cache = None;
        }
        if self.cache.is_none() {
            self.cache = Some(file.open()?);
            self.inode = file.inode();
        }
        Ok(self.cache.as_mut())
    }

    /// The row of a text.
    pub fn find(&mut self, file: &RepCacheFile<'_>, sha1: Sha1) -> Result<Option<Row>> {
        self.get(file, false)?.map_or(Ok(None), |cache| cache.find(sha1))
    }

    /// Calls `found` with each row, in any order.
    pub fn each(
        &mut self,
        file: &RepCacheFile<'_>,
        found: &mut dyn FnMut(Row) -> Result<()>,
    ) -> Result<()> {
        let cache = self.get(file, false)?;
        cache.map_or(Ok(()), |cache| cache.rows(Revnum::ZERO, Revnum(u64::MAX), found))
    }

    /// Adds rows; makes the database when it is not there.
    pub fn add(&mut self, file: &RepCacheFile<'_>, rows: &[Row]) -> Result<()> {
        let added = self.get(file, true)?.map_or(Ok(()), |cache| cache.add(rows));
        // It may be the connection that is broken.
        added.inspect_err(|_| self.cache = None)
    }

    /// Removes the rows of all revisions after `youngest`.
    pub fn remove_younger(&mut self, file: &RepCacheFile<'_>, youngest: Revnum) -> Result<()> {
        self.get(file, false)?.map_or(Ok(()), |cache| cache.remove_younger(youngest))
    }
}
