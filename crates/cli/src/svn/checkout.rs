//! `svn checkout`.

use sapwood_client::checkout::{Checkout, Form, checkout};
use sapwood_core::{Depth, ErrorCode, SvnError, SvnResult, path, uri};

use super::notify::Manner;
use super::options::Opt;
use super::{Command, Invocation};
use crate::pegs::Part;

pub(super) const COMMAND: Command = Command {
    name: "checkout",
    aliases: &["co"],
    help: "Check out a working copy from a repository.\n\
        usage: checkout URL[@REV]... [PATH]\n\
        \n  \
        Make a working copy of each URL in the folder PATH; without it, in a folder named like the last\n  \
        part of the URL. With several URLs, each gets a folder of its own below PATH. REV says in which\n  \
        revision the URL is looked up, -r as of which one it is wanted.\n\
        \n  \
        With --force, files that are there already stay as they are, as local changes. A checkout that\n  \
        was stopped goes on when it is started again.\n\
        \n  \
        With --store-pristine=no each text takes its place on disk once, not twice. What needs the text\n  \
        of a modified file as it was (diff, revert, update) fetches it and drops it again.\n",
    options: &[
        Opt::Revision,
        Opt::Quiet,
        Opt::NonRecursive,
        Opt::Depth,
        Opt::Force,
        Opt::IgnoreExternals,
        Opt::CompatibleVersion,
        Opt::StorePristine,
    ],
    overrides: &[(Opt::NonRecursive, "old form of --depth=files")],
    shows_progress: true,
    run,
    ..Command::DEFAULT
};

fn run(inv: &mut Invocation) -> SvnResult<()> {
    let mut targets = inv.targets()?;
    let Some(last) = targets.last() else {
        return Err(SvnError::new(ErrorCode::CL_INSUFFICIENT_ARGS, ""));
    };
    let folder = match last.is_url() {
        true if targets.len() == 1 => {
            let url = inv.target(Part::Source, last)?.text;
            uri::split(&url).map_or_else(|| url.clone(), |(_, name)| name)
        }
        true => String::new(),
        false if targets.len() == 1 => {
            return Err(SvnError::new(ErrorCode::CL_ARG_PARSING_ERROR, ""));
        }
        false => {
            let folder = inv.name(Part::Folder, last)?;
            targets.pop();
            folder
        }
    };
    if !inv.opt.has(Opt::Quiet) {
        inv.notifier.set_manner(Manner::Checkout);
    }
    let several = targets.len() > 1;
    for target in &targets {
        inv.ctx.check_cancel()?;
        if !target.is_url() {
            let message = format!("'{}' does not appear to be a URL", target.text());
            return Err(SvnError::new(ErrorCode::BAD_URL, message));
        }
        let source = inv.target(Part::Source, target)?;
        let to = match several {
            true => {
                let name = uri::split(&source.text).map_or(String::new(), |(_, name)| name);
                path::join(&folder, &name)
            }
            false => folder.clone(),
        };
        let revision = inv.opt.revision().or(source.peg);
        if revision.needs_working_copy() {
            return Err(SvnError::new(ErrorCode::CLIENT_BAD_REVISION, ""));
        }
        let how = Checkout {
            revision: inv.opt.revision(),
            depth: inv.opt.depth.unwrap_or(Depth::Unknown),
            ignore_externals: inv.opt.has(Opt::IgnoreExternals),
            allow_obstructions: inv.opt.has(Opt::Force),
            form: Form { format: inv.opt.format, store_pristine: inv.opt.store_pristine },
        };
        checkout(&inv.ctx, &source, &to, &how)?;
    }
    inv.check_externals()
}
