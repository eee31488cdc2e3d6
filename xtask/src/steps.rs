//! The steps of a full check, in the order of their cost.
//!
//! Invariant: all steps run even when one fails, the tests last, so that the slowest tests and the seconds of
//! each step are the last lines.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::browser::browser;
use crate::cluster;
use crate::licences;
use crate::scratch::Scratch;
use crate::test_times;

/// A part of the check.
type Step = fn() -> Result<(), String>;

/// Formatting, licences, lints, documentation, its examples, the pages in a browser, servers of one store, tests; then how long each took.
pub(crate) fn everything() -> Result<(), String> {
    let steps: [(&str, Step); 8] = [
        ("formatting", fmt),
        ("licences", licences::check),
        ("lints", clippy),
        ("documentation", docs),
        ("examples", doc_tests),
        ("browser", browser),
        ("servers of a store", cluster::short),
        ("tests", || tests(&[])),
    ];
    let mut failures = Vec::new();
    let mut times = Vec::new();
    for (name, step) in steps {
        let began = Instant::now();
        failures.extend(step().err());
        times.push(format!("{name} {} s", began.elapsed().as_secs()));
    }
    eprintln!("xtask: {}", times.join(", "));
    if failures.is_empty() { Ok(()) } else { Err(failures.join("; ")) }
}

/// `rustfmt` in checking mode.
pub(crate) fn fmt() -> Result<(), String> {
    cargo(&["fmt", "--all", "--check"])
}

/// What is left out unless it is asked for.
const OPTIONAL: &str = "sapwood-cli/secret-service,sapwood-cli/kerberos";

/// What only tests ask for, so that without them the same crates are built as with them.
const OF_TESTS: &str = "sapwood-fs/memory,sapwood-objects/testing";

/// All lints, in all targets, as errors, with what is left out unless it is asked for: a second run without it would
/// check nearly all crates again, since the tests of `repos` ask for another part of `fs`.
pub(crate) fn clippy() -> Result<(), String> {
    let all = ["clippy", "--workspace", "--all-targets", "--features", OPTIONAL];
    cargo(&[all.as_slice(), &["--", "-D", "warnings"]].concat())
}

/// For the loop of daily work: formatting, then lints and unit tests of the crates that differ from
/// `main`.
pub(crate) fn quick() -> Result<(), String> {
    fmt()?;
    let changed = changed_packages()?;
    if changed.is_empty() {
        eprintln!("xtask: nothing differs from main");
        return Ok(());
    }
    let packages: Vec<&str> = changed.iter().flat_map(|p| ["--package", p]).collect();
    let with = |before: &[&'static str], after: &[&'static str]| {
        [before, packages.as_slice(), after].concat()
    };
    cargo(&with(&["clippy"], &["--all-targets", "--", "-D", "warnings"]))?;
    cargo(&with(&["test", "--quiet"], &["--lib", "--bins"]))
}

