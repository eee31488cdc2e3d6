//! One operation on many nodes is few transactions: system calls counted at n and 4n files. What it says and leaves
//! is the reference's.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sapwood_testkit::Programs;

/// A working copy `wc` with `$N` files in folders of fifty, and their names in `targets`.
const FILES: &str = r"
svnadmin create repo; svn co -q file://$PWD/repo wc; cd wc
for d in $(seq $N); do mkdir -p d$((d / 50)); echo $d > d$((d / 50))/f$d; done
svn add -q d*; svn ci -qm 1; svn up -q; ls d*/* > ../targets; svn mkdir -q m
";

/// Commands, with what the reference does before; how many locks, `stat`s and system calls one more file may cost. A
/// file whose work is in the queue takes four locks, and a read of the database's change counter.
const COMMANDS: &[(&str, &str, [usize; 3])] = &[
    ("", "changelist -R c .", [0, 0, 0]),
    ("svn cl -q -R c .", "changelist -R --remove .", [0, 0, 0]),
    ("", "changelist c --targets ../targets", [0, 1, 2]),
    ("", "propset -R p v .", [0, 0, 0]),
    ("", "propset p v --targets ../targets", [0, 1, 2]),
    ("", "propset -R svn:executable yes .", [4, 4, 10]),
    ("svn ps -q -R p v .", "propdel -R p .", [0, 0, 0]),
    ("cp -r d* m", "add m --force", [0, 9, 14]),
    ("mkdir n; cp -r d* n", "add n", [0, 9, 14]),
    ("", "delete --targets ../targets", [0, 14, 19]),
    ("", "delete d0", [0, 4, 6]),
    ("svn rm -q --targets ../targets", "revert -R .", [4, 10, 26]),
    ("svn rm -q --targets ../targets", "revert --targets ../targets", [4, 10, 26]),
    ("svn ps -q -R p v .", "revert -R .", [0, 4, 4]),
    ("", "copy d0 e", [4, 10, 30]),
    // Each target is checked by reads of its own.
    ("", "copy TARGETS m", [34, 50, 92]),
    ("", "move d0 m", [0, 4, 8]),
    ("", "lock --targets ../targets", [0, 20, 60]),
    ("svn lock -q --targets ../targets", "unlock --targets ../targets", [0, 20, 60]),
    ("svn ps -q -R p v .; svn ci -qm p; svn ps -q -R p w d0", "propget -R p .", [0, 0, 0]),
    ("", "resolve -R --accept working .", [0, 0, 0]),
];

/// What [`FILES`] makes, made once: each command gets a copy of it in the same place, which its URL names.
struct Prepared(tempfile::TempDir);

impl Prepared {
    fn new(n: usize) -> Self {
        let made = Self(tempfile::tempdir().unwrap());
        std::fs::create_dir(made.place()).unwrap();
        made.shell(&made.place(), &format!("N={n}\n{FILES}"));
        made.shell(made.0.path(), "mv place kept");
        made
    }

    fn place(&self) -> PathBuf {
        self.0.path().join("place")
    }

    fn shell(&self, at: &Path, script: &str) {
        let mut command = Command::new("sh");
        command.env("SVN_I_LOVE_CORRUPTED_WORKING_COPIES_SO_DISABLE_SLEEP_FOR_TIMESTAMPS", "yes");
        command.args(["-e", "-c", script]).current_dir(at);
        assert!(command.status().unwrap().success(), "{script}");
    }

    /// The folder as it was made, and then changed by `before`.
    fn folder(&self, before: &str) -> PathBuf {
        self.shell(self.0.path(), "rm -rf place; cp -a kept place");
        if !before.is_empty() {
            self.shell(&self.place().join("wc"), before);
        }
        self.place()
    }
}

/// The words of a command; `TARGETS` are the names in `targets`.
fn words(at: &Path, line: &str) -> Vec<String> {
    let targets = std::fs::read_to_string(at.join("targets")).unwrap();
    let of = |word: &str| match word {
        "TARGETS" => targets.lines().map(str::to_owned).collect(),
        other => vec![other.to_owned()],
    };
    line.split(' ').flat_map(of).collect()
}

#[derive(Debug)]
struct Counts {
    transactions: usize,
    locks: usize,
    stats: usize,
    all: usize,
}

fn counts(prepared: &Prepared, before: &str, line: &str) -> Counts {
    let folder = prepared.folder(before);
    let svn = Programs::ours().command("svn");
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-o", "../trace"]).arg(svn.get_program());
    command.args(words(&folder, line)).current_dir(folder.join("wc"));
    command.stdout(Stdio::null());
    let done = command.status();
    let done = done.unwrap_or_else(|e| panic!("no strace ({e}): run `cargo xtask packages`"));
    assert!(done.success(), "{line}");
    let trace = std::fs::read_to_string(folder.join("trace")).unwrap();
    let lines = || trace.lines().filter(|line| !line.contains(" resumed>"));
    let with = |what: &str| lines().filter(|line| line.contains(what)).count();
    // The journal is truncated at the end of each transaction that changes something.
    Counts {
        transactions: with("ftruncate("),
        locks: with("F_SETLK"),
        stats: with("stat"),
        all: lines().count(),
    }
}

#[test]
fn an_operation_on_many_files_is_few_transactions() {
    const FEW: usize = 25;
    const MANY: usize = 100;
    let mut wrong = Vec::new();
    let prepared = [FEW, MANY].map(Prepared::new);
    for (before, line, allowed) in COMMANDS {
        let [few, many] = prepared.each_ref().map(|prepared| counts(prepared, before, line));
        let more = MANY - FEW;
        let each = |few: usize, many: usize| many.saturating_sub(few) / more;
        let found =
            [each(few.locks, many.locks), each(few.stats, many.stats), each(few.all, many.all)];
        // Of locks, what a server that is slow has answered is written at once: how often follows from the machine's load.
        let is_steady = line.contains("lock ") || many.transactions <= few.transactions + 2;
        let same = is_steady && many.transactions < 12;
        if !same || found.iter().zip(allowed).any(|(found, allowed)| found > allowed) {
            wrong.push(format!("{line}: {found:?} a file: {few:?}, {many:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn run(programs: &Programs, at: &Path, line: &str) -> Vec<String> {
    let mut command = programs.command("svn");
    command.args(words(at, line)).current_dir(at.join("wc"));
    let output = command.output().unwrap();
    let state = "svn st; svn pl -vR .; svn info -R | grep -e Changelist -e Token; \
        find . -name .svn -prune -o -type f -printf '%p %m %s\n' | sort";
    let state = Command::new("sh").args(["-c", state]).current_dir(at.join("wc")).output().unwrap();
    let text = [output.stdout, output.stderr, state.stdout].concat();
    let text = String::from_utf8(text).unwrap().replace(at.to_str().unwrap(), "");
    let without_token = |line: &str| line.split("opaquelocktoken").next().unwrap().to_owned();
    text.lines().map(without_token).collect()
}

#[test]
fn what_is_done_together_is_what_the_reference_does() {
    let prepared = Prepared::new(60);
    for (before, line, ..) in COMMANDS {
        let [ours, theirs] = [Programs::ours(), Programs::reference()].map(|programs| {
            let mut lines = run(&programs, &prepared.folder(before), line);
            if line.starts_with("revert") || line.starts_with("add") {
                // The reference's order is that of a hash table, or of the file system.
                lines.sort();
            }
            lines
        });
        assert_eq!(ours, theirs, "{line}");
    }
}

/// What was done before an error stays, and is reported before it.
#[test]
fn what_was_done_before_an_error_stays() {
    let prepared = Prepared::new(20);
    for line in [
        "propset p v d0/f1 d0/none d0/f2",
        "propset svn:eol-style nonsense d0/f1 d0/f2",
        "propset svn:eol-style native -R .",
        "changelist c d0/f1 d0/none d0/f2",
        "add d0/new1 d0/f1 d0/none d0/new2",
        "revert d0/f1 none d0/f2",
        "delete d0/f1 d0/none d0/f2",
        "lock d0/f1 d0 d0/f2",
    ] {
        let [ours, theirs] = [Programs::ours(), Programs::reference()].map(|programs| {
            let before = r"echo a > d0/new1; echo b > d0/new2; svn ps -q p w d0/f1; printf 'a\r\nb\n' > d0/f9";
            run(&programs, &prepared.folder(before), line)
        });
        assert_eq!(ours, theirs, "{line}");
    }
}

/// A property in all layers: local and committed, copied, moved, deleted, replaced, excluded.
#[test]
fn a_property_of_a_tree_is_what_the_user_sees() {
    let before = r"
        for d in a b c d; do mkdir -p $d/x $d/x-y; for f in 1 2 3; do echo $d > $d/f$f; echo $f > $d/x/g$f; done; done
        svn add -q a b c d; svn ps -q -R p base a b c; svn ps -q p only d/x/g1; svn ps -q pp other d/f1
        svn ci -qm two; svn up -q; svn rm -q a/x b/x-y; svn ps -q p local b/x/g1; svn pd -q p b/x/g2 a/f1
        svn cp -q c n; svn pd -q p n/f1; svn ps -q p n2 n/x/g1; svn rm -q n/f2; svn mv -q d q; svn cp -q a/f2 b/x-y
        svn up -q --set-depth exclude c/x; mkdir -p z/y; svn add -q z; svn ps -q p z z/y; rm c/f1";
    let prepared = Prepared::new(1);
    let folder = prepared.folder(before);
    for target in [".", "a", "a/f1", "b", "b/x-y", "c", "n", "n/x", "q", "d", "d/x", "z"] {
        for option in ["-R", "-vR", "--xml -R", "--show-inherited-props -R", "--depth immediates"] {
            let line = format!("propget p {option} {target}");
            let [ours, theirs] = [Programs::ours(), Programs::reference()]
                .map(|programs| run(&programs, &folder, &line));
            assert_eq!(ours, theirs, "{line}");
        }
    }
}
