//! What administrators do with a filesystem: make it, copy it, pack it, upgrade it. Checking is a method of
//! [`Filesystem`]. Engines that can only be read answer with E200007.

use std::path::Path;

use sapwood_core::{CancelToken, Revnum};

use crate::error::Result;
use crate::filesystem::Filesystem;
use crate::locks;

/// Making a filesystem.
pub mod create {
    use std::path::Path;

    pub use sapwood_fsfs::create::{CreateOptions, DEFAULT_SHARD_SIZE};
    use sapwood_store::WriteStorage;

    /// Makes an empty filesystem of FSFS in the folder `db`, which must exist.
    ///
    /// # Errors
    /// Options that contradict each other; those of the system.
    pub fn create(
        storage: &dyn WriteStorage,
        db: &Path,
        options: &CreateOptions,
    ) -> crate::Result<()> {
        Ok(sapwood_fsfs::create::create(storage, db, options)?)
    }
}
/// Copying one.
pub mod hotcopy {
    pub use sapwood_fsfs::hotcopy::HotcopyOptions;
}
/// What replacing files needs.
pub mod maintenance {
    pub use sapwood_fsfs::maintenance::{Frozen, MaintenanceOptions};
}
/// Packing one.
pub mod pack {
    pub use sapwood_fsfs::pack::{DEFAULT_MEMORY, PackNotice, PackOptions};
}
/// Upgrading one.
pub mod upgrade {
    pub use sapwood_fsfs::upgrade::UpgradeNotice;
}

pub use create::CreateOptions;
pub use locks::mirror_locks;
pub use maintenance::MaintenanceOptions;
pub use sapwood_fsx::create::CreateOptions as FsxOptions;

#[allow(clippy::missing_errors_doc)]
impl Filesystem {
    /// Waits until no process changes the filesystem, and keeps it so. Readers go on.
    pub fn freeze(&self) -> Result<maintenance::Frozen> {
        Ok(self.fsfs()?.freeze()?)
    }

    /// Copies this filesystem to the folder `to` (a `db` folder, which must exist). `notify` is called with the first and the last of
    /// the revisions that were copied together.
    pub fn hotcopy(
        &self,
        to: &Path,
        options: &hotcopy::HotcopyOptions,
        cancel: &CancelToken,
        notify: &mut dyn FnMut(Revnum, Revnum) -> Result<()>,
    ) -> Result<()> {
        let mut notify = |first, last| Ok(notify(first, last)?);
        Ok(self.fsfs()?.hotcopy(to, options, cancel, &mut notify)?)
    }

    /// Packs the shards that are complete.
    pub fn pack(
        &self,
        options: &pack::PackOptions,
        cancel: &CancelToken,
        notify: &mut dyn FnMut(pack::PackNotice) -> Result<()>,
    ) -> Result<()> {
        let mut notify = |notice| Ok(notify(notice)?);
        Ok(self.fsfs()?.pack(options, cancel, &mut notify)?)
    }

    /// Brings it to the newest format.
    pub fn upgrade(
        &self,
        options: &MaintenanceOptions,
        cancel: &CancelToken,
        notify: &mut dyn FnMut(upgrade::UpgradeNotice) -> Result<()>,
    ) -> Result<()> {
        let mut notify = |notice| Ok(notify(notice)?);
        Ok(self.fsfs()?.upgrade(options, cancel, &mut notify)?)
    }

    /// Makes a filesystem usable again that a crash or a restored backup left in disorder.
    pub fn recover(&self, options: &MaintenanceOptions, cancel: &CancelToken) -> Result<()> {
        Ok(self.fsfs()?.recover(options, cancel)?)
    }

    /// Enters the representations of revisions into the cache of representations.
    pub fn build_rep_cache(
        &self,
        first: Revnum,
        last: Revnum,
        cancel: &CancelToken,
        progress: &mut dyn FnMut(Revnum) -> Result<()>,
    ) -> Result<()> {
        let mut progress = |revision| Ok(progress(revision)?);
        Ok(self.fsfs()?.build_rep_cache(first, last, cancel, &mut progress)?)
    }
}
