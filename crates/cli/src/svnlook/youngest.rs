//! `svnlook youngest`.

use sapwood_core::SvnResult;

use super::{Context, no_argument};
use crate::command::{Invocation, Runner, Subcommand, name};

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "youngest",
    aliases: &[],
    help: "usage: svnlook youngest REPOS_PATH\n\nPrint the number of the youngest revision.\n",
    options: &[name::NO_NEWLINE],
    overrides: &[],
    run: Runner::Repository(run),
};

fn run(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    no_argument(invocation)?;
    let youngest = Context::open(invocation)?.fs().youngest()?;
    let end = if invocation.options.has(name::NO_NEWLINE) { "" } else { "\n" };
    invocation.out.text(&format!("{youngest}{end}"))
}
