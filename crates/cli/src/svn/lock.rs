//! `svn lock`.

use super::Command;
use super::options::Opt;

pub(super) const COMMAND: Command = Command {
    name: "lock",
    help: "Lock working copy paths or URLs in the repository, so that\n\
        no other user can commit changes to them.\n\
        usage: lock TARGET...\n",
    options: &[
        Opt::Targets,
        Opt::Message,
        Opt::File,
        Opt::ForceLog,
        Opt::Encoding,
        Opt::Force,
        Opt::Quiet,
    ],
    overrides: &[
        (Opt::Message, "the lock's comment is ARG"),
        (Opt::File, "the lock's comment is in the file ARG"),
        (Opt::ForceLog, "take the comment, whatever it looks like"),
        (Opt::Force, "take locks away from others"),
    ],
    ..Command::DEFAULT
};
