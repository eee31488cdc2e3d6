//! `svnfsfs`.

use std::ffi::OsString;
use std::process::ExitCode;

/// The program's `main`.
pub(crate) fn run(args: Vec<OsString>) -> ExitCode {
    let _ = args;
    eprintln!("svnfsfs: not there yet");
    ExitCode::FAILURE
}
