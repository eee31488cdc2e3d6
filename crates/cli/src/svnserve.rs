//! `svnserve`: the svn:// server.

use std::ffi::OsString;
use std::process::ExitCode;

/// The program's `main`.
pub(crate) fn run(args: Vec<OsString>) -> ExitCode {
    let _ = args;
    eprintln!("svnserve: not there yet");
    ExitCode::FAILURE
}
