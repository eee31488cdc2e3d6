//! `svn add`.

use sapwood_client::add::{Add, add};
use sapwood_core::{Depth, ErrorCode, SvnResult};

use super::options::Opt;
use super::targets::check_local_names;
use super::usual::{not_all, too_few};
use super::{Command, Invocation};
use crate::pegs::Part;

pub(super) const COMMAND: Command = Command {
    name: "add",
    help: "Put new files and directories under version control.\n\
        usage: add PATH...\n\
        \n  \
        Put each PATH under version control: the next commit sends it. What is below a folder goes with\n  \
        it, but for names that are ignored. Files get the properties that the configuration has for\n  \
        their names.\n",
    options: &[
        Opt::Targets,
        Opt::NonRecursive,
        Opt::Depth,
        Opt::Quiet,
        Opt::Force,
        Opt::NoIgnore,
        Opt::AutoProps,
        Opt::NoAutoProps,
        Opt::Parents,
    ],
    overrides: &[
        (Opt::NonRecursive, "old form of --depth=empty"),
        (Opt::Force, "leave alone what is versioned already"),
        (Opt::Parents, "add folders above too"),
    ],
    non_recursive: Depth::Empty,
    run,
    ..Command::DEFAULT
};

fn run(inv: &mut Invocation) -> SvnResult<()> {
    let targets = inv.targets()?;
    if targets.is_empty() {
        return Err(too_few());
    }
    let how = Add {
        depth: inv.opt.depth_or(Depth::Infinity),
        force: inv.has(Opt::Force),
        no_ignore: inv.has(Opt::NoIgnore),
        no_auto_props: inv.has(Opt::NoAutoProps),
        parents: inv.has(Opt::Parents),
    };
    let paths = inv.names(Part::Target, &targets)?;
    check_local_names(&paths)?;
    let tolerated = [ErrorCode::ENTRY_EXISTS, ErrorCode::WC_PATH_NOT_FOUND];
    let mut seen = Vec::new();
    add(&inv.ctx, &paths, how, &mut |error| {
        inv.tolerate(Err::<(), _>(error), &tolerated, &mut seen).map(drop)
    })?;
    not_all(&seen, |code| match code {
        ErrorCode::WC_PATH_NOT_FOUND => {
            Some("Could not add all targets because some targets don't exist")
        }
        ErrorCode::ENTRY_EXISTS => {
            Some("Could not add all targets because some targets are already versioned")
        }
        _ => None,
    })
}
