//! What writes to a filesystem: see [`crate::txn`].

use std::sync::Arc;

use sapwood_core::{FsPath, Lock, Revnum, SvnError};

use crate::backend::{self, Backend};
use crate::callbacks::ChangeProps;
use crate::error::Result;
use crate::filesystem::Filesystem;
use crate::locks::{LockOptions, LockOutcome, LockTarget, UnlockTarget};
use crate::of::{each, of};
use sapwood_fsfs::txn::{DeltaAhead, WriteOptions};

/// Writes to one filesystem.
#[derive(Debug)]
pub struct Writer {
    fs: Filesystem,
    of: of!(Writer),
}

#[allow(clippy::missing_errors_doc, reason = "each fails as its engine does: `Error` says how")]
impl Writer {
    /// A writer to a filesystem. Fails for wrong options in its configuration.
    pub fn new(fs: &Filesystem, options: WriteOptions) -> Result<Arc<Self>> {
        Ok(Self::of(each!(&fs.0, fs, wrap => wrap(Backend::writer(fs, options)?))))
    }

    fn of(of: of!(Writer)) -> Arc<Self> {
        let fs = each!(&of, writer, wrap => wrap(backend::Writer::fs(writer).clone()));
        Arc::new(Self { fs: Filesystem(fs), of })
    }

    /// The filesystem.
    #[must_use]
    pub const fn fs(&self) -> &Filesystem {
        &self.fs
    }

    /// Gives the repository another UUID, and opens it again.
    pub fn set_uuid(&self, uuid: &str) -> Result<Arc<Self>> {
        Ok(Self::of(
            each!(&self.of, writer, wrap => wrap(backend::Writer::set_uuid(writer, uuid)?)),
        ))
    }

    /// That of its engine.
    pub(crate) const fn engine(&self) -> &of!(Writer) {
        &self.of
    }

    /// Removes a transaction and all that belongs to it.
    pub fn purge_txn(&self, name: &str) -> Result<()> {
        each!(&self.of, writer => backend::Writer::purge_txn(writer, name))
    }

    /// Changes properties of a transaction on disk; `None` removes one.
    pub fn change_txn_props(&self, name: &str, changes: &[(&str, Option<&[u8]>)]) -> Result<()> {
        each!(&self.of, writer => backend::Writer::change_txn_props(writer, name, changes))
    }

    /// Changes properties of a revision, which `change` makes of those it has.
    pub fn change_revision_props(
        &self,
        revision: Revnum,
        change: &mut ChangeProps<'_>,
    ) -> Result<()> {
        each!(&self.of, writer => backend::Writer::change_revision_props(writer, revision, change))
    }

    /// Changes one property of a revision; with `expected`, only if that is its value.
    pub fn change_revision_prop(
        &self,
        revision: Revnum,
        name: &str,
        expected: Option<&[u8]>,
        value: Option<&[u8]>,
    ) -> Result<()> {
        each!(&self.of, writer => backend::Writer::change_revision_prop(writer, revision, name, expected, value))
    }

    /// Locks paths.
    pub fn lock_paths(
        &self,
        targets: &[LockTarget],
        options: &LockOptions<'_>,
    ) -> LockOutcome<Lock> {
        each!(&self.of, writer => backend::Writer::lock_paths(writer, targets, options))
    }

    /// Unlocks paths.
    pub fn unlock_paths(
        &self,
        targets: &[UnlockTarget],
        user: Option<&str>,
        break_lock: bool,
    ) -> LockOutcome<()> {
        each!(&self.of, writer => backend::Writer::unlock_paths(writer, targets, user, break_lock))
    }

    /// Writes what was collected for the cache of representations.
    pub fn flush_reps(&self) {
        each!(&self.of, writer => backend::Writer::flush_reps(writer));
    }

    /// What went wrong after a commit that stands, once.
    #[must_use]
    pub fn take_error_after_commit(&self) -> Option<SvnError> {
        each!(&self.of, writer => backend::Writer::take_error_after_commit(writer))
    }

    /// Forgets representations of revisions younger than `youngest`.
    pub fn forget_younger_reps(&self, youngest: Revnum) -> Result<()> {
        each!(&self.of, writer => backend::Writer::forget_younger_reps(writer, youngest))
    }

    /// Guesses how `text` will be stored when it becomes the next text of the file at `path`, or
    /// of a new file. `None` when there is nothing to be guessed from.
    #[must_use]
    pub fn delta_ahead(&self, path: Option<&FsPath>, text: &[u8]) -> Option<DeltaAhead> {
        each!(&self.of, writer => backend::Writer::delta_ahead(writer, path, text))
    }
}
