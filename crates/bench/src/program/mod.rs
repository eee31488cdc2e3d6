//! `sapwood-bench`: makes repositories for measurements, and measures. One file a subcommand; the
//! tables of options are here, the work is in the library.

pub(crate) mod command;
mod commands;
mod heatup;
mod make_repo;
mod make_tree;
mod matrix;
mod merging;
mod output;
mod plan;
mod report;
mod working;

use std::sync::OnceLock;

use sapwood_core::{CancelToken, ErrorCode, SvnError, SvnResult};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use command::{Name, OptionSpec, Options, Subcommand, flag, name, value};

/// The program's `main`, with the arguments after its name.
///
/// # Errors
/// The reason why it stopped.
pub(crate) fn run(args: Vec<String>) -> SvnResult<()> {
    command::run(SUBCOMMANDS, OPTIONS, args)
}

/// A token that is cancelled by the first signal that asks the program to end; a second one kills it.
fn cancel_token() -> CancelToken {
    static TOKEN: OnceLock<CancelToken> = OnceLock::new();
    TOKEN.get_or_init(watched).clone()
}

fn watched() -> CancelToken {
    let token = CancelToken::new();
    let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP]) else {
        return token;
    };
    let cancelled = token.clone();
    let watch = move || {
        for (count, signal) in signals.forever().enumerate() {
            if count > 0 {
                let _ = signal_hook::low_level::emulate_default_handler(signal);
            }
            cancelled.cancel();
        }
    };
    // Without the thread the program can be killed only.
    let _ = std::thread::Builder::new().name("signals".to_owned()).spawn(watch);
    token
}

const OPTIONS: &[OptionSpec] = &[
    flag(name::QUIET, "no progress, only errors"),
    value(name::PROFILE, "the kind of history: 'ruby' (default), 'bsd', 'office', 'deep'"),
    value(name::SEED, "another history of that kind for each number (default: 1)"),
    value(name::SCALE, "its size, 1 (default) being the profile's own"),
    value(name::FORMAT, "the filesystem's format: 3, 4, 6, 7 or 8 (default)"),
    value(name::COMPATIBLE_VERSION, "the format that Subversion ARG can work with, as '1.8'"),
    flag(name::PACK, "pack the complete shards"),
    value(name::AGAINST, "compare with the programs in the folder ARG, as '/usr/bin'"),
    value(name::PROGRAM, "measure the sapwood program ARG, not the one beside this program"),
    value(name::CLIENT, "whose clients speak to both servers: 'sapwood', 'reference'"),
    value(name::REPOSITORY, "use the history of the repository ARG, not a made one"),
    value(name::TREE, "export and list the directory ARG"),
    value(name::FILE, "blame the file ARG"),
    value(
        name::ONLY,
        "of each axis that the list ARG names something of, only\n                             \
         that; as 'f8,packed,svn,null-log,hot-server'",
    ),
    value(name::FILES, "make ARG files (default: 40908)"),
    value(name::DIRECTORIES, "make ARG directories (default: 5334)"),
    value(name::MEGABYTES, "make ARG MB in all (default: 250)"),
    value(name::REVISIONS, "of ARG revisions (default: 500)"),
    value(name::SUBTREES, "with mergeinfo on so many nodes, as '1,100,1000' (default)"),
    flag(name::NO_GIT, "leave git out"),
    flag(name::CALLS, "count system calls too, with strace"),
    flag(name::QUICK, "a small history, formats 6 and 8, medium caches"),
    value(name::REPEAT, "make each run ARG times (default: 3)"),
    value(name::HTML, "write the page to the file ARG"),
    value(name::JSON, "write the results to the file ARG"),
    value(name::CSV, "write the runs to the file ARG, comma separated"),
];

const SUBCOMMANDS: &[Subcommand] = &[
    make_repo::COMMAND,
    make_tree::COMMAND,
    matrix::COMMAND,
    heatup::COMMAND,
    working::COMMAND,
    commands::COMMAND,
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
    let text = options.values(name::ONLY).join(",");
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
    let Some(text) = options.value(option) else { return Ok(None) };
    text.trim().parse().map(Some).map_err(|_| bad_value(option, &text, wanted))
}
