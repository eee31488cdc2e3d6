//! `svn checkout`.

use super::Command;
use super::options::Opt;

pub(super) const COMMAND: Command = Command {
    name: "checkout",
    aliases: &["co"],
    help: "Check out a working copy from a repository.\n\
        usage: checkout URL[@REV]... [PATH]\n",
    options: &[
        Opt::Revision,
        Opt::Quiet,
        Opt::NonRecursive,
        Opt::Depth,
        Opt::Force,
        Opt::IgnoreExternals,
    ],
    overrides: &[(Opt::NonRecursive, "old form of --depth=files")],
    ..Command::DEFAULT
};
