//! Dump streams, byte for byte beside the reference's, of repositories in every format.

use std::process::Stdio;

use crate::common::Both;
use sapwood_testkit::compare::assert_same;
use sapwood_testkit::{Output, Repository, Shape};

/// Loads a dump stream into a new repository of the reference's, and gives its dump.
fn loaded(both: &Both, dump: &[u8]) -> Output {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("loaded");
    let path = path.to_str().unwrap();
    both.reference.run("svnadmin", ["create", path]).expect_success("create");
    let mut load = both.reference.command("svnadmin");
    let file = dir.path().join("dump");
    std::fs::write(&file, dump).unwrap();
    load.args(["load", "-q", "--force-uuid", path])
        .stdin(Stdio::from(std::fs::File::open(&file).unwrap()));
    Output::of(&mut load).expect_success("load");
    both.reference.run("svnadmin", ["dump", "-q", path])
}

#[test]
fn the_same_bytes_in_every_shape() {
    let both = Both::new();
    for shape in Shape::few() {
        for repository in [Repository::scripted(&shape), Repository::random(&shape, 7, 60)] {
            let path = repository.arg();
            both.same("svnadmin", &["dump", &path]);
            both.same("svnadmin", &["dump-revprops", &path]);
        }
    }
}

#[test]
fn deltas_load_to_the_same_repository() {
    let both = Both::new();
    // Old formats do not record all that a new repository does, so the reference's dump of the
    // original goes through one, too. Loading is slow; every shape has the same contents.
    let mut expected = None;
    for shape in Shape::few() {
        let repository = Repository::random(&shape, 8, 60);
        let path = repository.arg();
        let ours = both
            .ours
            .run("svnadmin", ["dump", "--deltas", "-q", &path])
            .expect_success("dump --deltas");
        let expected = expected.get_or_insert_with(|| {
            loaded(&both, &both.reference.run("svnadmin", ["dump", "-q", &path]).stdout)
        });
        assert_same(&repository.name(), expected, &loaded(&both, &ours.stdout));
    }
    let repository = Repository::scripted(&Shape::new("1.10").shard(7));
    let ours = both.ours.run("svnadmin", ["dump", "--deltas", "-q", &repository.arg()]);
    let reference = both.reference.run("svnadmin", ["dump", "-q", &repository.arg()]);
    assert_same(&repository.name(), &reference, &loaded(&both, &ours.stdout));
}

#[test]
fn every_option() {
    let both = Both::new();
    let shape = Shape::new("1.10").shard(7);
    for repository in [Repository::scripted(&shape), Repository::random(&shape, 9, 80)] {
        let path = repository.arg();
        let youngest = repository.history.youngest().to_string();
        for args in [
            &["-r", "0"][..],
            &["-r", "1"],
            &["-r", "5"],
            &["-r", "HEAD"],
            &["-r", "3:HEAD"],
            &["-r", "3:HEAD", "--incremental"],
            &["-r", &youngest, "--incremental"],
            &["-q", "-r4:6"],
            &["-r", "6:4"],
            &["-r", "100000"],
            &["-r", "{2000-01-01}:HEAD", "-q"],
            &["--exclude", "/trunk"],
            &["--exclude", "/branches", "--exclude", "/tags"],
            &["--include", "/trunk", "--include", "/"],
            &["--include", "/trunk"],
            &["--exclude", "*a*", "--pattern"],
            &["--include", "/*/*", "--pattern", "-r", "2:9", "--incremental"],
            &["--include", "/trunk", "-r", "4:9"],
            &["--include", "/a", "--exclude", "/b"],
            &["-F", "/nonexistent/dir/file"],
            &["extra"],
        ] {
            let mut all = vec!["dump", path.as_str()];
            all.extend_from_slice(args);
            both.same("svnadmin", &all);
        }
    }
}

/// A repository of an old program with a directory `/A` whose name is then made Latin-1.
fn with_latin_1_name(both: &Both, dir: &std::path::Path) -> String {
    let path = dir.join("latin");
    let arg = path.to_str().unwrap().to_owned();
    both.reference.run("svnadmin", ["create", "--compatible-version=1.5", &arg]).expect_success("");
    let url = format!("file://{arg}/A");
    both.reference.run("svn", ["mkdir", "-q", "-m", "log", &url]).expect_success("mkdir");
    let file = path.join("db/revs/0/1");
    let mut text = std::fs::read(&file).unwrap();
    let sum = |text: &[u8]| {
        let start = text.windows(6).position(|w| w == b"PLAIN\n").unwrap() + 6;
        let end = text.windows(7).position(|w| w == b"ENDREP\n").unwrap();
        sapwood_core::Md5::of(&text[start..end]).to_string()
    };
    let old_sum = sum(&text);
    for at in 0..text.len() - 2 {
        if text[at + 1..].starts_with(b"A\n") && b"/\n".contains(&text[at]) {
            text[at + 1] = 0xE6;
        }
    }
    let new_sum = sum(&text);
    let at = text.windows(32).position(|w| w == old_sum.as_bytes()).unwrap();
    text[at..at + 32].copy_from_slice(new_sum.as_bytes());
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    std::fs::write(&file, text).unwrap();
    arg
}

