//! `svn upgrade`.

use super::Command;
use super::options::Opt;

pub(super) const COMMAND: Command = Command {
    name: "upgrade",
    help: "Upgrade the metadata storage format for a working copy.\n\
        usage: upgrade [WCPATH...]\n",
    options: &[Opt::Quiet],
    ..Command::DEFAULT
};
