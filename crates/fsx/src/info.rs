//! What an opened filesystem says of itself.

use std::path::Path;

use sapwood_core::Revnum;

use sapwood_store::WriteStorage;

use crate::error::{Error, Result};
use crate::filesystem::Filesystem;

/// The oldest minor version of Subversion 1 that can use format 2.
pub const OLDEST_MINOR_VERSION: u32 = 10;
/// The folder of the transactions.
const TRANSACTIONS: &str = "transactions";

#[allow(clippy::missing_errors_doc)]
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

    /// How many bytes the caches hold at most.
    #[must_use]
    pub fn cache_capacity(&self) -> u64 {
        self.0.cached.capacity()
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
