//! `svn propdel`.

use sapwood_client::props::set;
use sapwood_core::{Depth, ErrorCode, SvnError, SvnResult};
use sapwood_wc::props::Change;

use super::options::Opt;
use super::targets::{Arg, check_one_kind};
use super::{Command, Invocation};

pub(super) const COMMAND: Command = Command {
    name: "propdel",
    aliases: &["pdel", "pd"],
    help: "Remove a property from files, dirs, or revisions.\n\
        usage: 1. propdel PROPNAME [PATH...]\n       \
        2. propdel PROPNAME --revprop -r REV [TARGET]\n",
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

fn run(inv: &mut Invocation) -> SvnResult<()> {
    let name = inv.next_arg()?;
    let targets = inv.targets_or_here()?;
    if inv.has(Opt::Revprop) {
        return on_revision(inv, &name, &targets);
    }
    if inv.has(Opt::Revision) {
        return Err(SvnError::new(
            ErrorCode::CLIENT_PROPERTY_NAME,
            format!("Cannot specify revision for deleting versioned property '{name}'"),
        ));
    }
    let mut paths = Vec::new();
    for target in &targets {
        paths.push(target.without_peg()?.to_owned());
    }
    check_one_kind(&targets)?;
    if targets.iter().any(Arg::is_url) {
        return Err(SvnError::new(ErrorCode::ILLEGAL_TARGET, "Targets must be working copy paths"));
    }
    let change = Change { name: &name, value: None, force: false };
    let changelists = inv.opt.changelists.iter().cloned().collect();
    set(&inv.ctx, &paths, change, inv.opt.depth_or(Depth::Empty), &changelists)
}

/// Deletes a revision property.
fn on_revision(inv: &mut Invocation, _name: &str, _targets: &[Arg]) -> SvnResult<()> {
    super::not_there(inv)
}
