//! `svnadmin lock`.

use sapwood_core::{ErrorCode, SvnError, SvnResult};
use sapwood_fs::LockTarget;
use sapwood_repos::{Hooks, LockRequest, lock_paths};

use super::revprop;
use crate::command::{Invocation, Runner, Subcommand, name};

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "lock",
    aliases: &[],
    help: "usage: svnadmin lock REPOS_PATH PATH USERNAME COMMENT-FILE [TOKEN]\n\n\
         Lock a path for a user, with the comment that stands in a file.\n",
    options: &[name::BYPASS_HOOKS, name::QUIET],
    overrides: &[],
    run: Runner::Repository(run),
};

fn run(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    let args = invocation.take_args(3, 4)?;
    let [target, user, file, token @ ..] = args.as_slice() else { return Ok(()) };
    let file = revprop::file_path(file)?;
    let repository = crate::repo::open(&invocation.repository, &invocation.options)?;
    let comment = String::from_utf8(revprop::file_contents(&file)?).map_err(|_| {
        SvnError::new(ErrorCode::XML_UNESCAPABLE_DATA, "Lock comment contains illegal characters")
    })?;
    let target = crate::repo::fs_path(target)?;
    let hooks = Hooks::without_environment(&repository);
    let request = LockRequest {
        repository: &repository,
        hooks: (!invocation.options.has(name::BYPASS_HOOKS)).then_some(&hooks),
        user: Some(user),
        comment: Some(&comment),
        steal: false,
        is_dav_comment: false,
        expires: None,
    };
    let lock = LockTarget { path: target.clone(), token: token.first().cloned(), revision: None };
    lock_paths(&request, vec![lock]).into_single()?;
    if invocation.options.has(name::QUIET) {
        return Ok(());
    }
    invocation.out.text(&format!("'{target}' locked by user '{user}'.\n"))
}
