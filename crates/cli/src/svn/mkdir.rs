//! `svn mkdir`.

use sapwood_client::add::make_directory;
use sapwood_core::{ErrorCode, SvnResult};

use super::options::Opt;
use super::targets::{Arg, check_one_kind};
use super::usual::too_few;
use super::{Command, Invocation};

pub(super) const COMMAND: Command = Command {
    name: "mkdir",
    help: "Create a new directory under version control.\n\
        usage: 1. mkdir PATH...\n       \
        2. mkdir URL...\n",
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
    for target in &targets {
        make_directory(&inv.ctx, target.without_peg()?, parents).map_err(|error| {
            let missing =
                [ErrorCode::ENOENT, ErrorCode::WC_PATH_NOT_FOUND, ErrorCode::FS_NOT_FOUND];
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
fn on_urls(inv: &mut Invocation, _targets: &[Arg]) -> SvnResult<()> {
    super::not_there(inv)
}
