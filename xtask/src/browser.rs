//! `cargo xtask browser`: the web pages in Chromium. `tools/browser/README.md` says what is looked at.
//!
//! Invariant: the packages of npm are those of the lock file; nothing of them is kept in the repository.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::scratch::Scratch;
use crate::steps::{ROOT, cargo, target};

/// The scripts, in their order.
const SCRIPTS: [&str; 2] = ["pages.mjs", "sign_in.mjs"];

/// Builds the program, installs what the scripts need, and runs them.
pub(crate) fn browser() -> Result<(), String> {
    // As the tests are built: a full check builds it once.
    cargo(&["test", "--workspace", "--no-run", "--quiet"])?;
    let folder = Path::new(ROOT).join("tools/browser");
    run("npm", Command::new("npm").args(["ci", "--no-audit", "--no-fund"]).current_dir(&folder))?;
    let pictures = pictures()?;
    let scratch = Scratch::new();
    for script in SCRIPTS {
        let mut node = Command::new("node");
        node.arg(folder.join(script)).arg(target()?.join("debug/sapwood")).arg(&pictures);
        if let Some(temporary) = scratch.folder() {
            node.env("TMPDIR", temporary);
        }
        run(script, &mut node)?;
    }
    eprintln!("xtask: the pictures are in {}", pictures.display());
    Ok(())
}

/// Where the pictures go.
fn pictures() -> Result<PathBuf, String> {
    Ok(target()?.join("pictures"))
}

fn run(what: &str, command: &mut Command) -> Result<(), String> {
    let status = command.status().map_err(|e| format!("can't run {what}: {e}"))?;
    if status.success() { Ok(()) } else { Err(format!("{what} failed")) }
}
