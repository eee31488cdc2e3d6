//! What both clients make of targets that are not there, over all three kinds of URL, with servers of the
//! reference and with ours: the same exit code as the reference with its own server, and a working copy
//! that stays as it was.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use sapwood_testkit::Programs;

use super::Twins;

/// Command lines for the working copy; `U` is the URL of the repository.
const LINES: &[&str] = &[
    "switch --ignore-ancestry ^/nope b",
    "switch --ignore-ancestry ^/nope b/f",
    "switch --ignore-ancestry ^/f/nope b",
    "switch --ignore-ancestry ^/gone b",
    "switch --ignore-ancestry ^/gone/x b/f",
    "switch --ignore-ancestry ^/nope@2 b",
    "switch --ignore-ancestry -r 1 ^/late b",
    "switch --ignore-ancestry ^/nope",
    "switch --ignore-ancestry --force --set-depth empty ^/nope b",
    "switch ^/nope b",
    "switch ^/b@1 b",
    "update -r 99",
    "checkout U/nope out",
    "checkout U/gone out",
    "export U/nope out",
    "export U/f/nope out",
    "list U/nope",
    "list U/gone",
    "cat U/nope",
    "info U/nope",
    "log U/nope",
    "log -r 1:4 U/late@1",
    "log U b nope",
    "blame U/nope",
    "diff U/nope U/b",
    "diff --summarize U/b U/nope",
    "diff -r 1:4 U/gone",
    "copy U/nope here",
    "copy U/nope U/new -m x",
    "move U/nope U/new -m x",
    "delete U/nope -m x",
    "mkdir U/nope/x -m x",
    "merge U/nope b",
    "merge U/nope@1 U/b b",
    "merge -c 2 U/nope b",
    "mergeinfo --show-revs merged U/nope b",
    "mergeinfo U/b U/nope",
    "propget p U/nope",
    "proplist U/nope",
    "proplist --show-inherited-props U/nope",
    "propset p v U/nope",
    "lock U/nope",
    "lock U/b",
    "unlock U/nope",
    "unlock U/f",
];

/// What cannot stay as it is when the state changes: the database, and the files beside it.
fn traces(wc: &Path) -> (Vec<u8>, Vec<PathBuf>) {
    let mut paths = Vec::new();
    let mut folders = vec![wc.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() && entry.file_name() != ".svn" {
                folders.push(entry.path());
            }
            paths.push(entry.path());
        }
    }
    paths.sort();
    (std::fs::read(wc.join(".svn/wc.db")).unwrap(), paths)
}

/// What is on disk, and where it belongs to.
fn state(reference: &Programs, wc: &Path) -> String {
    let line = "find . -path ./.svn -prune -o -print | sort; cat b/f; svnversion -c; \
                svn info -R | grep -E '^(Path|Relative URL|Revision|Schedule|Depth)'; svn status";
    let path = format!("{}:/usr/bin:/bin", reference.dir().display());
    let mut command = std::process::Command::new("sh");
    command.args(["-c", line]).current_dir(wc).env("PATH", path);
    String::from_utf8_lossy(&command.output().unwrap().stdout).into_owned()
}

/// Runs all lines with one client and one server; the exit code of each, and whether anything changed.
fn run(client: &Programs, folder: &Path, url: &str) -> Vec<String> {
    let reference = Programs::reference();
    let mut found = Vec::new();
    let wc = folder.join("wc");
    let mut kept = None;
    for line in LINES {
        let (before, unchanged) = kept.take().unwrap_or_else(|| {
            let _gone = std::fs::remove_dir_all(&wc);
            let done = reference.command("svn").args(["co", "-q", url]).arg(&wc).status();
            assert!(done.unwrap().success());
            (state(&reference, &wc), traces(&wc))
        });
        let args: Vec<String> = line.split(' ').map(|word| word.replace("U", url)).collect();
        let mut command = client.command("svn");
        command.args(&args).arg("--non-interactive").current_dir(&wc);
        let output = command.output().unwrap();
        // Most lines touch nothing, so that there is nothing to be asked.
        let traces = traces(&wc);
        let is_same = traces == unchanged || state(&reference, &wc) == before;
        let changed = if is_same { "" } else { ", changed" };
        found.push(format!("{:?}{changed}", output.status.code()));
        kept = is_same.then_some((before, traces));
    }
    found
}

#[test]
fn both_clients_with_every_server() {
    let twins = Twins::new();
    let (reference, ours) = (Programs::reference(), Programs::ours());
    let (theirs, our) = (twins.svnserve(&reference), twins.svnserve(&ours));
    let (_httpd, httpd) = twins.httpd();
    let (_served, served) = twins.serve();
    let file = format!("file://{}/repo", twins.root("reference").display());
    let http = |port: u16| format!("http://127.0.0.1:{port}/repo");
    let mut told = String::new();
    for urls in
        [vec![file], vec![theirs.url("repo"), our.url("repo")], vec![http(httpd), http(served)]]
    {
        let folder = tempfile::tempdir().unwrap();
        let wanted = run(&reference, folder.path(), &urls[0]);
        for url in &urls {
            for client in [&reference, &ours] {
                let folder = tempfile::tempdir().unwrap();
                let found = run(client, folder.path(), url);
                for ((line, wanted), found) in LINES.iter().zip(&wanted).zip(found) {
                    if *wanted != found {
                        writeln!(
                            told,
                            "svn {line} ({} client, {url}): 1.14 {wanted}, here {found}",
                            client.label
                        )
                        .unwrap();
                    }
                }
            }
        }
    }
    assert!(told.is_empty(), "{told}");
}

/// Command lines that want locks of several files where no user can have one.
const LOCKS: &[&str] = &[
    "lock a/g b/f",
    "lock --force f",
    "lock U/a/g U/b/f",
    "lock U/a/g U/a/nope",
    "unlock --force a/g b/f",
    "unlock --force U/a/g U/b/f",
    "unlock U/a/g",
    "unlock a/g b/f",
];

/// The words of both clients, with httpd and svnserve, for what no user may lock.
#[test]
fn locks_that_no_user_can_have() {
    let twins = Twins::new();
    let (reference, ours) = (Programs::reference(), Programs::ours());
    let server = twins.svnserve(&reference);
    let (_httpd, port) = twins.httpd();
    for url in [server.url("repo"), format!("http://127.0.0.1:{port}/repo")] {
        let folder = tempfile::tempdir().unwrap();
        let wc = folder.path().join("wc");
        let done = reference.command("svn").args(["co", "-q", &url]).arg(&wc).status();
        assert!(done.unwrap().success());
        for line in LOCKS {
            let args: Vec<String> = line.split(' ').map(|word| word.replace('U', &url)).collect();
            let [wanted, found] = [&reference, &ours].map(|client| {
                let mut command = client.command("svn");
                let output = command.args(&args).arg("--non-interactive").current_dir(&wc).output();
                let output = output.unwrap();
                let text = [output.stdout, output.stderr].concat();
                let text = String::from_utf8_lossy(&text).into_owned();
                // The reference asks for all locks at once: which one it names first is chance.
                let text = text.split("'/repo/").next().unwrap().to_owned();
                (output.status.code(), text)
            });
            assert_eq!(wanted, found, "svn {line} at {url}");
        }
    }
}
