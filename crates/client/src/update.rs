//! `svn update`: brings working copies to a revision.

use std::path::{Path, PathBuf};

use sapwood_core::notify::{Action, Notify};
use sapwood_core::{ErrorCode, Exact as _, Revnum, SvnError, SvnResult};
use sapwood_wc::locks::Lock;

use crate::context::Context;
use crate::externals::update_one;
use crate::tree::lock_anchor;
pub use crate::tree::update::Update;

/// A lock that targets in a row share, which lie in one directory.
struct SharedLock {
    lock: Lock,
    parent: PathBuf,
}

/// The lock to hold while a target is updated: that of the target before, or one that the next target needs too. What
/// locks a target alone finds it locked by itself.
fn lock_with_next(
    ctx: &Context,
    held: Option<SharedLock>,
    abspath: &Path,
    next: Option<&PathBuf>,
) -> SvnResult<Option<SharedLock>> {
    let Some(parent) = abspath.parent() else { return Ok(None) };
    match held {
        Some(held) if held.parent == parent => return Ok(Some(held)),
        Some(held) => held.lock.release()?,
        None => {}
    }
    if next.and_then(|next| next.parent()) != Some(parent) {
        return Ok(None);
    }
    // What cannot be locked is for the update itself to report.
    let Ok((wc, relpath)) = ctx.working_copy(abspath) else { return Ok(None) };
    let Ok((lock, _)) = lock_anchor(&wc, &relpath, true) else { return Ok(None) };
    let is_parents = wc.abspath(lock.relpath()) == parent;
    Ok(is_parents.then(|| SharedLock { lock, parent: parent.to_owned() }))
}

/// Updates paths. Returns the revision that each came to; `None` where it was skipped.
///
/// # Errors
/// E155007 when none of the paths is in a working copy.
pub fn update(ctx: &Context, targets: &[&str], how: &Update) -> SvnResult<Vec<Option<Revnum>>> {
    let mut reached = Vec::new();
    let mut found = false;
    let mut changed = false;
    let mut session = None;
    let paths: Vec<PathBuf> = targets.iter().map(|target| ctx.absolute(target)).collect();
    let mut shared = None;
    for (at, (target, abspath)) in targets.iter().zip(&paths).enumerate() {
        ctx.check_cancel()?;
        shared = lock_with_next(ctx, shared, abspath, paths.get(at.plus(1)))?;
        match update_one(ctx, abspath, how, true, &mut session) {
            Ok(revision) => {
                found = true;
                changed |= revision.is_some();
                reached.push(revision);
            }
            Err(error) if error.is_no_working_copy() => {
                reached.push(None);
                ctx.notify(&Notify::new(Action::Skip, target));
            }
            Err(error) => {
                ctx.wait_for_clock();
                return Err(error);
            }
        }
    }
    if let Some(held) = shared {
        held.lock.release()?;
    }
    if changed {
        ctx.wait_for_clock();
    }
    if !found {
        return Err(SvnError::new(
            ErrorCode::WC_NOT_WORKING_COPY,
            "None of the targets are working copies",
        ));
    }
    Ok(reached)
}
