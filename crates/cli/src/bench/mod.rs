//! `sapwood bench`: makes repositories for measurements, and measures. One file a subcommand; the
//! tables of options are here, the work is in the `bench` crate.

mod heatup;
mod make_repo;
mod make_tree;
mod matrix;
mod output;
mod plan;
mod report;
mod working;

use std::ffi::OsString;
use std::process::ExitCode;

use sapwood_core::{ErrorCode, SvnError, SvnResult};

use crate::command::{HELP, HELP_MARK, OptionSpec, Options, Program, Run, Subcommand};

/// The program's `main`.
pub(crate) fn run(args: Vec<OsString>) -> ExitCode {
    BENCH.main(args)
}

/// The manual page.
pub(crate) fn manual() -> crate::manual::Manual {
    BENCH.manual()
}

const OPTIONS: &[OptionSpec] = &[
    HELP,
    HELP_MARK,
    OptionSpec::flag("quiet", Some('q'), "no progress, only errors"),
    OptionSpec::value(
        "profile",
        None,
        "the kind of history: 'ruby' (default), 'bsd', 'office', 'deep'",
    ),
    OptionSpec::value("seed", None, "another history of that kind for each number (default: 1)"),
    OptionSpec::value("scale", None, "its size, 1 (default) being the profile's own"),
    OptionSpec::value("format", None, "the filesystem's format: 3, 4, 6, 7 or 8 (default)"),
    OptionSpec::value(
        "compatible-version",
        None,
        "the format that Subversion ARG can work with, as '1.8'",
    ),
    OptionSpec::flag("pack", None, "pack the complete shards"),
    OptionSpec::value(
        "against",
        None,
        "compare with the programs in the folder ARG, as '/usr/bin'",
    ),
    OptionSpec::value(
        "client",
        None,
        "whose clients speak to both servers: 'sapwood', 'reference'",
    ),
    OptionSpec::value("repository", None, "use the history of the repository ARG, not a made one"),
    OptionSpec::value("tree", None, "export and list the directory ARG"),
    OptionSpec::value("file", None, "blame the file ARG"),
    OptionSpec::value(
        "only",
        None,
        "of each axis that the list ARG names something of, only\n                             \
         that; as 'f8,packed,svn,null-log,hot-server'",
    ),
    OptionSpec::value("files", None, "make ARG files (default: 40908)"),
    OptionSpec::value("directories", None, "make ARG directories (default: 5334)"),
    OptionSpec::value("megabytes", None, "make ARG MB in all (default: 250)"),
    OptionSpec::flag("no-git", None, "leave git out"),
    OptionSpec::flag("calls", None, "count system calls too, with strace"),
    OptionSpec::flag("quick", None, "a small history, formats 6 and 8, medium caches"),
    OptionSpec::value("repeat", None, "make each run ARG times (default: 3)"),
    OptionSpec::value("html", None, "write the page to the file ARG"),
    OptionSpec::value("json", None, "write the results to the file ARG"),
    OptionSpec::value("csv", None, "write the runs to the file ARG, comma separated"),
];

static BENCH: Program = Program {
    name: "sapwood bench",
    help_header: "usage: sapwood bench <subcommand> [options] [args]\n\
        Makes repositories for measurements, and measures.\n\
        Type 'sapwood bench help <subcommand>' for help on a specific subcommand.\n\
        \n\
        Available subcommands:\n",
    options: OPTIONS,
    subcommands: SUBCOMMANDS,
    hint_names_subcommand: true,
    ..Program::DEFAULT
};

const SUBCOMMANDS: &[Subcommand] = &[
    Subcommand {
        name: "help",
        aliases: &["?", "h"],
        help: "usage: sapwood bench help [SUBCOMMAND...]\n\n\
               Explains subcommands.\n",
        options: &[],
        overrides: &[],
        run: Run::Help,
    },
    Subcommand {
        name: "make-repo",
        aliases: &[],
        help: make_repo::HELP,
        options: &["profile", "seed", "scale", "format", "compatible-version", "pack", "quiet"],
        overrides: &[],
        run: Run::Arguments(make_repo::run),
    },
    Subcommand {
        name: "make-tree",
        aliases: &[],
        help: make_tree::HELP,
        options: &["seed", "files", "directories", "megabytes", "quiet"],
        overrides: &[],
        run: Run::Arguments(make_tree::run),
    },
    Subcommand {
        name: "matrix",
        aliases: &[],
        help: matrix::HELP,
        options: &[
            "against",
            "client",
            "profile",
            "seed",
            "scale",
            "repository",
            "tree",
            "file",
            "only",
            "quick",
            "repeat",
            "html",
            "json",
            "csv",
            "quiet",
        ],
        overrides: &[],
        run: Run::Arguments(matrix::run),
    },
    Subcommand {
        name: "heatup",
        aliases: &[],
        help: heatup::HELP,
        options: &[
            "against",
            "client",
            "profile",
            "seed",
            "scale",
            "repository",
            "tree",
            "file",
            "only",
            "html",
            "json",
            "quiet",
        ],
        overrides: &[],
        run: Run::Arguments(heatup::run),
    },
    Subcommand {
        name: "working-copy",
        aliases: &["wc"],
        help: working::HELP,
        options: &[
            "against",
            "seed",
            "files",
            "directories",
            "megabytes",
            "only",
            "no-git",
            "calls",
            "repeat",
            "json",
            "quiet",
        ],
        overrides: &[],
        run: Run::Arguments(working::run),
    },
    Subcommand {
        name: "report",
        aliases: &[],
        help: report::HELP,
        options: &["html", "json", "csv"],
        overrides: &[],
        run: Run::Arguments(report::run),
    },
];

/// The error for an option whose value makes no sense.
fn bad_value(long: &str, value: &str, wanted: &str) -> SvnError {
    SvnError::new(
        ErrorCode::CL_ARG_PARSING_ERROR,
        format!("'{value}' is no value for --{long}: {wanted}"),
    )
}

/// The value of an option that is read from text.
fn parsed<T: std::str::FromStr>(
    options: &Options,
    long: &str,
    wanted: &str,
) -> SvnResult<Option<T>> {
    let Some(text) = options.value(long)? else { return Ok(None) };
    text.trim().parse().map(Some).map_err(|_| bad_value(long, &text, wanted))
}
