//! Locks on paths that a commit changes: the committer must hold them.

use sapwood_core::{ChangeKind, Depth, ErrorCode, FsPath, Lock};

use super::Txn;
use crate::error::{Error, Result};

impl Txn {
    /// Checks the locks on everything that the transaction changes: on a path itself, and for
    /// additions, deletions and replacements on everything below.
    pub(super) fn check_locks(&self) -> Result<()> {
        if !self.writer.fs.may_have_locks()? {
            return Ok(());
        }
        for (path, change) in self.tree.changes.iter() {
            self.check_locks_at(path, change.kind != ChangeKind::Modify)?;
        }
        Ok(())
    }

    /// Checks the locks on a path, and with `below` on everything below it: a caller that checks before
    /// each change hears early of what the commit would refuse.
    ///
    /// # Errors
    /// E160034, E160039 or E160037 when a lock is in the way; corruption and system errors.
    pub fn check_locks_at(&self, path: &FsPath, below: bool) -> Result<()> {
        let fs = &self.writer.fs;
        if below {
            fs.locks(path, Depth::Infinity)?.iter().try_for_each(|lock| self.check_lock(lock))
        } else {
            fs.lock(path)?.map_or(Ok(()), |lock| self.check_lock(&lock))
        }
    }

    fn check_lock(&self, lock: &Lock) -> Result<()> {
        let path = &lock.path;
        let (code, message) = match &self.access {
            None => (
                ErrorCode::FS_NO_USER,
                format!("Cannot verify lock on path '{path}'; no username available"),
            ),
            Some((user, _)) if *user != lock.owner => (
                ErrorCode::FS_LOCK_OWNER_MISMATCH,
                format!(
                    "User '{user}' does not own lock on path '{path}' (currently locked by '{}')",
                    lock.owner
                ),
            ),
            Some((_, tokens)) if !tokens.contains(&lock.token) => (
                ErrorCode::FS_BAD_LOCK_TOKEN,
                format!("Cannot verify lock on path '{path}'; no matching lock-token available"),
            ),
            Some(_) => return Ok(()),
        };
        Err(Error::new(code, message))
    }
}
