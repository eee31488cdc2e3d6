//! `svn update`.

use sapwood_client::changelist::listed;
use sapwood_client::update::{Update, update};
use sapwood_core::{Depth, SvnResult};

use super::notify::display_below;
use super::options::Opt;
use super::targets::{check_local_names, local_style};
use super::{Command, Invocation};
use crate::pegs::Part;

pub(super) const COMMAND: Command = Command {
    name: "update",
    aliases: &["up"],
    help: "Bring changes from the repository into the working copy.\n\
        usage: update [PATH...]\n\
        \n  \
        Bring each PATH (without one: the current folder) to the youngest revision, or to the one of -r.\n  \
        Local changes stay. For each path there is a line with letters, in the first column for the text,\n  \
        in the second for properties:\n    \
        A  it is new\n    \
        D  it was deleted\n    \
        U  it was changed\n    \
        C  a change from the repository is in conflict with a local one\n    \
        G  a change from the repository was merged with a local one\n    \
        E  it was there already (with --force)\n    \
        R  it was replaced\n  \
        A B in the third column says that a lock of yours was broken, a C in the fourth that there is a tree\n  \
        conflict: see 'svn help resolve'.\n\
        \n  \
        With --set-depth folders stay as deep from now on; 'exclude' takes them off the disk. With --force,\n  \
        files in the way that are not versioned become local changes; with --parents, folders on the way to\n  \
        PATH that are missing are brought too.\n",
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
    shows_progress: true,
    run,
    ..Command::DEFAULT
};

fn run(inv: &mut Invocation) -> SvnResult<()> {
    let targets = inv.targets_or_here()?;
    let mut paths = inv.names(Part::Target, &targets)?;
    check_local_names(&paths)?;
    if !inv.opt.changelists.is_empty() {
        let depth = inv.opt.depth_or(Depth::Infinity);
        paths = listed(&inv.ctx, &paths, &inv.opt.changelists, depth)?;
    }
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
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
    inv.resolve_conflicts()?;
    if !inv.opt.has(Opt::Quiet) {
        let here = inv.ctx.here.to_string_lossy();
        let mut header = "Summary of updates:\n";
        for (path, revision) in paths.iter().zip(&reached).filter(|_| paths.len() > 1) {
            let Some(revision) = revision else { continue };
            let path = display_below(&here, path);
            let path = local_style(&path);
            inv.out.text(&format!("{header}  Updated '{path}' to r{revision}.\n"))?;
            header = "";
        }
        let summary = inv.notifier.stats().borrow().summary();
        inv.out.text(&summary)?;
    }
    inv.check_externals()
}
