//! `svnlook lock`.

use sapwood_core::SvnResult;
use sapwood_core::paths::FsPathBuf;

use super::{Context, one_argument};
use crate::command::{Invocation, Runner, Subcommand};

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "lock",
    aliases: &[],
    help: "usage: svnlook lock REPOS_PATH PATH_IN_REPOS\n\n\
        Describe the lock on a path, if there is one.\n",
    options: &[],
    overrides: &[],
    run: Runner::Repository(run),
};

fn run(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    let arg = one_argument(invocation)?;
    let context = Context::open(invocation)?;
    if let Some(lock) = context.fs().lock(&FsPathBuf::canonicalize(&arg))? {
        invocation.out.text(&crate::svnadmin::lslocks::describe(&lock))?;
    }
    Ok(())
}
