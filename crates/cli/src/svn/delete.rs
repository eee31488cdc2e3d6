//! `svn delete`.

use sapwood_client::delete::delete;
use sapwood_client::delete_urls::delete_urls;
use sapwood_core::{ErrorCode, SvnResult};

use super::options::Opt;
use super::targets::{Arg, check_one_kind};
use super::usual::too_few;
use super::{Command, Invocation};
use crate::pegs::Part;

pub(super) const COMMAND: Command = Command {
    name: "delete",
    aliases: &["del", "remove", "rm"],
    help: "Remove files and directories from version control.\n\
        usage: 1. delete PATH...\n       \
        2. delete URL...\n\
        \n  \
        Take each PATH out of version control with the next commit, and off the disk now. What has local\n  \
        changes or is not versioned stays, with an error, unless there is --force; --keep-local leaves all\n  \
        files where they are. A URL is deleted in a commit of its own.\n",
    options: &[
        Opt::Force,
        Opt::Quiet,
        Opt::Targets,
        Opt::Message,
        Opt::File,
        Opt::ForceLog,
        Opt::EditorCmd,
        Opt::Encoding,
        Opt::WithRevprop,
        Opt::KeepLocal,
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
    let paths = inv.names(Part::Target, &targets)?;
    let (force, keep) = (inv.has(Opt::Force), inv.has(Opt::KeepLocal));
    delete(&inv.ctx, &paths, force, keep).map_err(|error| {
        let codes = [ErrorCode::CLIENT_MODIFIED, ErrorCode::UNVERSIONED_RESOURCE];
        if codes.contains(&error.code()) {
            return error.context(
                "Use --force to override this restriction (local modifications may be lost)",
            );
        }
        error
    })
}

/// Deletes URLs, with a commit.
fn on_urls(inv: &mut Invocation, targets: &[Arg]) -> SvnResult<()> {
    inv.ask_for_message(None)?;
    let urls = inv.urls(Part::Target, targets)?;
    inv.notify_commits();
    let revprops = inv.opt.revprops();
    let done = delete_urls(&inv.ctx, &urls, &revprops);
    inv.end_of_commit(done)
}
