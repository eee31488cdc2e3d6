//! `sapwood-bench`: makes repositories for measurements, and measures. See [`program`].

mod program;

use std::process::ExitCode;

fn main() -> ExitCode {
    let args = std::env::args_os().skip(1).map(|arg| arg.to_string_lossy().into_owned()).collect();
    match program::run(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            program::command::say(&format!("sapwood-bench: {error}"));
            ExitCode::FAILURE
        }
    }
}
