//! `svn commit`.

use std::cell::Cell;
use std::rc::Rc;

use sapwood_client::commit;
use sapwood_core::notify::Action;
use sapwood_core::{Depth, NodeKind, SvnResult};

use super::options::Opt;
use super::targets::check_all_local;
use super::{Command, Invocation};
use crate::pegs::Part;

pub(super) const COMMAND: Command = Command {
    name: "commit",
    aliases: &["ci"],
    help: "Send changes from your working copy to the repository.\n\
        usage: commit [PATH...]\n\
        \n  \
        Send local changes at and below each PATH as one new revision. The log message comes from -m or\n  \
        -F, or an editor asks for it. Locks of what is sent are given up unless there is --no-unlock.\n\
        \n  \
        Nothing is sent of files that somebody else changed since they were updated: run 'svn update'.\n",
    options: &[
        Opt::Quiet,
        Opt::NonRecursive,
        Opt::Depth,
        Opt::Targets,
        Opt::NoUnlock,
        Opt::Message,
        Opt::File,
        Opt::ForceLog,
        Opt::EditorCmd,
        Opt::Encoding,
        Opt::WithRevprop,
        Opt::Changelist,
        Opt::KeepChangelists,
        Opt::IncludeExternals,
    ],
    overrides: &[(Opt::NonRecursive, "old form of --depth=empty")],
    non_recursive: Depth::Empty,
    shows_progress: true,
    run,
    ..Command::DEFAULT
};

fn run(invocation: &mut Invocation) -> SvnResult<()> {
    let given = invocation.targets_or_here()?;
    check_all_local(&given).map_err(|e| e.context("Commit targets must be local paths"))?;
    let targets = invocation.names(Part::Target, &given)?;
    let base = base_dir(invocation, &targets);
    invocation.ask_for_message(Some(base))?;
    let revprops = invocation.opt.revprops();
    let no_unlock = invocation.ctx.config().get_bool("miscellany", "no-unlock", false)?;
    let options = commit::Options {
        depth: invocation.opt.depth_or(Depth::Infinity),
        keep_locks: no_unlock,
        keep_changelists: invocation.has(Opt::KeepChangelists),
        include_externals: invocation.has(Opt::IncludeExternals),
        changelists: invocation.opt.changelists.clone(),
        revprops,
    };
    if options.depth < Depth::Infinity {
        warn_of_copies(invocation, options.depth);
    }
    invocation.notify_commits();
    let result = commit::commit(&invocation.ctx, &targets, &options);
    invocation.end_of_commit(result)?;
    Ok(())
}

/// Copies are made in the repository, so they are complete at any depth. The warning is printed once.
fn warn_of_copies(invocation: &mut Invocation, depth: Depth) {
    let inner = invocation.ctx.notify.take();
    let out = invocation.out.clone();
    let warned = Cell::new(false);
    invocation.ctx.notify = Some(Rc::new(move |value| {
        if let Some(inner) = &inner {
            inner(value);
        }
        let copies = matches!(value.action, Action::CommitCopied | Action::CommitCopiedReplaced);
        if copies && value.kind == Some(NodeKind::Dir) && !warned.replace(true) {
            // Write errors are found when the output is flushed.
            let _printed = out.text(&format!(
                "svn: The depth of this commit is '{}', but copies are always performed \
                 recursively in the repository.\n",
                depth.word()
            ));
        }
    }));
}

/// The folder that all targets are in: where a message is edited, and what its paths start from.
fn base_dir(invocation: &Invocation, targets: &[String]) -> String {
    let mut found = None;
    for target in targets {
        let path = invocation.ctx.absolute(target);
        found = Some(match found.take() {
            None if path.is_dir() => path,
            None => path.parent().unwrap_or(&path).to_owned(),
            Some(common) => {
                let common: std::path::PathBuf = common;
                let shared = common.ancestors().find(|dir| path.starts_with(dir));
                shared.unwrap_or(&common).to_owned()
            }
        });
    }
    found.unwrap_or_else(|| invocation.ctx.here.clone()).display().to_string()
}
