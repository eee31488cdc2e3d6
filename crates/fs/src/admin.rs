//! What administrators do with a filesystem: make it, copy it, pack it, upgrade it. Checking is a method of
//! [`Filesystem`].

use std::path::{Path, PathBuf};

use sapwood_core::{CancelToken, Revnum};

use crate::backend::Admin;
use crate::error::Result;
use crate::filesystem::{Filesystem, other_engine};
use crate::locks;
use crate::of::each;

/// Makes the folder `root` for the repository that is in the store at an address: what this machine needs to use it.
///
/// # Errors
/// E200011 when there is something in the folder; those of the store and the system.
pub fn attach(root: &Path, address: &str) -> Result<()> {
    Ok(sapwood_fsfs::stored_folder::attach(root, address)?)
}

/// The folder for the repository at an address among those that a user keeps: the one that is there, else a new one.
///
/// # Errors
/// As [`attach`].
pub fn attach_in(folders: &Path, address: &str) -> Result<PathBuf> {
    Ok(sapwood_fsfs::stored_folder::attach_in(folders, address)?)
}

pub use sapwood_fsfs::stored_folder::finish as finish_stores;

/// Brings what was changed in the folder of a repository that is in a store (hooks, configuration) to the store: the paths.
///
/// # Errors
/// E200007 where it is in none; those of the store and the system.
pub fn push_files(fs: &Filesystem) -> Result<Vec<String>> {
    match fs.fsfs() {
        Some(fs) => Ok(fs.push_files()?),
        None => Err(other_engine()),
    }
}

/// Making a filesystem.
pub mod create {
    use std::path::Path;

    pub use sapwood_fsfs::create::{CreateOptions, DEFAULT_SHARD_SIZE};
    pub use sapwood_fsx::create::CreateOptions as FsxOptions;
    use sapwood_store::WriteStorage;

    /// What to make.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum NewFilesystem {
        /// One of FSFS.
        Fsfs(CreateOptions),
        /// One of FSX.
        Fsx(FsxOptions),
    }

    impl NewFilesystem {
        /// An FSX filesystem with the defaults.
        #[must_use]
        pub fn fsx() -> Self {
            Self::Fsx(FsxOptions::default())
        }
    }

    /// Makes the folder `db` and an empty filesystem in it.
    ///
    /// # Errors
    /// Options that contradict each other; those of the system.
    pub fn create(
        storage: &dyn WriteStorage,
        db: &Path,
        options: &NewFilesystem,
    ) -> crate::Result<()> {
        match options {
            NewFilesystem::Fsfs(options) => sapwood_fsfs::create::create(storage, db, options)?,
            NewFilesystem::Fsx(options) => sapwood_fsx::create::create(storage, db, options)?,
        }
        Ok(())
    }
}
/// Copying one.
pub mod hotcopy {
    pub use sapwood_fsfs::hotcopy::HotcopyOptions;
}
/// What replacing files needs.
pub mod maintenance {
    pub use sapwood_fsfs::maintenance::MaintenanceOptions;

    use crate::of::of;

    /// While this is there, nothing changes the filesystem.
    #[derive(Debug)]
    pub struct Frozen {
        pub(super) _of: of!(Frozen),
    }
}
/// Packing one.
pub mod pack {
    pub use sapwood_fsfs::pack::{DEFAULT_MEMORY, PackNotice, PackOptions};
}
/// Upgrading one.
pub mod upgrade {
    pub use sapwood_fsfs::upgrade::UpgradeNotice;
}

pub use create::{CreateOptions, FsxOptions, NewFilesystem};
pub use locks::mirror_locks;
pub use maintenance::MaintenanceOptions;

#[allow(clippy::missing_errors_doc, reason = "each fails as its engine does: `Error` says how")]
impl Filesystem {
    /// Waits until no process changes the filesystem, and keeps it so. Readers go on.
    pub fn freeze(&self) -> Result<maintenance::Frozen> {
        Ok(maintenance::Frozen { _of: each!(&self.0, fs, wrap => wrap(Admin::freeze(fs)?)) })
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
        each!(&self.0, fs => Admin::hotcopy(fs, to, options, cancel, notify))
    }

    /// Packs the shards that are complete.
    pub fn pack(
        &self,
        options: &pack::PackOptions,
        cancel: &CancelToken,
        notify: &mut dyn FnMut(pack::PackNotice) -> Result<()>,
    ) -> Result<()> {
        each!(&self.0, fs => Admin::pack(fs, options, cancel, notify))
    }

    /// Brings it to the newest format.
    pub fn upgrade(
        &self,
        options: &MaintenanceOptions,
        cancel: &CancelToken,
        notify: &mut dyn FnMut(upgrade::UpgradeNotice) -> Result<()>,
    ) -> Result<()> {
        each!(&self.0, fs => Admin::upgrade(fs, options, cancel, notify))
    }

    /// Makes a filesystem usable again that a crash or a restored backup left in disorder.
    pub fn recover(&self, options: &MaintenanceOptions, cancel: &CancelToken) -> Result<()> {
        each!(&self.0, fs => Admin::recover(fs, options, cancel))
    }

    /// Enters the representations of revisions into the cache of representations.
    pub fn build_rep_cache(
        &self,
        first: Revnum,
        last: Revnum,
        cancel: &CancelToken,
        progress: &mut dyn FnMut(Revnum) -> Result<()>,
    ) -> Result<()> {
        each!(&self.0, fs => Admin::build_rep_cache(fs, (first, last), cancel, progress))
    }
}
