//! `svnlook filesize`.

use sapwood_core::SvnResult;

use super::{Context, existing_file, one_argument};
use crate::command::{Invocation, Runner, Subcommand};

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "filesize",
    aliases: &[],
    help: "usage: svnlook filesize REPOS_PATH PATH_IN_REPOS\n\n\
        Print how many bytes are in a file, as the repository has it.\n",
    options: super::SUBJECT,
    overrides: &[],
    run: Runner::Repository(run),
};

fn run(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    let arg = one_argument(invocation)?;
    let context = Context::open(invocation)?;
    let length = existing_file(&context.root()?, &arg)?.length()?;
    invocation.out.text(&format!("{length}\n"))
}
