//! `svnlook date`.

use sapwood_core::SvnResult;

use super::revprop_text::print_date;
use super::{Context, no_argument};
use crate::command::{Invocation, Runner, Subcommand};

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "date",
    aliases: &[],
    help: "usage: svnlook date REPOS_PATH\n\nPrint when the revision was made.\n",
    options: super::SUBJECT,
    overrides: &[],
    run: Runner::Repository(run),
};

fn run(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    no_argument(invocation)?;
    let context = Context::open(invocation)?;
    print_date(invocation, &context)
}
