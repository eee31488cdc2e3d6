//! `svn mkdir`.

use sapwood_client::add::make_directory;
use sapwood_client::mkdir_urls::mkdir_urls;
use sapwood_core::{ErrorCode, SvnResult};

use super::options::Opt;
use super::targets::{Arg, check_one_kind};
use super::usual::too_few;
use super::{Command, Invocation};
use crate::pegs::Part;

pub(super) const COMMAND: Command = Command {
    name: "mkdir",
    help: "Create a new directory under version control.\n\
        usage: 1. mkdir PATH...\n       \
        2. mkdir URL...\n\
        \n  \
        Make folders that are versioned.\n\
        \n  \
        1. Each PATH is made and added: the next commit sends it.\n\
        \n  \
        2. Each URL is made in the repository at once, in one commit.\n\
        \n  \
        Parents must be there unless there is --parents.\n",
    options: &[
        Opt::Quiet,
        Opt::Parents,
        Opt::Message,
        Opt::File,
        Opt::ForceLog,
        Opt::EditorCmd,
        Opt::Encoding,
        Opt::WithRevprop,
    ],
    run,
    ..Command::DEFAULT
};

fn run(inv: &mut Invocation) -> SvnResult<()> {
    let targets = inv.targets()?;
    let Some(first) = targets.first() else { return Err(too_few()) };
    check_one_kind(&targets)?;
    if first.is_url() {
        return on_urls(inv, &targets);
    }
    inv.refuse_message()?;
    let parents = inv.has(Opt::Parents);
    for path in &inv.names(Part::Target, &targets)? {
        make_directory(&inv.ctx, path, parents).map_err(|error| {
            let missing = [ErrorCode::ENOENT, ErrorCode::FS_NOT_FOUND];
            match error.code() {
                ErrorCode::EEXIST => {
                    error.context("Try 'svn add' or 'svn add --non-recursive' instead?")
                }
                code if !parents && missing.contains(&code) => {
                    error.context("Try 'svn mkdir --parents' instead?")
                }
                _ => error,
            }
        })?;
    }
    Ok(())
}

/// Makes directories at URLs, with a commit.
fn on_urls(inv: &mut Invocation, targets: &[Arg]) -> SvnResult<()> {
    inv.ask_for_message(None)?;
    let urls = inv.urls(Part::Target, targets)?;
    inv.notify_commits();
    let parents = inv.has(Opt::Parents);
    let revprops = inv.opt.revprops();
    let done = mkdir_urls(&inv.ctx, &urls, parents, &revprops);
    inv.end_of_commit(done).map_err(|error| {
        let missing = [ErrorCode::FS_NOT_DIRECTORY, ErrorCode::FS_NOT_FOUND, ErrorCode::ENOENT];
        if !parents && missing.contains(&error.code()) {
            error.context("Try 'svn mkdir --parents' instead?")
        } else {
            error
        }
    })
}
