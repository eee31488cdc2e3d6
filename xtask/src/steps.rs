//! The steps of a full check, in the order of their cost.
//!
//! Invariant: all steps run even when one fails, the tests last, so that the test runner's closing
//! lines are the last thing that is printed when all is well.

use std::process::{Command, Stdio};
use std::time::Instant;

/// Formatting, lints, documentation, its tests, tests.
pub(crate) fn everything() -> Result<(), String> {
    let steps: [fn() -> Result<(), String>; 5] = [fmt, clippy, docs, doc_tests, || tests(&[])];
    let failures: Vec<String> = steps.iter().filter_map(|step| step().err()).collect();
    if failures.is_empty() { Ok(()) } else { Err(failures.join("; ")) }
}

/// `rustfmt` in checking mode.
pub(crate) fn fmt() -> Result<(), String> {
    cargo(&["fmt", "--all", "--check"])
}

/// All lints, in all targets, as errors.
pub(crate) fn clippy() -> Result<(), String> {
    cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])
}

/// Documentation, of private items too, without broken links.
fn docs() -> Result<(), String> {
    cargo(&["doc", "--workspace", "--no-deps", "--document-private-items", "--quiet"])
}

/// The examples in documentation comments: nextest does not run them.
fn doc_tests() -> Result<(), String> {
    cargo(&["test", "--workspace", "--doc", "--quiet"])
}

/// Unit, integration and interoperation tests, by nextest where it is installed.
pub(crate) fn tests(more: &[String]) -> Result<(), String> {
    let nextest = Command::new("cargo")
        .args(["nextest", "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|s| s.success());
    let mut args = if nextest {
        vec!["nextest", "run", "--workspace", "--no-fail-fast"]
    } else {
        vec!["test", "--workspace", "--all-targets", "--no-fail-fast"]
    };
    args.extend(more.iter().map(String::as_str));
    cargo(&args)
}

/// Runs cargo in the workspace's folder, and names the command if it fails.
pub(crate) fn cargo(args: &[&str]) -> Result<(), String> {
    let line = format!("cargo {}", args.join(" "));
    eprintln!("xtask: {line}");
    let began = Instant::now();
    let program = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let status = Command::new(program)
        .args(args)
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
        .stdin(Stdio::null())
        .status()
        .map_err(|e| format!("{line}: {e}"))?;
    if status.success() {
        return Ok(());
    }
    Err(format!("{line}: failed after {} s", began.elapsed().as_secs()))
}
