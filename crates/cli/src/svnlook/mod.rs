//! `svnlook`.

use std::ffi::OsString;
use std::process::ExitCode;

/// The program's `main`.
pub(crate) fn run(args: Vec<OsString>) -> ExitCode {
    let _ = args;
    eprintln!("svnlook: not there yet");
    ExitCode::FAILURE
}
