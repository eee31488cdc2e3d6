//! `svnadmin setrevprop`.

use sapwood_core::SvnResult;

use super::revprop;
use crate::command::{Invocation, Runner, Subcommand};

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "setrevprop",
    aliases: &[],
    help: "usage: 1. svnadmin setrevprop REPOS_PATH -r REVISION NAME FILE\n                   \
         2. svnadmin setrevprop REPOS_PATH -t TXN NAME FILE\n\n\
         Set a property of a revision (whose earlier value is kept nowhere) or of a\n\
         transaction to what stands in a file.\n",
    options: super::REVPROP_CHANGE,
    overrides: super::ONE_REVISION,
    run: Runner::Repository(run),
};

fn run(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    let args = invocation.take_args(2, 2)?;
    let [name, file] = args.as_slice() else { return Ok(()) };
    let target = revprop::target(&invocation.options)?;
    let value = revprop::value_in_file(file)?;
    let hooks = revprop::hooks(&invocation.options);
    revprop::change(invocation, &target, name, Some(&value), hooks)
}
