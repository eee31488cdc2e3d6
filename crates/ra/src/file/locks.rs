//! Locks of paths.

use sapwood_core::paths::{FsPathBuf, RelPath, RelPathBuf};
use sapwood_core::{Lock, Revnum, SvnError, SvnResult};
use sapwood_fs::{LockTarget, UnlockTarget};
use sapwood_repos::locks::{LockRequest, LockResults, UnlockRequest, lock_paths, unlock_paths};

use super::FileSession;
use crate::session::LockReceiver;

/// Reports the outcome of each of `names`, in their order.
fn notify<T>(
    results: LockResults<T>,
    names: &[(&RelPath, FsPathBuf)],
    receiver: LockReceiver<'_, T>,
) -> SvnResult<()> {
    for (path, result) in results.each {
        let name = names.iter().find(|(_, full)| *full == *path).map(|(name, _)| *name);
        let name =
            name.ok_or_else(|| SvnError::internal("an outcome is of no path that was asked for"))?;
        receiver(name, result)?;
    }
    results.failure.map_or(Ok(()), Err)
}

impl FileSession {
    pub(super) fn lock_many(
        &self,
        paths: &[(RelPathBuf, Option<Revnum>)],
        comment: Option<&str>,
        steal: bool,
        receiver: LockReceiver<'_, Lock>,
    ) -> SvnResult<()> {
        let names: Vec<(&RelPath, FsPathBuf)> =
            paths.iter().map(|(path, _)| (path.as_path(), self.at(path))).collect();
        let targets = paths.iter().map(|(path, revision)| LockTarget {
            path: self.at(path),
            revision: *revision,
            token: None,
        });
        let hooks = self.hooks();
        let request = LockRequest {
            repository: &self.repository,
            hooks: Some(&hooks),
            user: self.user(),
            comment,
            steal,
            is_dav_comment: false,
            expires: None,
        };
        notify(lock_paths(&request, targets.collect()), &names, receiver)
    }

    pub(super) fn unlock_many(
        &self,
        paths: &[(RelPathBuf, Option<String>)],
        break_lock: bool,
        receiver: LockReceiver<'_, ()>,
    ) -> SvnResult<()> {
        let names: Vec<(&RelPath, FsPathBuf)> =
            paths.iter().map(|(path, _)| (path.as_path(), self.at(path))).collect();
        let targets = paths.iter().map(|(path, token)| UnlockTarget {
            path: self.at(path),
            // Without one the lock is broken.
            token: token.clone().unwrap_or_default(),
        });
        let hooks = self.hooks();
        let request = UnlockRequest {
            repository: &self.repository,
            hooks: Some(&hooks),
            user: self.user(),
            break_lock,
        };
        notify(unlock_paths(&request, targets.collect()), &names, receiver)
    }
}
