//! `svn x-shelf-list`.

use sapwood_core::SvnResult;

use super::options::Opt;
use super::shelves::{experiment, print_list, working_copies};
use super::{Command, Invocation};

pub(super) const COMMAND: Command = Command {
    name: "x-shelf-list",
    aliases: &["x-shelves"],
    help: concat!(
        "List shelves.\n\
         usage: x-shelf-list [PATH...]\n\
         \n  \
         List the shelves of the working copies that the PATHs are in, the one that was changed last at\n  \
         the end: the newest version, its age, how many paths it changes, and the begin of the log message.\n  \
         With -q only the names.\n",
        experiment!()
    ),
    options: &[Opt::Quiet, Opt::Verbose],
    run,
    ..Command::DEFAULT
};

fn run(inv: &mut Invocation) -> SvnResult<()> {
    working_copies(inv)?.iter().try_for_each(|wc| print_list(inv, wc))
}
