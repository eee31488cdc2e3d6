//! `svn commit`.

use sapwood_core::Depth;

use super::Command;
use super::options::Opt;

pub(super) const COMMAND: Command = Command {
    name: "commit",
    aliases: &["ci"],
    help: "Send changes from your working copy to the repository.\n\
        usage: commit [PATH...]\n",
    options: &[
        Opt::Quiet,
        Opt::NonRecursive,
        Opt::Depth,
        Opt::Targets,
        Opt::NoUnlock,
        Opt::Message,
        Opt::File,
        Opt::ForceLog,
        Opt::EditorCmd,
        Opt::Encoding,
        Opt::WithRevprop,
        Opt::Changelist,
        Opt::KeepChangelists,
        Opt::IncludeExternals,
    ],
    overrides: &[(Opt::NonRecursive, "old form of --depth=empty")],
    non_recursive: Depth::Empty,
    ..Command::DEFAULT
};
