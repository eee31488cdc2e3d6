//! `svn patch`.

use super::Command;
use super::options::Opt;

pub(super) const COMMAND: Command = Command {
    name: "patch",
    help: "Apply a patch to a working copy.\n\
        usage: patch PATCHFILE [WCPATH]\n",
    options: &[Opt::Quiet, Opt::DryRun, Opt::Strip, Opt::ReverseDiff, Opt::IgnoreWhitespace],
    ..Command::DEFAULT
};