/// The crates with files that differ from `main`, or are not in it.
fn changed_packages() -> Result<Vec<String>, String> {
    let git = |args: &[&str]| {
        let output = Command::new("git").args(args).current_dir(ROOT).output();
        let output = output.map_err(|e| format!("git: {e}"))?;
        Ok::<_, String>(String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let base = git(&["merge-base", "HEAD", "main"])?;
    let base = if base.trim().is_empty() { "HEAD" } else { base.trim() };
    let files =
        git(&["diff", "--name-only", base])? + &git(&["ls-files", "-o", "--exclude-standard"])?;
    Ok(packages_of(&files))
}

/// The packages that files belong to.
fn packages_of(files: &str) -> Vec<String> {
    let mut found: Vec<String> = files
        .lines()
        .filter_map(|file| match file.split('/').collect::<Vec<_>>().as_slice() {
            ["crates", name, _, ..] => Some(format!("sapwood-{name}")),
            ["xtask", _, ..] => Some("xtask".to_owned()),
            _ => None,
        })
        .collect();
    found.sort();
    found.dedup();
    found
}

/// The workspace's folder.
pub(crate) const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// Documentation, of private items too, without broken links.
///
/// Cargo checks each crate for those that are documented above it. Asked for the same features, in the environment that
/// `cargo clippy` makes, it takes what the lints have checked; where that environment is another, it checks again.
fn docs() -> Result<(), String> {
    let features = format!("{OPTIONAL},{OF_TESTS}");
    let all = ["doc", "--workspace", "--no-deps", "--document-private-items", "--quiet"];
    let args = [all.as_slice(), &["--features", &features]].concat();
    let mut environment = Vec::new();
    if let Some(driver) = clippy_driver() {
        let denied = "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__";
        environment.push(("RUSTC_WORKSPACE_WRAPPER".to_owned(), driver.into_os_string()));
        environment.push(("CLIPPY_ARGS".to_owned(), denied.into()));
    }
    cargo_for(&args, &environment)
}

/// The compiler that `cargo clippy` puts before the real one.
fn clippy_driver() -> Option<PathBuf> {
    let cargo = PathBuf::from(std::env::var_os("CARGO")?);
    Some(cargo.with_file_name("clippy-driver")).filter(|driver| driver.is_file())
}

/// The examples in documentation comments: nextest does not run them. Few crates have some, and
/// looking for them costs a second or two a crate.
fn doc_tests() -> Result<(), String> {
    let crates = fs::read_dir(Path::new(ROOT).join("crates")).map_err(|e| e.to_string())?;
    let mut with: Vec<String> = crates
        .flatten()
        .filter(|entry| has_examples(&entry.path().join("src")))
        .map(|entry| format!("--package=sapwood-{}", entry.file_name().display()))
        .collect();
    if with.is_empty() {
        return Err("no crate has examples: they are no longer found".to_owned());
    }
    with.sort();
    let packages = with.iter().map(String::as_str);
    cargo(&["test", "--doc", "--quiet"].into_iter().chain(packages).collect::<Vec<_>>())
}

/// Whether a file below a folder has a fenced block in a documentation comment that is no plain text.
fn has_examples(folder: &Path) -> bool {
    let Ok(entries) = fs::read_dir(folder) else { return false };
    entries.flatten().any(|entry| {
        let path = entry.path();
        if path.is_dir() {
            return has_examples(&path);
        }
        path.extension().is_some_and(|end| end == "rs")
            && fs::read_to_string(&path).is_ok_and(|text| has_example(&text))
    })
}

/// Whether a fence in the documentation comments of a file opens something that is no plain text.
fn has_example(source: &str) -> bool {
    let comments = source.lines().filter_map(|line| {
        let line = line.trim_start();
        line.strip_prefix("//!").or_else(|| line.strip_prefix("///"))
    });
    let fences = comments.filter_map(|text| text.trim_start().strip_prefix("```"));
    // Every second one closes what the one before it opened.
    fences.step_by(2).any(|kind| kind != "text")
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
    let scratch = Scratch::new();
    if !nextest {
        return cargo_with(&args, scratch.folder());
    }
    let report = target()?.join("nextest/default/junit.xml");
    // That of an earlier run would pass for this one's where nextest ends before it runs a test.
    let _ = fs::remove_file(&report);
    let outcome = cargo_with(&args, scratch.folder());
    let flaky = test_times::print(&report);
    outcome.and(flaky)
}

/// The folder of what is built, wherever it was configured to be.
pub(crate) fn target() -> Result<PathBuf, String> {
    let said = cargo_output(&["metadata", "--format-version=1", "--no-deps"])?;
    let after = said.split_once("\"target_directory\":\"").map(|(_, after)| after);
    let folder = after.and_then(|after| after.split('"').next());
    folder.map(PathBuf::from).ok_or("cargo metadata names no target directory".to_owned())
}

/// What cargo writes to standard output.
pub(crate) fn cargo_output(args: &[&str]) -> Result<String, String> {
    let program = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let output = Command::new(program).args(args).current_dir(ROOT).stdin(Stdio::null()).output();
    let output = output.map_err(|e| format!("cargo {}: {e}", args.join(" ")))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(text);
    }
    Err(format!("cargo {}: {}", args.join(" "), String::from_utf8_lossy(&output.stderr)))
}

/// Runs cargo in the workspace's folder, and names the command if it fails.
pub(crate) fn cargo(args: &[&str]) -> Result<(), String> {
    cargo_for(args, &[])
}

/// As [`cargo`], with another folder for temporary files.
fn cargo_with(args: &[&str], temporary: Option<&Path>) -> Result<(), String> {
    let folder = temporary.map(|folder| ("TMPDIR".to_owned(), folder.as_os_str().to_owned()));
    let mut environment = Vec::from_iter(folder);
    if std::env::var_os(TEST_THREADS).is_none() {
        environment.push((TEST_THREADS.to_owned(), tests_at_a_time().to_string().into()));
    }
    cargo_for(args, &environment)
}

/// The variable by which nextest knows how many tests run at a time.
const TEST_THREADS: &str = "NEXTEST_TEST_THREADS";

/// Half as many again as there are processors: a quarter of the tests' time they wait for disks, peers and each other.
fn tests_at_a_time() -> usize {
    std::thread::available_parallelism().map_or(2, usize::from) * 3 / 2
}

/// As [`cargo`], with these variables in its environment.
pub(crate) fn cargo_for(args: &[&str], environment: &[(String, OsString)]) -> Result<(), String> {
    let line = format!("cargo {}", args.join(" "));
    eprintln!("xtask: {line}");
    let began = Instant::now();
    let program = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let mut command = Command::new(program);
    command.args(args).current_dir(ROOT).stdin(Stdio::null());
    command.envs(environment.iter().map(|(name, value)| (name, value)));
    let status = command.status().map_err(|e| format!("{line}: {e}"))?;
    eprintln!("xtask: {} s: {line}", began.elapsed().as_secs());
    if status.success() {
        return Ok(());
    }
    Err(format!("{line}: failed"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_are_found() {
        assert!(has_examples(&Path::new(ROOT).join("crates/core/src")));
        let fence = "`".repeat(3);
        let block = |kind: &str| format!("    /// {fence}{kind}\n    /// x\n    /// {fence}\n");
        assert!(has_example(&(block("text") + &block("compile_fail"))));
        assert!(has_example(&block("")));
        assert!(!has_example(&(block("text") + &block("text"))));
        assert!(!has_example(&format!("let fence = {fence}")));
    }

    #[test]
    fn packages_by_their_files() {
        let files = "crates/cli/src/main.rs\nREADME.md\ncrates/wire-svn/Cargo.toml\nxtask/src/main.rs\ncrates/cli/x/y\n";
        assert_eq!(packages_of(files), ["sapwood-cli", "sapwood-wire-svn", "xtask"]);
    }
}
