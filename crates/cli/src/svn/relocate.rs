//! `svn relocate`.

use super::Command;
use super::options::Opt;

pub(super) const COMMAND: Command = Command {
    name: "relocate",
    help: "Relocate the working copy to point to a different repository root URL.\n\
        usage: 1. relocate FROM-PREFIX TO-PREFIX [PATH...]\n       \
        2. relocate TO-URL [PATH]\n",
    options: &[Opt::IgnoreExternals],
    ..Command::DEFAULT
};
