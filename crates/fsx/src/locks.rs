//! Locks on paths: how they are kept is in [`sapwood_fs_common::locks`].

use sapwood_core::{FsPath, Lock, NodeKind, Revnum};
use sapwood_fs_common::lock_paths::{self, LockHost};
pub use sapwood_fs_common::lock_paths::{LockOptions, LockTarget, UnlockTarget};
use sapwood_fs_common::locks::LockFiles;
use sapwood_fsx_format::layout::names;
use sapwood_store::{HeldLock, WriteStorage};

use crate::error::{Error, Result};
use crate::filesystem::Filesystem;
use crate::tree::Root;
use crate::txn::Writer;

/// What became of several paths.
pub type LockOutcome<T> = lock_paths::LockOutcome<T, Error>;

impl Filesystem {
    /// The files that keep its locks.
    #[must_use]
    pub fn lock_files(&self) -> LockFiles<'_> {
        LockFiles { storage: &*self.0.storage, db: &self.0.db }
    }
}

impl Writer {
    /// Locks paths: [`lock_paths::lock`].
    #[must_use]
    pub fn lock_paths(
        &self,
        targets: &[LockTarget],
        options: &LockOptions<'_>,
    ) -> LockOutcome<Lock> {
        lock_paths::lock(self, targets, options)
    }

    /// Unlocks paths: [`lock_paths::unlock`].
    #[must_use]
    pub fn unlock_paths(
        &self,
        targets: &[UnlockTarget],
        user: Option<&str>,
        break_lock: bool,
    ) -> LockOutcome<()> {
        lock_paths::unlock(self, targets, user, break_lock)
    }
}

impl LockHost for Writer {
    type Error = Error;
    type Head = Root;

    fn storage(&self) -> &dyn WriteStorage {
        &*self.storage
    }

    fn files(&self) -> LockFiles<'_> {
        self.fs.lock_files()
    }

    fn uuid(&self) -> &str {
        self.fs.uuid()
    }

    fn is_synced(&self) -> bool {
        self.flush
    }

    fn write_lock(&self) -> Result<Box<dyn HeldLock>> {
        self.lock(names::WRITE_LOCK)
    }

    fn head(&self) -> Result<(Revnum, Root)> {
        let youngest = self.fs.youngest()?;
        Ok((youngest, self.fs.revision_root(youngest)?))
    }

    fn node(&self, head: &Root, path: &FsPath) -> Result<Option<(NodeKind, Option<Revnum>)>> {
        Ok(head.find(path)?.map(|node| (node.kind(), node.created_rev())))
    }

    fn no_such_revision(revision: Revnum) -> Error {
        Error::NoSuchRevision(revision)
    }

    fn permissions(&self) -> Result<u32> {
        self.mode_of(Revnum::ZERO)
    }
}
