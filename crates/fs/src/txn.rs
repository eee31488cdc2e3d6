//! Changing a tree, and making a revision of it.

use std::io::Read;
use std::sync::Arc;

use sapwood_core::{FsPath, Lock, Md5, NodeKind, PropList, Revnum, SvnError, SvnResult};
use sapwood_delta::TextDelta;
use sapwood_fsfs::txn as fsfs;
pub use sapwood_fsfs::txn::{DeltaAhead, KnownText, NewRevision, WriteConfig, WriteOptions, flags};
use sapwood_fsx::txn as fsx;

pub use crate::bulk::Bulk;
use crate::error::{Error, Result};
use crate::filesystem::Filesystem;
use crate::locks::{LockOptions, LockOutcome, LockTarget, UnlockTarget};
use crate::of::{Of, each};
use crate::root::Root;

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

/// A transaction.
#[derive(Debug)]
pub struct Txn {
    writer: Arc<Writer>,
    pub(crate) of: Of<fsfs::Txn, fsx::Txn>,
}

#[allow(clippy::missing_errors_doc)]
impl Txn {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> String {
        each!(&self.of, txn => txn.name())
    }

    /// The writer that it belongs to.
    #[must_use]
    pub const fn writer(&self) -> &Arc<Writer> {
        &self.writer
    }

    /// The revision that it is based on.
    #[must_use]
    pub const fn base_revision(&self) -> Revnum {
        each!(&self.of, txn => txn.base_revision())
    }

    /// The properties that its revision will have.
    #[must_use]
    pub const fn props(&self) -> &PropList {
        each!(&self.of, txn => txn.props())
    }

    /// The same, to be changed.
    pub const fn props_mut(&mut self) -> &mut PropList {
        each!(&mut self.of, txn => txn.props_mut())
    }

    /// Sets whether the commit leaves `svn:date` as it is.
    pub const fn keep_date(&mut self, keep: bool) {
        each!(&mut self.of, txn => txn.keep_date(keep));
    }

    /// Sets who commits, and the lock tokens that are given.
    pub fn set_access(&mut self, user: impl Into<String>, tokens: Vec<String>) {
        each!(&mut self.of, txn => txn.set_access(user, tokens));
    }

    /// Checks the locks at a path, and with `below` under it.
    pub fn check_locks_at(&self, path: &FsPath, below: bool) -> Result<()> {
        each!(&self.of, txn => Ok(txn.check_locks_at(path, below)?))
    }

    /// What a path leads to.
    pub fn kind(&self, path: &FsPath) -> Result<Option<NodeKind>> {
        each!(&self.of, txn => Ok(txn.kind(path)?))
    }

    /// The properties of a node.
    pub fn node_props(&self, path: &FsPath) -> Result<PropList> {
        each!(&self.of, txn => Ok(txn.node_props(path)?))
    }

    /// The MD5 of a file's text.
    pub fn file_md5(&self, path: &FsPath) -> Result<Md5> {
        each!(&self.of, txn => Ok(txn.file_md5(path)?))
    }

    /// The revision that made the node at a path; `None` when this transaction did.
    pub fn node_revision(&self, path: &FsPath) -> Result<Option<Revnum>> {
        each!(&self.of, txn => Ok(txn.node_revision(path)?))
    }

    /// Makes a directory.
    pub fn make_dir(&mut self, path: &FsPath) -> Result<()> {
        each!(&mut self.of, txn => Ok(txn.make_dir(path)?))
    }

    /// Makes an empty file.
    pub fn make_file(&mut self, path: &FsPath) -> Result<()> {
        each!(&mut self.of, txn => Ok(txn.make_file(path)?))
    }

    /// Deletes a node with all below it.
    pub fn delete(&mut self, path: &FsPath) -> Result<()> {
        each!(&mut self.of, txn => Ok(txn.delete(path)?))
    }

    /// Copies a node of a revision, with `history` as such.
    pub fn copy(
        &mut self,
        from: &Root,
        from_path: &FsPath,
        path: &FsPath,
        history: bool,
    ) -> Result<()> {
        match (&mut self.of, &from.of) {
            (Of::Fsfs(txn), Of::Fsfs(from)) => txn.copy(from, from_path, path, history)?,
            (Of::Fsx(txn), Of::Fsx(from)) => {
                let revision = from
                    .revision()
                    .ok_or_else(|| Error::Svn(SvnError::internal("a copy from a transaction")))?;
                txn.copy((revision, from_path), path, history)?;
            }
            _ => return Err(crate::filesystem::other_engine()),
        }
        Ok(())
    }

    /// Changes a property of a node; `None` removes it.
    pub fn change_prop(&mut self, path: &FsPath, name: &str, value: Option<&[u8]>) -> Result<()> {
        each!(&mut self.of, txn => Ok(txn.change_prop(path, name, value)?))
    }

    /// Makes a node count as changed.
    pub fn touch(&mut self, path: &FsPath, prop_mod: bool) -> Result<()> {
        each!(&mut self.of, txn => Ok(txn.touch(path, prop_mod)?))
    }

    /// Sets a file's text, which must have the MD5 `expected`.
    pub fn set_text(
        &mut self,
        path: &FsPath,
        text: &mut dyn Read,
        expected: Option<Md5>,
    ) -> Result<()> {
        each!(&mut self.of, txn => Ok(txn.set_text(path, text, expected)?))
    }

    /// The same of a text of which something is known.
    pub fn set_known_text(
        &mut self,
        path: &FsPath,
        text: &mut dyn Read,
        known: Option<&KnownText>,
        expected: Option<Md5>,
    ) -> Result<()> {
        match &mut self.of {
            Of::Fsfs(txn) => txn.set_known_text(path, text, known, expected)?,
            Of::Fsx(txn) => {
                let known = known.map(|known| (known.md5, known.sha1));
                txn.set_known_text(path, text, known, expected)?;
            }
        }
        Ok(())
    }

    /// Changes a file's text, which must have the MD5 `base`, by a delta to one that must have the MD5 `expected`.
    pub fn apply_delta(
        &mut self,
        path: &FsPath,
        base: Option<Md5>,
        delta: &mut dyn TextDelta,
        expected: Option<Md5>,
    ) -> Result<()> {
        each!(&mut self.of, txn => Ok(txn.apply_delta(path, base, delta, expected)?))
    }

    /// Writes it to disk, where other programs see it.
    pub fn publish(&mut self) -> Result<()> {
        each!(&mut self.of, txn => Ok(txn.publish()?))
    }

    /// Reads again what other programs may have changed on disk.
    pub fn refresh(&mut self) -> Result<()> {
        each!(&mut self.of, txn => Ok(txn.refresh()?))
    }

    /// Leaves it on disk: its name.
    pub fn suspend(self) -> Result<String> {
        each!(self.of, txn => Ok(txn.suspend()?))
    }

    /// Removes it.
    pub fn abort(self) -> Result<()> {
        each!(self.of, txn => Ok(txn.abort()?))
    }

    /// Makes a revision of it.
    pub fn commit(self) -> Result<Revnum> {
        each!(self.of, txn => Ok(txn.commit()?))
    }

    /// The same, and the properties of the new revision.
    pub fn commit_for_props(self) -> Result<NewRevision> {
        match self.of {
            Of::Fsfs(txn) => Ok(txn.commit_for_props()?),
            Of::Fsx(txn) => {
                let fsx::NewRevision { revision, props } = txn.commit_for_props()?;
                Ok(NewRevision { revision, props })
            }
        }
    }
}
