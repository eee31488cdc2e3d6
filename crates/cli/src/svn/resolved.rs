//! `svn resolved`.

use sapwood_client::resolve::resolved;
use sapwood_core::{Depth, SvnResult};

use super::options::Opt;
use super::targets::check_local;
use super::usual::too_few;
use super::{Command, Invocation};

pub(super) const COMMAND: Command = Command {
    name: "resolved",
    help: "Remove 'conflicted' state on working copy files or directories.\n\
        usage: resolved PATH...\n\
        \n  \
        An older way to say 'svn resolve --accept working PATH...': conflicts of each PATH are settled on what\n  \
        is there now, marks of conflicts that are left in the text too.\n",
    options: &[Opt::Targets, Opt::Recursive, Opt::Depth, Opt::Quiet],
    run,
    ..Command::DEFAULT
};

fn run(inv: &mut Invocation) -> SvnResult<()> {
    let targets = inv.targets()?;
    if targets.is_empty() {
        return Err(too_few());
    }
    let depth = inv.opt.depth_or(Depth::Empty);
    for target in &targets {
        check_local(&target.path)?;
        if let Err(error) = resolved(&inv.ctx, target.without_peg()?, depth) {
            inv.out.warn(&error);
        }
    }
    Ok(())
}
