//! What is done to transactions on disk, of any process: they are removed, their properties are changed, their prototypes
//! are locked.

use std::io::ErrorKind;

use sapwood_core::{ErrorCode, SvnError};
use sapwood_fs_common::commit_info::change_txn_props;
use sapwood_fsx_format::layout::{Layout, names};
use sapwood_fsx_format::proplist;
use sapwood_store::HeldLock;

use super::Writer;
use super::disk::number_of;
use super::engine::TxnNumber;
use crate::error::{Error, Result};

impl Writer {
    /// Removes a transaction of any process; also one that is damaged, which the reference
    /// refuses.
    ///
    /// # Errors
    /// E160007 when there is none of that name; system errors.
    pub fn purge_txn(&self, name: &str) -> Result<()> {
        let number = number_of(name)?;
        let dir = self.fs.0.file(&Layout::txn_dir(number.0));
        let failed = |error: Error| {
            let sentence = format!("Transaction '{name}' cleanup failed");
            Error::Svn(SvnError::from(error).context(sentence))
        };
        match self.storage.stamp(&dir) {
            Ok(_) => self.remove_txn(number).map_err(failed),
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(Error::io("Can't check path", &dir, error))
            }
            // A process that was killed may have left its prototype.
            Err(_) if self.remove_proto(number).map_err(failed)? => Ok(()),
            Err(_) => Err(Error::NoSuchTransaction(name.to_owned())),
        }
    }

    /// Changes properties of a transaction on disk, one after the other; `None` deletes one.
    ///
    /// # Errors
    /// E160007 when there is no such transaction; corruption and system errors.
    pub fn change_txn_props(&self, name: &str, changes: &[(&str, Option<&[u8]>)]) -> Result<()> {
        let mut props = self.fs.txn_props(name)?;
        change_txn_props(&mut props, changes);
        let path = self.fs.txn_file(number_of(name)?, names::TXN_PROPS);
        let mut text = Vec::new();
        proplist::write(&props, &mut text);
        let done = self.storage.replace(&path, &text, None, false);
        done.map_err(|error| Error::io("Can't write to file", &path, error))
    }

    /// Removes a transaction's folder and what belongs to it elsewhere.
    pub(super) fn remove_txn(&self, number: TxnNumber) -> Result<()> {
        let dir = self.fs.0.file(&Layout::txn_dir(number.0));
        let listed = self.storage.list(&dir);
        for name in listed.map_err(|error| Error::io("Can't open directory", &dir, error))? {
            let path = dir.join(name);
            match self.storage.remove_file(&path) {
                // Another process removes it too.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                removed => {
                    removed.map_err(|error| Error::io("Can't remove file", &path, error))?;
                }
            }
        }
        let removed = self.storage.remove_dir(&dir);
        removed.map_err(|error| Error::io("Can't remove directory", &dir, error))?;
        self.remove_proto(number).map(drop)
    }

    /// Removes a prototype and its lock file: whether one of them was there.
    fn remove_proto(&self, number: TxnNumber) -> Result<bool> {
        let mut was_there = false;
        for name in [Layout::proto_rev(number.0), Layout::proto_rev_lock(number.0)] {
            let path = self.fs.0.file(&name);
            match self.storage.remove_file(&path) {
                // The commit moved it to its place.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                removed => {
                    removed.map_err(|error| Error::io("Can't remove file", &path, error))?;
                    was_there = true;
                }
            }
        }
        Ok(was_there)
    }

    /// Does not wait: the writer of a prototype keeps all others out.
    pub(super) fn lock_proto(&self, number: TxnNumber) -> Result<Box<dyn HeldLock>> {
        let path = self.fs.0.file(&Layout::proto_rev_lock(number.0));
        let fail = |error| Error::io("Can't get exclusive lock on file", &path, error);
        let locked = match self.storage.try_lock(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                self.storage.create_with(&path, b"").map_err(fail)?;
                self.storage.try_lock(&path)
            }
            locked => locked,
        };
        locked.map_err(fail)?.ok_or_else(|| {
            let message = format!(
                "Cannot write to the prototype revision file of transaction '{number}' because a \
                 previous representation is currently being written by another process"
            );
            Error::new(ErrorCode::FS_REP_BEING_WRITTEN, message)
        })
    }
}
