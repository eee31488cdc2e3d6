//! `svn copy`.

use sapwood_client::Revision;
use sapwood_client::copy_local::{CopyLocal, copy};
use sapwood_core::{ErrorCode, SvnError, SvnResult};

use super::options::Opt;
use super::targets::Arg;
use super::usual::too_few;
use super::{Command, Invocation};

pub(super) const COMMAND: Command = Command {
    name: "copy",
    aliases: &["cp"],
    help: "Copy files and directories in a working copy or repository.\n\
        usage: copy SRC[@REV]... DST\n",
    options: &[
        Opt::Revision,
        Opt::Quiet,
        Opt::IgnoreExternals,
        Opt::Parents,
        Opt::Message,
        Opt::File,
        Opt::ForceLog,
        Opt::EditorCmd,
        Opt::Encoding,
        Opt::WithRevprop,
        Opt::PinExternals,
    ],
    run,
    ..Command::DEFAULT
};

fn run(inv: &mut Invocation) -> SvnResult<()> {
    let mut targets = inv.targets()?;
    let Some(to) = targets.pop().filter(|_| !targets.is_empty()) else { return Err(too_few()) };
    if !to.peg.is_empty() {
        return Err(SvnError::new(
            ErrorCode::ILLEGAL_TARGET,
            format!("'{}': a peg revision is not allowed here", to.text()),
        ));
    }
    if !to.is_url() {
        inv.refuse_message()?;
    }
    let local = |revision: Revision| matches!(revision, Revision::Unspecified | Revision::Working);
    let mut from = Vec::new();
    let mut remote = to.is_url() || !local(inv.opt.revision());
    for target in &targets {
        let at = target.target()?;
        remote |= target.is_url() || !local(at.peg);
        from.push(target.path.clone());
    }
    if remote {
        return on_urls(inv, &targets, &to);
    }
    let how = CopyLocal { parents: inv.has(Opt::Parents), ..CopyLocal::default() };
    copy(&inv.ctx, &from, &to.path, how)
}

/// Copies where a source or the destination is in a repository.
fn on_urls(inv: &mut Invocation, _from: &[Arg], _to: &Arg) -> SvnResult<()> {
    super::not_there(inv)
}
