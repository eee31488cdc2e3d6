//! `svn export`.

use super::Command;
use super::options::Opt;

pub(super) const COMMAND: Command = Command {
    name: "export",
    help: "Create an unversioned copy of a tree.\n\
        usage: 1. export [-r REV] URL[@PEGREV] [PATH]\n       \
        2. export [-r REV] PATH1[@PEGREV] [PATH2]\n",
    options: &[
        Opt::Revision,
        Opt::Quiet,
        Opt::NonRecursive,
        Opt::Depth,
        Opt::Force,
        Opt::NativeEol,
        Opt::IgnoreExternals,
        Opt::IgnoreKeywords,
    ],
    overrides: &[(Opt::NonRecursive, "old form of --depth=files")],
    ..Command::DEFAULT
};
