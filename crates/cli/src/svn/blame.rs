//! `svn blame`.

use super::options::Opt;
use super::{Command, Revisions};

pub(super) const COMMAND: Command = Command {
    name: "blame",
    aliases: &["praise", "annotate", "ann"],
    help: "Show when each line of a file was last (or\n\
        next) changed.\n\
        usage: blame [-rM:N] TARGET[@REV]...\n",
    options: &[
        Opt::Revision,
        Opt::Verbose,
        Opt::UseMergeHistory,
        Opt::Incremental,
        Opt::Xml,
        Opt::Extensions,
        Opt::Force,
    ],
    revisions: Revisions::Range,
    ..Command::DEFAULT
};
