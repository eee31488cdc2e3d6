//! What the user typed in an editor is kept when the editor fails afterwards, or is killed, and when the
//! commit fails: the same words and the same files as the reference's, and for values of properties and
//! svnmucc, which the reference throws away, files of ours.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use sapwood_testkit::Programs;

/// Editors, as a shell runs them: with `$1` for the file.
const EDITORS: [(&str, &str); 6] = [
    ("saves and fails", "echo typed >$1; exit 3"),
    ("saves and is killed", "echo typed >$1; kill -9 $$"),
    ("only fails", "exit 3"),
    ("fails and removes the file", "rm $1; exit 3"),
    ("adds and fails", "echo more >>$1; exit 1"),
    ("saves", "echo typed >$1"),
];

/// Commands that need a message; each in a working copy of its own.
const COMMANDS: [&str; 9] = [
    "svn commit --force-interactive",
    "svn commit --force-interactive sub/f",
    "svn mkdir --force-interactive $R/new",
    "svn mkdir --force-interactive $R/new1 $R/new2",
    "svn delete --force-interactive $R/sub",
    "svn copy --force-interactive $R/sub $R/copy",
    "svn move --force-interactive $R/sub $R/moved",
    "svn copy --force-interactive sub $R/copy",
    "svn import --force-interactive sub $R/imported",
];

/// Commands of which the reference keeps nothing.
const BETTER: [&str; 4] = [
    "svn propedit --force-interactive --revprop -r 1 svn:log",
    "svn propedit --force-interactive p sub",
    "svn propedit --force-interactive p $R/sub -m x",
    "svnmucc --force-interactive -U $R mkdir new",
];

/// Runs a command with an editor, in a working copy with a change; what was said and what is there.
fn run(programs: &Programs, folder: &Path, editor: &str, hook: &str, command: &str) -> String {
    let _gone = std::fs::remove_dir_all(folder);
    std::fs::create_dir_all(folder).unwrap();
    let path = format!("{}:/usr/bin:/bin", programs.dir().display());
    let begin = format!(
        "set -e; svnadmin create repo; svn mkdir -q -m 1 $R/sub; svn co -q $R wc
         printf '#!/bin/sh\\n' >repo/hooks/pre-revprop-change; chmod +x repo/hooks/*-change
         printf '#!/bin/sh\\n{editor}\\n' >editor; chmod +x editor
         echo f >wc/sub/f; svn add -q wc/sub/f; echo g >wc/g; svn add -q wc/g
         svn propset -q p value wc/sub; svn ci -q -m 2 wc; svn up -q wc
         printf '#!/bin/sh\\n{hook}\\n' >repo/hooks/pre-commit; chmod +x repo/hooks/pre-commit
         echo changed >>wc/sub/f"
    );
    let shell = |line: &str, here: &Path, path: &str| {
        let mut shell = Command::new("sh");
        shell.args(["-c", line]).current_dir(here).stdin(Stdio::null()).env_clear();
        shell.env("PATH", path).env("HOME", folder).env("LC_ALL", "C.UTF-8").env("TMPDIR", folder);
        shell.env("R", format!("file://{}/repo", folder.display()));
        shell.env("SVN_EDITOR", folder.join("editor"));
        let output = shell.output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        format!("{}{}{:?}\n", text(&output.stdout), text(&output.stderr), output.status.code())
    };
    let made = shell(&begin, folder, "/usr/bin:/bin");
    assert!(made.ends_with("Some(0)\n"), "{made}");
    let mut told = shell(command, &folder.join("wc"), &path);
    for name in ["wc", "wc/sub", "."] {
        let mut names: Vec<_> = std::fs::read_dir(folder.join(name))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|end| end == "tmp"))
            .collect();
        names.sort();
        for file in names {
            let contents = std::fs::read_to_string(&file).unwrap();
            let file = file.strip_prefix(folder).unwrap().display();
            writeln!(told, "{name}: {file}: {contents}").unwrap();
        }
    }
    // Names of transactions are of no matter.
    told
}

#[test]
fn messages_are_kept_as_the_reference_keeps_them() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path().join("box");
    let (reference, ours) = (Programs::reference(), Programs::ours());
    let mut told = String::new();
    for command in COMMANDS {
        for (what, editor) in EDITORS {
            for hook in ["exit 0", "exit 1"] {
                if hook == "exit 1" && what != "saves" {
                    continue;
                }
                let wanted = run(&reference, &folder, editor, hook, command);
                let found = run(&ours, &folder, editor, hook, command);
                if wanted != found {
                    writeln!(told, "{command}, {what}\n1.14: {wanted}\nours: {found}").unwrap();
                }
                let typed = what.starts_with("saves") && (what != "saves" || hook == "exit 1");
                let kept = found.contains("svn-commit.tmp: typed");
                assert_eq!(kept, typed, "{command}, {what}: {found}");
            }
        }
    }
    assert!(told.is_empty(), "{told}");
}

#[test]
fn what_the_reference_throws_away_is_kept_too() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path().join("box");
    let ours = Programs::ours();
    for command in BETTER {
        for (what, editor) in EDITORS {
            let found = run(&ours, &folder, editor, "exit 0", command);
            let typed =
                ["saves and fails", "saves and is killed", "adds and fails"].contains(&what);
            let said = found.contains("was left in a temporary file:");
            assert_eq!(said, typed, "{command}, {what}: {found}");
            assert_eq!(found.contains(".tmp: "), typed, "{command}, {what}: {found}");
        }
    }
    let refused = run(&ours, &folder, EDITORS[5].1, "exit 1", BETTER[3]);
    assert!(refused.contains("svnmucc-commit.tmp: typed"), "{refused}");
}

/// The editor is the first variable's that is not empty.
#[test]
fn variables_that_are_empty_are_not_set() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path().join("box");
    let (reference, ours) = (Programs::reference(), Programs::ours());
    for variables in
        ["SVN_EDITOR= VISUAL=../editor", "SVN_EDITOR= VISUAL= EDITOR=../editor", "SVN_EDITOR=' '"]
    {
        let command = format!("{variables} svn mkdir --force-interactive $R/new");
        let wanted = run(&reference, &folder, "echo typed >$1", "exit 0", &command);
        let found = run(&ours, &folder, "echo typed >$1", "exit 0", &command);
        assert_eq!(found, wanted, "{command}");
        assert_eq!(found.contains("Committed revision 3."), !variables.contains('\''), "{found}");
    }
}
