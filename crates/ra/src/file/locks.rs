//! Locks of paths.

use std::collections::HashMap;

use sapwood_core::paths::{FsPathBuf, RelPath, RelPathBuf};
use sapwood_core::{Depth, Lock, Revnum, SvnError, SvnResult};
use sapwood_fs::{LockTarget, UnlockTarget};
use sapwood_repos::locks::{LockRequest, LockResults, UnlockRequest, lock_paths, unlock_paths};

use super::FileSession;
use crate::session::{LockReceiver, Locks};

/// The paths that were asked for, by their paths in the repository: a search of the list for each outcome would grow
/// with the square.
type Names<'a> = HashMap<FsPathBuf, &'a RelPath>;

/// Reports the outcome of each of `names`, in the order of the results.
fn notify<T>(
    results: LockResults<T>,
    names: &Names<'_>,
    receiver: LockReceiver<'_, T>,
) -> SvnResult<()> {
    for (path, result) in results.each {
        let name = names
            .get(&path)
            .ok_or_else(|| SvnError::internal("an outcome is of no path that was asked for"))?;
        receiver(name, result)?;
    }
    results.failure.map_or(Ok(()), Err)
}

impl Locks for FileSession {
    fn get_lock(&self, path: &RelPath) -> SvnResult<Option<Lock>> {
        Ok(self.fs().lock(&self.at(path))?)
    }

    fn get_locks(&self, path: &RelPath, depth: Depth) -> SvnResult<Vec<Lock>> {
        Ok(self.fs().locks(&self.at(path), depth)?)
    }

    fn lock(
        &self,
        paths: &[(RelPathBuf, Option<Revnum>)],
        comment: Option<&str>,
        steal: bool,
        receiver: LockReceiver<'_, Lock>,
    ) -> SvnResult<()> {
        let names: Names<'_> =
            paths.iter().map(|(path, _)| (self.at(path), path.as_path())).collect();
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

    fn unlock(
        &self,
        paths: &[(RelPathBuf, Option<String>)],
        break_lock: bool,
        receiver: LockReceiver<'_, ()>,
    ) -> SvnResult<()> {
        let names: Names<'_> =
            paths.iter().map(|(path, _)| (self.at(path), path.as_path())).collect();
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
