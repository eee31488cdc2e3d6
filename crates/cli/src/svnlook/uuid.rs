//! `svnlook uuid`.

use sapwood_core::SvnResult;

use super::{Context, no_argument};
use crate::command::{Invocation, Runner, Subcommand};

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "uuid",
    aliases: &[],
    help: "usage: svnlook uuid REPOS_PATH\n\nPrint the repository's UUID.\n",
    options: &[],
    overrides: &[],
    run: Runner::Repository(run),
};

fn run(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    no_argument(invocation)?;
    let uuid = Context::open(invocation)?.fs().uuid()?;
    invocation.out.text(&format!("{uuid}\n"))
}
