//! Keeping a filesystem as it is, while its files are copied for example.

use sapwood_fs_common::rep_cache::{self, RepCache, Schema};
use sapwood_fsx_format::layout::names;
use sapwood_store::HeldLock;

use super::Writer;
use crate::error::Result;

/// While this is there, nothing changes the filesystem: no commit, no change of properties, no pack.
#[derive(Debug)]
pub struct Frozen {
    /// Goes before the locks.
    _reps: Option<RepCache>,
    _locks: [Box<dyn HeldLock>; 2],
}

impl Writer {
    /// Waits until no process changes the filesystem, and keeps it so. Readers go on.
    ///
    /// # Errors
    /// System errors; those of SQLite.
    pub fn freeze(&self) -> Result<Frozen> {
        let locks = [self.lock(names::PACK_LOCK)?, self.lock(names::WRITE_LOCK)?];
        let path = self.fs.0.file(rep_cache::NAME);
        let reps = match self.storage.stamp(&path) {
            Ok(_) => {
                let reps = RepCache::open(&self.fs.0.db, &*self.storage, Schema::V1)?;
                reps.hold()?;
                Some(reps)
            }
            Err(_) => None,
        };
        Ok(Frozen { _reps: reps, _locks: locks })
    }
}
