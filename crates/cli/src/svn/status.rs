//! `svn status`.

use sapwood_core::Depth;

use super::Command;
use super::options::Opt;

pub(super) const COMMAND: Command = Command {
    name: "status",
    aliases: &["stat", "st"],
    help: "Print the status of working copy files and directories.\n\
        usage: status [PATH...]\n",
    options: &[
        Opt::ShowUpdates,
        Opt::Verbose,
        Opt::NonRecursive,
        Opt::Depth,
        Opt::Revision,
        Opt::Quiet,
        Opt::NoIgnore,
        Opt::Incremental,
        Opt::Xml,
        Opt::IgnoreExternals,
        Opt::Changelist,
    ],
    overrides: &[
        (Opt::NonRecursive, "old form of --depth=immediates"),
        (Opt::Quiet, "leave unversioned files out"),
    ],
    non_recursive: Depth::Immediates,
    ..Command::DEFAULT
};
