//! `svn info`.

use super::Command;
use super::options::Opt;

pub(super) const COMMAND: Command = Command {
    name: "info",
    help: "Display information about a local or remote item.\n\
        usage: info [TARGET[@REV]...]\n",
    options: &[
        Opt::Revision,
        Opt::Recursive,
        Opt::HumanReadable,
        Opt::Depth,
        Opt::Targets,
        Opt::Incremental,
        Opt::Xml,
        Opt::Changelist,
        Opt::IncludeExternals,
        Opt::ShowItem,
        Opt::NoNewline,
        Opt::Viewspec,
    ],
    overrides: &[(Opt::HumanReadable, "sizes with units (B, K, M, G, T, P, E), for people")],
    ..Command::DEFAULT
};
