//! `svnadmin rmlocks`.

use sapwood_core::{SvnResult, path};
use sapwood_fs::UnlockTarget;
use sapwood_repos::{Repository, UnlockRequest, unlock_paths};

use crate::command::{Invocation, usage_error};
use crate::report;

/// `svnadmin rmlocks`. What cannot be unlocked is told, and the rest is unlocked all the same.
pub(super) fn run(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    let repository = crate::repo::open(&invocation.repository, &invocation.options)?;
    let args = invocation.take_args(0, usize::MAX)?;
    if args.is_empty() {
        let message = "No paths to unlock provided";
        return Err(usage_error(message));
    }
    for arg in &args {
        let target = path::canonical_fspath(arg);
        let told = match remove(&repository, &target) {
            Ok(true) => format!("Removed lock on '{target}'.\n"),
            Ok(false) => format!("Path '{target}' isn't locked.\n"),
            Err(error) => {
                invocation.out.flush()?;
                report::error(&error, "svnadmin: ");
                continue;
            }
        };
        if !invocation.options.has("quiet") {
            invocation.out.text(&told)?;
        }
    }
    Ok(())
}

/// Breaks the lock on a path, if there is one, and asks no hooks.
fn remove(repository: &Repository, target: &str) -> SvnResult<bool> {
    if repository.fs().lock(target)?.is_none() {
        return Ok(false);
    }
    // Somebody must be named, whose name goes nowhere.
    let user = Some("administrator");
    let request = UnlockRequest { repository, hooks: None, user, break_lock: true };
    let lock = UnlockTarget { path: target.to_owned(), token: String::new() };
    unlock_paths(&request, vec![lock]).into_single()?;
    Ok(true)
}
