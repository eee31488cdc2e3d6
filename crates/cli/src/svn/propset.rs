//! `svn propset`.

use super::Command;
use super::options::Opt;

pub(super) const COMMAND: Command = Command {
    name: "propset",
    aliases: &["pset", "ps"],
    help: "Set the value of a property on files, dirs, or revisions.\n\
        usage: 1. propset PROPNAME PROPVAL PATH...\n       \
        2. propset PROPNAME --revprop -r REV PROPVAL [TARGET]\n",
    options: &[
        Opt::File,
        Opt::Encoding,
        Opt::Quiet,
        Opt::Revision,
        Opt::Targets,
        Opt::Recursive,
        Opt::Depth,
        Opt::Revprop,
        Opt::Force,
        Opt::Changelist,
    ],
    overrides: &[(Opt::File, "the property's value is in the file ARG")],
    ..Command::DEFAULT
};
