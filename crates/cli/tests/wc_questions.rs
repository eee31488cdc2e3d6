//! Conflicts that are asked about at a terminal, by ours and by the reference: the same answers are typed to
//! both, and the screens and the files afterwards are compared.

use crate::common::talk;

use std::process::Command;

use sapwood_testkit::Programs;
use sapwood_testkit::terminal::converse;
use talk::{shell, talked};

/// Two revisions of a tree, and `wc`, which has the first one and local changes of the same lines and of the same property: the reference asks about several in no order.
const START: &str = r"
svnadmin create repo
svn co -q file://$PWD/repo wc
cd wc; seq 1 9 > f; seq 1 9 > g; printf 'a\0b' > bin; svn add -q f g bin
svn ps -q p v f; svn ps -q svn:mime-type application/octet-stream bin
svn ci -q -m one; svn up -q
sed -i 's/^5$/theirs/;s/^1$/one/' f; sed -i s/5/theirs/ g; printf 'a\0c' > bin
svn ps -q p theirs f; svn ci -q -m two; svn up -q -r1
sed -i 's/^5$/mine/' f; sed -i s/5/mine/ g; printf 'a\0d' > bin; svn ps -q p mine f
cd ..
printf '#!/bin/sh\ncp $3 $4; exit ${CODE:-0}\n' > tool; chmod +x tool
";

/// Runs a command in `wc` at a terminal; the screen, the exit code, and what is there afterwards.
fn talk(programs: &Programs, before: &str, command: &str, answers: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().display().to_string();
    let said = shell(&at, &format!("set -e\n{START}"));
    assert_eq!(said, "", "the start");
    let wc = format!("{at}/wc");
    shell(&wc, before);
    let told = talked(programs, &wc, command, answers);
    let after = shell(
        &wc,
        "svn st; svn pl -v f; for f in *; do echo $f; cat -v $f; done; svn info f | grep -i conflict",
    );
    format!("{}\n{}\n{after}", told.screen, told.code).replace(&at, "FOLDER")
}

fn compare(before: &str, command: &str, answers: &[&str]) {
    let ours = talk(&Programs::ours(), before, command, answers);
    let theirs = talk(&Programs::reference(), before, command, answers);
    assert!(!theirs.contains("nothing more happens"), "{theirs}");
    assert_eq!(ours, theirs, "{command} {answers:?}");
}

#[test]
fn texts() {
    compare(
        "svn revert -q bin g",
        "svn up",
        &["x", "h", "r", "dc", "df", "s", "", "mc", "mf", "tf"],
    );
    compare("svn revert -q bin", "svn up", &["tc", "q", "q"]);
    compare(
        "svn revert -q bin",
        "SVN_EDITOR='sed -i s/mine/ours/' svn up f",
        &["e", "r", "p", "p"],
    );
    compare("", "SVN_MERGE=../tool svn up bin g", &["tf", "l", "r"]);
    compare("", "CODE=1 SVN_MERGE=../tool svn up bin g", &["mf", "m", "r"]);
    compare("", "CODE=7 SVN_MERGE=../tool svn up g", &["m", "l", "?", "p"]);
}

/// The merge tool that is built in.
#[test]
fn sections() {
    let before = "svn revert -q bin";
    compare(before, "svn up f", &["m", "x", "12", "r", "p"]);
    compare(
        before,
        "SVN_EDITOR='sed -i s/mine/ours/' svn up g",
        &["i", "e2", "m", "eb", "i", "p", "i", "a", "r"],
    );
    compare(before, "svn up g", &["i", "1", "df", "i", "2", "m", "21", "r"]);
}

#[test]
fn properties() {
    let edits = "SVN_EDITOR='sed -i s/mine/ours/' svn resolve f";
    let before = "svn up -q --accept postpone; svn resolve -q --accept working g bin";
    compare(before, edits, &["tf", "r", "dc", "h", "e", "dc", "r"]);
    compare(before, "svn resolve", &["q", "tf"]);
    compare(before, "svn resolve --depth empty f f", &["q", "q", "p", "q"]);
    compare(before, "svn resolve -R", &["p", "x", "tf"]);
    compare(before, "svn resolve f", &["q", "q"]);
    compare(before, "svn resolve f g", &["mf", "?", "mc"]);
    // What was deleted here, and what was added on both sides.
    let deleted = "svn revert -q f g bin; svn pd -q p f; svn up -q --accept postpone";
    compare(deleted, "svn resolve f", &["p", "tf"]);
    let added = "svn revert -q f g bin; svn up -q; svn ps -q n theirs f; svn ci -q -m three; svn up -q -r2; \
                 svn ps -q n mine f; svn up -q --accept postpone";
    compare(added, "svn resolve f", &["p", "mf"]);
}

#[test]
fn switches_and_merges() {
    let before = "svn cp -q -m branch ^/ ^/b 2>/dev/null; svn revert -q bin";
    compare(before, "svn switch -q ^/@2 --ignore-ancestry", &["df", "mc", "p", "p"]);
    compare("", "svn up --non-interactive", &[]);
    compare("", "svn up --accept postpone", &[]);
    compare("", "svn up --config-option config:miscellany:interactive-conflicts=no", &[]);
}

