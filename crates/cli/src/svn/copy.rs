//! `svn copy`.

use sapwood_client::copy_local::{CopyLocal, copy};
use sapwood_client::copy_urls::{How, Source, copy_urls};
use sapwood_client::working::Node;
use sapwood_client::{Revision, Target};
use sapwood_client::{copy_in, copy_out};
use sapwood_core::paths::{Url, UrlBuf};
use sapwood_core::{ErrorCode, SvnError, SvnResult};

use super::notify::Manner;
use super::options::Opt;
use super::targets::Arg;
use super::usual::too_few;
use super::{Command, Invocation};
use crate::pegs::Part;

pub(super) const COMMAND: Command = Command {
    name: "copy",
    aliases: &["cp"],
    help: "Copy files and directories in a working copy or repository.\n\
        usage: copy SRC[@REV]... DST\n\
        \n  \
        Duplicate a node with its history. SRC and DST are each a local path or a URL:\n    \
        WC  -> WC   copy in the working copy, to be committed\n    \
        WC  -> URL  commit a copy of the working copy at once\n    \
        URL -> WC   bring the URL into the working copy, to be committed\n    \
        URL -> URL  copy in the repository alone, which takes no time and no space\n  \
        With several SRCs, DST is a folder that they are copied into. This is how branches and tags are\n  \
        made.\n",
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
    let to_is_url = to.is_url();
    let to = inv.name(Part::Destination, &to)?;
    if !to_is_url {
        inv.refuse_message()?;
    }
    let first_is_url = targets.first().is_some_and(Arg::is_url);
    let parents = inv.has(Opt::Parents);
    let pin_externals = inv.has(Opt::PinExternals);
    let quiet = inv.has(Opt::Quiet);
    match (first_is_url, to_is_url) {
        (false, true) if !quiet => inv.notifier.set_manner(Manner::CopyToUrl),
        (true, false) if !quiet => inv.notifier.set_manner(Manner::Checkout),
        _ => {}
    }
    let mut given = Vec::with_capacity(targets.len());
    for arg in &targets {
        given.push(inv.target(Part::Source, arg)?);
    }
    let sources = remote_sources(inv, &given)?;
    let from: Vec<String> = given.iter().map(|target| target.text.clone()).collect();
    if !to_is_url {
        let ignore_externals = inv.has(Opt::IgnoreExternals);
        return match sources {
            Some(sources) => {
                let how = copy_in::How { parents, ignore_externals, pin_externals };
                copy_in::copy_in(&inv.ctx, &sources, &to, how)
            }
            None => {
                let how = CopyLocal { parents, pin_externals, ..CopyLocal::default() };
                copy(&inv.ctx, &from, &to, how)
            }
        };
    }
    inv.ask_for_message(None)?;
    inv.notify_commits();
    let revprops = inv.opt.revprops();
    let revprops = &revprops;
    let done = match sources {
        Some(sources) => {
            let how = How { is_move: false, parents, pin_externals, revprops };
            copy_urls(&inv.ctx, &sources, &UrlBuf::canonicalize(&to)?, how)
        }
        None => {
            let how = copy_out::How { parents, pin_externals, revprops };
            copy_out::copy_out(&inv.ctx, &from, &UrlBuf::canonicalize(&to)?, how)
        }
    };
    inv.end_of_commit(done)
}

/// The sources as URLs, when none of them is a working copy as it is: local paths with a revision
/// mean where they are in the repository.
fn remote_sources(inv: &Invocation, targets: &[Target]) -> SvnResult<Option<Vec<Source>>> {
    let op = inv.opt.revision();
    let local = |revision: Revision| matches!(revision, Revision::Unspecified | Revision::Working);
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
            sources.push(Source {
                name: last_name(target.url()?),
                url: target.url()?.to_owned(),
                peg,
                revision: revision.or(peg),
            });
            continue;
        }
        let abspath = inv.ctx.absolute(&target.text);
        let name = abspath.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let node = Node::find(&inv.ctx, &target.text)?;
        let Some(origin) = node.origin()? else {
            return Err(SvnError::new(
                ErrorCode::ENTRY_MISSING_URL,
                format!("'{}' does not have a URL associated with it", abspath.display()),
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
        sources.push(Source { url: origin.url, name, peg, revision });
    }
    Ok(Some(sources))
}

/// The last name of a URL.
pub(super) fn last_name(url: &Url) -> String {
    url.parent_and_name().map_or(String::new(), |(_, name)| name)
}
