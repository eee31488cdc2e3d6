//! `sapwood bench`: makes repositories for measurements, and measures. One file a subcommand; the
//! tables of options are here, the work is in the `bench` crate.

mod heatup;
mod make_repo;
mod make_tree;
mod matrix;
mod merging;
mod output;
mod plan;
mod report;
mod working;

use std::ffi::OsString;
use std::process::ExitCode;

use sapwood_core::{ErrorCode, SvnError, SvnResult};

use crate::command::{HELP, HELP_MARK, Name, OptionSpec, Options, Program, Subcommand, name};

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
    name::QUIET.flag(Some('q'), "no progress, only errors"),
    name::PROFILE.value(None, "the kind of history: 'ruby' (default), 'bsd', 'office', 'deep'"),
    name::SEED.value(None, "another history of that kind for each number (default: 1)"),
    name::SCALE.value(None, "its size, 1 (default) being the profile's own"),
    name::FORMAT.value(None, "the filesystem's format: 3, 4, 6, 7 or 8 (default)"),
    name::COMPATIBLE_VERSION.value(None, "the format that Subversion ARG can work with, as '1.8'"),
    name::PACK.flag(None, "pack the complete shards"),
    name::AGAINST.value(None, "compare with the programs in the folder ARG, as '/usr/bin'"),
    name::CLIENT.value(None, "whose clients speak to both servers: 'sapwood', 'reference'"),
    name::REPOSITORY.value(None, "use the history of the repository ARG, not a made one"),
    name::TREE.value(None, "export and list the directory ARG"),
    name::FILE.value(None, "blame the file ARG"),
    name::ONLY.value(
        None,
        "of each axis that the list ARG names something of, only\n                             \
         that; as 'f8,packed,svn,null-log,hot-server'",
    ),
    name::FILES.value(None, "make ARG files (default: 40908)"),
    name::DIRECTORIES.value(None, "make ARG directories (default: 5334)"),
    name::MEGABYTES.value(None, "make ARG MB in all (default: 250)"),
    name::REVISIONS.value(None, "of ARG revisions (default: 500)"),
    name::SUBTREES.value(None, "with mergeinfo on so many nodes, as '1,100,1000' (default)"),
    name::NO_GIT.flag(None, "leave git out"),
    name::CALLS.flag(None, "count system calls too, with strace"),
    name::QUICK.flag(None, "a small history, formats 6 and 8, medium caches"),
    name::REPEAT.value(None, "make each run ARG times (default: 3)"),
    name::HTML.value(None, "write the page to the file ARG"),
    name::JSON.value(None, "write the results to the file ARG"),
    name::CSV.value(None, "write the runs to the file ARG, comma separated"),
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
    Subcommand::help(
        "usage: sapwood bench help [SUBCOMMAND...]\n\n\
               Explains subcommands.\n",
    ),
    make_repo::COMMAND,
    make_tree::COMMAND,
    matrix::COMMAND,
    heatup::COMMAND,
    working::COMMAND,
    merging::COMMAND,
    report::COMMAND,
];

/// The error for an option whose value makes no sense.
fn bad_value(option: Name, value: &str, wanted: &str) -> SvnError {
    SvnError::new(
        ErrorCode::CL_ARG_PARSING_ERROR,
        format!("'{value}' is no value for --{option}: {wanted}"),
    )
}

/// The kinds of work that `--only` names, or all.
fn selected<W: Copy>(
    options: &Options,
    all: &[W],
    name: fn(W) -> &'static str,
) -> SvnResult<Vec<W>> {
    let text = options.values(name::ONLY)?.join(",");
    let names: Vec<&str> = text.split(',').map(str::trim).filter(|n| !n.is_empty()).collect();
    if names.is_empty() {
        return Ok(all.to_vec());
    }
    let find = |wanted: &&str| {
        all.iter().copied().find(|work| name(*work) == *wanted).ok_or_else(|| {
            let known: Vec<&str> = all.iter().map(|work| name(*work)).collect();
            bad_value(name::ONLY, wanted, &format!("use {}", known.join(", ")))
        })
    };
    names.iter().map(find).collect()
}

/// The value of an option that is read from text.
fn parsed<T: std::str::FromStr>(
    options: &Options,
    option: Name,
    wanted: &str,
) -> SvnResult<Option<T>> {
    let Some(text) = options.value(option)? else { return Ok(None) };
    text.trim().parse().map(Some).map_err(|_| bad_value(option, &text, wanted))
}
