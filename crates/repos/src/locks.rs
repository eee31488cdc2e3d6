//! Locking and unlocking paths, with the hooks that run before and after.

use sapwood_core::FsPath;
use sapwood_core::Lock;
use sapwood_core::paths::FsPathBuf;
use sapwood_core::{ErrorCode, SvnError, SvnResult};
use sapwood_fs::txn::{WriteOptions, Writer};
use sapwood_fs::{LockOptions, LockOutcome, LockTarget, UnlockTarget};

use crate::hooks::Hooks;
use crate::repository::Repository;

/// The parameters for locking paths.
#[derive(Clone, Copy, Debug)]
pub struct LockRequest<'a> {
    /// The repository.
    pub repository: &'a Repository,
    /// Its hooks; `None` to run none.
    pub hooks: Option<&'a Hooks>,
    /// The user.
    pub user: Option<&'a str>,
    /// The comment.
    pub comment: Option<&'a str>,
    /// Whether to steal locks of other users.
    pub steal: bool,
    /// Whether the comment is XML of a DAV client.
    pub is_dav_comment: bool,
    /// When the locks expire, in microseconds since 1970; `None` for never.
    pub expires: Option<i64>,
}

/// The parameters for unlocking paths.
#[derive(Clone, Copy, Debug)]
pub struct UnlockRequest<'a> {
    /// The repository.
    pub repository: &'a Repository,
    /// Its hooks; `None` to run none.
    pub hooks: Option<&'a Hooks>,
    /// The user.
    pub user: Option<&'a str>,
    /// Whether to break locks, whatever their tokens and owners.
    pub break_lock: bool,
}

/// The outcome for paths that were to be locked or unlocked.
#[derive(Debug)]
pub struct LockResults<T> {
    /// One result for each path, in no particular order.
    pub each: Vec<(FsPathBuf, SvnResult<T>)>,
    /// The error of the whole request; some paths may have succeeded nevertheless.
    pub failure: Option<SvnError>,
}

impl<T> LockResults<T> {
    const fn failed(failure: SvnError) -> Self {
        Self { each: Vec::new(), failure: Some(failure) }
    }

    /// Records what the filesystem did, and calls `post_hook` with the paths that succeeded.
    fn finish(
        &mut self,
        done: LockOutcome<T>,
        post_hook: impl FnOnce(&[&FsPath]) -> Option<SvnError>,
    ) {
        self.failure = done.failure.map(SvnError::from);
        let changed: Vec<&FsPath> =
            done.each.iter().filter(|(_, r)| r.is_ok()).map(|(path, _)| path.as_path()).collect();
        let hook_error = if changed.is_empty() { None } else { post_hook(&changed) };
        self.failure = match (self.failure.take(), hook_error) {
            (Some(failure), Some(hook_error)) => Some(failure.with_cause(hook_error)),
            (failure, hook_error) => failure.or(hook_error),
        };
        self.each.extend(done.each.into_iter().map(|(path, r)| (path, r.map_err(SvnError::from))));
    }

    /// The result of a request for one path.
    ///
    /// # Errors
    /// The error of the path or of the request.
    pub fn into_single(mut self) -> SvnResult<Option<T>> {
        match (self.failure, self.each.pop()) {
            (Some(failure), Some((_, Err(error)))) => Err(failure.with_cause(error)),
            (Some(failure), _) => Err(failure),
            (None, Some((_, result))) => result.map(Some),
            (None, None) => Ok(None),
        }
    }
}

fn writer(repository: &Repository) -> SvnResult<std::sync::Arc<Writer>> {
    Ok(Writer::new(repository.fs(), WriteOptions::default())?)
}

/// Locks paths: those that `pre-lock` allows, with the tokens that it returns. `post-lock` gets
/// the paths that were locked.
///
/// Errors of a path: those of [`Writer::lock_paths`] and of `pre-lock`. Errors of the request: E160034
/// without a user, E165008 when `post-lock` fails, and system errors.
#[must_use]
pub fn lock_paths(request: &LockRequest<'_>, targets: Vec<LockTarget>) -> LockResults<Lock> {
    let LockRequest { repository, hooks, user, comment, steal, is_dav_comment, expires } = *request;
    let mut results = LockResults { each: Vec::new(), failure: None };
    if targets.is_empty() {
        return results;
    }
    let Some(user) = user else {
        return LockResults::failed(SvnError::new(
            ErrorCode::FS_NO_USER,
            "Cannot lock path, no authenticated username available.",
        ));
    };
    let mut allowed = Vec::with_capacity(targets.len());
    for mut target in targets {
        let asked = hooks.map_or(Ok(None), |h| h.pre_lock(&target.path, user, comment, steal));
        match asked {
            Ok(token) => {
                target.token = token.or(target.token);
                allowed.push(target);
            }
            Err(error) => results.each.push((target.path, Err(error))),
        }
    }
    if allowed.is_empty() {
        return results;
    }
    let writer = match writer(repository) {
        Ok(writer) => writer,
        Err(error) => return LockResults { failure: Some(error), ..results },
    };
    let options = LockOptions { user, comment, is_dav_comment, expires, steal };
    results.finish(writer.lock_paths(&allowed, &options), |locked| {
        let error = hooks?.post_lock(locked, user).err()?;
        Some(error.wrap(
            ErrorCode::REPOS_POST_LOCK_HOOK_FAILED,
            "Locking succeeded, but post-lock hook failed",
        ))
    });
    results
}

/// Unlocks paths: those that `pre-unlock` allows. `post-unlock` gets the paths that were unlocked.
///
/// Errors of a path: those of [`Writer::unlock_paths`] and of `pre-unlock`. Errors of the request: E160034
/// without a user, E165009 when `post-unlock` fails, and system errors.
#[must_use]
pub fn unlock_paths(request: &UnlockRequest<'_>, targets: Vec<UnlockTarget>) -> LockResults<()> {
    let UnlockRequest { repository, hooks, user, break_lock } = *request;
    let mut results = LockResults { each: Vec::new(), failure: None };
    if targets.is_empty() {
        return results;
    }
    if user.is_none() && !break_lock {
        return LockResults::failed(SvnError::new(
            ErrorCode::FS_NO_USER,
            "Cannot unlock, no authenticated username available",
        ));
    }
    let mut allowed = Vec::with_capacity(targets.len());
    for target in targets {
        let asked = hooks.map_or(Ok(()), |hooks| {
            hooks.pre_unlock(&target.path, user, &target.token, break_lock)
        });
        match asked {
            Ok(()) => allowed.push(target),
            Err(error) => results.each.push((target.path, Err(error))),
        }
    }
    if allowed.is_empty() {
        return results;
    }
    let writer = match writer(repository) {
        Ok(writer) => writer,
        Err(error) => return LockResults { failure: Some(error), ..results },
    };
    results.finish(writer.unlock_paths(&allowed, user, break_lock), |unlocked| {
        let error = hooks?.post_unlock(unlocked, user).err()?;
        Some(error.wrap(
            ErrorCode::REPOS_POST_UNLOCK_HOOK_FAILED,
            "Unlock succeeded, but post-unlock hook failed",
        ))
    });
    results
}
