//! `svn upgrade`.

use sapwood_client::upgrade::upgrade;
use sapwood_core::SvnResult;

use super::options::Opt;
use super::targets::check_local_names;
use super::{Command, Invocation};
use crate::pegs::Part;

pub(super) const COMMAND: Command = Command {
    name: "upgrade",
    help: "Upgrade the metadata storage format for a working copy.\n\
        usage: upgrade [WCPATH...]\n\
        \n  \
        Bring each WCPATH, the root of a working copy that an older svn made, to the form of this\n  \
        one. Local changes stay. Programs as old as the one that made it cannot use it any more.\n",
    options: &[Opt::Quiet, Opt::CompatibleVersion],
    run,
    ..Command::DEFAULT
};

fn run(inv: &mut Invocation) -> SvnResult<()> {
    let targets = inv.targets_or_here()?;
    let paths = inv.names(Part::Target, &targets)?;
    check_local_names(&paths)?;
    for path in &paths {
        upgrade(&inv.ctx, path, inv.opt.format)?;
    }
    Ok(())
}
