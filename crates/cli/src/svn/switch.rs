//! `svn switch`.

use super::Command;
use super::options::Opt;

pub(super) const COMMAND: Command = Command {
    name: "switch",
    aliases: &["sw"],
    help: "Update the working copy to a different URL within the same\n\
        repository.\n\
        usage: 1. switch URL[@PEGREV] [PATH]\n       \
        2. switch --relocate FROM-PREFIX TO-PREFIX [PATH...]\n",
    options: &[
        Opt::Revision,
        Opt::NonRecursive,
        Opt::Depth,
        Opt::SetDepth,
        Opt::Quiet,
        Opt::Diff3Cmd,
        Opt::IgnoreExternals,
        Opt::IgnoreAncestry,
        Opt::Force,
        Opt::Accept,
        Opt::Relocate,
    ],
    overrides: &[
        (Opt::NonRecursive, "old form of --depth=files"),
        (Opt::IgnoreAncestry, "also to a node that is not related"),
        (Opt::Force, "unversioned files in the way become local changes"),
    ],
    ..Command::DEFAULT
};
