//! Locks on paths that a commit changes: the committer must hold them.

use sapwood_core::FsPath;
use sapwood_fs_common::LockAccess;

use super::Txn;
use crate::error::Result;

impl Txn {
    /// Names the user that commits, and the lock tokens that are shown. Without this a transaction that changes
    /// a locked path cannot be committed.
    pub fn set_access(&mut self, user: impl Into<String>, tokens: Vec<String>) {
        self.access = Some(LockAccess::new(user, tokens));
    }

    /// Checks the locks on everything that the transaction changes.
    pub(super) fn check_locks(&self) -> Result<()> {
        let changes = self.tree.changes.iter().map(|(path, change)| (path, change.kind));
        Ok(self.writer.fs.lock_files().check_changes(self.access.as_ref(), changes)?)
    }

    /// Checks the locks on a path, and with `below` on everything below it: a caller that checks before
    /// each change hears early of what the commit would refuse.
    ///
    /// # Errors
    /// E160034, E160039 or E160037 when a lock is in the way; corruption and system errors.
    pub fn check_locks_at(&self, path: &FsPath, below: bool) -> Result<()> {
        Ok(self.writer.fs.lock_files().check(self.access.as_ref(), path, below)?)
    }
}
