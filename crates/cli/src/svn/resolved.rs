//! `svn resolved`.

use sapwood_client::resolve::resolved;
use sapwood_core::{Depth, SvnResult};

use super::options::Opt;
use super::targets::check_local_names;
use super::usual::too_few;
use super::{Command, Invocation};
use crate::pegs::Part;

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
    let paths = inv.names(Part::Target, &targets)?;
    check_local_names(&paths)?;
    for path in &paths {
        if let Err(error) = resolved(&inv.ctx, path, depth) {
            inv.out.warn(&error);
        }
    }
    Ok(())
}
