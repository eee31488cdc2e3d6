//! Our `svn` is killed in the middle of checkout, update, commit, revert and move. Then `cleanup`, ours
//! or 1.14's, leaves a working copy that both programs see alike, in which the operation can be made
//! again and ends where it would have ended; what only the user has is still there.
//!
//! Kills fall at moments and at operations. For moments the operation is timed once, and the kills are spread
//! over that time. For operations `strace` counts the system calls that change files or the database, and kills
//! the program before one of them is made. Of these there are three each day, others with another
//! `SAPWOOD_SEED`; `SAPWOOD_LONG=1` stops before each, and makes 60 kills by the clock.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use sapwood_testkit::compare::difference;
use sapwood_testkit::{Output, Programs};

/// What only the user has.
const OWN: [&str; 2] = ["of the user alone\n", "a line of the user\n"];

struct Place {
    folder: tempfile::TempDir,
    url: String,
    kind: Kind,
}

/// Which working copies are worked on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Of format 31: both programs know them.
    Common,
    /// Of format 32 without text bases, which 1.14 does not know.
    Bare,
}

impl Place {
    /// A repository of two revisions, a working copy of the first with local changes, and files that
    /// are not versioned.
    fn new(kind: Kind) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("file://{}", folder.path().join("repo").display());
        let place = Self { folder, url, kind };
        let reference = Programs::reference();
        let svn = |args: &[&str]| place.run(&reference, args).expect_success(&format!("{args:?}"));
        let mut create = reference.command("svnadmin");
        Output::of(create.arg("create").arg(place.path("repo"))).expect_success("svnadmin create");
        let url = &place.url;
        svn(&["checkout", "-q", url, "other"]);
        for dir in ["a", "b", "c/d"] {
            fs::create_dir_all(place.path("other").join(dir)).unwrap();
            for number in 0..8 {
                let path = place.path("other").join(dir).join(format!("f{number}"));
                fs::write(path, format!("{dir} {number}\n").repeat(6 + number * 40)).unwrap();
            }
        }
        svn(&["add", "-q", "other/a", "other/b", "other/c"]);
        svn(&["commit", "-q", "-m", "one", "other"]);
        match kind {
            Kind::Common => svn(&["checkout", "-q", url, "wc"]),
            Kind::Bare => place
                .run(&Programs::ours(), &["checkout", "-q", "--store-pristine=no", url, "wc"])
                .expect_success("a checkout without text bases"),
        };
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

    /// The same; `fresh` is without the working copy.
    fn with(fresh: bool, kind: Kind) -> Self {
        let place = Self::new(kind);
        if fresh {
            fs::remove_dir_all(place.path("wc")).unwrap();
        }
        place
    }

