//! `svnlook info`.

use sapwood_core::SvnResult;

use super::revprop_text::{print_author, print_date, print_log};
use super::{Context, no_argument};
use crate::command::{Invocation, Runner, Subcommand};

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "info",
    aliases: &[],
    help: "usage: svnlook info REPOS_PATH\n\n\
        Print author, date, the length of the log message, and the message.\n",
    options: super::SUBJECT,
    overrides: &[],
    run: Runner::Repository(run),
};

fn run(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    no_argument(invocation)?;
    let context = Context::open(invocation)?;
    print_author(invocation, &context)?;
    print_date(invocation, &context)?;
    print_log(invocation, &context, true)
}
