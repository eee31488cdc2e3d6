//! `svndumpfilter` beside the reference's: the same stream on standard output, the same words on
//! standard error.
//!
//! The reference writes some headers of a node in an order that differs from run to run, so the
//! headers of each node are compared sorted.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn run(program: &mut Command, input: &[u8]) -> Output {
    let mut child = program
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    // A program that stops reading early closes the pipe; that is not this test's concern.
    let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    output
}

fn ok(program: &str, args: &[&str]) -> Vec<u8> {
    let done = Command::new(program).args(args).output().unwrap();
    assert!(done.status.success(), "{program} {args:?}: {}", String::from_utf8_lossy(&done.stderr));
    done.stdout
}

/// A repository with copies, merges, properties and a revision that changes only properties.
fn history(dir: &Path) -> String {
    let repo = dir.join("repo");
    let repo = repo.to_str().unwrap();
    ok("svnadmin", &["create", repo]);
    let url = format!("file://{repo}");
    let file = dir.join("text");
    let mucc = |args: &[&str]| {
        let all = [&["-m", "log", "-U", url.as_str()], args].concat();
        ok("svnmucc", &all);
    };
    std::fs::write(&file, "some text\n".repeat(30)).unwrap();
    let text = file.to_str().unwrap();
    mucc(&[
        "mkdir",
        "trunk",
        "mkdir",
        "branches",
        "put",
        text,
        "trunk/f",
        "put",
        text,
        "trunk/ä b",
    ]);
    mucc(&["cp", "1", "trunk", "branches/one"]);
    std::fs::write(&file, "other text\n".repeat(30)).unwrap();
    mucc(&["put", text, "branches/one/f", "propset", "p", "v", "branches/one/f"]);
    mucc(&["propset", "svn:mergeinfo", "/branches/one:2-3", "trunk"]);
    mucc(&["cp", "3", "branches/one/f", "trunk/g", "rm", "trunk/ä b"]);
    mucc(&["propdel", "p", "branches/one/f"]);
    mucc(&["rm", "branches/one"]);
    mucc(&["mkdir", "trunk/last", "mkdir", "other", "cp", "6", "trunk", "other/t"]);
    repo.to_owned()
}

/// The stream with the headers of each node sorted.
fn sorted_headers(stream: &[u8]) -> Vec<Vec<u8>> {
    let mut out: Vec<Vec<u8>> = Vec::new();
    let mut node: Option<usize> = None;
    for line in stream.split(|b| *b == b'\n') {
        if line.starts_with(b"Node-path: ") {
            node = Some(out.len());
        }
        if line.is_empty()
            && let Some(start) = node.take()
        {
            out.get_mut(start..).unwrap().sort();
        }
        out.push(line.to_vec());
    }
    out
}

fn compare(args: &[&str], input: &[u8]) {
    let theirs = run(Command::new("svndumpfilter").args(args), input);
    let mut ours = Command::new(env!("CARGO_BIN_EXE_sapwood"));
    let ours = run(ours.arg("svndumpfilter").args(args), input);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert_eq!(text(&ours.stderr), text(&theirs.stderr), "{args:?}");
    assert_eq!(ours.status.code(), theirs.status.code(), "{args:?}");
    // What was written before an error depends on buffers.
    if theirs.status.success() {
        let (ours, theirs) = (sorted_headers(&ours.stdout), sorted_headers(&theirs.stdout));
        for (line, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
            assert_eq!(text(ours), text(theirs), "{args:?}, line {line}");
        }
        assert_eq!(ours.len(), theirs.len(), "{args:?}");
    }
}

#[test]
fn as_the_reference() {
    let dir = tempfile::tempdir().unwrap();
    let repo = history(dir.path());
    let targets = dir.path().join("targets");
    std::fs::write(&targets, "branches/one\r\n\n  /other \n").unwrap();
    let targets = targets.to_str().unwrap();
    let full = ok("svnadmin", &["dump", "-q", &repo]);
    let deltas = ok("svnadmin", &["dump", "-q", "--deltas", &repo]);
    let part = ok("svnadmin", &["dump", "-q", "-r3:5", "--incremental", &repo]);
    let cases: &[&[&str]] = &[
        &["exclude", "zzz"],
        &["exclude", "/trunk/f"],
        &["exclude", "branches"],
        &["exclude", "branches", "--quiet"],
        &["include", "trunk"],
        &["include", "trunk", "/branches/", "--drop-empty-revs"],
        &["include", "branches", "--drop-empty-revs", "--renumber-revs"],
        &["include", "branches", "--drop-all-empty-revs", "--renumber-revs"],
        &["include", "trunk", "--skip-missing-merge-sources"],
        &[
            "include",
            "trunk",
            "--skip-missing-merge-sources",
            "--drop-empty-revs",
            "--renumber-revs",
        ],
        &["exclude", "other", "--preserve-revprops"],
        &["exclude", "--pattern", "*/f"],
        &["include", "--pattern", "/t*", "/b[ar]anches*"],
        &["exclude", "--targets", targets],
        &["exclude", "--drop-empty-revs", "--drop-all-empty-revs", "x"],
        &["exclude"],
        &["exclude", "--renumber-revs", "--no-such-option", "x"],
        &["nonsense"],
    ];
    for args in cases {
        compare(args, &full);
        compare(args, &deltas);
        compare(args, &part);
    }
    for broken in [
        &b""[..],
        b"no dump\n",
        b"SVN-fs-dump-format-version: 9\n\n",
        b"SVN-fs-dump-format-version: 2\n\nRevision-number: 1\nProp-content-length: 99\n\nK 3\n",
        b"SVN-fs-dump-format-version: 2\n\nRevision-number: 1\n\nNode-path: a\nNode-kind: dir\n\n",
    ] {
        compare(&["exclude", "x", "--quiet"], broken);
    }
}
