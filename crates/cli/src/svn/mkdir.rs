//! `svn mkdir`.

use super::Command;
use super::options::Opt;

pub(super) const COMMAND: Command = Command {
    name: "mkdir",
    help: "Create a new directory under version control.\n\
        usage: 1. mkdir PATH...\n       \
        2. mkdir URL...\n",
    options: &[
        Opt::Quiet,
        Opt::Parents,
        Opt::Message,
        Opt::File,
        Opt::ForceLog,
        Opt::EditorCmd,
        Opt::Encoding,
        Opt::WithRevprop,
    ],
    ..Command::DEFAULT
};
