//! `svn x-shelf-save`.

use sapwood_core::SvnResult;

use super::options::Opt;
use super::shelves::experiment;
use super::x_shelve::shelve;
use super::{Command, Invocation};

pub(super) const COMMAND: Command = Command {
    name: "x-shelf-save",
    help: concat!(
        "Copy local changes onto a new version of a shelf.\n\
         usage: x-shelf-save SHELF [PATH...]\n\
         \n  \
         Make a new version of SHELF of the local changes at and below the PATHs, and leave the working\n  \
         copy as it is. The same as 'svn x-shelve --keep-local'.\n",
        experiment!()
    ),
    options: &[
        Opt::Quiet,
        Opt::DryRun,
        Opt::Depth,
        Opt::Targets,
        Opt::Changelist,
        Opt::Message,
        Opt::File,
        Opt::ForceLog,
        Opt::EditorCmd,
        Opt::Encoding,
        Opt::WithRevprop,
    ],
    run,
    ..Command::DEFAULT
};

fn run(inv: &mut Invocation) -> SvnResult<()> {
    shelve(inv, true)
}
