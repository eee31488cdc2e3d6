//! `sapwood-bench`, end to end: a tiny repository, our programs and the reference's, every file
//! that comes out of it.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failure is a failed test"
)]

use std::path::Path;
use std::process::{Command, Output};

use sapwood_testkit::Programs;

fn bench(dir: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sapwood-bench"));
    command.args(args).current_dir(dir);
    if args.iter().any(|arg| ["matrix", "heatup", "merge", "commands"].contains(arg)) {
        command.arg("--program").arg(Programs::ours().path("sapwood"));
    }
    command.output().unwrap()
}

fn done(dir: &Path, args: &[&str]) -> String {
    let out = bench(dir, args);
    assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap()
}

fn read(dir: &Path, name: &str) -> String {
    std::fs::read_to_string(dir.join(name)).unwrap()
}

#[test]
fn a_matrix_and_its_report() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let reference = Programs::reference();
    let reference = reference.dir().to_str().unwrap();
    // httpd reads them as a user without rights.
    let all = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(dir, all).unwrap();
    let only = "open,f8,fsx,unpacked,medium,hot-os,hot-server,null-log,null-blame,dump";
    let mut matrix = vec!["matrix", "w", "-q", "--against", reference, "--scale", "0.0003"];
    matrix.extend(["--repeat", "1", "--only", only, "--json", "m.json", "--csv", "m.csv"]);
    let tables = done(dir, &matrix);
    // Over svn: and http: two requests in two states, over file: three in one; two formats, two systems.
    let runs = (2 * 2 * 2 + 3) * 2 * 2;
    assert_eq!(read(dir, "m.csv").lines().count(), runs + 1, "{tables}");
    for title in ["Elapsed time", "Ratio of formats", "Reference against Sapwood, elapsed time"] {
        assert!(tables.contains(&format!("### {title}\n")), "{title}: {tables}");
    }
    assert!(!tables.contains("failed"), "{tables}");
    // The repositories are found again by the heat-up test.
    let made = dir.join("w/repositories/f8-unpacked/db/uuid");
    let before = std::fs::metadata(&made).unwrap().modified().unwrap();
    let heatup = [
        "heatup",
        "w",
        "-q",
        "--scale",
        "0.0003",
        "--only",
        "null-log,unpacked",
        "--json",
        "h.json",
    ];
    let tables = done(dir, &heatup);
    assert!(tables.contains("### Heat-up of the cache"), "{tables}");
    assert_eq!(std::fs::metadata(&made).unwrap().modified().unwrap(), before);
    let tables = done(dir, &["report", "m.json", "h.json", "--html", "r.html"]);
    assert!(tables.contains("### Elapsed time") && tables.contains("### Heat-up"), "{tables}");
    let page = read(dir, "r.html");
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("</html>"));
    assert!(page.contains("Heat-up of the server"), "no plot of the heat-up");
}

/// A login by SASL and a tunnel beside the plain connection, for both systems.
#[test]
fn logins_and_tunnels_beside_svn() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let reference = Programs::reference();
    let reference = reference.dir().to_str().unwrap();
    let only = "open,f8,unpacked,medium,hot-os,hot-server,null-log,svn,svn-sasl,svn-ssh";
    let mut matrix = vec!["matrix", "w", "-q", "--against", reference, "--scale", "0.0003"];
    matrix.extend(["--repeat", "1", "--only", only, "--csv", "m.csv"]);
    let tables = done(dir, &matrix);
    assert!(!tables.contains("Not all runs"), "{tables}");
    let rows = read(dir, "m.csv");
    // A tunnel's server ends with its request.
    for (way, runs) in [("svn", 2), ("svn-sasl", 2), ("svn-ssh", 1)] {
        for system in ["sapwood", "reference"] {
            let is_of = |row: &&str| {
                row.starts_with(&format!("null-log,{way},")) && row.contains(&format!(",{system},"))
            };
            assert_eq!(rows.lines().filter(is_of).count(), runs, "{way} {system}: {rows}");
        }
    }
    for column in ["hot OS: svn: with SASL", "hot OS: svn+ssh:"] {
        assert!(tables.contains(column), "{column}: {tables}");
    }
}

