//! `svn propdel`.

use sapwood_client::{props, revprops};
use sapwood_core::{Depth, ErrorCode, SvnError, SvnResult};
use sapwood_wc::props::Change;

use super::options::Opt;
use super::prop_tools::revprop_target;
use super::{Command, Invocation};
use crate::pegs::Part;

pub(super) const COMMAND: Command = Command {
    name: "propdel",
    aliases: &["pdel", "pd"],
    help: "Remove a property from files, dirs, or revisions.\n\
        usage: 1. propdel PROPNAME [PATH...]\n       \
        2. propdel PROPNAME --revprop -r REV [TARGET]\n\
        \n  \
        1. Delete a property of each local PATH (without one: of the current folder).\n\
        \n  \
        2. Delete a property of a revision. TARGET only says in which repository.\n",
    options: &[
        Opt::Quiet,
        Opt::Recursive,
        Opt::Depth,
        Opt::Revision,
        Opt::Revprop,
        Opt::Changelist,
    ],
    run,
    ..Command::DEFAULT
};

fn run(invocation: &mut Invocation) -> SvnResult<()> {
    let name = invocation.next_arg()?;
    let targets = invocation.targets_or_here()?;
    let revprop = invocation.has(Opt::Revprop);
    let part = if revprop { Part::Repository } else { Part::Target };
    let paths = invocation.names(part, &targets)?;
    if revprop {
        let (url, revision) = revprop_target(invocation, &targets)?;
        let change = revprops::Change { name: &name, value: None, expected: None, force: false };
        revprops::set(&invocation.ctx, &url, revision, &change)?;
        return Ok(());
    }
    if invocation.opt.revision().is_given() {
        return Err(SvnError::new(
            ErrorCode::CLIENT_PROPERTY_NAME,
            format!("Cannot specify revision for deleting versioned property '{name}'"),
        ));
    }
    let change = Change { name: &name, value: None, force: false };
    let depth = invocation.opt.depth_or(Depth::Empty);
    props::set_local(&invocation.ctx, change, &paths, depth, &invocation.opt.changelists)
}
