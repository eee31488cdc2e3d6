//! `svn blame`.

use sapwood_client::blame::{BlameLine, Change, Request, blame};
use sapwood_client::{Range, Revision};
use sapwood_core::date::Timestamp;
use sapwood_core::exact::{Cut, Exact};
use sapwood_core::props::names;
use sapwood_core::{ErrorCode, Revnum, SvnError, SvnResult, ascii};

use super::options::Opt;
use super::out::Out;
use super::targets::local_style;
use super::{Command, Invocation, Revisions, xml_out};
use crate::command::usage_error;
use crate::pegs::Part;
use crate::xml::{self, Tag};
use crate::{locale, user_date};

pub(super) const COMMAND: Command = Command {
    name: "blame",
    aliases: &["praise", "annotate", "ann"],
    help: "Show when each line of a file was last (or\n\
        next) changed.\n\
        usage: blame [-rM:N] TARGET[@REV]...\n\
        \n  \
        Write each line of the files with the revision and the author that it is from. REV says in\n  \
        which revision a file is looked up, -r which revisions are looked at: without it all up to\n  \
        REV. With -r M:N and M younger than N, lines bear the revision in which they went away.\n\
        \n  \
        With -g, lines that a merge brought are marked with G and bear the revision in which they\n  \
        were written. Local changes of a working copy have no revision.\n",
    options: &[
        Opt::Revision,
        Opt::Verbose,
        Opt::UseMergeHistory,
        Opt::Incremental,
        Opt::Xml,
        Opt::Extensions,
        Opt::Force,
    ],
    revisions: Revisions::Range,
    run,
    ..Command::DEFAULT
};

/// Bytes of an author, who is written as stored, whatever the encoding: as the reference does.
const AUTHOR_WIDTH: usize = 10;

/// How lines are shown.
struct Printer {
    out: Out,
    verbose: bool,
    merged: bool,
}

impl Printer {
    fn text(&self, line: &BlameLine<'_>, youngest: Revnum) -> SvnResult<()> {
        let mut change = line.change;
        let mut mark = "";
        let mut path = None;
        if self.merged {
            // The earlier of both is the revision that added the line in its present form.
            let number = |change: Option<&Change>| change.and_then(|c| c.revision);
            if number(line.merged) < number(change) {
                mark = "G ";
                change = line.merged;
                path = change.map(|change| change.path.as_str());
            } else {
                mark = "  ";
            }
        }
        let width = youngest.to_string().len().max(6);
        let revision = change.and_then(|c| c.revision);
        let revision = revision.map_or_else(|| "-".to_owned(), |r| r.to_string());
        let author = change.and_then(|c| c.props.get(names::AUTHOR)).unwrap_or(b"         -");
        let author =
            if self.verbose { author } else { author.head(AUTHOR_WIDTH.min(author.len())) };
        let fill = AUTHOR_WIDTH.max(author.len()).minus(author.len());
        self.out.bytes(format!("{mark}{revision:>width$} {:fill$}", "").as_bytes())?;
        self.out.bytes(author)?;
        let mut after = " ".to_owned();
        if self.verbose {
            let date = match change.and_then(|c| c.props.get_str(names::DATE)) {
                Some(date) => Timestamp::parse(date.as_bytes())
                    .map_or_else(|_| "(invalid date)".to_owned(), |at| user_date::human(at.0)),
                None => format!("{:>44}", "-"),
            };
            after.push_str(&format!("{date} "));
            if let Some(path) = path {
                after.push_str(&format!("{path:<14} "));
            }
        }
        self.out.bytes(&locale::encode(&after))?;
        // A line ends at a NUL, as C's strings do.
        let end = line.text.iter().position(|b| *b == 0).unwrap_or(line.text.len());
        self.out.bytes(line.text.head(end))?;
        self.out.bytes(b"\n")
    }

    fn xml(&self, line: &BlameLine<'_>) -> SvnResult<()> {
        let mut text = String::new();
        let number = line.number.plus(1).to_string();
        xml::open(&mut text, "entry", Tag::Normal, &[("line-number", &number)]);
        let commit = |text: &mut String, change: &Change| {
            if let Some(revision) = change.revision {
                let revision = revision.to_string();
                let author = change.props.get(names::AUTHOR).map(ascii::readable);
                let date = change.props.get_str(names::DATE);
                xml_out::commit(text, &revision, author.as_deref(), date);
            }
        };
        if let Some(change) = line.change {
            commit(&mut text, change);
        }
        if let Some(merged) = line.merged.filter(|m| self.merged && m.revision.is_some()) {
            xml::open(&mut text, "merged", Tag::Normal, &[("path", &merged.path)]);
            commit(&mut text, merged);
            xml::close(&mut text, "merged");
        }
        xml::close(&mut text, "entry");
        self.out.bytes(text.as_bytes())
    }
}