/// Every command of the table at a small size: both systems print the same and exit alike.
#[test]
fn commands_print_what_the_references_do() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    // httpd reads the repositories as a user without rights.
    let all = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(dir, all).unwrap();
    let reference = Programs::reference();
    let reference = reference.dir().to_str().unwrap();
    let mut args =
        vec!["commands", "w", "-q", "--against", reference, "--quick", "--csv", "rows.tsv"];
    // Over svn: and http: the tests of the clients compare the same.
    if !sapwood_testkit::long() {
        args.extend(["--only", "file"]);
    }
    let table = done(dir, &args);
    let text = read(dir, "rows.tsv");
    let mut rows = text.lines().map(|line| line.split('\t').collect::<Vec<_>>());
    let head = rows.next().unwrap();
    assert_eq!(head.last(), Some(&"marks"));
    let mut wires = [0, 0, 0];
    for row in rows {
        let at = ["file", "svn", "http"].iter().position(|wire| *wire == row[1]).unwrap();
        wires[at] += 1;
        let marks = row.last().unwrap();
        // Times and memory are not for a test.
        let wrong = marks.contains("differs") || marks.contains("code");
        assert!(!wrong, "{row:?}");
    }
    let least = if sapwood_testkit::long() { 40 } else { 0 };
    assert!(wires[0] > 100 && wires[1] >= least && wires[2] >= least, "{wires:?}: {table}");
}

#[test]
fn wrong_usage() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    for (args, words) in [
        (&["make-repo", "r", "--profile", "perl"][..], "'perl' is no value for --profile"),
        (&["make-repo", "r", "--format", "5"], "'5' is no value for --format"),
        (&["make-repo", "r", "--scale", "big"], "'big' is no value for --scale"),
        (&["make-repo", "r", "--compatible-version", "2.0"], "'2.0' is no value"),
        (&["matrix", "w", "--only", "f9"], "'f9' is no value for --only"),
        (&["matrix", "w", "--client", "reference"], "it needs --against"),
        (&["matrix", "w", "--against", "/nowhere"], "there is no svnserve"),
        (&["report", "missing.json"], "Can't open file 'missing.json'"),
        (&["matrix"], "Not enough arguments"),
    ] {
        let out = bench(dir, args);
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(!out.status.success() && said.contains(words), "{args:?}: {said}");
    }
    assert_eq!(std::fs::read_dir(dir).unwrap().count(), 0, "something was left");
    assert!(done(dir, &["make-repo"]).contains("Asked for:"));
}

#[test]
fn merges_of_small_branches() {
    let folder = tempfile::tempdir().unwrap();
    let reference = Programs::reference();
    let reference = reference.dir().to_str().unwrap();
    let mut merge = vec!["merge", "w", "-q", "--against", reference, "--repeat", "1"];
    merge.extend(["--files", "60", "--revisions", "12", "--subtrees", "1,6", "--json", "m.json"]);
    let tables = done(folder.path(), &merge);
    // Each program by file: and at each server.
    let merges = [("catch-up", 12), ("cherry-pick", 12), ("reintegrate", 12), ("diff", 6)];
    let others = [("resolve", 6), ("patch", 2), ("upgrade", 2)];
    for (work, lines) in merges.into_iter().chain(others) {
        let found = tables.lines().filter(|line| line.starts_with(&format!("| {work} |")));
        assert_eq!(found.count(), lines, "{work}: {tables}");
    }
    assert!(!tables.contains(" subtrees by "), "{tables}");
    assert!(read(folder.path(), "m.json").contains("\"requests\""));
    let wrong = bench(folder.path(), &["merge", "w", "--only", "nonsense"]);
    assert!(!wrong.status.success());
}
