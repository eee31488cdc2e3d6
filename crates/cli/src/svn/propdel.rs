//! `svn propdel`.

use super::Command;
use super::options::Opt;

pub(super) const COMMAND: Command = Command {
    name: "propdel",
    aliases: &["pdel", "pd"],
    help: "Remove a property from files, dirs, or revisions.\n\
        usage: 1. propdel PROPNAME [PATH...]\n       \
        2. propdel PROPNAME --revprop -r REV [TARGET]\n",
    options: &[
        Opt::Quiet,
        Opt::Recursive,
        Opt::Depth,
        Opt::Revision,
        Opt::Revprop,
        Opt::Changelist,
    ],
    ..Command::DEFAULT
};
