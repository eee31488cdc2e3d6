//! `svn revert`.

use sapwood_client::revert::revert;
use sapwood_core::{Depth, ErrorCode, SvnResult};
use sapwood_wc::local::RevertOptions;

use super::options::Opt;
use super::targets::check_local_names;
use super::usual::too_few;
use super::{Command, Invocation};
use crate::pegs::Part;

pub(super) const COMMAND: Command = Command {
    name: "revert",
    help: "Restore pristine working copy state (undo local changes).\n\
        usage: revert PATH...\n\
        \n  \
        Undo local changes of each PATH: text, properties, additions and deletions, without asking the\n  \
        repository. Of a folder only its own properties, unless there is -R. Files that were added stay\n  \
        as files that are not versioned, unless there is --remove-added.\n",
    options: &[
        Opt::Targets,
        Opt::Recursive,
        Opt::Depth,
        Opt::Quiet,
        Opt::Changelist,
        Opt::RemoveAdded,
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
    let paths = inv.names(Part::Target, &targets)?;
    check_local_names(&paths)?;
    let depth = inv.opt.depth_or(Depth::Empty);
    let options = RevertOptions {
        remove_added: inv.has(Opt::RemoveAdded),
        changelists: inv.opt.changelists.iter().cloned().collect(),
        cancel: inv.ctx.cancel().clone(),
        ..RevertOptions::default()
    };
    revert(&inv.ctx, &paths, depth, &options).map_err(|error| {
        if error.code() == ErrorCode::WC_INVALID_OPERATION_DEPTH && depth < Depth::Infinity {
            return error.context("Try 'svn revert --depth infinity' instead?");
        }
        error
    })
}
