//! `svn log`.

mod print;

use sapwood_client::log::{Request, log};
use sapwood_client::target::{canonical_path, is_url};
use sapwood_client::{Range, Revision};
use sapwood_core::exact::Exact;
use sapwood_core::paths::RelPathBuf;
use sapwood_core::props::names;
use sapwood_core::{Depth, ErrorCode, SvnError, SvnResult};
use sapwood_ra::RevpropSelection;

pub(super) use self::print::Printer;
pub(super) use self::print::SEPARATOR;
use super::options::Opt;
use super::targets::Arg;
use super::{Command, Invocation, Revisions, xml_out};
use crate::command::usage_error;
use crate::pegs::Part;

pub(super) const COMMAND: Command = Command {
    name: "log",
    help: "Show the log messages for a set of revision(s) and/or path(s).\n\
        usage: 1. log [PATH][@REV]\n       \
        2. log URL[@REV] [PATH...]\n\
        \n  \
        1. Print the log messages for the local PATH (without one: the current folder), from the\n     \
           revision that the working copy is based on, or from REV, back to the first one.\n\
        \n  \
        2. Print the log messages for the PATHs (without one: for the URL itself) below URL. REV says\n     \
           in which revision the URL is looked up and where to start; without it this is HEAD.\n\
        \n  \
        -r and -c may be given several times. With -r A:B, A may be the younger or the older one:\n  \
        revisions come in the order that the range has. The history is followed beyond copies\n  \
        unless there is --stop-on-copy.\n\
        \n  \
        With -v the changed paths of each revision are shown: A is an addition, D a deletion, R a\n  \
        replacement, M a change. With -g the revisions that a merge brought come below it.\n\
        \n  \
        --search shows only revisions in which the author, the date, the message or (with -v) a\n  \
        changed path matches the pattern, in which * is any text, ? any character and [abc] any of\n  \
        these. Several --search are alternatives; --search-and must match beside the --search\n  \
        before it. With --limit, so many revisions are looked at before the search.\n\
        \n  \
        Examples:\n    \
          svn log -r HEAD:1 --limit 10\n    \
          svn log -v -r {2026-01-01}:{2026-02-01} URL\n    \
          svn log --search jo --search-and 'fix*' ^/trunk\n",
    options: &[
        Opt::Revision,
        Opt::Change,
        Opt::Quiet,
        Opt::Verbose,
        Opt::UseMergeHistory,
        Opt::Targets,
        Opt::StopOnCopy,
        Opt::Incremental,
        Opt::Xml,
        Opt::Limit,
        Opt::WithAllRevprops,
        Opt::WithNoRevprops,
        Opt::WithRevprop,
        Opt::Depth,
        Opt::Diff,
        Opt::DiffCmd,
        Opt::InternalDiff,
        Opt::Extensions,
        Opt::Search,
        Opt::SearchAnd,
    ],
    overrides: &[
        (Opt::Change, "what revision ARG changed"),
        (Opt::Quiet, "leave log messages out"),
        (Opt::Verbose, "show the changed paths too"),
        (Opt::WithRevprop, "show the property ARG of revisions"),
    ],
    revisions: Revisions::Ranges,
    run,
    ..Command::DEFAULT
};

/// Checks options that depend on one another.
fn check(invocation: &Invocation) -> SvnResult<()> {
    let opt = &invocation.opt;
    if opt.has(Opt::Xml) {
        if opt.has(Opt::Diff) {
            return Err(usage_error("'diff' option is not supported in XML mode"));
        }
    } else {
        for wrong in [Opt::WithAllRevprops, Opt::WithNoRevprops, Opt::WithRevprop] {
            if opt.has(wrong) {
                let long = wrong.spec().long;
                return Err(usage_error(format!("'{long}' option only valid in XML mode")));
            }
        }
    }
    if !opt.has(Opt::Diff) {
        for wrong in [Opt::DiffCmd, Opt::InternalDiff, Opt::Extensions] {
            if opt.has(wrong) {
                let long = wrong.spec().long;
                return Err(usage_error(format!("'{long}' option requires 'diff' option")));
            }
        }
        if opt.depth.is_some() {
            return Err(usage_error("'depth' option requires 'diff' option"));
        }
    }
    Ok(())
}

/// A `-c` requests the revisions it names, not the trees between which it lies.
fn as_revisions(range: &mut Range) {
    if let (Revision::Number(start), Revision::Number(end)) = (&mut range.start, &mut range.end) {
        if start < end {
            *start = start.next();
        } else {
            *end = end.next();
        }
    }
}

