//! `svn list`.

use super::Command;
use super::options::Opt;

pub(super) const COMMAND: Command = Command {
    name: "list",
    aliases: &["ls"],
    help: "List directory entries in the repository.\n\
        usage: list [TARGET[@REV]...]\n",
    options: &[
        Opt::Revision,
        Opt::Verbose,
        Opt::Recursive,
        Opt::HumanReadable,
        Opt::Depth,
        Opt::Incremental,
        Opt::Xml,
        Opt::IncludeExternals,
        Opt::Search,
    ],
    overrides: &[(
        Opt::HumanReadable,
        "with --verbose, sizes with units (B, K, M, G, T, P,\n                             \
     E), for people",
    )],
    ..Command::DEFAULT
};