/// The range, and whether its end is that of each target.
fn range(invocation: &Invocation) -> (Range, bool) {
    let first = Revision::Number(Revnum(1));
    match invocation.opt.range() {
        Range { start, end: Revision::Unspecified } if start.is_given() => {
            (Range { start: first, end: start }, false)
        }
        Range { start, end } => (Range { start: start.or(first), end }, !end.is_given()),
    }
}

fn check(invocation: &Invocation) -> SvnResult<()> {
    let xml = invocation.has(Opt::Xml);
    if xml && invocation.has(Opt::Verbose) {
        return Err(usage_error("'verbose' option invalid in XML mode"));
    }
    if !xml && invocation.has(Opt::Incremental) {
        return Err(usage_error("'incremental' option only valid in XML mode"));
    }
    Ok(())
}

/// What the user wants of the lines of each target.
fn extensions(invocation: &Invocation) -> SvnResult<sapwood_diff::Options> {
    match &invocation.opt.extensions {
        Some(words) => {
            let words: Vec<&str> = words.split_ascii_whitespace().collect();
            Ok(sapwood_diff::Options::parse(&words)?)
        }
        None => Ok(sapwood_diff::Options::default()),
    }
}

fn run(invocation: &mut Invocation) -> SvnResult<()> {
    let targets = invocation.targets()?;
    if targets.is_empty() {
        return Err(SvnError::new(ErrorCode::CL_INSUFFICIENT_ARGS, ""));
    }
    let (range, end_of_target) = range(invocation);
    let diff = extensions(invocation)?;
    let xml = invocation.has(Opt::Xml);
    let whole = xml && !invocation.has(Opt::Incremental);
    let out = invocation.out.clone();
    check(invocation)?;
    if whole {
        xml_out::header(&out, "blame")?;
    }
    let merged = invocation.has(Opt::UseMergeHistory);
    let printer = Printer { out: out.clone(), verbose: invocation.has(Opt::Verbose), merged };
    let mut missing = false;
    invocation.announce(&targets);
    for arg in targets {
        invocation.ctx.check_cancel()?;
        let target = invocation.target(Part::Target, &arg)?;
        let end = match (end_of_target, target.is_url()) {
            (false, _) => range.end,
            (true, true) => target.peg.or(Revision::Head),
            (true, false) => target.peg.or(Revision::Working),
        };
        let request = Request {
            target: &target.text,
            peg: target.peg,
            start: range.start,
            end,
            diff,
            force: invocation.has(Opt::Force),
            merged,
        };
        missing |= !one_target(invocation, &printer, &request, &arg.text())?;
    }
    if whole {
        xml_out::footer(&out, "blame")?;
    }
    if missing {
        return Err(SvnError::new(
            ErrorCode::ILLEGAL_TARGET,
            "Could not perform blame on all targets because some targets don't exist",
        ));
    }
    Ok(())
}

/// Prints the lines of one target, `given` so by the user. False when there is no such target.
fn one_target(
    invocation: &Invocation,
    printer: &Printer,
    request: &Request<'_>,
    given: &str,
) -> SvnResult<bool> {
    let (out, xml) = (&printer.out, invocation.has(Opt::Xml));
    let mut begun = false;
    // A target of which nothing comes leaves no trace.
    let mut begin = || -> SvnResult<()> {
        if xml && !begun {
            begun = true;
            let mut text = String::new();
            let path = local_style(request.target);
            xml::open(&mut text, "target", Tag::Normal, &[("path", path)]);
            out.bytes(text.as_bytes())?;
        }
        Ok(())
    };
    let result = blame(&invocation.ctx, request, &mut |line, youngest| {
        begin()?;
        if xml { printer.xml(line) } else { printer.text(line, youngest) }
    });
    match result {
        Ok(()) => {
            begin()?;
            if xml {
                xml_out::footer(out, "target")?;
            }
        }
        Err(error) if error.code() == ErrorCode::CLIENT_IS_BINARY_FILE => {
            out.stderr(&format!("Skipping binary file (use --force to treat as text): '{given}'\n"))
        }
        Err(error) if is_missing(error.code()) => {
            out.warn(&error);
            return Ok(false);
        }
        Err(error) => return Err(error),
    }
    Ok(true)
}

fn is_missing(code: ErrorCode) -> bool {
    [
        ErrorCode::WC_PATH_NOT_FOUND,
        ErrorCode::ENTRY_NOT_FOUND,
        ErrorCode::FS_NOT_FILE,
        ErrorCode::FS_NOT_FOUND,
    ]
    .contains(&code)
}
