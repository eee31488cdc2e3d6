//! `svnlook history`.

use sapwood_core::FsPath;
use sapwood_core::exact::Exact;
use sapwood_core::paths::FsPathBuf;
use sapwood_core::{Revnum, SvnResult};
use sapwood_fs::Error;

use super::{Context, Subject, maybe_argument};
use crate::command::{Invocation, Runner, Subcommand, name};

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "history",
    aliases: &[],
    help: "usage: svnlook history REPOS_PATH [PATH_IN_REPOS]\n\n\
        Print the revisions in which a path (the root) changed, and where it was then.\n",
    options: &[name::REVISION, name::SHOW_IDS, name::LIMIT],
    overrides: &[],
    run: Runner::Repository(run),
};

fn run(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    let arg = maybe_argument(invocation)?.unwrap_or_else(|| "/".to_owned());
    let context = Context::open(invocation)?;
    let show_ids = invocation.options.has(name::SHOW_IDS);
    // A limit below zero means no limit, as in the reference.
    let limit = invocation
        .options
        .value(name::LIMIT)?
        .and_then(|text| super::parse_long(&text))
        .and_then(|limit| u64::try_from(limit).ok())
        .unwrap_or(u64::MAX);
    let out = &mut invocation.out;
    out.text(if show_ids {
        "REVISION   PATH <ID>\n--------   ---------\n"
    } else {
        "REVISION   PATH\n--------   ----\n"
    })?;
    let Subject::Revision(revision) = context.subject else { return Ok(()) };
    let fs = context.fs();
    let history = fs.revision_root(revision)?.history(&FsPathBuf::canonicalize(&arg));
    let mut history = history.map_err(|error| match error {
        // The path as it was given, as the reference has it.
        Error::NotFound { place, .. } => Error::NotFound { place, path: arg.clone() },
        other => other,
    })?;
    let mut count = 0_u64;
    while count < limit {
        let Some((path, revision)) = history.previous(true)? else { break };
        count = count.plus(1);
        out.text(&history_line(&context, &path, revision, show_ids)?)?;
    }
    Ok(())
}

fn history_line(
    context: &Context,
    path: &FsPath,
    revision: Revnum,
    show_ids: bool,
) -> SvnResult<String> {
    let revision_text = revision.to_string();
    if !show_ids {
        return Ok(format!("{revision_text:>8}   {path}\n"));
    }
    let id = context.fs().revision_root(revision)?.node(path)?.id();
    Ok(format!("{revision_text:>8}   {path} <{id}>\n"))
}
