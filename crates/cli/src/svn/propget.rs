//! `svn propget`.

use super::Command;
use super::options::Opt;

pub(super) const COMMAND: Command = Command {
    name: "propget",
    aliases: &["pget", "pg"],
    help: "Print the value of a property on files, dirs, or revisions.\n\
        usage: 1. propget PROPNAME [TARGET[@REV]...]\n       \
        2. propget PROPNAME --revprop -r REV [TARGET]\n",
    options: &[
        Opt::Verbose,
        Opt::Recursive,
        Opt::Depth,
        Opt::Revision,
        Opt::Revprop,
        Opt::Strict,
        Opt::NoNewline,
        Opt::Xml,
        Opt::Changelist,
        Opt::ShowInheritedProps,
    ],
    overrides: &[(Opt::Verbose, "path, name and value on lines of their own")],
    ..Command::DEFAULT
};
