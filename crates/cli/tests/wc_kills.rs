//! Our `svn` is killed in the middle of checkout, update, commit, revert and move. Then `cleanup`, ours
//! or 1.14's, leaves a working copy that both programs see alike, in which the operation can be made
//! again and ends where it would have ended; what only the user has is still there.
//!
//! Where a kill falls is a matter of time: the operation is timed once, and the kills are spread over
//! that time. `SAPWOOD_LONG=1` makes 60.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use sapwood_testkit::compare::difference;
use sapwood_testkit::{Output, Programs};

/// What nobody but the user has.
const OWN: [&str; 2] = ["of the user alone\n", "a line of the user\n"];

struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    /// A repository of two revisions, a working copy of the first with local changes, and files that
    /// are not versioned.
    fn new() -> Self {
        let place = Self { folder: tempfile::tempdir().unwrap() };
        let reference = Programs::reference();
        let svn = |args: &[&str]| place.run(&reference, args).expect_success(&format!("{args:?}"));
        let mut create = reference.command("svnadmin");
        Output::of(create.arg("create").arg(place.path("repo"))).expect_success("svnadmin create");
        let url = place.url();
        svn(&["checkout", "-q", &url, "other"]);
        for dir in ["a", "b", "c/d"] {
            fs::create_dir_all(place.path("other").join(dir)).unwrap();
            for number in 0..8 {
                let path = place.path("other").join(dir).join(format!("f{number}"));
                fs::write(path, format!("{dir} {number}\n").repeat(6 + number * 40)).unwrap();
            }
        }
        svn(&["add", "-q", "other/a", "other/b", "other/c"]);
        svn(&["commit", "-q", "-m", "one", "other"]);
        svn(&["checkout", "-q", &url, "wc"]);
        for number in 0..4 {
            change(&place.path(&format!("other/b/f{number}")), "at the end\n", false);
        }
        svn(&["copy", "-q", "other/a", "other/e"]);
        svn(&["delete", "-q", "other/c/d/f5"]);
        svn(&["commit", "-q", "-m", "two", "other"]);
        for name in ["a/f0", "a/f1", "b/f1", "c/d/f2"] {
            change(&place.path("wc").join(name), OWN[1], true);
        }
        fs::write(place.path("wc/a/mine"), OWN[0]).unwrap();
        place
    }

    fn path(&self, below: &str) -> PathBuf {
        self.folder.path().join(below)
    }

    fn url(&self) -> String {
        format!("file://{}", self.path("repo").display())
    }

    fn run(&self, programs: &Programs, args: &[&str]) -> Output {
        let mut command = programs.command("svn");
        Output::of(command.args(args).arg("--non-interactive").current_dir(self.folder.path()))
    }

    /// Runs ours and kills it after a while, if that is given; how long it ran.
    fn begin(&self, args: &[&str], after: Option<Duration>) -> Duration {
        let mut command = Programs::ours().command("svn");
        command.args(args).arg("--non-interactive").current_dir(self.folder.path());
        let began = Instant::now();
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        if let Some(after) = after {
            std::thread::sleep(after);
            // It may have ended.
            let _ = child.kill();
        }
        child.wait().unwrap();
        began.elapsed()
    }

    /// All texts of the working copy.
    fn texts(&self) -> Vec<String> {
        let mut found = Vec::new();
        collect(&self.path("wc"), &mut found);
        found
    }
}

fn change(path: &Path, line: &str, first: bool) {
    let old = fs::read_to_string(path).unwrap();
    fs::write(path, if first { format!("{line}{old}") } else { format!("{old}{line}") }).unwrap();
}

fn collect(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        if entry.file_name() == ".svn" {
            continue;
        }
        match entry.file_type().unwrap().is_dir() {
            true => collect(&entry.path(), found),
            false => found.push(fs::read_to_string(entry.path()).unwrap()),
        }
    }
}

/// An operation and what has to hold after it was killed, cleaned up and made again.
struct Operation {
    args: &'static [&'static str],
    /// How many files keep the user's line.
    lines: std::ops::RangeInclusive<usize>,
    /// The steps that make it whole.
    again: &'static [&'static [&'static str]],
    /// What 1.14 may say of the status then.
    status: &'static [&'static str],
}

