//! `svnlook author`.

use sapwood_core::SvnResult;

use super::revprop_text::print_author;
use super::{Context, no_argument};
use crate::command::{Invocation, Runner, Subcommand};

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "author",
    aliases: &[],
    help: "usage: svnlook author REPOS_PATH\n\nPrint who made the revision.\n",
    options: super::SUBJECT,
    overrides: &[],
    run: Runner::Repository(run),
};

fn run(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    no_argument(invocation)?;
    let context = Context::open(invocation)?;
    print_author(invocation, &context)
}