#[test]
fn names_that_are_not_utf_8() {
    let both = Both::new();
    let dir = tempfile::tempdir().unwrap();
    let path = with_latin_1_name(&both, dir.path());
    let dump = both.same("svnadmin", &["dump", &path]);
    assert!(dump.stdout.windows(13).any(|w| w == b"Node-path: \xE6\n"));
    let verify = both.same("svnadmin", &["verify", &path]);
    assert_eq!(verify.code, 1);

    // A new revision has the name as it was.
    let stream = b"SVN-fs-dump-format-version: 2\n\nRevision-number: 2\nProp-content-length: 10\n\
        Content-length: 10\n\nPROPS-END\n\nNode-path: B\nNode-kind: dir\nNode-action: add\n\n\n";
    let file = dir.path().join("stream");
    std::fs::write(&file, stream).unwrap();
    both.ours
        .run("svnadmin", ["load", "-q", "-F", file.to_str().unwrap(), &path])
        .expect_success("load");
    let again = both.same("svnadmin", &["dump", "-q", "-r2", &path]);
    assert!(again.stdout.windows(13).any(|w| w == b"Node-path: \xE6\n"));
    both.same("svnadmin", &["verify", "-q", "-r2", &path]);
}

/// Makes the list of changed paths of an unpacked revision (physical addressing) `changes`.
fn set_changes(repository: &str, revision: u64, changes: &str) {
    let file = format!("{repository}/db/revs/0/{revision}");
    let text = std::fs::read(&file).unwrap();
    let end = text.trim_ascii_end();
    let trailer = &end[end.iter().rposition(|b| *b == b'\n').unwrap() + 1..];
    let trailer = std::str::from_utf8(trailer).unwrap();
    let at: usize = trailer.split(' ').nth(1).unwrap().parse().unwrap();
    let text = [&text[..at], changes.as_bytes(), b"\n", trailer.as_bytes(), b"\n"].concat();
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    std::fs::write(&file, text).unwrap();
}

#[test]
fn lists_of_changes_that_lie() {
    let both = Both::new();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("r");
    let path = path.to_str().unwrap();
    both.reference.run("svnadmin", ["create", "--compatible-version=1.6", path]).expect_success("");
    for revision in 1..=7 {
        let url = format!("file://{path}/B{revision}");
        both.reference.run("svn", ["mkdir", "-q", "-m", "log", &url]).expect_success("mkdir");
    }
    for (revision, changes) in [
        (2, "_0.0.t1-1 add-dir false false /B1\n\n"),
        (3, "_0.0.t2-2 add-dir false false /B3\n1 /X\n"),
        (4, "_0.0.t3-2 add-file false false /B4\n3 /B2\n"),
        (5, "_0.0.t4-2 modify-file true true /X\n\n"),
        (6, "_0.0.t5-2 modify-file false false /B5\n\n"),
        (7, "_0.0.t6-2 replace-file false false /X\n\n"),
    ] {
        set_changes(path, revision, changes);
    }
    let verify = both.same("svnadmin", &["verify", "--keep-going", path]);
    let text = String::from_utf8(verify.stdout).unwrap();
    for revision in 2..=7 {
        assert_eq!(text.matches(&format!("   r{revision}: E")).count(), 2, "{text}");
    }
}

/// Nothing is told of a revision before its records are written: where they cannot be, only the
/// error is told.
#[test]
fn progress_is_not_ahead_of_the_output() {
    let both = Both::new();
    let repository = Repository::scripted(&Shape::new("1.10").shard(7));
    let path = repository.arg();
    let url = format!("file://{path}");
    let stream = both.reference.run("svnadmin", ["dump", "-q", &path]).stdout;
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("stream");
    std::fs::write(&file, stream).unwrap();
    let full = || Stdio::from(std::fs::File::options().write(true).open("/dev/full").unwrap());
    for (program, args) in [
        ("svnadmin", vec!["dump", &path]),
        ("svnadmin", vec!["dump", "--deltas", &path]),
        ("svnadmin", vec!["dump", "-r1:20", &path]),
        ("svnadmin", vec!["dump", "-F", "/dev/full", &path]),
        ("svnadmin", vec!["dump-revprops", &path]),
        ("svnrdump", vec!["dump", &url]),
        ("svndumpfilter", vec!["include", "/"]),
        ("svndumpfilter", vec!["exclude", "--drop-empty-revs", "--renumber-revs", "/trunk"]),
    ] {
        for programs in [&both.reference, &both.ours] {
            let mut command = programs.command(program);
            command.args(&args).stdin(std::fs::File::open(&file).unwrap()).stdout(full());
            let out = command.stderr(Stdio::piped()).output().unwrap();
            let said = String::from_utf8(out.stderr).unwrap();
            let what = format!("{} {program} {args:?}: {said}", programs.label);
            assert_eq!(out.status.code(), Some(1), "{what}");
            assert!(said.contains("E000028: "), "{what}");
            if programs.label == both.reference.label {
                continue;
            }
            let told = said.lines().any(|line| line.contains(" revision ") && line.contains('*'));
            assert!(!told && !said.contains("committed as"), "{what}");
        }
    }
}
