//! `svn add`.

use sapwood_core::Depth;

use super::Command;
use super::options::Opt;

pub(super) const COMMAND: Command = Command {
    name: "add",
    help: "Put new files and directories under version control.\n\
        usage: add PATH...\n",
    options: &[
        Opt::Targets,
        Opt::NonRecursive,
        Opt::Depth,
        Opt::Quiet,
        Opt::Force,
        Opt::NoIgnore,
        Opt::AutoProps,
        Opt::NoAutoProps,
        Opt::Parents,
    ],
    overrides: &[
        (Opt::NonRecursive, "old form of --depth=empty"),
        (Opt::Force, "leave alone what is versioned already"),
        (Opt::Parents, "add folders above too"),
    ],
    non_recursive: Depth::Empty,
    ..Command::DEFAULT
};
