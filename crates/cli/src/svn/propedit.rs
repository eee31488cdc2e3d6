//! `svn propedit`.

use super::Command;
use super::options::Opt;

pub(super) const COMMAND: Command = Command {
    name: "propedit",
    aliases: &["pedit", "pe"],
    help: "Edit a property with an external editor.\n\
        usage: 1. propedit PROPNAME TARGET...\n       \
        2. propedit PROPNAME --revprop -r REV [TARGET]\n",
    options: &[
        Opt::Revision,
        Opt::Revprop,
        Opt::Message,
        Opt::File,
        Opt::ForceLog,
        Opt::EditorCmd,
        Opt::Encoding,
        Opt::WithRevprop,
        Opt::Force,
    ],
    ..Command::DEFAULT
};
