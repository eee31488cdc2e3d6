//! `svn mergeinfo`.

mod graph;

use sapwood_client::mergeinfo::log::{Request, log};
use sapwood_client::mergeinfo::summary;
use sapwood_client::target::is_url;
use sapwood_client::{Range, Revision, Target};
use sapwood_core::props::names;
use sapwood_core::{Depth, SvnResult};
use sapwood_ra::{LogEntry, RevpropSelection};

use super::given::ShowRevs;
use super::log::{Printer, SEPARATOR};
use super::options::Opt;
use super::{Command, Invocation, Revisions};
use crate::command::usage_error;
use crate::pegs::Part;

pub(super) const COMMAND: Command = Command {
    name: "mergeinfo",
    help: "Display merge-related information.\n\
        usage: 1. mergeinfo SOURCE[@REV] [TARGET[@REV]]\n       \
        2. mergeinfo --show-revs=WHICH SOURCE[@REV] [TARGET[@REV]]\n\
        \n  \
        1. Draw how both branches stand to one another: where they parted, where the last merge\n     \
           of all changes ended and which way it went, and where both are now.\n\
        \n  \
        2. List the revisions of SOURCE that were merged into TARGET (WHICH is 'merged'), or that\n     \
           could be merged (WHICH is 'eligible'). A * marks those of which only a part was merged.\n     \
           With -R, what is below TARGET is looked at too; with --log, the log messages are shown.\n\
        \n  \
        TARGET is the current folder if it is not given. SOURCE is looked up in HEAD, a URL TARGET\n  \
        too, and a local one in the revision that the working copy is based on.\n",
    options: &[
        Opt::Revision,
        Opt::Recursive,
        Opt::Quiet,
        Opt::Verbose,
        Opt::Depth,
        Opt::ShowRevs,
        Opt::Log,
        Opt::Incremental,
    ],
    revisions: Revisions::Range,
    run,
    ..Command::DEFAULT
};

/// Checks options that depend on one another.
fn check(invocation: &Invocation) -> SvnResult<()> {
    let opt = &invocation.opt;
    if !opt.has(Opt::Log) {
        for (wrong, name) in [
            (Opt::Quiet, "--quiet (-q)"),
            (Opt::Verbose, "--verbose (-v)"),
            (Opt::Incremental, "--incremental"),
        ] {
            if opt.has(wrong) {
                return Err(usage_error(format!("{name} option valid only with --log option")));
            }
        }
    }
    if opt.show_revs.is_none() {
        let range = opt.range();
        for (given, name) in [
            (range.start.is_given() || range.end.is_given(), "--revision (-r) option"),
            (opt.depth.is_some(), "Depth specification options"),
            (opt.has(Opt::Log), "--log option"),
        ] {
            if given {
                return Err(usage_error(format!("{name} valid only with --show-revs option")));
            }
        }
    }
    Ok(())
}

fn run(invocation: &mut Invocation) -> SvnResult<()> {
    let targets = invocation.targets()?;
    let (source, target) = match targets.as_slice() {
        [] => return Err(usage_error("Not enough arguments given")),
        [source] => (
            invocation.target(Part::Source, source)?,
            Target { text: String::new(), peg: Revision::Unspecified },
        ),
        [source, target] => {
            (invocation.target(Part::Source, source)?, invocation.target(Part::Target, target)?)
        }
        _ => return Err(usage_error("Too many arguments given")),
    };
    let here = if is_url(&target.text) { Revision::Head } else { Revision::Base };
    let source = Target { peg: source.peg.or(Revision::Head), ..source };
    let target = Target { peg: target.peg.or(here), ..target };
    check(invocation)?;
    match invocation.opt.show_revs {
        Some(which) => list(invocation, which == ShowRevs::Merged, &source, &target),
        None => {
            let found = summary::summary(&invocation.ctx, &source, &target)?;
            invocation.out.text(&graph::draw(&found, summary::is_working(&target)))
        }
    }
}

/// Lists revisions, or shows their log.
fn list(invocation: &Invocation, merged: bool, source: &Target, target: &Target) -> SvnResult<()> {
    let opt = &invocation.opt;
    let details = opt.has(Opt::Log);
    let wanted: &[&str] = match (details, opt.has(Opt::Quiet)) {
        (false, _) => &[],
        (true, true) => &[names::AUTHOR, names::DATE],
        (true, false) => &[names::AUTHOR, names::DATE, names::LOG],
    };
    let Range { start, end } = opt.range();
    let request = Request {
        merged,
        target,
        source,
        range: Range { start, end: end.or(start) },
        depth: opt.depth_or(Depth::Empty),
        revprops: RevpropSelection::Names(wanted),
    };
    let verbose = opt.has(Opt::Verbose);
    let mut printer = Printer::new(invocation, target, opt.depth_or(Depth::Empty));
    let out = &invocation.out;
    log(&invocation.ctx, &request, &mut |entry, partly| {
        if !details {
            let Some(revision) = entry.revision else { return Ok(()) };
            return out.text(&format!("r{revision}{}\n", if partly { "*" } else { "" }));
        }
        if verbose {
            return printer.text(entry);
        }
        // The paths were requested only to filter the revisions, not to be shown.
        let LogEntry { revision, has_children, subtractive_merge, .. } = *entry;
        let revprops = entry.revprops.clone();
        let changes = Vec::new();
        printer.text(&LogEntry { revision, has_children, subtractive_merge, changes, revprops })
    })?;
    if details && !opt.has(Opt::Incremental) {
        out.text(SEPARATOR)?;
    }
    Ok(())
}
