//! What writes to a filesystem: see [`crate::txn`].

use std::sync::Arc;

use sapwood_core::{FsPath, Lock, PropList, Revnum, SvnError, SvnResult};
use sapwood_fsfs::txn as fsfs;
use sapwood_fsx::txn as fsx;

use crate::error::Result;
use crate::filesystem::Filesystem;
use crate::locks::{LockOptions, LockOutcome, LockTarget, UnlockTarget};
use crate::of::{Of, each};
use crate::txn::{DeltaAhead, Txn, WriteOptions};

/// Writes to one filesystem.
#[derive(Debug)]
pub struct Writer {
    fs: Filesystem,
    of: Of<Arc<fsfs::Writer>, Arc<fsx::Writer>>,
}

/// What makes the new properties of a revision out of those it has; `None` leaves them.
pub type ChangeProps<'a> = dyn FnMut(&PropList) -> SvnResult<Option<PropList>> + 'a;

#[allow(clippy::missing_errors_doc)]
impl Writer {
    /// A writer to a filesystem. Fails for wrong options in its configuration.
    pub fn new(fs: &Filesystem, options: WriteOptions) -> Result<Arc<Self>> {
        Ok(Self::of(match &fs.0 {
            Of::Fsfs(fs) => Of::Fsfs(fsfs::Writer::new(fs, options)?),
            Of::Fsx(fs) => {
                let WriteOptions { flush_to_disk, numbers_at_once, .. } = options;
                let options = fsx::WriteOptions { flush_to_disk, numbers_at_once };
                Of::Fsx(fsx::Writer::new(fs, options)?)
            }
        }))
    }

    fn of(of: Of<Arc<fsfs::Writer>, Arc<fsx::Writer>>) -> Arc<Self> {
        let fs = match &of {
            Of::Fsfs(writer) => Of::Fsfs(writer.fs().clone()),
            Of::Fsx(writer) => Of::Fsx(writer.fs().clone()),
        };
        Arc::new(Self { fs: Filesystem(fs), of })
    }

    /// The filesystem.
    #[must_use]
    pub const fn fs(&self) -> &Filesystem {
        &self.fs
    }

    /// Gives the repository another UUID, and opens it again.
    pub fn set_uuid(&self, uuid: &str) -> Result<Arc<Self>> {
        Ok(Self::of(match &self.of {
            Of::Fsfs(writer) => Of::Fsfs(writer.set_uuid(uuid)?),
            Of::Fsx(writer) => Of::Fsx(writer.set_uuid(uuid)?),
        }))
    }

    /// Begins a transaction on a revision.
    pub fn begin(self: &Arc<Self>, base: Revnum) -> Result<Txn> {
        Ok(self.txn(match &self.of {
            Of::Fsfs(writer) => Of::Fsfs(writer.begin(base)?),
            Of::Fsx(writer) => Of::Fsx(writer.begin(base)?),
        }))
    }

    /// Opens a transaction on disk; E160007 when there is none of that name.
    pub fn open_txn(self: &Arc<Self>, name: &str) -> Result<Txn> {
        Ok(self.txn(match &self.of {
            Of::Fsfs(writer) => Of::Fsfs(writer.open_txn(name)?),
            Of::Fsx(writer) => Of::Fsx(writer.open_txn(name)?),
        }))
    }

    /// That of its engine.
    pub(crate) const fn engine(&self) -> &Of<Arc<fsfs::Writer>, Arc<fsx::Writer>> {
        &self.of
    }

    pub(crate) fn txn(self: &Arc<Self>, of: Of<fsfs::Txn, fsx::Txn>) -> Txn {
        Txn { writer: Arc::clone(self), of }
    }

    /// Removes a transaction and all that belongs to it.
    pub fn purge_txn(&self, name: &str) -> Result<()> {
        each!(&self.of, writer => Ok(writer.purge_txn(name)?))
    }

    /// Changes properties of a transaction on disk; `None` removes one.
    pub fn change_txn_props(&self, name: &str, changes: &[(&str, Option<&[u8]>)]) -> Result<()> {
        each!(&self.of, writer => Ok(writer.change_txn_props(name, changes)?))
    }

    /// Changes properties of a revision, which `change` makes of those it has.
    pub fn change_revision_props(
        &self,
        revision: Revnum,
        change: &mut ChangeProps<'_>,
    ) -> Result<()> {
        each!(&self.of, writer => Ok(writer.change_revision_props(revision, change)?))
    }

    /// Changes one property of a revision; with `expected`, only if that is its value.
    pub fn change_revision_prop(
        &self,
        revision: Revnum,
        name: &str,
        expected: Option<&[u8]>,
        value: Option<&[u8]>,
    ) -> Result<()> {
        each!(&self.of, writer => Ok(writer.change_revision_prop(revision, name, expected, value)?))
    }

    /// Locks paths.
    pub fn lock_paths(
        &self,
        targets: &[LockTarget],
        options: &LockOptions<'_>,
    ) -> LockOutcome<Lock> {
        each!(&self.of, writer => writer.lock_paths(targets, options).into())
    }

    /// Unlocks paths.
    pub fn unlock_paths(
        &self,
        targets: &[UnlockTarget],
        user: Option<&str>,
        break_lock: bool,
    ) -> LockOutcome<()> {
        each!(&self.of, writer => writer.unlock_paths(targets, user, break_lock).into())
    }

    /// Writes what was collected for the cache of representations.
    pub fn flush_reps(&self) {
        if let Of::Fsfs(writer) = &self.of {
            writer.flush_reps();
        }
    }

    /// What went wrong after a commit that stands, once.
    #[must_use]
    pub fn take_error_after_commit(&self) -> Option<SvnError> {
        each!(&self.of, writer => writer.take_error_after_commit())
    }

    /// Forgets representations of revisions younger than `youngest`.
    pub fn forget_younger_reps(&self, youngest: Revnum) -> Result<()> {
        each!(&self.of, writer => Ok(writer.forget_younger_reps(youngest)?))
    }

    /// Guesses how `text` will be stored when it becomes the next text of the file at `path`, or
    /// of a new file. `None` when there is nothing to be guessed from.
    #[must_use]
    pub fn delta_ahead(&self, path: Option<&FsPath>, text: &[u8]) -> Option<DeltaAhead> {
        match &self.of {
            Of::Fsfs(writer) => writer.delta_ahead(path, text),
            Of::Fsx(_) => None,
        }
    }
}
