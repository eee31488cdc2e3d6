//! Dump streams loaded by `svnadmin load`, ours and the reference's: the same words, the same dump
//! afterwards, verified by the reference, about the same size on disk.

#![allow(clippy::unwrap_used)]

mod common;

use std::path::Path;
use std::process::Stdio;

use common::Both;
use sapwood_testkit::compare::assert_same;
use sapwood_testkit::{Output, Programs, Repository, Shape};

/// Makes a repository and loads `stream` into it; what the load printed.
fn load(
    creator: &Programs,
    loader: &Programs,
    version: &str,
    path: &Path,
    stream: &Path,
    options: &[&str],
) -> Output {
    let path = path.to_str().unwrap();
    creator
        .run("svnadmin", ["create", "--compatible-version", version, path])
        .expect_success("create");
    more(loader, path, stream, options)
}

/// Loads `stream` into a repository.
fn more(loader: &Programs, path: &str, stream: &Path, options: &[&str]) -> Output {
    let mut command = loader.command("svnadmin");
    command
        .args(["load", "--no-flush-to-disk"])
        .args(options)
        .arg(path)
        .stdin(Stdio::from(std::fs::File::open(stream).unwrap()));
    Output::of(&mut command)
}

/// Bytes of all revisions on disk.
fn size(path: &Path) -> u64 {
    let mut total = 0;
    let mut todo = vec![path.join("db/revs")];
    while let Some(dir) = todo.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() {
                todo.push(entry.path());
            } else {
                total += entry.metadata().unwrap().len();
            }
        }
    }
    total
}

/// Loads by both, compares, and verifies ours.
fn compare(both: &Both, version: &str, stream: &Path, options: &[&str], may_share: bool) {
    let dir = tempfile::tempdir().unwrap();
    let (ours, reference) = (dir.path().join("ours"), dir.path().join("reference"));
    let told = load(&both.reference, &both.reference, version, &reference, stream, options);
    let what = format!("load {version} {options:?} {}", stream.display());
    assert_same(&what, &told, &load(&both.ours, &both.ours, version, &ours, stream, options));
    if told.code != 0 {
        return;
    }
    let (ours, reference) = (ours.to_str().unwrap(), reference.to_str().unwrap());
    // A stream may hold what no verification likes; then it is so on both sides.
    let verified = |path: &str| both.reference.run("svnadmin", ["verify", "-q", path]).code;
    assert_eq!(verified(ours), verified(reference), "verify after {what}");
    let has_zero =
        std::fs::read(stream).unwrap().windows(21).any(|w| w == b"\nRevision-number: 0\nP");
    let dump = |path: &str| {
        // Revision 0 keeps its own date when it is not loaded.
        let loads_zero = has_zero && !options.contains(&"-r");
        let range = if loads_zero { "-r0:HEAD" } else { "-r1:HEAD" };
        let mut dump = both.reference.run("svnadmin", ["dump", "-q", range, path]);
        if !options.contains(&"--force-uuid") {
            // Each repository has a UUID of its own then.
            let text = String::from_utf8_lossy(&dump.stdout).into_owned();
            dump.stdout = text.split_once("\nRevision-number").unwrap().1.to_owned().into_bytes();
        }
        if options.contains(&"--ignore-dates") {
            dump.stdout.clear();
        }
        dump
    };
    assert_same(&format!("dump after {what}"), &dump(reference), &dump(ours));
    let (our_size, their_size) = (size(Path::new(ours)), size(Path::new(reference)));
    if may_share {
        assert!(our_size * 100 <= their_size * 105, "{what}: {our_size} bytes, not {their_size}");
    }
}

#[test]
fn every_format() {
    let both = Both::new();
    let dir = tempfile::tempdir().unwrap();
    let stream = dir.path().join("dump");
    let shape = Shape::new("1.10").shard(7);
    for (number, repository) in
        [Repository::scripted(&shape), Repository::random(&shape, 21, 80)].iter().enumerate()
    {
        let path = repository.arg();
        for deltas in [false, true] {
            let mut args = vec!["dump", "-q", path.as_str()];
            if deltas {
                args.push("--deltas");
            }
            std::fs::write(&stream, both.reference.run("svnadmin", args).stdout).unwrap();
            let versions: &[&str] = if number == 0 {
                &["1.3", "1.4", "1.5", "1.6", "1.8", "1.9", "1.10"]
            } else {
                &["1.3", "1.10"]
            };
            for version in versions {
                // Representations are shared from 1.6 on through a database that is not there yet.
                let may_share = matches!(*version, "1.3" | "1.4" | "1.5");
                compare(&both, version, &stream, &["--force-uuid"], may_share);
            }
        }
    }
}

