//! Locks of paths.

use sapwood_core::{Lock, Revnum, SvnResult};
use sapwood_fs::{LockTarget, UnlockTarget};
use sapwood_repos::locks::{LockRequest, LockResults, UnlockRequest, lock_paths, unlock_paths};

use super::FileSession;
use crate::session::Told;

/// Tells the outcome of each of `names` (relpath and fspath), in their order.
fn tell<T>(results: LockResults<T>, names: &[(&str, String)], told: Told<'_, T>) -> SvnResult<()> {
    for (path, result) in results.each {
        let name = names.iter().find(|(_, full)| *full == path).map(|(name, _)| *name);
        told(name.unwrap_or(&path), result)?;
    }
    results.failure.map_or(Ok(()), Err)
}

impl FileSession {
    pub(super) fn lock_many(
        &self,
        paths: &[(String, Option<Revnum>)],
        comment: Option<&str>,
        steal: bool,
        told: Told<'_, Lock>,
    ) -> SvnResult<()> {
        let names: Vec<(&str, String)> =
            paths.iter().map(|(path, _)| (path.as_str(), self.at(path))).collect();
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
        tell(lock_paths(&request, targets.collect()), &names, told)
    }

    pub(super) fn unlock_many(
        &self,
        paths: &[(String, Option<String>)],
        break_lock: bool,
        told: Told<'_, ()>,
    ) -> SvnResult<()> {
        let names: Vec<(&str, String)> =
            paths.iter().map(|(path, _)| (path.as_str(), self.at(path))).collect();
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
        tell(unlock_paths(&request, targets.collect()), &names, told)
    }
}
