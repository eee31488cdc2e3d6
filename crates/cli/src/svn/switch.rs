//! `svn switch`.

use sapwood_client::relocate::relocate;
use sapwood_client::switch::{Switch, switch};
use sapwood_core::{Depth, ErrorCode, SvnError, SvnResult};

use super::options::Opt;
use super::targets::{check_local, local_style};
use super::{Command, Invocation};
use crate::pegs::Part;

pub(super) const COMMAND: Command = Command {
    name: "switch",
    aliases: &["sw"],
    help: "Update the working copy to a different URL within the same\n\
        repository.\n\
        usage: 1. switch URL[@PEGREV] [PATH]\n       \
        2. switch --relocate FROM-PREFIX TO-PREFIX [PATH...]\n\
        \n  \
        1. Make PATH (without it: the current folder) a working copy of another URL of the same repository,\n     \
        such as a branch. Local changes stay and are merged with what comes. PEGREV says in which\n     \
        revision the URL is looked up. Letters are as with 'svn update'.\n\
        \n  \
        2. An older form of 'svn relocate'.\n",
    options: &[
        Opt::Revision,
        Opt::NonRecursive,
        Opt::Depth,
        Opt::SetDepth,
        Opt::Quiet,
        Opt::Diff3Cmd,
        Opt::IgnoreExternals,
        Opt::IgnoreAncestry,
        Opt::Force,
        Opt::Accept,
        Opt::Relocate,
    ],
    overrides: &[
        (Opt::NonRecursive, "old form of --depth=files"),
        (Opt::IgnoreAncestry, "also to a node that is not related"),
        (Opt::Force, "unversioned files in the way become local changes"),
    ],
    shows_progress: true,
    run,
    ..Command::DEFAULT
};

fn run(inv: &mut Invocation) -> SvnResult<()> {
    let targets = inv.targets()?;
    if inv.has(Opt::Relocate) {
        return relocate_targets(inv, &targets);
    }
    let (to, path) = match targets.as_slice() {
        [] => return Err(SvnError::new(ErrorCode::CL_INSUFFICIENT_ARGS, "")),
        [to] => (to, String::new()),
        [to, path] => (to, inv.name(Part::Folder, path)?),
        _ => return Err(SvnError::new(ErrorCode::CL_ARG_PARSING_ERROR, "")),
    };
    let to = inv.target(Part::Source, to)?;
    if !to.is_url() {
        let message = format!("'{}' does not appear to be a URL", to.text);
        return Err(SvnError::new(ErrorCode::BAD_URL, message));
    }
    if let Some(folder) = targets.get(1) {
        check_local(folder)?;
    }
    let how = Switch {
        revision: inv.opt.revision(),
        depth: inv.opt.set_depth.or(inv.opt.depth).unwrap_or(Depth::Unknown),
        depth_is_sticky: inv.opt.set_depth.is_some(),
        ignore_externals: inv.has(Opt::IgnoreExternals),
        allow_obstructions: inv.has(Opt::Force),
        ignore_ancestry: inv.has(Opt::IgnoreAncestry),
    };
    switch(&inv.ctx, &path, &to, &how).map_err(|error| match error.code() {
        ErrorCode::CLIENT_UNRELATED_RESOURCES => error.wrap(
            ErrorCode::CLIENT_UNRELATED_RESOURCES,
            format!(
                "Path '{}' does not share common version control ancestry with the requested switch \
                 location.  Use --ignore-ancestry to disable this check.",
                local_style(&path)
            ),
        ),
        ErrorCode::RA_UUID_MISMATCH | ErrorCode::WC_INVALID_SWITCH => error.context(
            "'svn switch' does not support switching a working copy to a different repository",
        ),
        _ => error,
    })?;
    inv.resolve_conflicts()?;
    if !inv.has(Opt::Quiet) {
        let summary = inv.notifier.stats().borrow().summary();
        inv.out.text(&summary)?;
    }
    inv.check_externals()
}

/// `--relocate FROM TO [PATH...]`, the old form of `svn relocate`.
fn relocate_targets(inv: &Invocation, targets: &[super::targets::Arg]) -> SvnResult<()> {
    let [from, to, paths @ ..] = targets else {
        return Err(SvnError::new(ErrorCode::CL_INSUFFICIENT_ARGS, ""));
    };
    if from.is_url() != to.is_url() {
        let message = format!("'{}' to '{}' is not a valid relocation", from.text(), to.text());
        return Err(SvnError::new(ErrorCode::INCORRECT_PARAMS, message));
    }
    let ignore_externals = inv.has(Opt::IgnoreExternals);
    let from = inv.name(Part::From, from)?;
    let to = inv.name(Part::To, to)?;
    if paths.is_empty() {
        return relocate(&inv.ctx, "", &from, &to, ignore_externals);
    }
    for path in inv.names(Part::Folder, paths)? {
        relocate(&inv.ctx, &path, &from, &to, ignore_externals)?;
    }
    Ok(())
}