#[test]
fn options() {
    let both = Both::new();
    let dir = tempfile::tempdir().unwrap();
    let stream = dir.path().join("dump");
    let repository = Repository::scripted(&Shape::new("1.10"));
    let path = repository.arg();
    std::fs::write(&stream, both.reference.run("svnadmin", ["dump", "-q", &path]).stdout).unwrap();
    let cases: &[&[&str]] = &[
        &["--ignore-uuid"],
        &["--force-uuid", "--ignore-dates"],
        &["--force-uuid", "-r", "1:5"],
        &["--force-uuid", "-r", "3"],
        &["--force-uuid", "-r", "5:3"],
        &["--force-uuid", "-r", "HEAD"],
        &["--force-uuid", "-q"],
        &["--force-uuid", "--parent-dir", "not/there"],
        &["--force-uuid", "--bypass-prop-validation", "--normalize-props", "-M", "4"],
    ];
    for options in cases {
        compare(&both, "1.10", &stream, options, false);
    }
}

#[test]
fn below_a_folder_and_in_parts() {
    let both = Both::new();
    let dir = tempfile::tempdir().unwrap();
    let repository = Repository::scripted(&Shape::new("1.10"));
    let source = repository.arg();
    let part = |name: &str, args: &[&str]| {
        let file = dir.path().join(name);
        let args = [&["dump", "-q", source.as_str()], args].concat();
        std::fs::write(&file, both.reference.run("svnadmin", args).stdout).unwrap();
        file
    };
    let first = part("first", &["-r0:8"]);
    let second = part("second", &["-r9:HEAD", "--incremental"]);
    let mut dumps = Vec::new();
    for programs in [&both.reference, &both.ours] {
        let path = dir.path().join(format!("loaded{}", dumps.len()));
        let empty = part("empty", &["-r0:0"]);
        load(programs, programs, "1.10", &path, &empty, &["--force-uuid"]).expect_success("empty");
        let url = format!("file://{}", path.display());
        let path = path.to_str().unwrap();
        both.reference
            .run("svnmucc", ["-m", "", "-U", &url, "mkdir", "a", "mkdir", "a/b"])
            .expect_success("mkdir");
        let below = &["--parent-dir", "/a/b/", "--ignore-uuid"];
        let mut told = more(programs, path, &first, below).expect_success("first");
        let second = more(programs, path, &second, below).expect_success("second");
        told.stdout.extend_from_slice(&second.stdout);
        both.reference.run("svnadmin", ["verify", "-q", path]).expect_success("verify");
        let mut dump = both.reference.run("svnadmin", ["dump", "-q", "-r2:HEAD", path]);
        dump.stdout.extend_from_slice(&told.stdout);
        dumps.push(dump);
    }
    let [reference, ours] = dumps.as_slice() else { return };
    assert_same("loaded below a folder", reference, ours);
}

#[test]
fn broken_streams() {
    let both = Both::new();
    let dir = tempfile::tempdir().unwrap();
    let stream = dir.path().join("dump");
    let head = "SVN-fs-dump-format-version: 3\n\nUUID: 11111111-2222-4333-8444-555555555555\n\n";
    let rev = "Revision-number: 1\nProp-content-length: 10\nContent-length: 10\n\nPROPS-END\n\n";
    let props = |name: &str, value: &str| {
        let block = format!("K {}\n{name}\nV {}\n{value}\nPROPS-END\n", name.len(), value.len());
        format!("Prop-content-length: {0}\nContent-length: {0}\n\n{block}\n", block.len())
    };
    for body in [
        "Revision-number: 0\n\nNode-path: a\nNode-kind: dir\nNode-action: add\n\n".to_owned(),
        format!("{rev}Node-path: a\nNode-kind: dir\nNode-action: nonsense\n\n"),
        format!("{rev}Node-path: a/b\nNode-kind: dir\nNode-action: add\n\n"),
        format!("{rev}Node-path: a\nNode-action: delete\n\n"),
        format!(
            "{rev}Node-path: a\nNode-kind: dir\nNode-action: add\n\nNode-path: a\nNode-kind: dir\nNode-action: add\n\n"
        ),
        format!(
            "{rev}Node-path: a\nNode-kind: file\nNode-action: add\nText-content-length: 2\nText-content-md5: 00000000000000000000000000000001\nContent-length: 2\n\nhi\n\n"
        ),
        format!(
            "{rev}Node-path: a\nNode-kind: file\nNode-action: add\nText-content-length: 20\nContent-length: 20\n\nhi"
        ),
        format!(
            "{rev}Node-path: a\nNode-kind: file\nNode-action: add\nNode-copyfrom-rev: 7\nNode-copyfrom-path: b\n\n"
        ),
        format!(
            "{rev}Node-path: a\nNode-kind: dir\nNode-action: add\n{}",
            props("svn:mergeinfo", "x")
        ),
        format!(
            "{rev}Node-path: a\nNode-kind: dir\nNode-action: add\n{}",
            props("svn:ignore", "x\r\n")
        ),
        format!("{rev}Node-path: a\nNode-kind: dir\nNode-action: add\n{}", props("svn:wc:x", "x")),
        format!("Revision-number: 1\n{}", props("svn:log", "x\ry")),
        format!("Revision-number: 1\n{}", props("svn:date", "x")),
    ] {
        std::fs::write(&stream, format!("{head}{body}")).unwrap();
        compare(&both, "1.10", &stream, &["--force-uuid"], false);
        compare(&both, "1.10", &stream, &["--force-uuid", "--normalize-props"], false);
        compare(&both, "1.10", &stream, &["--force-uuid", "--bypass-prop-validation"], false);
    }
}
