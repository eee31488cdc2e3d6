//! Locks on paths that a commit changes: who commits must hold them.

use sapwood_core::{Depth, ErrorCode};
use sapwood_fsfs_format::ChangeKind;
use sapwood_fsfs_format::layout::names;

use super::Txn;
use crate::error::{Error, Result};
use crate::locks::Lock;

impl Txn {
    /// Says who commits, and which lock tokens they show. Without this a transaction that changes
    /// a locked path cannot be committed.
    pub fn set_access(&mut self, user: impl Into<String>, tokens: Vec<String>) {
        self.access = Some((user.into(), tokens));
    }

    /// Checks the locks on everything that the transaction changes: on a path itself, and for
    /// additions, deletions and replacements on everything below.
    pub(super) fn check_locks(&self) -> Result<()> {
        let fs = &self.writer.fs;
        let folder = fs.fs.file(names::LOCKS);
        match self.writer.storage.list(&folder) {
            Ok(files) if files.is_empty() => return Ok(()),
            Ok(_) => {}
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(e) => return Err(Error::io(e, "Can't read directory", &folder)),
        }
        for (path, change) in self.changes.iter() {
            if change.kind == ChangeKind::Modify {
                if let Some(lock) = fs.lock(path)? {
                    self.check_lock(&lock)?;
                }
            } else {
                for lock in fs.locks(path, Depth::Infinity)? {
                    self.check_lock(&lock)?;
                }
            }
        }
        Ok(())
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
