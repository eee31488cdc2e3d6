//! `svn cat`.

use super::Command;
use super::options::Opt;

pub(super) const COMMAND: Command = Command {
    name: "cat",
    help: "Output the content of specified files or URLs.\n\
        usage: cat TARGET[@REV]...\n",
    options: &[Opt::Revision, Opt::IgnoreKeywords],
    ..Command::DEFAULT
};
