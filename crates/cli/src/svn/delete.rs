//! `svn delete`.

use super::Command;
use super::options::Opt;

pub(super) const COMMAND: Command = Command {
    name: "delete",
    aliases: &["del", "remove", "rm"],
    help: "Remove files and directories from version control.\n\
        usage: 1. delete PATH...\n       \
        2. delete URL...\n",
    options: &[
        Opt::Force,
        Opt::Quiet,
        Opt::Targets,
        Opt::Message,
        Opt::File,
        Opt::ForceLog,
        Opt::EditorCmd,
        Opt::Encoding,
        Opt::WithRevprop,
        Opt::KeepLocal,
    ],
    ..Command::DEFAULT
};
