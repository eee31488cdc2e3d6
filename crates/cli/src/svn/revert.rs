//! `svn revert`.

use sapwood_core::Depth;

use super::Command;
use super::options::Opt;

pub(super) const COMMAND: Command = Command {
    name: "revert",
    help: "Restore pristine working copy state (undo local changes).\n\
        usage: revert PATH...\n",
    options: &[
        Opt::Targets,
        Opt::Recursive,
        Opt::Depth,
        Opt::Quiet,
        Opt::Changelist,
        Opt::RemoveAdded,
    ],
    non_recursive: Depth::Empty,
    ..Command::DEFAULT
};
