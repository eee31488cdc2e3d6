//! `svn x-shelf-log`.

use sapwood_client::shelf::Shelf;
use sapwood_core::SvnResult;

use super::options::Opt;
use super::shelves::{describe, experiment, store, working_copies};
use super::{Command, Invocation};

pub(super) const COMMAND: Command = Command {
    name: "x-shelf-log",
    help: concat!(
        "Show the versions of a shelf.\n\
         usage: x-shelf-log SHELF [PATH...]\n\
         \n  \
         List all versions of SHELF, oldest first, in the working copies that the PATHs are in.\n",
        experiment!()
    ),
    options: &[Opt::Quiet, Opt::Verbose],
    run,
    ..Command::DEFAULT
};

fn run(inv: &mut Invocation) -> SvnResult<()> {
    let name = inv.next_arg()?;
    for wc in working_copies(inv)? {
        let shelf = Shelf::open(&wc, store(), &name)?;
        let versions = (1..=shelf.newest()).map(|number| shelf.version(number));
        for version in versions.collect::<Result<Vec<_>, _>>()? {
            describe(inv, &shelf, &version, false)?;
        }
    }
    Ok(())
}
