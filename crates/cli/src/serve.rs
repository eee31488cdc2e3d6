//! `serve`: serves a repository or a folder of repositories with good defaults.

use std::ffi::OsString;
use std::process::ExitCode;

/// The program's `main`.
pub(crate) fn run(args: Vec<OsString>) -> ExitCode {
    let _ = args;
    eprintln!("serve: not there yet");
    ExitCode::FAILURE
}
