//! `svnadmin rmlocks`.

use std::collections::HashMap;

use sapwood_core::SvnResult;
use sapwood_core::paths::FsPathBuf;
use sapwood_fs::UnlockTarget;
use sapwood_repos::{Repository, UnlockRequest, unlock_paths};

use crate::command::{Invocation, Runner, Subcommand, name, usage_error};
use crate::report;

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "rmlocks",
    aliases: &[],
    help: "usage: svnadmin rmlocks REPOS_PATH LOCKED_PATH...\n\nRemove locks, whoever has them.\n",
    options: &[name::QUIET],
    overrides: &[],
    run: Runner::Repository(run),
};

/// `svnadmin rmlocks`. A path that cannot be unlocked is reported, and the rest is unlocked all the same.
///
/// All at once: the list of a directory's locks is written again each time that some are taken out of it.
fn run(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    let repository = crate::repo::open(&invocation.repository, &invocation.options)?;
    let args = invocation.take_args(0, usize::MAX)?;
    if args.is_empty() {
        let message = "No paths to unlock provided";
        return Err(usage_error(message));
    }
    let targets: Vec<FsPathBuf> =
        args.iter().map(|arg| crate::repo::fs_path(arg)).collect::<SvnResult<_>>()?;
    let mut removed = remove(&repository, &targets);
    for target in &targets {
        // A path that is named again is not locked any more.
        let line = match removed.each.remove(target).unwrap_or(RemoveResult::NotLocked) {
            RemoveResult::Yes => format!("Removed lock on '{target}'.\n"),
            RemoveResult::NotLocked => format!("Path '{target}' isn't locked.\n"),
            failed => {
                let error = match &failed {
                    RemoveResult::Refused(error) => Some(error),
                    _ => removed.failure.as_ref(),
                };
                invocation.out.flush()?;
                error.into_iter().for_each(|error| report::error(error, "svnadmin: "));
                continue;
            }
        };
        if !invocation.options.has(name::QUIET) {
            invocation.out.text(&line)?;
        }
    }
    Ok(())
}

/// The outcome for the lock on a path.
enum RemoveResult {
    Yes,
    NotLocked,
    Refused(sapwood_core::SvnError),
    /// For the reason that holds for all.
    Failed,
}

/// The outcomes for all paths, and the errors of those that could not be tried.
struct Outcome {
    each: HashMap<FsPathBuf, RemoveResult>,
    failure: Option<sapwood_core::SvnError>,
}

/// Breaks the locks on paths, where there are any, and asks no hooks.
fn remove(repository: &Repository, targets: &[FsPathBuf]) -> Outcome {
    let mut each = HashMap::with_capacity(targets.len());
    let mut locked = Vec::new();
    for target in targets {
        let found = match repository.fs().lock(target) {
            Ok(None) => RemoveResult::NotLocked,
            Ok(Some(_)) => RemoveResult::Failed,
            Err(error) => RemoveResult::Refused(error.into()),
        };
        let tried = matches!(found, RemoveResult::Failed);
        if each.insert(target.clone(), found).is_none() && tried {
            locked.push(UnlockTarget { path: target.clone(), token: String::new() });
        }
    }
    // A user must be named, whose name goes nowhere.
    let user = Some("administrator");
    let request = UnlockRequest { repository, hooks: None, user, break_lock: true };
    let done = unlock_paths(&request, locked);
    for (path, result) in done.each {
        let became = result.map_or_else(RemoveResult::Refused, |()| RemoveResult::Yes);
        each.insert(path, became);
    }
    Outcome { each, failure: done.failure }
}
