//! `svn revert`.

use sapwood_client::revert::revert;
use sapwood_core::{Depth, ErrorCode, SvnResult};
use sapwood_wc::local::RevertOptions;

use super::options::Opt;
use super::targets::check_local;
use super::usual::too_few;
use super::{Command, Invocation};

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
    let mut paths = Vec::new();
    for target in &targets {
        check_local(&target.path)?;
        paths.push(target.without_peg()?.to_owned());
    }
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
