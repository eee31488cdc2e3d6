//! `cargo xtask fuzz`: every fuzz target for its share of the time, from the inputs that are kept.
//!
//! Invariant: all targets run even when one fails; what failed is named at the end, with cargo-fuzz's file.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// Minutes of fuzzing altogether, unless said otherwise; building the targets takes more.
const MINUTES: u64 = 10;

/// Runs the targets.
pub(crate) fn fuzz(args: &[String]) -> Result<(), String> {
    let minutes = match args {
        [] => MINUTES,
        [flag, n] if flag == "--minutes" => n.parse().map_err(|_| USAGE.to_owned())?,
        _ => return Err(USAGE.to_owned()),
    };
    let installed = Command::new("cargo").args(["fuzz", "--version"]).output();
    if !installed.is_ok_and(|output| output.status.success()) {
        return Err("cargo-fuzz is missing: cargo install cargo-fuzz --locked".to_owned());
    }
    let targets = targets()?;
    let seconds = seconds(minutes, targets.len());
    let mut failed = Vec::new();
    for target in &targets {
        eprintln!("xtask: fuzzing {target} for {seconds} s");
        if !run(target, seconds)? {
            failed.push(format!("{target} (see fuzz/artifacts/{target})"));
        }
    }
    if failed.is_empty() {
        eprintln!("xtask: {} targets found nothing", targets.len());
        return Ok(());
    }
    Err(format!("fuzzing: these failed: {}", failed.join(", ")))
}

const USAGE: &str = "usage: cargo xtask fuzz [--minutes N]";

/// The share of each target, at least a second.
fn seconds(minutes: u64, targets: usize) -> u64 {
    let targets = u64::try_from(targets).unwrap_or(u64::MAX).max(1);
    minutes.saturating_mul(60).checked_div(targets).unwrap_or(0).max(1)
}

fn root() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The names of all targets, in order.
fn targets() -> Result<Vec<String>, String> {
    let folder = root().join("fuzz/fuzz_targets");
    let entries = fs::read_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let stem = |path: &Path| path.file_stem().map(|name| name.to_string_lossy().into_owned());
    let mut names: Vec<String> = entries.flatten().filter_map(|e| stem(&e.path())).collect();
    names.sort();
    if names.is_empty() { Err(format!("no targets in {}", folder.display())) } else { Ok(names) }
}

/// Runs one target; whether it found nothing.
fn run(target: &str, seconds: u64) -> Result<bool, String> {
    // New inputs go to the first folder, which git does not keep.
    let corpus = root().join("fuzz/corpus").join(target);
    fs::create_dir_all(&corpus).map_err(|e| format!("{}: {e}", corpus.display()))?;
    let mut command = Command::new("cargo");
    command.args(["fuzz", "run", target]).arg(&corpus).arg(root().join("fuzz/kept").join(target));
    command.args(["--", &format!("-max_total_time={seconds}")]);
    // A thread of `verify` may still take down its buffers when the sanitizer looks: see fuzz/README.md.
    if target == "load" {
        command.arg("-detect_leaks=0");
    }
    // The sanitizer needs what a stable compiler gives only so; it takes two tables of SQLite for one.
    command.env("RUSTC_BOOTSTRAP", "1").env("ASAN_OPTIONS", "detect_odr_violation=0");
    let status = command.current_dir(root()).stdin(Stdio::null()).status();
    status.map(|s| s.success()).map_err(|e| format!("{command:?}: {e}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_has_its_share() {
        let targets = targets().unwrap();
        assert!(targets.len() >= 25 && targets.contains(&"svndiff".to_owned()), "{targets:?}");
        for target in &targets {
            assert!(root().join("fuzz/kept").join(target).is_dir(), "{target} has no kept inputs");
        }
        assert_eq!(seconds(10, 25), 24);
        assert_eq!(seconds(0, 25), 1);
    }
}