fn ranges(invocation: &Invocation) -> SvnResult<Vec<Range>> {
    let mut ranges = invocation.opt.ranges.clone();
    if invocation.has(Opt::Change) {
        if invocation.has(Opt::Revision) && ranges.len() > 1 {
            return Err(SvnError::new(
                ErrorCode::CLIENT_BAD_REVISION,
                "-c and -r are mutually exclusive",
            ));
        }
        ranges.iter_mut().for_each(as_revisions);
    }
    Ok(ranges)
}

fn run(invocation: &mut Invocation) -> SvnResult<()> {
    check(invocation)?;
    let targets = invocation.targets_or_here()?;
    let ranges = ranges(invocation)?;
    let (first, rest) = targets.split_first().ok_or_else(|| usage_error(""))?;
    let target = invocation.target(Part::Target, first)?;
    let below = paths_below(invocation, target.is_url(), rest)?;
    let opt = &invocation.opt;
    let xml = opt.has(Opt::Xml);
    let whole = !opt.has(Opt::Incremental);
    let out = &invocation.out;
    if xml && whole {
        xml_out::header(out, "log")?;
    }
    let named: Vec<String> = match &opt.revprops {
        Some(props) => {
            if props.iter().any(|(_, value)| !value.is_empty()) {
                return Err(usage_error("cannot assign with 'with-revprop' option (drop the '=')"));
            }
            props.iter().map(|(name, _)| name.to_owned()).collect()
        }
        None => Vec::new(),
    };
    let mut wanted = vec![names::AUTHOR, names::DATE];
    if !opt.has(Opt::Quiet) {
        wanted.push(names::LOG);
    }
    if opt.revprops.is_some() {
        wanted = named.iter().map(String::as_str).collect();
    }
    if opt.has(Opt::WithNoRevprops) {
        wanted.clear();
    }
    let request = Request {
        target: &target.text,
        peg: target.peg,
        below: &below,
        ranges: &ranges,
        limit: opt.limit.unwrap_or(0),
        changed_paths: opt.has(Opt::Verbose),
        stop_on_copy: opt.has(Opt::StopOnCopy),
        merged: opt.has(Opt::UseMergeHistory),
        revprops: match opt.has(Opt::WithAllRevprops) {
            true => RevpropSelection::All,
            false => RevpropSelection::Names(&wanted),
        },
    };
    let mut printer = Printer::new(invocation, &target, opt.depth_or(Depth::Infinity));
    log(&invocation.ctx, &request, &mut |entry| {
        invocation.ctx.check_cancel()?;
        if xml { printer.xml(entry) } else { printer.text(entry) }
    })?;
    if xml && whole {
        xml_out::footer(out, "log")?;
    } else if whole {
        out.text(SEPARATOR)?;
    }
    Ok(())
}

/// The paths that follow a URL.
fn paths_below(
    invocation: &Invocation,
    is_url_target: bool,
    rest: &[Arg],
) -> SvnResult<Vec<RelPathBuf>> {
    let mut below = Vec::new();
    for arg in rest {
        let text = invocation.name(Part::Below, arg)?;
        if !is_url_target {
            return Err(SvnError::new(
                ErrorCode::UNSUPPORTED_FEATURE,
                "When specifying working copy paths, only one target may be given",
            ));
        }
        if is_url(&text) || text.starts_with('/') {
            return Err(usage_error(format!(
                "Only relative paths can be specified after a URL for 'svn log', but '{text}' is \
                 not a relative path"
            )));
        }
        below.push(RelPathBuf::canonicalize(&canonical_path(&text)));
    }
    Ok(below)
}

/// The number of lines in a message, the one after the last newline included.
pub(super) fn count_lines(message: &str) -> usize {
    let bytes = message.as_bytes();
    let pairs = bytes.iter().zip(bytes.iter().skip(1).map(Some).chain([None]));
    let ends = pairs.filter(|(byte, next)| match byte {
        b'\n' => true,
        b'\r' => *next != Some(&b'\n'),
        _ => false,
    });
    ends.count().plus(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_messages() {
        for (message, lines) in [("", 1), ("a", 1), ("a\n", 2), ("a\r\nb\rc\n\n", 5)] {
            assert_eq!(count_lines(message), lines, "{message:?}");
        }
    }
}
