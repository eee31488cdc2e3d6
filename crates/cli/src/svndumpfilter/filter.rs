//! The common part of `svndumpfilter include` and `exclude`: they differ in one word.

use std::io::BufReader;

use sapwood_core::{CancelToken, ErrorCode, SvnError, SvnResult, path};
use sapwood_repos::dump_filter::{DumpFilter, FilterOptions, FilterSummary, Outcome};
use sapwood_repos::dumpstream;

use crate::command::{Invocation, Name, Options, name};
use crate::report;

pub(super) const OPTIONS: &[Name] = &[
    name::DROP_EMPTY_REVS,
    name::DROP_ALL_EMPTY_REVS,
    name::RENUMBER_REVS,
    name::SKIP_MISSING_MERGE_SOURCES,
    name::TARGETS,
    name::PRESERVE_REVPROPS,
    name::QUIET,
    name::PATTERN,
];

/// Bytes of standard input that are read at once.
const BUFFER: usize = 64 << 10;

/// Filters standard input.
pub(super) fn filter(invocation: &mut Invocation<'_>, exclude: bool) -> SvnResult<()> {
    let mut options = given_options(&invocation.options, exclude)?;
    let quiet = invocation.options.has(name::QUIET);
    let targets = invocation.options.value(name::TARGETS)?;
    for prefix in invocation.take_args(0, usize::MAX)? {
        options.prefixes.push(path::canonical_fspath(&prefix).into_owned().into_bytes());
    }
    let stdin_is_used = targets.as_deref() == Some("-");
    if let Some(file) = targets {
        options.prefixes.extend(read_targets(&file)?);
    }
    if options.prefixes.is_empty() {
        report::stderr("\nError: no prefixes supplied.\n");
        // Everything is printed; this code never is.
        return Err(SvnError::new(ErrorCode::IO_PIPE_WRITE_ERROR, ""));
    }
    if !quiet {
        print_header(&options);
    }
    let mut notify = |number: i64, outcome: Outcome| {
        if !quiet {
            report::stderr(&match outcome {
                Outcome::Written(new) => format!("Revision {number} committed as {new}.\n"),
                Outcome::Dropped(_) => format!("Revision {number} skipped.\n"),
            });
        }
    };
    if stdin_is_used {
        // The prefixes came from where the stream should.
        let closed = std::io::Error::from_raw_os_error(9);
        return Err(SvnError::io(&closed, "Can't read stream"));
    }
    let mut filter = DumpFilter::new(options, &mut invocation.out, &mut notify);
    if !quiet {
        filter = filter.flushing();
    }
    let mut input = BufReader::with_capacity(BUFFER, std::io::stdin().lock());
    dumpstream::parse(&mut input, &mut filter, true, &CancelToken::new())?;
    let renumbers = filter.renumbers();
    let summary = filter.finish();
    if !quiet {
        print_summary(&summary, renumbers);
    }
    Ok(())
}

/// What options ask for, without the prefixes.
fn given_options(given: &Options, exclude: bool) -> SvnResult<FilterOptions> {
    let has = |long| given.has(long);
    let options = FilterOptions {
        prefixes: Vec::new(),
        patterns: has(name::PATTERN),
        exclude,
        drop_empty_revs: has(name::DROP_EMPTY_REVS),
        drop_all_empty_revs: has(name::DROP_ALL_EMPTY_REVS),
        renumber_revs: has(name::RENUMBER_REVS),
        skip_missing_merge_sources: has(name::SKIP_MISSING_MERGE_SOURCES),
        preserve_revprops: has(name::PRESERVE_REVPROPS),
    };
    if options.drop_empty_revs && options.drop_all_empty_revs {
        return Err(SvnError::new(
            ErrorCode::CL_MUTUALLY_EXCLUSIVE_ARGS,
            "--drop-empty-revs cannot be used with --drop-all-empty-revs",
        ));
    }
    Ok(options)
}

/// The prefixes in a file: one a line, blank space around them taken away.
fn read_targets(file: &str) -> SvnResult<Vec<Vec<u8>>> {
    let bytes = crate::input::contents(file)?;
    Ok(bytes
        .split(|b| matches!(b, b'\n' | b'\r'))
        .map(<[u8]>::trim_ascii)
        .filter(|line| !line.is_empty())
        .map(|line| if line.starts_with(b"/") { line.to_vec() } else { [b"/", line].concat() })
        .collect())
}

fn display_path(path: &[u8]) -> String {
    format!("   '{}'\n", String::from_utf8_lossy(path))
}

fn print_header(options: &FilterOptions) {
    let drops = options.drop_empty_revs || options.drop_all_empty_revs;
    let mut text = format!(
        "{}cluding {}prefix{}:\n",
        if options.exclude { "Ex" } else { "In" },
        if drops { "(and dropping empty revisions for) " } else { "" },
        if options.patterns { " patterns" } else { "es" },
    );
    text.extend(options.prefixes.iter().map(|prefix| display_path(prefix)));
    text.push('\n');
    report::stderr(&text);
}

fn print_summary(summary: &FilterSummary, renumbers: bool) {
    let mut text = String::from("\n");
    let plural = |n: usize| if n == 1 { "" } else { "s" };
    match summary.dropped_revisions {
        0 => {}
        1 => text.push_str("Dropped 1 revision.\n\n"),
        n => text.push_str(&format!("Dropped {n} revisions.\n\n")),
    }
    if renumbers {
        text.push_str("Revisions renumbered as follows:\n");
        // The youngest first, as the reference has it.
        for (old, outcome) in summary.renumbered.iter().rev() {
            text.push_str(&match outcome {
                Outcome::Written(new) => format!("   {old} => {new}\n"),
                Outcome::Dropped(_) => format!("   {old} => (dropped)\n"),
            });
        }
        text.push('\n');
    }
    let count = summary.dropped_nodes.len();
    if count > 0 {
        text.push_str(&format!("Dropped {count} node{}:\n", plural(count)));
        let mut nodes: Vec<_> = summary.dropped_nodes.iter().collect();
        nodes.sort_by(|a, b| {
            path::compare(&String::from_utf8_lossy(a), &String::from_utf8_lossy(b))
        });
        text.extend(nodes.into_iter().map(|node| display_path(node)));
        text.push('\n');
    }
    report::stderr(&text);
}