/// A shell line in a folder with our programs first in the path, at a terminal that can move its cursor.
fn at_terminal(folder: &std::path::Path, line: &str) -> String {
    let mut shell = Command::new("sh");
    sapwood_testkit::programs::environment(&mut shell);
    let path = format!("{}:/usr/bin:/bin", Programs::ours().dir().display());
    let line = format!("PATH={path}; cd {}; {line}", folder.display());
    shell.args(["-c", &line]).env("HOME", folder).env("TERM", "xterm");
    let told = converse(&shell, &[]);
    assert_eq!(told.code, 0, "{line}: {}", told.screen);
    told.screen
}

/// What takes long says how far it is, on a terminal only, and leaves nothing behind.
#[test]
fn progress_is_shown_to_people() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    // The server's words stop for a while in the middle.
    let tunnel =
        "#!/bin/sh\nsvnserve -t -r . | { dd bs=1 count=30000 status=none; sleep 1.6; cat; }\n";
    std::fs::write(at.join("slow"), tunnel).unwrap();
    at_terminal(
        at,
        "chmod +x slow; svnadmin create r; mkdir t; for i in $(seq 60); do seq 300 > t/$i; done; \
         svn import -q -m x t file://$PWD/r/t",
    );
    let checkout = |options: &str, after: &str| {
        let tunnel = "--config-option 'config:tunnels:slow=./slow'";
        at_terminal(
            at,
            &format!("rm -rf wc; svn co {options} {tunnel} svn+slow://h/r/t wc {after}"),
        )
    };
    let shown = checkout("-q", "");
    let (save, clear) = ("\x1b7", "\x1b8\x1b[K");
    let line = shown.strip_prefix(save).and_then(|rest| rest.split_once(clear)).expect(&shown).0;
    assert!(line.contains(" files, ") && line.contains(" kB, ") && line.ends_with("/s"), "{shown}");
    // All else is as if there had been no line.
    assert!(shown.ends_with(clear), "{shown:?}");
    let lines = checkout("", "")
        .split(save)
        .map(|part| part.rsplit(clear).next().unwrap().to_owned())
        .collect::<String>();
    assert_eq!(lines.lines().count(), 61, "{lines}");
    assert!(
        lines.starts_with("A    wc/") && lines.ends_with("Checked out revision 1.\n"),
        "{lines}"
    );
    assert_eq!(checkout("-q", "2>&1 | cat"), "", "in a pipe");
}

/// So does a merge: revisions and nodes.
#[test]
fn progress_of_a_merge_is_shown_to_people() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let tunnel =
        "#!/bin/sh\nsvnserve -t -r . | { dd bs=1 count=20000 status=none; sleep 1.6; cat; }\n";
    std::fs::write(at.join("slow"), tunnel).unwrap();
    at_terminal(
        at,
        "chmod +x slow; svnadmin create r; svn co -q file://$PWD/r i; cd i; mkdir t; \
         for i in $(seq 60); do echo > t/$i; done; svn add -q t; svn ci -qm 1; svn up -q; \
         svn cp -q t b; svn ci -qm 2; for i in $(seq 60); do seq 300 > t/$i; done; svn ci -qm 3",
    );
    let slow = |after: &str| {
        at_terminal(
            at,
            &format!(
                "rm -rf b; svn co -q --config-option config:tunnels:slow=./slow svn+slow://h/r/b b; \
                 svn merge -q --config-option config:tunnels:slow=./slow svn+slow://h/r/t b {after}"
            ),
        )
    };
    let shown = slow("");
    let (save, clear) = ("\x1b7", "\x1b8\x1b[K");
    let line =
        shown.rsplit_once(save).and_then(|(_, rest)| rest.split_once(clear)).expect(&shown).0;
    assert!(line.starts_with("r3, ") || line.starts_with("r2-3, "), "{shown}");
    assert!(line.contains(" nodes, ") && line.ends_with("/s"), "{shown}");
    assert!(shown.ends_with(clear), "{shown:?}");
    assert_eq!(slow("2>&1 | cat").rsplit(clear).next(), Some(""), "in a pipe");
}

/// Colours are there for those who asked for them.
#[test]
fn colours_are_asked_for_by_configuration() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    at_terminal(
        at,
        "svnadmin create r; svn co -q file://$PWD/r wc; cd wc; echo one > f; svn add -q f; \
         svn ci -q -m one; echo two > f; echo x > n",
    );
    let color = |value: &str, command: &str| {
        let svn = format!("svn --config-option config:sapwood:color={value}");
        at_terminal(at, &format!("cd wc; {svn} {command}"))
    };
    let plain = at_terminal(at, "cd wc; svn status; svn diff");
    assert!(!plain.contains('\x1b') && plain.starts_with("M       f\n?       n\n"), "{plain}");
    assert_eq!(color("auto", "status"), "\x1b[33mM       f\x1b[m\n\x1b[34m?       n\x1b[m\n");
    let diff = color("auto", "diff");
    assert!(
        diff.ends_with("\x1b[36m@@ -1 +1 @@\x1b[m\n\x1b[31m-one\x1b[m\n\x1b[32m+two\x1b[m\n"),
        "{diff}"
    );
    assert_eq!(color("auto", "diff | cat; true"), color("never", "diff"));
    assert!(color("always", "status | cat; true").starts_with("\x1b["));
    assert_eq!(color("always", "status --xml"), color("never", "status --xml"));
    let wrong = at_terminal(at, "cd wc; svn st --config-option config:sapwood:color=mauve || true");
    assert!(wrong.starts_with("svn: E125009: "), "{wrong}");
}