fn kills(operation: &Operation, fresh: bool) {
    let place = |fresh: bool| {
        let place = Place::new();
        if fresh {
            fs::remove_dir_all(place.path("wc")).unwrap();
        }
        place
    };
    let words = |place: &Place, args: &[&str]| -> Vec<String> {
        args.iter().map(|word| word.replace("URL", &place.url())).collect()
    };
    let whole = place(fresh);
    let args = words(&whole, operation.args);
    let time = whole.begin(&args.iter().map(String::as_str).collect::<Vec<_>>(), None);
    let count = if sapwood_testkit::long() { 60 } else { 4 };
    for number in 0..count {
        let place = place(fresh);
        let args = words(&place, operation.args);
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let after = time * (number + 1) / (count + 1);
        place.begin(&args, Some(after));
        let told = format!("{args:?} killed after {after:?} of {time:?}");
        check(&place, operation, number % 2 == 0, fresh, &told);
    }
}

fn check(place: &Place, operation: &Operation, by_ours: bool, fresh: bool, told: &str) {
    let (ours, reference) = (Programs::ours(), Programs::reference());
    let cleaner = if by_ours { &ours } else { &reference };
    let there = place.path("wc/.svn/wc.db").exists();
    if there {
        place.run(cleaner, &["cleanup", "wc"]).expect_success(told);
        for question in [["status", "-v", "wc"], ["info", "-R", "wc"]] {
            let theirs = place.run(&reference, &question).unordered();
            let found = difference(&theirs, &place.run(&ours, &question).unordered());
            assert!(found.is_none(), "{told}: {question:?}\n{}", found.unwrap_or_default());
        }
    }
    let own = |texts: &[String], line: &str| texts.iter().filter(|t| t.contains(line)).count();
    if !fresh {
        let texts = place.texts();
        assert!(own(&texts, OWN[0]) >= 1, "{told}: the file that is not versioned is gone");
        let lines = own(&texts, OWN[1]);
        assert!(operation.lines.contains(&lines), "{told}: {lines} files with the user's line");
    }
    for step in operation.again {
        let url = place.url();
        let step: Vec<String> = step.iter().map(|word| word.replace("URL", &url)).collect();
        let step: Vec<&str> = step.iter().map(String::as_str).collect();
        // A move that was made, or a commit that is out of date, may fail here.
        let _ = place.run(cleaner, &step);
    }
    let status = place.run(&reference, &["status", "wc"]).expect_success(told).unordered();
    let status = String::from_utf8(status.stdout).unwrap();
    assert!(operation.status.contains(&status.trim()), "{told}: {status}");
    // Every text of BASE is there and right.
    place.run(&reference, &["export", "-q", "-rBASE", "wc", "exported"]).expect_success(told);
    if !fresh {
        assert!(own(&place.texts(), OWN[0]) >= 1, "{told}: the file that is not versioned is gone");
    }
}

#[test]
fn checkouts_go_on() {
    let again: &[&[&str]] = &[&["checkout", "-q", "URL", "wc"]];
    let operation =
        Operation { args: &["checkout", "-q", "URL", "wc"], lines: 0..=0, again, status: &[""] };
    kills(&operation, true);
}

#[test]
fn updates_go_on() {
    let again: &[&[&str]] = &[&["update", "-q", "--accept=postpone", "wc"]];
    let status: &[&str] = &[
        "?       wc/a/mine\nM       wc/a/f0\nM       wc/a/f1\nM       wc/b/f1\nM       wc/c/d/f2",
    ];
    let args = &["update", "-q", "--accept=postpone", "wc"];
    kills(&Operation { args, lines: 4..=4, again, status }, false);
}

#[test]
fn commits_end_once() {
    let again: &[&[&str]] = &[
        &["update", "-q", "--accept=postpone", "wc"],
        &["commit", "-q", "-m", "again", "wc"],
        &["update", "-q", "wc"],
    ];
    let args = &["commit", "-q", "-m", "mine", "wc/a", "wc/c"];
    kills(&Operation { args, lines: 4..=4, again, status: &["?       wc/a/mine"] }, false);
}

#[test]
fn reverts_go_on() {
    let again: &[&[&str]] = &[&["revert", "-q", "-R", "wc"]];
    let args = &["revert", "-q", "-R", "wc"];
    kills(&Operation { args, lines: 0..=4, again, status: &["?       wc/a/mine"] }, false);
}

#[test]
fn moves_lose_nothing() {
    let again: &[&[&str]] =
        &[&["revert", "-q", "-R", "wc"], &["cleanup", "--vacuum-pristines", "wc"]];
    let args = &["move", "-q", "wc/a", "wc/b/moved"];
    // The moved folder stays where it came to, or the file that is not versioned is where it was.
    let status: &[&str] = &["?       wc/a/mine", "?       wc/b/moved"];
    kills(&Operation { args, lines: 4..=6, again, status }, false);
}
