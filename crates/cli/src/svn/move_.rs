//! `svn move`.

use super::Command;
use super::options::Opt;

pub(super) const COMMAND: Command = Command {
    name: "move",
    aliases: &["mv", "rename", "ren"],
    help: "Move (rename) an item in a working copy or repository.\n\
        usage: move SRC... DST\n",
    options: &[
        Opt::Quiet,
        Opt::Force,
        Opt::Parents,
        Opt::AllowMixedRevisions,
        Opt::Message,
        Opt::File,
        Opt::ForceLog,
        Opt::EditorCmd,
        Opt::Encoding,
        Opt::WithRevprop,
        Opt::Revision,
    ],
    overrides: &[(Opt::Revision, "old, and without effect")],
    ..Command::DEFAULT
};
