//! `svn copy`.

use sapwood_client::Revision;
use sapwood_client::copy_local::{CopyLocal, copy};
use sapwood_client::copy_urls::{How, Source, copy_urls};
use sapwood_client::working::Node;
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
    if to.peg.len() > 1 {
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
fn on_urls(inv: &mut Invocation, from: &[Arg], to: &Arg) -> SvnResult<()> {
    let sources = remote_sources(inv, from)?;
    let Some(sources) = sources.filter(|_| to.is_url() && !inv.has(Opt::PinExternals)) else {
        return super::not_there(inv);
    };
    inv.ask_for_message(None)?;
    inv.tell_commits();
    let revprops = inv.opt.revprops.clone().unwrap_or_default();
    let how = How { is_move: false, parents: inv.has(Opt::Parents), revprops: &revprops };
    let done = copy_urls(&inv.ctx, &sources, &to.path, how);
    inv.end_of_commit(done)
}

/// The sources as URLs, when none of them is a working copy as it is: local paths with a revision
/// mean where they are in the repository.
fn remote_sources(inv: &Invocation, from: &[Arg]) -> SvnResult<Option<Vec<Source>>> {
    let op = inv.opt.revision();
    let local = |revision: Revision| matches!(revision, Revision::Unspecified | Revision::Working);
    let mut targets = Vec::with_capacity(from.len());
    for arg in from {
        targets.push(arg.target()?);
    }
    let urls = targets.iter().filter(|target| target.is_url()).count();
    if urls != 0 && urls != targets.len() {
        return Err(SvnError::new(
            ErrorCode::UNSUPPORTED_FEATURE,
            "Cannot mix repository and working copy sources",
        ));
    }
    let needs_op = urls == 0 && !local(op);
    let needs_peg = urls == 0 && targets.iter().any(|target| !local(target.peg));
    if urls == 0 && !needs_op && !needs_peg {
        return Ok(None);
    }
    let mut sources = Vec::with_capacity(targets.len());
    for target in targets {
        let (mut peg, mut revision) = (target.peg, op.or(target.peg));
        if target.is_url() {
            peg = peg.or(Revision::Head);
            sources.push(Source { url: target.text, peg, revision: revision.or(peg) });
            continue;
        }
        let node = Node::find(&inv.ctx, &target.text)?;
        let Some(origin) = node.origin()? else {
            return Err(SvnError::new(
                ErrorCode::ENTRY_MISSING_URL,
                format!(
                    "'{}' does not have a URL associated with it",
                    inv.ctx.absolute(&target.text).display()
                ),
            ));
        };
        let base = origin.revision.map_or(Revision::Head, Revision::Number);
        if !needs_peg || matches!(peg, Revision::Base | Revision::Unspecified) {
            peg = base;
        }
        revision = match revision {
            Revision::Base | Revision::Unspecified => base,
            Revision::Committed | Revision::Previous => Revision::Number(node.number_of(revision)?),
            other => other,
        };
        if matches!(peg, Revision::Committed | Revision::Previous) {
            peg = Revision::Number(node.number_of(peg)?);
        }
        sources.push(Source { url: origin.url, peg, revision });
    }
    Ok(Some(sources))
}
