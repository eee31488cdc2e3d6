//! `svnbench null-log`.

use sapwood_core::exact::Exact;
use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::props::names;
use sapwood_core::{ErrorCode, Revnum, SvnError, SvnResult};
use sapwood_ra::{LogEntry, LogReceiver, LogRequest, RevpropSelection, Session, Settings};

use super::{arguments, located, number, parse_limit, ranges, table, timed};
use crate::command::{Invocation, Options, Runner, Subcommand, name, usage_error};
use crate::pegs::{Of, Part, canonical_target};
use crate::remote::grouped;
use crate::remote::target::{Target, move_to};
use crate::repo;
use crate::revision::{RevisionRange, RevisionSpec};
use crate::svnadmin::lslocks::count_lines;

/// The counters.
#[derive(Debug, Default)]
struct Counts {
    merge_depth: i64,
    revisions: u64,
    changes: u64,
    lines: u64,
    merges: u64,
    merged_revisions: u64,
    merged_changes: u64,
    merged_lines: u64,
}

fn add(total: &mut u64, count: usize) {
    total.tally(sapwood_core::exact::len64(count));
}

impl Counts {
    fn take(&mut self, entry: &LogEntry<'_>) {
        let Some(revision) = entry.revision else {
            // `file:` ends more lists than it begins; the reference's count goes below zero, and
            // whatever is not zero counts as merged.
            self.merge_depth = self.merge_depth.saturating_sub(1);
            return;
        };
        let message = entry.revprop(names::LOG);
        if revision == Revnum::ZERO && message.is_none() {
            return;
        }
        let merged = self.merge_depth != 0;
        let lines = message.map_or(0, count_lines);
        add(&mut self.revisions, 1);
        add(&mut self.lines, lines);
        add(&mut self.changes, entry.changes.len());
        if merged {
            add(&mut self.merged_revisions, 1);
            add(&mut self.merged_lines, lines);
            add(&mut self.merged_changes, entry.changes.len());
        }
        if entry.has_children {
            self.merge_depth = self.merge_depth.saturating_add(1);
            add(&mut self.merges, 1);
        }
    }
}

/// The ranges as numbers. Without a range it is the peg revision and everything before.
fn resolve(
    settings: &Settings,
    target: &Target,
    session: &dyn Session,
    ranges: &[RevisionRange],
    peg: Revnum,
) -> SvnResult<Vec<(Revnum, Revnum)>> {
    if ranges.is_empty() {
        return Ok(vec![(peg, Revnum::ZERO)]);
    }
    let one = |range: &RevisionRange| {
        let start = number(settings, session, target, range.start)?;
        let end = match range.end {
            RevisionSpec::Unspecified => start,
            end if end == range.start => start,
            end => number(settings, session, target, end)?,
        };
        Ok((start, end))
    };
    ranges.iter().map(one).collect()
}

/// A `-c` requests the revisions it names, not the trees between which it lies.
fn as_revisions(range: &mut RevisionRange) {
    if let (RevisionSpec::Number(start), RevisionSpec::Number(end)) =
        (&mut range.start, &mut range.end)
    {
        if start < end {
            *start = start.next();
        } else {
            *end = end.next();
        }
    }
}

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "null-log",
    aliases: &[],
    help: "usage: svnbench 1. null-log [PATH][@REV]\n\
                2. null-log URL[@REV] [PATH...]\n\n\
         Get the log of PATH, of URL, or of the PATHs below URL, as 'svn log' does.  -v asks for\n\
         changed paths, -q for no messages.  -r and -c can be given several times.\n",
    options: &[
        name::REVISION,
        name::QUIET,
        name::VERBOSE,
        name::USE_MERGE_HISTORY,
        name::CHANGE,
        name::TARGETS,
        name::STOP_ON_COPY,
        name::LIMIT,
        name::WITH_ALL_REVPROPS,
        name::WITH_NO_REVPROPS,
        name::WITH_REVPROP,
    ],
    overrides: &[(name::CHANGE, "the change made in revision ARG")],
    run: Runner::Arguments(run),
};

/// The ranges of `-r` or `-c`.
fn wanted_ranges(options: &Options) -> SvnResult<Vec<RevisionRange>> {
    let (mut ranges, changes) = ranges(options)?;
    if changes {
        if options.has(name::REVISION) && ranges.len() > 1 {
            let message = "-c and -r are mutually exclusive";
            return Err(SvnError::new(ErrorCode::CLIENT_BAD_REVISION, message));
        }
        ranges.iter_mut().for_each(as_revisions);
    }
    Ok(ranges)
}

