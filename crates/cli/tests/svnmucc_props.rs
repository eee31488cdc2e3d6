//! `svnmucc propset` and `propsetf` refuse, and keep, the values that the reference's do.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a failure is a failed test"
)]

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use sapwood_testkit::{Programs, long};

const NAMES: &[&str] = &[
    "svn:mime-type",
    "svn:externals",
    "svn:eol-style",
    "svn:keywords",
    "svn:executable",
    "svn:needs-lock",
    "svn:special",
    "svn:ignore",
    "svn:global-ignores",
    "svn:auto-props",
    "svn:mergeinfo",
    "svn:unknown",
    "svn:log",
    "own",
];

const VALUES: &[&str] = &[
    "",
    "junk",
    "text/plain",
    " text/plain; charset=x ",
    "a/b/c",
    "image/png",
    "native",
    "LF ",
    "/a:1-2",
    "/f:1*",
    "^/d x",
    "^/d x\n^/d x",
    "^/d ../x",
    "d",
    "-rX ^/d x",
    "*",
    "Id  Rev",
    "one\r\ntwo\n",
];

/// What is changed: `N` and `V` are the property's name and value.
const ACTIONS: &[&str] = &[
    "propset N V f",
    "propset N V d",
    "propset N V mixed",
    "propset N V nowhere",
    "propsetf N value f",
    "put mixed new propset N V new",
    "put plain mixed propset N V mixed",
    "propset svn:mime-type image/png f propset N V f",
    "mkdir e propset N V e",
    "cp 1 mixed g propset N V g",
];

fn shell(programs: &Programs, folder: &Path, line: &str) -> String {
    let path = format!("{}:/usr/bin:/bin", programs.dir().display());
    let mut shell = Command::new("sh");
    shell.args(["-c", line]).current_dir(folder).stdin(Stdio::null()).env_clear();
    shell.env("PATH", path).env("HOME", folder).env("LC_ALL", "C.UTF-8");
    let output = shell.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{}{}{:?}\n", text(&output.stdout), text(&output.stderr), output.status.code())
}

/// How far apart an action is tried again, unless a long run is wanted: each value of each property has a fourth of the
/// actions, and each action a fourth of the values.
const APART: usize = 4;

fn compare(names: &[&str]) -> String {
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path();
    let (reference, ours) = (Programs::reference(), Programs::ours());
    let made = shell(
        &reference,
        folder,
        "set -e; svnadmin create r; U=file://$PWD/r; printf 'a\\nb\\n' >plain
         printf 'a\\r\\nb\\n' >mixed; svnmucc -m x -U $U put plain f put mixed mixed mkdir d >said
         cp -a r kept",
    );
    assert!(made.ends_with("Some(0)\n"), "{made}");
    let mut told = String::new();
    let apart = if long() { 1 } else { APART };
    for (row, name) in names.iter().enumerate() {
        for (column, value) in VALUES.iter().enumerate() {
            std::fs::write(folder.join("value"), value).unwrap();
            for action in ACTIONS.iter().skip((row + column) % apart).step_by(apart) {
                let quoted = format!("'{value}'");
                let action = action.replace(" N V ", &format!(" {name} {quoted} "));
                let action = action.replace(" N value", &format!(" {name} value"));
                let line = format!(
                    "svnmucc -m m -U file://$PWD/r {action} >said || exit $?
                     svn proplist -vR file://$PWD/r@2; rm -r r; cp -a kept r"
                );
                let wanted = shell(&reference, folder, &line);
                let found = shell(&ours, folder, &line);
                if wanted != found {
                    writeln!(told, "svnmucc {action}\n1.14: {wanted}\nours: {found}").unwrap();
                }
            }
        }
    }
    told
}

#[test]
fn values_of_properties_as_the_reference_takes_them() {
    let (one, two) = NAMES.split_at(NAMES.len() / 2);
    let told = std::thread::scope(|scope| {
        let other = scope.spawn(|| compare(two));
        compare(one) + &other.join().unwrap()
    });
    assert!(told.is_empty(), "{told}");
}
