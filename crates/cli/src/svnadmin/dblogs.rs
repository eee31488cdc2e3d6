//! `svnadmin list-dblogs` and `list-unused-dblogs`: FSFS has no log files, so the lists are empty.

use sapwood_core::SvnResult;

use crate::command::{Invocation, Runner, Subcommand};

pub(super) const UNUSED_COMMAND: Subcommand = Subcommand {
    name: "list-unused-dblogs",
    aliases: &[],
    help: "usage: svnadmin list-unused-dblogs REPOS_PATH\n\n\
     [Berkeley DB] List log files that are not needed any more.\n",
    options: &[],
    overrides: &[],
    run: Runner::Repository(run),
};

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "list-dblogs",
    aliases: &[],
    help: "usage: svnadmin list-dblogs REPOS_PATH\n\n[Berkeley DB] List all log files.\n",
    options: &[],
    overrides: &[],
    run: Runner::Repository(run),
};

/// Both subcommands.
fn run(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    invocation.take_args(0, 0)?;
    crate::repo::open(&invocation.repository, &invocation.options).map(drop)
}