/// E205000 when what follows a URL is no relative path.
fn check_relative(arguments: &[String]) -> SvnResult<()> {
    let is_wrong = |a: &&String| repo::is_url(a) || a.starts_with('/');
    arguments.iter().find(is_wrong).map_or(Ok(()), |bad| {
        Err(usage_error(format!(
            "Only relative paths can be specified after a URL for 'svnbench log', but '{bad}' is \
             not a relative path"
        )))
    })
}

/// What is asked about, and the paths below it.
fn target_and_paths(mut arguments: Vec<String>) -> SvnResult<(Target, Vec<RelPathBuf>)> {
    let of = |part| Of { program: "svnbench", command: "null-log", part };
    let target = of(Part::Target).pegged_canonical(&arguments.remove(0))?;
    if target.is_url() {
        check_relative(&arguments)?;
    }
    let below = |text: &String| {
        let path = of(Part::Below).whole(text)?;
        Ok(RelPathBuf::canonicalize(&repo::canonical_path(&path)))
    };
    Ok((target, arguments.iter().map(below).collect::<SvnResult<_>>()?))
}

fn run(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    let arguments: Vec<String> = arguments(invocation, true)?
        .iter()
        .map(|text| canonical_target(text))
        .collect::<SvnResult<_>>()?;
    let ranges = wanted_ranges(&invocation.options)?;
    let (target, paths) = target_and_paths(arguments)?;
    let options = &invocation.options;
    let quiet = options.has(name::QUIET);
    let limit = options.value(name::LIMIT)?.map_or(Ok(0), |text| parse_limit(&text))?;
    let wanted: &[&str] = match quiet {
        _ if options.has(name::WITH_NO_REVPROPS) => &[],
        true => &[names::AUTHOR, names::DATE],
        false => &[names::AUTHOR, names::DATE, names::LOG],
    };
    let request = LogRequest {
        paths: &[],
        start: None,
        end: None,
        limit,
        changed_paths: options.has(name::VERBOSE),
        strict_node_history: options.has(name::STOP_ON_COPY),
        include_merged_revisions: options.has(name::USE_MERGE_HISTORY),
        revprops: RevpropSelection::Names(wanted),
    };
    timed(invocation, |invocation, settings| {
        let mut counts = Counts::default();
        let located = located(settings, &target, RevisionSpec::Unspecified)?;
        let session = located.session.as_ref();
        let ranges = resolve(settings, &target, session, &ranges, located.peg)?;
        let youngest = ranges.iter().map(|(a, b)| *a.max(b)).max().unwrap_or(located.peg);
        move_to(session, located.peg, youngest)?;
        let mut below: Vec<&RelPath> = paths.iter().map(RelPathBuf::as_path).collect();
        if below.is_empty() {
            below.push(RelPath::ROOT);
        }
        log_ranges(
            session,
            &ranges,
            youngest,
            &LogRequest { paths: &below, ..request },
            &mut |e| {
                if !quiet {
                    counts.take(e);
                }
                Ok(())
            },
        )?;
        if !quiet {
            print(invocation, &counts)?;
        }
        Ok(session.bytes_transferred())
    })
}

/// Asks for one range after the other, each where the target was at that time.
fn log_ranges(
    session: &dyn Session,
    ranges: &[(Revnum, Revnum)],
    youngest: Revnum,
    request: &LogRequest<'_>,
    receiver: LogReceiver<'_>,
) -> SvnResult<()> {
    let (limit, here) = (request.limit, session.url());
    let mut left = limit;
    for (start, end) in ranges {
        if ranges.len() > 1 && here != session.root_url() {
            let younger = *start.max(end);
            session.reparent(&here)?;
            // The log itself reports a gap in the history.
            let _ = move_to(session, youngest, younger);
        }
        let (start, end) = (Some(*start), Some(*end));
        let mut received = 0u64;
        session.log(&LogRequest { start, end, limit: left, ..*request }, &mut |entry| {
            received.tally(1);
            receiver(entry)
        })?;
        if limit > 0 {
            left = left.saturating_sub(received);
            if left == 0 {
                break;
            }
        }
    }
    Ok(())
}

fn print(invocation: &mut Invocation<'_>, counts: &Counts) -> SvnResult<()> {
    if !invocation.options.has(name::USE_MERGE_HISTORY) {
        return table(
            invocation,
            &[
                (counts.revisions, "revisions"),
                (counts.lines, "msg lines"),
                (counts.changes, "changes"),
            ],
        );
    }
    invocation.out.text(&format!(
        "{:>15} revisions, {:>15} merged in {} merges\n{:>15} msg lines, {:>15} in merged \
         revisions\n{:>15} changes,   {:>15} in merged revisions\n",
        grouped(counts.revisions),
        grouped(counts.merged_revisions),
        grouped(counts.merges),
        grouped(counts.lines),
        grouped(counts.merged_lines),
        grouped(counts.changes),
        grouped(counts.merged_changes),
    ))
}
