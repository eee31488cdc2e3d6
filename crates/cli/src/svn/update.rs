//! `svn update`.

use super::Command;
use super::options::Opt;

pub(super) const COMMAND: Command = Command {
    name: "update",
    aliases: &["up"],
    help: "Bring changes from the repository into the working copy.\n\
        usage: update [PATH...]\n",
    options: &[
        Opt::Revision,
        Opt::NonRecursive,
        Opt::Depth,
        Opt::SetDepth,
        Opt::Quiet,
        Opt::Diff3Cmd,
        Opt::Force,
        Opt::IgnoreExternals,
        Opt::Changelist,
        Opt::EditorCmd,
        Opt::Accept,
        Opt::Parents,
        Opt::AddsAsModification,
    ],
    overrides: &[
        (Opt::NonRecursive, "old form of --depth=files"),
        (Opt::Force, "unversioned files in the way become local changes"),
    ],
    ..Command::DEFAULT
};
