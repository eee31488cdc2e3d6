//! `svnadmin setlog`.

use sapwood_core::SvnResult;
use sapwood_core::props::names;
use sapwood_repos::RevpropHooks;

use super::revprop::{self, Target};
use crate::command::{Invocation, Runner, Subcommand, name};

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "setlog",
    aliases: &[],
    help: "usage: svnadmin setlog REPOS_PATH -r REVISION FILE\n\n\
         Set the log message of a revision to what stands in a file.  The earlier one\n\
         is kept nowhere.\n",
    options: &[name::REVISION, name::BYPASS_HOOKS],
    overrides: super::ONE_REVISION,
    run: Runner::Repository(run),
};

fn run(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    let args = invocation.take_args(1, 1)?;
    let revision = revprop::revision(&invocation.options)?;
    let run = !invocation.options.has(name::BYPASS_HOOKS);
    let hooks = RevpropHooks { pre: run, post: run };
    let value = revprop::value_in_file(args.first().map_or("", String::as_str))?;
    revprop::change(invocation, &Target::Revision(revision), names::LOG, Some(&value), hooks)
}
