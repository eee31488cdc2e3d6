//! `svn copy`.

use super::Command;
use super::options::Opt;

pub(super) const COMMAND: Command = Command {
    name: "copy",
    aliases: &["cp"],
    help: "Copy files and directories in a working copy or repository.\n\
        usage: copy SRC[@REV]... DST\n",
    options: &[
        Opt::Revision,
        Opt::Quiet,
        Opt::IgnoreExternals,
        Opt::Parents,
        Opt::Message,
        Opt::File,
        Opt::ForceLog,
        Opt::EditorCmd,
        Opt::Encoding,
        Opt::WithRevprop,
        Opt::PinExternals,
    ],
    ..Command::DEFAULT
};
