//! What changes a filesystem.

use std::fmt::Debug;
use std::io::Read;

use sapwood_core::{FsPath, Lock, Md5, Revnum, SvnError};
use sapwood_fs_common::TxnEdit;
use sapwood_fs_common::one_prop::change_one;

use super::Backend;
use crate::callbacks::ChangeProps;
use crate::error::{Error, Result};
use crate::locks::{LockOptions, LockOutcome, LockTarget, UnlockTarget};
use sapwood_fsfs::txn::{DeltaAhead, KnownText, NewRevision};

/// Writes to one filesystem.
pub(crate) trait Writer: Clone + Debug {
    type Fs: Backend<Writer = Self>;

    fn fs(&self) -> &Self::Fs;
    fn set_uuid(&self, uuid: &str) -> Result<Self>;
    fn begin(&self, base: Revnum) -> Result<TxnOf<Self>>;
    fn open_txn(&self, name: &str) -> Result<TxnOf<Self>>;
    fn purge_txn(&self, name: &str) -> Result<()>;
    fn change_txn_props(&self, name: &str, changes: &[(&str, Option<&[u8]>)]) -> Result<()>;
    fn change_revision_props(&self, revision: Revnum, change: &mut ChangeProps<'_>) -> Result<()>;
    fn lock_paths(&self, targets: &[LockTarget], options: &LockOptions<'_>) -> LockOutcome<Lock>;
    fn unlock_paths(
        &self,
        targets: &[UnlockTarget],
        user: Option<&str>,
        break_lock: bool,
    ) -> LockOutcome<()>;

    fn change_revision_prop(
        &self,
        revision: Revnum,
        name: &str,
        expected: Option<&[u8]>,
        value: Option<&[u8]>,
    ) -> Result<()> {
        self.change_revision_props(revision, &mut change_one(name, expected, value))
    }

    fn bulk(&self) -> Result<Option<<Self::Fs as Backend>::Bulk>> {
        Ok(None)
    }

    fn flush_reps(&self) {}

    fn take_error_after_commit(&self) -> Option<SvnError> {
        None
    }

    fn forget_younger_reps(&self, _youngest: Revnum) -> Result<()> {
        Ok(())
    }

    fn delta_ahead(&self, _path: Option<&FsPath>, _text: &[u8]) -> Option<DeltaAhead> {
        None
    }
}

/// The transactions of a writer.
pub(crate) type TxnOf<W> = <<W as Writer>::Fs as Backend>::Txn;

/// A transaction.
pub(crate) trait Txn: TxnEdit + Debug + Sized {
    type Fs: Backend<Txn = Self>;

    fn copy(
        &mut self,
        from: (&<Self::Fs as Backend>::Root, &FsPath),
        path: &FsPath,
        history: bool,
    ) -> Result<()>;
    fn set_text_of(
        &mut self,
        path: &FsPath,
        text: &mut dyn Read,
        known: Option<&KnownText>,
        expected: Option<Md5>,
    ) -> Result<()>;
    fn publish(&mut self) -> Result<()>;
    fn refresh(&mut self) -> Result<()>;
    fn suspend(self) -> Result<String>;
    fn abort(self) -> Result<()>;
    fn commit_for_props(self) -> Result<NewRevision>;
}

/// Many revisions one after the other.
pub(crate) trait Bulk: Debug {
    type Fs: Backend<Bulk = Self>;

    fn begin(&self) -> Result<<Self::Fs as Backend>::Txn>;
    fn failure(&self) -> Option<Error>;
    fn youngest(&self) -> Result<Revnum>;
    fn commit(&self, txn: <Self::Fs as Backend>::Txn) -> Result<Revnum>;
    fn published(&self) -> Revnum;
    fn sync(&self) -> Result<()>;
}
