//! What writes to a filesystem: see [`crate::txn`].

use std::sync::Arc;

use sapwood_core::{FsPath, Lock, PropList, Revnum, SvnError, SvnResult};

use crate::backend::{self, Backend};
use crate::error::Result;
use crate::filesystem::Filesystem;
use crate::locks::{LockOptions, LockOutcome, LockTarget, UnlockTarget};
use crate::of::{each, of};
use crate::txn::{DeltaAhead, Txn, WriteOptions};

/// Writes to one filesystem.
#[derive(Debug)]
pub struct Writer {
    fs: Filesystem,
    of: of!(Writer),
}

/// What makes the new properties of a revision out of those it has; `None` leaves them.
pub type ChangeProps<'a> = dyn FnMut(&PropList) -> SvnResult<Option<PropList>> + 'a;

#[allow(clippy::missing_errors_doc)]
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

    /// Begins a transaction on a revision.
    pub fn begin(self: &Arc<Self>, base: Revnum) -> Result<Txn> {
        Ok(self.txn(each!(&self.of, writer, wrap => wrap(backend::Writer::begin(writer, base)?))))
    }

    /// Opens a transaction on disk; E160007 when there is none of that name.
    pub fn open_txn(self: &Arc<Self>, name: &str) -> Result<Txn> {
        Ok(self
            .txn(each!(&self.of, writer, wrap => wrap(backend::Writer::open_txn(writer, name)?))))
    }

    /// That of its engine.
    pub(crate) const fn engine(&self) -> &of!(Writer) {
        &self.of
    }

    pub(crate) fn txn(self: &Arc<Self>, of: of!(Txn)) -> Txn {
        Txn { writer: Arc::clone(self), of }
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
