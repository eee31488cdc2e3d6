//! `svn resolved`.

use super::Command;
use super::options::Opt;

pub(super) const COMMAND: Command = Command {
    name: "resolved",
    help: "Remove 'conflicted' state on working copy files or directories.\n\
        usage: resolved PATH...\n",
    options: &[Opt::Targets, Opt::Recursive, Opt::Depth, Opt::Quiet],
    ..Command::DEFAULT
};
