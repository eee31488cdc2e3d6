//! Locks on paths that a commit changes: the committer must hold them.
//!
//! Invariant: without a user and the token of each lock in the way, nothing that is locked is changed.

use sapwood_core::{ChangeKind, Depth, ErrorCode, FsPath, Lock, SvnError, SvnResult as Result};

use crate::locks::LockFiles;

/// The user that commits, and the lock tokens that are shown.
#[derive(Clone, Debug)]
pub struct LockAccess {
    user: String,
    tokens: Vec<String>,
}

impl LockAccess {
    /// What `user` shows.
    #[must_use]
    pub fn new(user: impl Into<String>, tokens: Vec<String>) -> Self {
        Self { user: user.into(), tokens }
    }
}

impl LockFiles<'_> {
    /// Checks the locks on everything that a transaction changes: on a path itself, and for additions, deletions and
    /// replacements on everything below.
    ///
    /// # Errors
    /// As of [`LockFiles::check`].
    pub(crate) fn check_changes<'c>(
        &self,
        access: Option<&LockAccess>,
        changes: impl IntoIterator<Item = (&'c FsPath, ChangeKind)>,
    ) -> Result<()> {
        if !self.may_have_locks()? {
            return Ok(());
        }
        changes
            .into_iter()
            .try_for_each(|(path, kind)| self.check(access, path, kind != ChangeKind::Modify))
    }

    /// Checks the locks on a path, and with `below` on everything below it.
    ///
    /// # Errors
    /// E160034, E160039 or E160037 when a lock is in the way; corruption and system errors.
    pub fn check(&self, access: Option<&LockAccess>, path: &FsPath, below: bool) -> Result<()> {
        if below {
            self.locks(path, Depth::Infinity)?.iter().try_for_each(|lock| check_lock(access, lock))
        } else {
            self.lock(path)?.map_or(Ok(()), |lock| check_lock(access, &lock))
        }
    }
}

fn check_lock(access: Option<&LockAccess>, lock: &Lock) -> Result<()> {
    let path = &lock.path;
    let (code, message) = match access {
        None => (
            ErrorCode::FS_NO_USER,
            format!("Cannot verify lock on path '{path}'; no username available"),
        ),
        Some(LockAccess { user, .. }) if *user != lock.owner => (
            ErrorCode::FS_LOCK_OWNER_MISMATCH,
            format!(
                "User '{user}' does not own lock on path '{path}' (currently locked by '{}')",
                lock.owner
            ),
        ),
        Some(LockAccess { tokens, .. }) if !tokens.contains(&lock.token) => (
            ErrorCode::FS_BAD_LOCK_TOKEN,
            format!("Cannot verify lock on path '{path}'; no matching lock-token available"),
        ),
        Some(_) => return Ok(()),
    };
    Err(SvnError::new(code, message))
}
