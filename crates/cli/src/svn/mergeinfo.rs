//! `svn mergeinfo`.

use super::options::Opt;
use super::{Command, Revisions};

pub(super) const COMMAND: Command = Command {
    name: "mergeinfo",
    help: "Display merge-related information.\n\
        usage: 1. mergeinfo SOURCE[@REV] [TARGET[@REV]]\n       \
        2. mergeinfo --show-revs=WHICH SOURCE[@REV] [TARGET[@REV]]\n",
    options: &[
        Opt::Revision,
        Opt::Recursive,
        Opt::Quiet,
        Opt::Verbose,
        Opt::Depth,
        Opt::ShowRevs,
        Opt::Log,
        Opt::Incremental,
    ],
    revisions: Revisions::Range,
    ..Command::DEFAULT
};
