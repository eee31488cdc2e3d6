//! `svn x-shelf-diff`.

use std::io::Write;

use sapwood_client::diff::Sink;
use sapwood_client::diff::summary::Summary;
use sapwood_client::shelf::{self, Shelf};
use sapwood_core::SvnResult;

use super::diff::{Method, summarize};
use super::options::Opt;
use super::shelves::{experiment, no_more, optional, store, version_of};
use super::{Command, Invocation, colour};

pub(super) const COMMAND: Command = Command {
    name: "x-shelf-diff",
    help: concat!(
        "Show shelved changes as a diff.\n\
         usage: x-shelf-diff SHELF [VERSION]\n\
         \n  \
         Show what SHELF changes, in its newest version or in VERSION. With shelves of the store that\n  \
         'shelf3' names, 'svn diff --cl=svn:shelf:SHELF' shows it too, and takes all options of 'svn diff'.\n",
        experiment!()
    ),
    options: &[Opt::Summarize],
    run,
    ..Command::DEFAULT
};

fn run(inv: &mut Invocation) -> SvnResult<()> {
    let name = inv.next_arg()?;
    let number = optional(inv)?;
    no_more(inv)?;
    let wc = shelf::working_copy(&inv.ctx, "")?;
    let shelf = Shelf::open(&wc, store(), &name)?;
    let version = version_of(&shelf, number.as_deref())?;
    if inv.has(Opt::Summarize) {
        let out = inv.out.clone();
        let mut receiver = |summary: &Summary<'_>| summarize(&out, "", false, false, summary);
        return shelf::diff(&inv.ctx, &shelf, &version, Sink::Summary(&mut receiver));
    }
    let method = Method::of(inv);
    let external = method.external();
    let style = method.style(&external)?;
    let mut out = inv.out.clone();
    let show =
        |to: &mut dyn Write| shelf::diff(&inv.ctx, &shelf, &version, Sink::Diff { style, out: to });
    if !colour::wanted(inv.ctx.config())? {
        return show(&mut out);
    }
    let mut painter = colour::DiffPainter::new(&mut out);
    let done = show(&mut painter);
    let finished = painter.finish().map_err(|e| crate::output::write_error(&e));
    done.and(finished)
}
