//! `svnlook log`.

use sapwood_core::SvnResult;

use super::revprop_text::print_log;
use super::{Context, no_argument};
use crate::command::{Invocation, Runner, Subcommand};

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "log",
    aliases: &[],
    help: "usage: svnlook log REPOS_PATH\n\nPrint the log message.\n",
    options: super::SUBJECT,
    overrides: &[],
    run: Runner::Repository(run),
};

fn run(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    no_argument(invocation)?;
    let context = Context::open(invocation)?;
    print_log(invocation, &context, false)
}
