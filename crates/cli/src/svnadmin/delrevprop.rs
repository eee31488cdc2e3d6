//! `svnadmin delrevprop`.

use sapwood_core::SvnResult;

use super::revprop;
use crate::command::{Invocation, Runner, Subcommand};

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "delrevprop",
    aliases: &[],
    help: "usage: 1. svnadmin delrevprop REPOS_PATH -r REVISION NAME\n                   \
         2. svnadmin delrevprop REPOS_PATH -t TXN NAME\n\n\
         Delete a property of a revision (which cannot be undone: its earlier value is\n\
         kept nowhere) or of a transaction.\n",
    options: super::REVPROP_CHANGE,
    overrides: super::ONE_REVISION,
    run: Runner::Repository(run),
};

fn run(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    let args = invocation.take_args(1, 1)?;
    let name = args.first().map_or("", String::as_str);
    let target = revprop::target(&invocation.options)?;
    let hooks = revprop::hooks(&invocation.options);
    revprop::change(invocation, &target, name, None, hooks)
}
