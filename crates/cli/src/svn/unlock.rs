//! `svn unlock`.

use super::Command;
use super::options::Opt;

pub(super) const COMMAND: Command = Command {
    name: "unlock",
    help: "Unlock working copy paths or URLs.\n\
        usage: unlock TARGET...\n",
    options: &[Opt::Targets, Opt::Force, Opt::Quiet],
    overrides: &[(Opt::Force, "break locks of others")],
    ..Command::DEFAULT
};
