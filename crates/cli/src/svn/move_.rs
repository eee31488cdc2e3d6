//! `svn move`.

use sapwood_client::Revision;
use sapwood_client::copy_local::{CopyLocal, copy};
use sapwood_client::copy_urls::{How, Source, copy_urls};
use sapwood_core::paths::UrlBuf;
use sapwood_core::{ErrorCode, SvnError, SvnResult};

use super::options::Opt;
use super::targets::Arg;
use super::usual::too_few;
use super::{Command, Invocation};
use crate::pegs::Part;

pub(super) const COMMAND: Command = Command {
    name: "move",
    aliases: &["mv", "rename", "ren"],
    help: "Move (rename) an item in a working copy or repository.\n\
        usage: move SRC... DST\n\
        \n  \
        Move or rename a node: as 'svn copy' and then 'svn delete', but both ends know of one another, so\n  \
        that updates of the source reach the destination. SRC and DST are both local paths, or both URLs:\n  \
        these are moved in a commit at once. With several SRCs, DST is a folder that they are moved into.\n",
    options: &[
        Opt::Quiet,
        Opt::Force,
        Opt::Parents,
        Opt::AllowMixedRevisions,
        Opt::Message,
        Opt::File,
        Opt::ForceLog,
        Opt::EditorCmd,
        Opt::Encoding,
        Opt::WithRevprop,
        Opt::Revision,
    ],
    overrides: &[(Opt::Revision, "old, and without effect")],
    run,
    ..Command::DEFAULT
};

fn run(inv: &mut Invocation) -> SvnResult<()> {
    let mut targets = inv.targets()?;
    let Some(to) = targets.pop().filter(|_| !targets.is_empty()) else { return Err(too_few()) };
    let unsupported = |text: &str| Err(SvnError::new(ErrorCode::UNSUPPORTED_FEATURE, text));
    if !matches!(inv.opt.revision(), Revision::Unspecified | Revision::Head) {
        return unsupported("Cannot specify revisions (except HEAD) with move operations");
    }
    if !to.is_url() {
        inv.refuse_message()?;
    }
    let from = inv.names(Part::Source, &targets)?;
    let urls = targets.iter().filter(|t| t.is_url()).count();
    if urls > 0 && urls < targets.len() {
        return unsupported("Cannot mix repository and working copy sources");
    }
    if (urls > 0) != to.is_url() {
        return unsupported("Moves between the working copy and the repository are not supported");
    }
    if to.is_url() {
        return on_urls(inv, &targets, &to);
    }
    let how = CopyLocal {
        parents: inv.has(Opt::Parents),
        is_move: true,
        allow_mixed: inv.has(Opt::AllowMixedRevisions),
        pin_externals: false,
    };
    copy(&inv.ctx, &from, &inv.name(Part::Destination, &to)?, how)
}

/// Moves URLs, with a commit.
fn on_urls(inv: &mut Invocation, from: &[Arg], to: &Arg) -> SvnResult<()> {
    inv.ask_for_message(None)?;
    inv.notify_commits();
    let sources: Vec<Source> = inv
        .urls(Part::Source, from)?
        .into_iter()
        .map(|url| Source {
            name: super::copy::last_name(&url),
            url,
            peg: Revision::Head,
            revision: Revision::Head,
        })
        .collect();
    let revprops = inv.opt.revprops();
    let parents = inv.has(Opt::Parents);
    let how = How { is_move: true, parents, pin_externals: false, revprops: &revprops };
    let done = copy_urls(
        &inv.ctx,
        &sources,
        &UrlBuf::canonicalize(&inv.name(Part::Destination, to)?)?,
        how,
    );
    inv.end_of_commit(done)
}
