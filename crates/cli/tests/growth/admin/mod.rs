//! The administrators' programs: what each command costs with four times as many entries, revisions,
//! properties, locks or lines of its input. Two repositories of each kind are made, once; commands that
//! change one get a copy.

mod entries;
mod lists;
mod locks;
mod properties;
mod revisions;

use std::path::Path;
use std::process::{Command, Stdio};

use sapwood_testkit::counted::Order::{self, Linear};
use sapwood_testkit::counted::{counted, within};
use sapwood_testkit::{Output, Programs};

use crate::made::Made;

pub(crate) use locks::locked;

/// A repository, and one with four times as much of what is counted.
struct Sizes {
    few: Made,
    many: Made,
}

/// What is run: a program, and what it reads.
struct Work {
    command: Command,
    input: Vec<u8>,
    /// Removed afterwards.
    copy: Option<Made>,
}

impl Sizes {
    fn of(n: u64, make: impl Fn(u64) -> Made + Sync) -> Self {
        let (few, many) = both(|four| make(if four { 4 * n } else { n }));
        Self { few, many }
    }

    /// Counts `work` on both.
    fn check(&self, what: &str, order: Order, work: impl Fn(&Made) -> Work + Sync) {
        check(what, order, |four| work(if four { &self.many } else { &self.few }));
    }

    /// Counts `work` on a copy of each.
    fn change(&self, what: &str, order: Order, work: impl Fn(&Made) -> Work + Sync) {
        let few = self.few.copy();
        let copies = Self { few, many: self.many.copy() };
        copies.check(what, order, work);
    }

    /// `PROGRAM ARGS`, in which `R` stands for the path of the repository and `U` for its URL.
    fn reads(&self, order: Order, line: &str) {
        self.check(line, order, |made| ours(made, line));
    }

    /// As [`Self::reads`], on a copy.
    fn writes(&self, order: Order, line: &str) {
        self.change(line, order, |made| ours(made, line));
    }
}

/// Counts what is done with little (`false`) and with four times as much.
fn check(what: &str, order: Order, work: impl Fn(bool) -> Work + Sync) {
    let (few, many) = both(|four| {
        let work = work(four);
        counted(&work.command, &work.input).0
    });
    println!("{what}: {few:?}, four times as many: {many:?}");
    within(what, order, few, many);
}

/// Both at once.
fn both<T: Send>(work: impl Fn(bool) -> T + Sync) -> (T, T) {
    std::thread::scope(|scope| {
        let many = scope.spawn(|| work(true));
        (work(false), many.join().unwrap())
    })
}

/// A command line; see [`Sizes::reads`].
fn ours(made: &Made, line: &str) -> Work {
    let repo = made.path().display().to_string();
    let mut words = line.split(' ').map(|word| match word {
        "R" => repo.clone(),
        "U" => format!("file://{repo}"),
        _ => match word.strip_prefix("U/") {
            Some(below) => format!("file://{repo}/{below}"),
            None => word.to_owned(),
        },
    });
    let mut command = Programs::ours().command(&words.next().unwrap());
    command.args(words);
    Work { command, input: Vec::new(), copy: None }
}

impl Work {
    fn input(mut self, input: impl Into<Vec<u8>>) -> Self {
        self.input = input.into();
        self
    }

    fn args<S: AsRef<std::ffi::OsStr>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.command.args(args);
        self
    }

    /// Keeps a copy until the work is done.
    fn keeping(mut self, copy: Made) -> Self {
        self.copy = Some(copy);
        self
    }

    /// Runs it without counting.
    fn run(mut self) -> Output {
        let what = format!("{:?}", self.command);
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), &self.input).unwrap();
        self.command.stdin(Stdio::from(std::fs::File::open(file.path()).unwrap()));
        Output::of(&mut self.command).expect_success(&what)
    }
}

/// Lets everybody change revision properties.
pub(crate) fn open_revprops(repo: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    let hook = repo.join("hooks/pre-revprop-change");
    std::fs::write(&hook, "#!/bin/sh\n").unwrap();
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// An empty repository beside that of a copy, which may be written to by `svnsync` and `svnrdump`.
fn mirror(made: &Made) -> String {
    assert!(made.is_own());
    let path = made.root().join("mirror");
    let path = path.to_str().unwrap();
    ours(made, &format!("svnadmin create {path}")).run();
    open_revprops(Path::new(path));
    format!("file://{path}")
}

/// `svnadmin load` of what these were loaded from, of their dump as deltas, and below a directory.
fn loads(sizes: &Sizes) {
    for (how, deltas) in [("", false), ("", true), (" --parent-dir below", false)] {
        sizes.change(&format!("svnadmin load{how}, deltas {deltas}"), Linear, |made| {
            let stream = match deltas {
                true => ours(made, "svnadmin dump -q --deltas R").run().stdout,
                false => made.stream(),
            };
            let url = mirror(made);
            if !how.is_empty() {
                ours(made, &format!("svnmucc -m m mkdir {url}/below")).run();
            }
            let path = url.trim_start_matches("file://");
            ours(made, &format!("svnadmin load -q --no-flush-to-disk{how} {path}")).input(stream)
        });
    }
}

/// What copies from one repository to another.
fn targets(sizes: &Sizes) {
    sizes.reads(Linear, "svnrdump dump -q U");
    sizes.change("svnrdump load", Linear, |made| {
        let url = mirror(made);
        let stream = ours(made, "svnadmin dump -q --deltas R").run().stdout;
        ours(made, &format!("svnrdump load -q {url}")).input(stream)
    });
    sizes.change("svnsync init", Linear, |made| {
        ours(made, &format!("svnsync init -q {} U", mirror(made)))
    });
    for line in ["svnsync sync -q", "svnsync info"] {
        sizes.change(line, Linear, |made| {
            let url = mirror(made);
            ours(made, &format!("svnsync init -q {url} U")).run();
            ours(made, &format!("{line} {url}"))
        });
    }
}

/// `svnsync copy-revprops`, to a mirror that has everything.
fn copied_revprops(sizes: &Sizes, order: Order) {
    sizes.change("svnsync copy-revprops", order, |made| {
        let url = mirror(made);
        for line in ["svnsync init -q URL U", "svnsync sync -q URL"] {
            ours(made, &line.replace("URL", &url)).run();
        }
        ours(made, &format!("svnsync copy-revprops -q {url}"))
    });
}
