//! `svnadmin unlock`.

use sapwood_core::SvnResult;
use sapwood_fs::UnlockTarget;
use sapwood_repos::{Hooks, UnlockRequest, unlock_paths};

use crate::command::{Invocation, Runner, Subcommand, name};

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "unlock",
    aliases: &[],
    help: "usage: svnadmin unlock REPOS_PATH LOCKED_PATH USERNAME TOKEN\n\n\
         Remove a user's lock, given its token.\n",
    options: &[name::BYPASS_HOOKS, name::QUIET],
    overrides: &[],
    run: Runner::Repository(run),
};

fn run(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    let args = invocation.take_args(3, 3)?;
    let [target, user, token] = args.as_slice() else { return Ok(()) };
    let repository = crate::repo::open(&invocation.repository, &invocation.options)?;
    let target = crate::repo::fs_path(target)?;
    let hooks = Hooks::without_environment(&repository);
    let request = UnlockRequest {
        repository: &repository,
        hooks: (!invocation.options.has(name::BYPASS_HOOKS)).then_some(&hooks),
        user: Some(user),
        break_lock: false,
    };
    let lock = UnlockTarget { path: target.clone(), token: token.clone() };
    unlock_paths(&request, vec![lock]).into_single()?;
    if invocation.options.has(name::QUIET) {
        return Ok(());
    }
    invocation.out.text(&format!("'{target}' unlocked by user '{user}'.\n"))
}
