//! `svn proplist`.

use super::Command;
use super::options::Opt;

pub(super) const COMMAND: Command = Command {
    name: "proplist",
    aliases: &["plist", "pl"],
    help: "List all properties on files, dirs, or revisions.\n\
        usage: 1. proplist [TARGET[@REV]...]\n       \
        2. proplist --revprop -r REV [TARGET]\n",
    options: &[
        Opt::Verbose,
        Opt::Recursive,
        Opt::Depth,
        Opt::Revision,
        Opt::Quiet,
        Opt::Revprop,
        Opt::Xml,
        Opt::Changelist,
        Opt::ShowInheritedProps,
    ],
    overrides: &[
        (Opt::Verbose, "path, name and value on lines of their own"),
        (Opt::Quiet, "leave paths out"),
    ],
    ..Command::DEFAULT
};
