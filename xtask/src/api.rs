//! `cargo xtask api`: schemathesis against the JSON interface of the demonstration. `tools/api/run.py` says what is asked.
//!
//! Invariant: the packages of PyPI are those that `tools/api/requirements.txt` names; nothing of them is kept in the repository.

use std::path::Path;
use std::process::Command;

use crate::scratch::Scratch;
use crate::steps::{ROOT, cargo, target};

/// Builds the program, installs schemathesis into the folder of builds, and runs it.
pub(crate) fn api(more: &[String]) -> Result<(), String> {
    cargo(&["test", "--workspace", "--no-run", "--quiet"])?;
    let tools = Path::new(ROOT).join("tools/api");
    let packages = target()?.join("schemathesis");
    run("python3 -m venv", Command::new("python3").args(["-m", "venv"]).arg(&packages))?;
    let programs = packages.join("bin");
    let mut pip = Command::new(programs.join("pip"));
    pip.args(["install", "-q", "-r"]).arg(tools.join("requirements.txt"));
    run("pip", &mut pip)?;
    let scratch = Scratch::new();
    let path = std::env::var("PATH").map_err(|e| format!("PATH: {e}"))?;
    let mut python = Command::new(programs.join("python3"));
    python.arg(tools.join("run.py")).args(more).arg(target()?.join("debug/sapwood"));
    python.env("PATH", format!("{}:{path}", programs.display()));
    if let Some(temporary) = scratch.folder() {
        python.env("TMPDIR", temporary);
    }
    run("schemathesis", &mut python)
}

fn run(what: &str, command: &mut Command) -> Result<(), String> {
    let status = command.status().map_err(|e| format!("can't run {what}: {e}"))?;
    if status.success() { Ok(()) } else { Err(format!("{what} failed")) }
}
