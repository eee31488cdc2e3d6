//! `svn x-shelf-drop`.

use sapwood_core::SvnResult;

use super::shelves::{drop_shelf, experiment, working_copies};
use super::{Command, Invocation};

pub(super) const COMMAND: Command = Command {
    name: "x-shelf-drop",
    help: concat!(
        "Delete a shelf.\n\
         usage: x-shelf-drop SHELF [PATH...]\n\
         \n  \
         Throw SHELF away, with all its versions, in the working copies that the PATHs are in; without\n  \
         PATH in the one around the current folder.\n",
        experiment!()
    ),
    run,
    ..Command::DEFAULT
};

fn run(inv: &mut Invocation) -> SvnResult<()> {
    let name = inv.next_arg()?;
    working_copies(inv)?.iter().try_for_each(|wc| drop_shelf(inv, wc, &name))
}
