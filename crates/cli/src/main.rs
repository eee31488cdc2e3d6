//! The sapwood program: every Subversion program in one.
//!
//! What to do is decided by the name the program was called by (`svnadmin`, through a link that
//! `sapwood install-links` made), else by the first argument (`sapwood svnadmin verify REPO`).
//! Each program is one file of this crate and one row of [`programs::PROGRAMS`].

// They panic when the reader has gone: `output` and `report` are how programs write.
#![deny(clippy::print_stdout, clippy::print_stderr, clippy::dbg_macro)]

mod arguments;
mod backup;
mod command;
mod convert;
mod doctor;
mod getopt;
mod hidden_typing;
mod import_httpd;
mod input;
mod install_links;
mod locale;
mod manual;
mod manual_pages;
mod mergeinfo_tidy;
mod option;
mod output;
mod pegs;
mod platform;
mod program;
mod programs;
mod progress;
mod question;
mod remote;
mod repo;
mod repo_admin;
mod report;
mod revision;
mod search;
mod serve;
mod signals;
mod similarity;
mod status;
mod store;
mod supervisor;
mod svn;
mod svnadmin;
mod svnauthz;
mod svnbench;
mod svndumpfilter;
mod svnfsfs;
mod svnlook;
mod svnmucc;
mod svnrdump;
mod svnserve;
mod svnsync;
mod svnversion;
mod terminal;
mod tool;
mod usage;
mod user;
mod user_date;
mod user_folders;
mod watch;
mod xml;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use similarity::{Likeness, closest};

/// A server fills and empties its caches from many threads for months. With the system's allocator
/// (glibc's) a third of its memory became holes after a minute of that, and `svnadmin load` took a
/// fifth longer. How many arenas there are, and when memory goes back, is set in `.cargo/config.toml`.
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    let code = run();
    output::end();
    sapwood_fs::admin::finish_stores();
    signals::end();
    code
}

fn run() -> ExitCode {
    let mut args: Vec<OsString> = std::env::args_os().collect();
    if args.is_empty() {
        return ExitCode::FAILURE;
    }
    if let Err(error) = store::register() {
        report::error(&error, "sapwood: ");
        return ExitCode::FAILURE;
    }
    let called_as = args.remove(0);
    if let Some(program) = Path::new(&called_as).file_stem().and_then(programs::by_link_name) {
        return program.main(args);
    }
    if args.is_empty() {
        report::stderr(&programs::help());
        return ExitCode::FAILURE;
    }
    let word = args.remove(0);
    if let Some(program) = programs::by_word(&word) {
        return program.main(args);
    }
    match word.to_str() {
        Some("help" | "--help" | "-h" | "-?") => {
            output::help(&programs::help());
            ExitCode::SUCCESS
        }
        Some("--version") => {
            output::print("sapwood", &format!("sapwood {}\n", env!("CARGO_PKG_VERSION")))
        }
        _ => {
            report::stderr(&format!("sapwood: unknown command '{}'\n", word.display()));
            let known = programs::words();
            let owners = programs::with_subcommand(&word.to_string_lossy());
            if !owners.is_empty() {
                let word = word.display();
                let whole = owners.iter().map(|name| format!("'sapwood {name} {word}'"));
                let whole = whole.collect::<Vec<_>>().join(" or ");
                report::stderr(&format!("Did you mean {whole}?\n"));
            } else if let Likeness::Near(names) = closest(&word.to_string_lossy(), &known)
                && let Some(meant) = names.0.first()
            {
                report::stderr(&format!("Did you mean '{meant}'?\n"));
            }
            report::stderr("Type 'sapwood help' for usage.\n");
            ExitCode::FAILURE
        }
    }
}
