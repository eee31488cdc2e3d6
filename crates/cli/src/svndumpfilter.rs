//! `svndumpfilter`: lets the wanted part of a dump stream pass from standard input to standard
//! output.

use std::ffi::OsString;
use std::io::BufReader;
use std::process::ExitCode;

use sapwood_core::{CancelToken, ErrorCode, SvnError, SvnResult, path};
use sapwood_repos::dump_filter::{DumpFilter, FilterOptions, FilterSummary, Outcome};
use sapwood_repos::dumpstream;

use crate::command::{HELP, HELP_MARK, Invocation, OptionSpec, Program, Run, Subcommand, VERSION};
use crate::report;

/// The program's `main`.
pub(crate) fn run(args: Vec<OsString>) -> ExitCode {
    SVNDUMPFILTER.main(args)
}

/// The manual page.
pub(crate) fn manual() -> crate::manual::Manual {
    SVNDUMPFILTER.manual()
}

const OPTIONS: &[OptionSpec] = &[
    HELP,
    HELP_MARK,
    VERSION,
    OptionSpec::flag("quiet", None, "do not tell what was done"),
    OptionSpec::flag(
        "pattern",
        None,
        "the prefixes are patterns of '*', '?', '[]' and '\\',\n                             \
         which also match '/': /*/foo matches /a/foo and /a/b/foo",
    ),
    OptionSpec::flag("drop-empty-revs", None, "drop revisions of which nothing is left"),
    OptionSpec::flag(
        "drop-all-empty-revs",
        None,
        "drop all revisions without nodes, but revision 0",
    ),
    OptionSpec::flag("renumber-revs", None, "number the revisions that are left without gaps"),
    OptionSpec::flag("skip-missing-merge-sources", None, "drop merge sources that are gone"),
    OptionSpec::flag(
        "preserve-revprops",
        None,
        "keep the properties of revisions of which nothing is left",
    ),
    OptionSpec::value("targets", None, "read more prefixes from file ARG, one a line"),
];

const FILTER_OPTIONS: &[&str] = &[
    "drop-empty-revs",
    "drop-all-empty-revs",
    "renumber-revs",
    "skip-missing-merge-sources",
    "targets",
    "preserve-revprops",
    "quiet",
    "pattern",
];

static SVNDUMPFILTER: Program = Program {
    name: "svndumpfilter",
    modules: "",
    help_header: "general usage: svndumpfilter SUBCOMMAND [ARGS & OPTIONS ...]\n\
        Lets the wanted part of a dump stream pass.\n\
        Type 'svndumpfilter help <subcommand>' for help on a specific subcommand.\n\
        Type 'svndumpfilter --version' to see the program version.\n\
        \n\
        Available subcommands:\n",
    options: OPTIONS,
    subcommands: &[
        Subcommand {
            name: "exclude",
            aliases: &[],
            help: "usage: svndumpfilter exclude PATH_PREFIX...\n\n\
                 Drop the nodes whose paths start with one of the prefixes.\n",
            options: FILTER_OPTIONS,
            overrides: &[],
            run: Run::Arguments(|invocation| filter(invocation, true)),
        },
        Subcommand {
            name: "include",
            aliases: &[],
            help: "usage: svndumpfilter include PATH_PREFIX...\n\n\
                 Drop the nodes whose paths do not start with one of the prefixes.\n",
            options: FILTER_OPTIONS,
            overrides: &[],
            run: Run::Arguments(|invocation| filter(invocation, false)),
        },
        Subcommand {
            name: "help",
            aliases: &["?", "h"],
            help: "usage: svndumpfilter help [SUBCOMMAND...]\n\n\
                 Explain the program or its subcommands.\n",
            options: &[],
            overrides: &[],
            run: Run::Help,
        },
    ],
    ..Program::DEFAULT
};

/// Bytes of standard input that are read at once.
const BUFFER: usize = 64 << 10;

fn filter(invocation: &mut Invocation<'_>, exclude: bool) -> SvnResult<()> {
    let given = &invocation.options;
    let has = |long| given.has(long);
    let mut options = FilterOptions {
        prefixes: Vec::new(),
        patterns: has("pattern"),
        exclude,
        drop_empty_revs: has("drop-empty-revs"),
        drop_all_empty_revs: has("drop-all-empty-revs"),
        renumber_revs: has("renumber-revs"),
        skip_missing_merge_sources: has("skip-missing-merge-sources"),
        preserve_revprops: has("preserve-revprops"),
    };
    if options.drop_empty_revs && options.drop_all_empty_revs {
        return Err(SvnError::new(
            ErrorCode::CL_MUTUALLY_EXCLUSIVE_ARGS,
            "--drop-empty-revs cannot be used with --drop-all-empty-revs",
        ));
    }
    let quiet = has("quiet");
    let targets = given.value("targets")?;
    for prefix in invocation.take_args(0, usize::MAX)? {
        options.prefixes.push(path::canonical_fspath(&prefix).into_owned().into_bytes());
    }
    let stdin_is_used = targets.as_deref() == Some("-");
    if let Some(file) = targets {
        options.prefixes.extend(read_targets(&file)?);
    }
    if options.prefixes.is_empty() {
        report::stderr("\nError: no prefixes supplied.\n");
        // All is said; this code is never printed.
        return Err(SvnError::new(ErrorCode::IO_PIPE_WRITE_ERROR, ""));
    }
    if !quiet {
        tell_beginning(&options);
    }
    let mut notify = |number: u64, outcome: Outcome| {
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
        tell_end(&summary, renumbers);
    }
    Ok(())
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

fn shown(path: &[u8]) -> String {
    format!("   '{}'\n", String::from_utf8_lossy(path))
}

fn tell_beginning(options: &FilterOptions) {
    let drops = options.drop_empty_revs || options.drop_all_empty_revs;
    let mut text = format!(
        "{}cluding {}prefix{}:\n",
        if options.exclude { "Ex" } else { "In" },
        if drops { "(and dropping empty revisions for) " } else { "" },
        if options.patterns { " patterns" } else { "es" },
    );
    text.extend(options.prefixes.iter().map(|prefix| shown(prefix)));
    text.push('\n');
    report::stderr(&text);
}

fn tell_end(summary: &FilterSummary, renumbers: bool) {
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
        text.extend(nodes.into_iter().map(|node| shown(node)));
        text.push('\n');
    }
    report::stderr(&text);
}
