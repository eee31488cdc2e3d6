//! `svn changelist`.

use super::Command;
use super::options::Opt;

pub(super) const COMMAND: Command = Command {
    name: "changelist",
    aliases: &["cl"],
    help: "Associate (or dissociate) changelist CLNAME with the named\n\
        files.\n\
        usage: 1. changelist CLNAME PATH...\n       \
        2. changelist --remove PATH...\n",
    options: &[Opt::Quiet, Opt::Recursive, Opt::Depth, Opt::Remove, Opt::Targets, Opt::Changelist],
    ..Command::DEFAULT
};
