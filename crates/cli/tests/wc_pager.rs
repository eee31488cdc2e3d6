//! A command whose output waits, in a pager or a terminal that was stopped, holds no lock of wc.db: another program changes
//! the working copy meanwhile.

use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Stdio};

use sapwood_testkit::{Output, Programs};

/// More than what a pipe and a program's buffer take, whatever of it is printed.
const TREE: &str = r"
svnadmin create repo; svn co -q file://$PWD/repo wc; cd wc
for d in $(seq 40); do mkdir d$d; for f in $(seq 100); do echo $f > d$d/file-with-a-long-name-$f; done; done
svn add -q d*; svn ps -q -R property value d*; svn ci -q -m 1; svn up -q
for f in d*/*; do echo changed > $f; done
";

/// Commands that print much.
const COMMANDS: &[&str] = &[
    "status",
    "status -v",
    "status -v -u",
    "status -v --xml",
    "info -R",
    "info --xml -R",
    "info --targets ../targets",
    "proplist -v -R",
    "propget -R property",
    "diff",
    "diff --summarize",
    "list -v -R",
];

#[test]
fn others_change_a_working_copy_while_the_output_of_a_command_waits() {
    let folder = tempfile::tempdir().unwrap();
    let wc = folder.path().join("wc");
    script(folder.path(), TREE);
    script(&wc, "ls d*/* > ../targets");
    let failed: Vec<&str> =
        COMMANDS.iter().copied().filter(|line| !lets_others(&wc, line)).collect();
    assert!(failed.is_empty(), "wc.db is locked while these wait: {failed:?}");
}

/// Targets in a row share a lock, which is let go of before anything is written.
#[test]
fn others_change_a_working_copy_while_the_output_for_many_targets_waits() {
    let folder = tempfile::tempdir().unwrap();
    let wc = folder.path().join("wc");
    script(folder.path(), TREE);
    script(&wc, "ls d*/* > ../targets");
    let targets = std::fs::read_to_string(folder.path().join("targets")).unwrap();
    let targets: Vec<&str> = targets.lines().collect();
    for line in ["status -v", "proplist -v", "diff", "info"] {
        assert!(lets_others_with(&wc, line, &targets), "wc.db is locked while this waits: {line}");
    }
}

/// Whether another program can write wc.db while a command has begun to print and no more of it is read.
fn lets_others(wc: &Path, line: &str) -> bool {
    lets_others_with(wc, line, &[])
}

/// The same of a command with targets.
fn lets_others_with(wc: &Path, line: &str, targets: &[&str]) -> bool {
    let mut command = Programs::ours().command("svn");
    command.args(line.split(' ')).args(targets).current_dir(wc).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut printed = child.stdout.take().unwrap();
    let mut first = [0];
    printed.read_exact(&mut first).unwrap();
    let mut other = Programs::reference().command("svn");
    other.args(["propset", "-q", "other", line, "d1"]).current_dir(wc);
    let others = Output::of(&mut other);
    let mut rest = Vec::new();
    printed.read_to_end(&mut rest).unwrap();
    assert!(child.wait().unwrap().success(), "{line}");
    assert!(rest.len() > 1 << 17, "{line} prints too little: {} bytes", rest.len());
    others.code == 0
}

fn script(at: &Path, text: &str) {
    let mut command = Command::new("sh");
    sapwood_testkit::programs::environment(&mut command);
    command.env("SVN_I_LOVE_CORRUPTED_WORKING_COPIES_SO_DISABLE_SLEEP_FOR_TIMESTAMPS", "yes");
    command.env("PATH", format!("{}:/usr/bin:/bin", Programs::ours().dir().display()));
    command.args(["-e", "-c", text]).current_dir(at);
    assert!(command.stdout(Stdio::null()).status().unwrap().success(), "{text}");
}