    /// The words of a command line.
    fn words<'a>(&'a self, args: &[&'a str]) -> Vec<&'a str> {
        let words = args.iter().map(|word| if *word == "URL" { self.url.as_str() } else { word });
        let makes_bare = self.kind == Kind::Bare && args.first() == Some(&"checkout");
        words.chain(makes_bare.then_some("--store-pristine=no")).collect()
    }

    /// The programs that judge what is left: not ours, where others can.
    fn judge(&self) -> Programs {
        match self.kind {
            Kind::Common => Programs::reference(),
            Kind::Bare => Programs::ours(),
        }
    }

    fn path(&self, below: &str) -> PathBuf {
        self.folder.path().join(below)
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

/// System calls that change files, folders or the database (`openat` makes and empties files).
const CHANGES: &str =
    "openat,mkdir,rename,unlink,rmdir,write,pwrite64,ftruncate,chmod,fchmod,utimensat,symlink";

/// Runs ours under `strace` with some more words for it; what it wrote down.
fn traced(place: &Place, args: &[&str], more: &[&str]) -> String {
    let log = place.path("trace");
    let svn = Programs::ours().command("svn");
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-o"]).arg(&log).args(more).arg(svn.get_program());
    for (name, value) in svn.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.args(args).arg("--non-interactive").current_dir(place.folder.path());
    let ended = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    ended.unwrap_or_else(|e| panic!("strace does not start ({e}): run `cargo xtask packages`"));
    fs::read_to_string(log).expect("what strace wrote down (it needs the right to trace processes)")
}

/// The changes that an operation makes, each as the name of a call and which of these calls it is.
fn changes(log: &str) -> Vec<(String, usize)> {
    let mut calls = BTreeMap::new();
    for line in log.lines() {
        // A call that another thread interrupts is told of twice.
        let Some((head, rest)) = line.split_once('(') else { continue };
        let Some((thread, name)) = head.split_once(' ') else { continue };
        if !CHANGES.split(',').any(|known| known == name.trim()) {
            continue;
        }
        let count = calls.entry((name.trim().to_owned(), thread.to_owned())).or_insert(Vec::new());
        count.push(name.trim() != "openat" || rest.contains("O_CREAT"));
    }
    // Calls are counted for each thread: the thread with most of them does the work.
    let mut most: BTreeMap<String, Vec<bool>> = BTreeMap::new();
    for ((name, _), count) in calls {
        let known = most.entry(name).or_default();
        if count.len() > known.len() {
            *known = count;
        }
    }
    let numbered = |(name, count): (String, Vec<bool>)| {
        let makes = count.into_iter().enumerate().filter(|(_, makes)| *makes);
        makes.map(move |(at, _)| (name.clone(), at + 1)).collect::<Vec<_>>()
    };
    most.into_iter().flat_map(numbered).collect()
}

/// Stops the operation before its changes.
fn stops(operation: &Operation, fresh: bool, kind: Kind) {
    let trace = format!("trace={CHANGES}");
    let whole = Place::with(fresh, kind);
    let all = changes(&traced(&whole, &whole.words(operation.args), &["-e", &trace]));
    assert!(all.len() > 20, "only {} changes were seen: {all:?}", all.len());
    let step = if sapwood_testkit::long() { 1 } else { all.len() / 3 };
    let seed = std::env::var("SAPWOOD_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(7);
    for (number, (name, at)) in all.iter().enumerate().skip(seed % step).step_by(step) {
        let place = Place::with(fresh, kind);
        let args = place.words(operation.args);
        let inject = format!("inject={name}:signal=KILL:when={at}");
        traced(&place, &args, &["-e", &trace, "-e", &inject]);
        let told = format!("SAPWOOD_SEED={seed}: {args:?} stopped before {name} {at}");
        check(&place, operation, number % 2 == 0, fresh, &told);
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
    kills_of(operation, fresh, Kind::Common);
}

fn kills_of(operation: &Operation, fresh: bool, kind: Kind) {
    let whole = Place::with(fresh, kind);
    let time = whole.begin(&whole.words(operation.args), None);
    let count = if sapwood_testkit::long() { 60 } else { 2 };
    for number in 0..count {
        let place = Place::with(fresh, kind);
        let args = place.words(operation.args);
        let after = time * (number + 1) / (count + 1);
        place.begin(&args, Some(after));
        let told = format!("{args:?} killed after {after:?} of {time:?}");
        check(&place, operation, number % 2 == 0, fresh, &told);
    }
    stops(operation, fresh, kind);
}

fn check(place: &Place, operation: &Operation, by_ours: bool, fresh: bool, told: &str) {
    let (ours, reference) = (Programs::ours(), place.judge());
    let there = place.run(&reference, &["info", "wc"]).code == 0;
    // A checkout that was stopped before there is a root is none that 1.14 goes on with, its own neither.
    let cleaner = if by_ours || !there { &ours } else { &reference };
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
        // A move that was made, or a commit that is out of date, may fail here.
        let _ = place.run(cleaner, &place.words(step));
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

/// Where a text base may be missing, one that is said to be there and is not is fetched again.
#[test]
fn without_text_bases_too() {
    const CHECKOUT: &[&str] = &["checkout", "-q", "URL", "wc"];
    const UPDATE: &[&str] = &["update", "-q", "--accept=postpone", "wc"];
    const COMMIT: &[&str] = &["commit", "-q", "-m", "mine", "wc/a", "wc/c"];
    const REVERT: &[&str] = &["revert", "-q", "-R", "wc"];
    const CHANGED: &str =
        "?       wc/a/mine\nM       wc/a/f0\nM       wc/a/f1\nM       wc/b/f1\nM       wc/c/d/f2";
    const COMMITTED: &str = "?       wc/a/mine\nM       wc/b/f1";
    const REVERTED: &str = "?       wc/a/mine";
    let operations = [
        Operation { args: CHECKOUT, lines: 0..=0, again: &[CHECKOUT], status: &[""] },
        Operation { args: UPDATE, lines: 4..=4, again: &[UPDATE], status: &[CHANGED] },
        Operation {
            args: COMMIT,
            lines: 4..=4,
            again: &[UPDATE, COMMIT, UPDATE],
            status: &[COMMITTED],
        },
        Operation { args: REVERT, lines: 0..=4, again: &[REVERT], status: &[REVERTED] },
    ];
    for operation in &operations {
        kills_of(operation, operation.args == CHECKOUT, Kind::Bare);
    }
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
