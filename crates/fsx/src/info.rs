//! What an opened filesystem says of itself.

use std::path::Path;
use std::sync::Arc;

use sapwood_core::{PropList, Revnum};

use sapwood_fsx_format::layout::names;
use sapwood_store::{Caches, WriteStorage};

use crate::error::{Error, Result};
use crate::filesystem::Filesystem;

/// The oldest minor version of Subversion 1 that can use format 2.
pub const OLDEST_MINOR_VERSION: u32 = 10;
/// The folder of the transactions.
const TRANSACTIONS: &str = "transactions";

#[allow(clippy::missing_errors_doc, reason = "all: `Error` says what its variants mean")]
impl Filesystem {
    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0.db
    }

    /// Where its files are.
    #[must_use]
    pub fn storage(&self) -> &dyn WriteStorage {
        &*self.0.storage
    }

    /// The format number.
    #[must_use]
    pub fn format(&self) -> u32 {
        u32::try_from(self.0.layout.0.number).unwrap_or(u32::MAX)
    }

    /// Revisions a shard.
    #[must_use]
    pub fn shard_size(&self) -> u64 {
        self.0.layout.0.shard_size
    }

    /// The first revision that is not packed now.
    pub fn min_unpacked_rev(&self) -> Result<Revnum> {
        self.0.refresh_min_unpacked().map(Revnum)
    }

    /// The caches of the process, and the number of the filesystem in them. Kinds of values with numbers from 200 on, and that of log entries, are not this crate's.
    #[must_use]
    pub fn caches(&self) -> (&Arc<Caches>, u32) {
        (self.0.cached.caches(), self.0.cached.number())
    }

    /// The state of all revision properties: it rises with each change of them. `None` while one is going on, and when it
    /// cannot be found out.
    #[must_use]
    pub fn revprop_generation(&self) -> Option<u64> {
        let generation = self.0.number(names::REVPROP_GENERATION).ok()?;
        generation.is_multiple_of(2).then_some(generation)
    }

    /// The properties of a revision, at least as new as that state.
    pub fn revprops_since(&self, revision: Revnum, generation: u64) -> Result<Arc<PropList>> {
        self.0.cached.revprops(revision, generation, || self.revprops(revision))
    }

    /// The names of the transactions, sorted.
    pub fn transactions(&self) -> Result<Vec<String>> {
        let folder = self.0.file(TRANSACTIONS);
        let all = self.0.storage.list(&folder);
        let all = all.map_err(|error| Error::io("Can't open directory", &folder, error))?;
        let name = |file: std::ffi::OsString| {
            let name = file.to_str()?.strip_suffix(".txn")?;
            (!name.is_empty()).then(|| name.to_owned())
        };
        let mut all: Vec<String> = all.into_iter().filter_map(name).collect();
        all.sort();
        Ok(all)
    }
}
