//! `svn update`.

use sapwood_client::update::{Update, update};
use sapwood_core::{Depth, SvnResult};

use super::options::Opt;
use super::targets::{check_local, local_style};
use super::{Command, Invocation};

pub(super) const COMMAND: Command = Command {
    name: "update",
    aliases: &["up"],
    help: "Bring changes from the repository into the working copy.\n\
        usage: update [PATH...]\n",
    options: &[
        Opt::Revision,
        Opt::NonRecursive,
        Opt::Depth,
        Opt::SetDepth,
        Opt::Quiet,
        Opt::Diff3Cmd,
        Opt::Force,
        Opt::IgnoreExternals,
        Opt::Changelist,
        Opt::EditorCmd,
        Opt::Accept,
        Opt::Parents,
        Opt::AddsAsModification,
    ],
    overrides: &[
        (Opt::NonRecursive, "old form of --depth=files"),
        (Opt::Force, "unversioned files in the way become local changes"),
    ],
    run,
    ..Command::DEFAULT
};

fn run(inv: &mut Invocation) -> SvnResult<()> {
    let targets = inv.targets_or_here()?;
    let mut paths = Vec::with_capacity(targets.len());
    for target in &targets {
        check_local(&target.path)?;
        paths.push(target.path.as_str());
    }
    let how = Update {
        revision: inv.opt.revision(),
        depth: inv.opt.set_depth.or(inv.opt.depth).unwrap_or(Depth::Unknown),
        depth_is_sticky: inv.opt.set_depth.is_some(),
        ignore_externals: inv.opt.has(Opt::IgnoreExternals),
        allow_obstructions: inv.opt.has(Opt::Force),
        adds_as_modification: inv.opt.has(Opt::AddsAsModification),
        parents: inv.opt.has(Opt::Parents),
    };
    let reached = update(&inv.ctx, &paths, &how)?;
    if !inv.opt.has(Opt::Quiet) {
        let mut header = "Summary of updates:\n";
        for (path, revision) in paths.iter().zip(&reached).filter(|_| paths.len() > 1) {
            let Some(revision) = revision else { continue };
            let path = local_style(path);
            inv.out.text(&format!("{header}  Updated '{path}' to r{revision}.\n"))?;
            header = "";
        }
        let summary = inv.notifier.stats().borrow().summary();
        inv.out.text(&summary)?;
    }
    inv.check_externals()
}
