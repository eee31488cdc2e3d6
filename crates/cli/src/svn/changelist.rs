//! `svn changelist`.

use sapwood_client::changelist::changelist;
use sapwood_core::{Depth, ErrorCode, SvnResult};

use super::options::Opt;
use super::targets::check_all_local;
use super::usual::{not_all, too_few};
use super::{Command, Invocation};
use crate::pegs::Part;

pub(super) const COMMAND: Command = Command {
    name: "changelist",
    aliases: &["cl"],
    help: "Associate (or dissociate) changelist CLNAME with the named\n\
        files.\n\
        usage: 1. changelist CLNAME PATH...\n       \
        2. changelist --remove PATH...\n\
        \n  \
        Put files on the list CLNAME, or with --remove take them off theirs. Other subcommands then work\n  \
        on the files of a list with --changelist CLNAME. A file is on one list at most.\n",
    options: &[Opt::Quiet, Opt::Recursive, Opt::Depth, Opt::Remove, Opt::Targets, Opt::Changelist],
    run,
    ..Command::DEFAULT
};

fn run(inv: &mut Invocation) -> SvnResult<()> {
    let name = if inv.has(Opt::Remove) { None } else { Some(inv.next_arg()?) };
    let targets = inv.targets()?;
    if targets.is_empty() {
        return Err(too_few());
    }
    check_all_local(&targets)?;
    let paths = inv.names(Part::Target, &targets)?;
    let filter = inv.opt.changelists.iter().cloned().collect();
    let depth = inv.opt.depth_or(Depth::Empty);
    let result = changelist(&inv.ctx, &paths, name.as_deref(), depth, &filter);
    let mut seen = Vec::new();
    let tolerated = [ErrorCode::UNVERSIONED_RESOURCE, ErrorCode::WC_PATH_NOT_FOUND];
    inv.tolerate(result, &tolerated, &mut seen)?;
    not_all(&seen, |code| match code {
        ErrorCode::WC_PATH_NOT_FOUND => {
            Some("Could not set changelists on all targets because some targets don't exist")
        }
        ErrorCode::UNVERSIONED_RESOURCE => {
            Some("Could not set changelists on all targets because some targets are not versioned")
        }
        _ => None,
    })
}
