//! `svnadmin`, `svnfsfs` and `svnauthz` beside the reference's.

use crate::common::Both;
use sapwood_testkit::compare::assert_same;
use sapwood_testkit::{Programs, Repository, Shape};

/// Compares what verifying says. While the reference checks shared texts, it tells of revisions
/// by how many files it has open; that is left out.
#[track_caller]
fn verify(both: &Both, args: &[&str]) {
    let mut outputs = [both.reference.run("svnadmin", args), both.ours.run("svnadmin", args)];
    for output in &mut outputs {
        let text = output.stdout_text();
        let (before, after) = text.split_once("repository metadata ...").unwrap_or((&text, ""));
        let after: Vec<&str> =
            after.lines().filter(|line| !line.contains("metadata at revision")).collect();
        output.stdout = format!("{before}{}", after.join("\n")).into_bytes();
    }
    assert_same(&args.join(" "), &outputs[0], &outputs[1]);
}

#[test]
fn info_sizes_and_verify_in_every_shape() {
    let both = Both::new();
    for shape in Shape::few() {
        let repository = Repository::random(&shape, 5, 24);
        let path = repository.arg();
        both.same("svnadmin", &["info", &path]);
        verify(&both, &["verify", &path]);
        for revision in ["0", "1", "7", "24"] {
            both.same("svnadmin", &["rev-size", &path, "-r", revision]);
        }
    }
}

#[test]
fn verify_with_options() {
    let both = Both::new();
    let repository = Repository::scripted(&Shape::new("1.10").shard(7));
    let path = repository.arg();
    for args in [
        &["-q"][..],
        &["-r", "3:9"],
        &["-r", "HEAD"],
        &["-r", "4"],
        &["--metadata-only"],
        &["--check-normalization"],
        &["--keep-going", "-q"],
        &["-r", "9:3"],
        &["-r", "100000"],
        &["-r", "1", "-t", "x"],
        &["extra"],
    ] {
        let mut all = vec!["verify", path.as_str()];
        all.extend_from_slice(args);
        verify(&both, &all);
    }
}

#[test]
fn locks() {
    let both = Both::new();
    let repository = Repository::random(&Shape::new("1.10"), 3, 12);
    let path = repository.arg();
    let tree = both.reference.run("svnlook", ["tree", "--full-paths", &path]).stdout_text();
    let files: Vec<&str> = tree.lines().filter(|line| !line.ends_with('/')).collect();
    let comment = repository.parent().join("comment");
    std::fs::write(&comment, "two\nlines").unwrap();
    both.reference
        .run("svnadmin", ["lock", &path, files[0], "ann", comment.to_str().unwrap()])
        .expect_success("lock");
    let url = format!("{}/{}@", repository.url(), files[1].replace('%', "%25"));
    both.reference.run("svn", ["lock", &url]).expect_success("lock");
    for file in &files {
        both.same("svnlook", &["lock", &path, file]);
        both.same("svnadmin", &["lslocks", &path, file]);
    }
    both.same_lines("svnadmin", &["lslocks", &path]);
    both.same("svnadmin", &["lslocks", &path, "/nope"]);
    both.same("svnadmin", &["lslocks", &path, "a", "b"]);
}

#[test]
fn wrong_usage() {
    let both = Both::new();
    let repository = Repository::random(&Shape::new("1.10"), 3, 12);
    let path = repository.arg();
    let path = path.as_str();
    for args in [
        &[][..],
        &["-q"],
        &["nonsense"],
        &["--bogus"],
        &["-Z"],
        &["-r"],
        &["dump"],
        &["dump", "/nonexistent"],
        &["dump", "file:///x"],
        &["dump", path, "-r", "x"],
        &["dump", path, "-r", "1", "-r", "2"],
        &["dump", path, "-r", "PREV"],
        &["dump", path, "--keep-going"],
        &["dump", path, "-M", "x"],
        &["info", path, "extra"],
        &["info", path, "-q"],
        &["rev-size", path],
        &["rev-size", path, "-r", "HEAD"],
        &["rev-size", path, "-r", "1:2"],
        &["rev-size", path, "-r", "99999"],
        &["rev-size", path, "-q", "-r", "1"],
        &["lstxns", path, "extra"],
        &["verify"],
        &["--version", "--deltas"],
        &["help", "nonsense"],
    ] {
        both.same("svnadmin", args);
    }
}

#[test]
fn crashtest_aborts_with_the_repository_open() {
    let both = Both::new();
    let repository = Repository::random(&Shape::new("1.10"), 3, 12);
    both.same("svnadmin", &["crashtest", "/nonexistent"]);
    both.same("svnadmin", &["crashtest"]);
    // The code says that a signal ended it.
    both.same("svnadmin", &["crashtest", &repository.arg(), "ignored"]);
    assert_eq!(both.ours.run("svnadmin", ["crashtest", &repository.arg()]).code, -1);
}

/// The lines of a general help that list subcommands.
fn listed(help: &str) -> Vec<&str> {
    help.lines().filter(|line| line.starts_with("   ") && !line.starts_with("    ")).collect()
}

#[test]
fn a_closed_pipe_is_no_news() {
    let both = Both::new();
    let repository = Repository::scripted(&Shape::new("1.10"));
    let path = repository.arg();
    for args in [&["svnadmin", "dump", "-q"][..], &["svnlook", "diff"], &["svnlook", "tree"]] {
        for programs in [&both.reference, &both.ours] {
            let (reader, writer) = std::io::pipe().unwrap();
            drop(reader);
            let mut command = programs.command(args[0]);
            command.args(&args[1..]).arg(&path).stdout(writer);
            let output = command.stderr(std::process::Stdio::piped()).output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!((output.status.code(), said.as_str()), (Some(1), ""), "{args:?}");
        }
    }
}

#[test]
fn helps_have_the_same_structure() {
    let both = Both::new();
    for program in ["svnadmin", "svnlook", "svnfsfs", "svnauthz"] {
        let reference = both.reference.run(program, ["help"]);
        let ours = both.ours.run(program, ["help"]);
        assert_eq!(ours.code, 0);
        let (reference, ours) = (reference.stdout_text(), ours.stdout_text());
        let names =
            |help: &str| listed(help).iter().map(|line| line.trim().to_owned()).collect::<Vec<_>>();
        assert_eq!(names(&reference), names(&ours), "{program}");
        for line in listed(&ours) {
            let name = line.split_whitespace().next().unwrap();
            let options = |help: &str| {
                help.lines()
                    .filter(|line| line.starts_with("  -") && line.contains(" : "))
                    .map(|line| line.split(" : ").next().unwrap().to_owned())
                    .collect::<Vec<_>>()
            };
            let reference = both.reference.run(program, ["help", name]).stdout_text();
            let ours = both.ours.run(program, ["help", name]).stdout_text();
            assert_eq!(options(&reference), options(&ours), "{program} help {name}");
            let first =
                |text: &str| text.lines().next().unwrap().split(": ").next().unwrap().to_owned();
            assert_eq!(first(&reference), first(&ours));
        }
        assert!(!reference.contains("* fs_fs") && !ours.contains("* fs_fs"), "{program}");
        let version = both.ours.run(program, ["--version"]).stdout_text();
        assert!(version.starts_with(&format!("{program}, version 1.14.")), "{version}");
        assert!(version.contains("* fs_fs : "), "{version}");
    }
    for program in ["svnsync", "svnrdump", "svnmucc", "svnbench"] {
        for programs in [&both.reference, &both.ours] {
            let version = programs.run(program, ["--version"]).stdout_text();
            let modules = version.split_once("The following repository access (RA)").unwrap().1;
            for module in ["ra_svn", "ra_local", "ra_serf"] {
                assert!(modules.contains(&format!("\n* {module} : ")), "{program}: {modules}");
            }
            assert!(!version.contains("* fs_fs"), "{program}");
        }
    }
    assert_eq!(both.ours.run("svnadmin", ["--version", "-q"]).stdout_text(), "1.14.5\n");
}

#[test]
fn storage() {
    let both = Both::new();
    let mut compared = 0;
    for shape in Shape::few() {
        let repository = Repository::random(&shape, 6, 24);
        let path = repository.arg();
        both.same("svnfsfs", &["dump-index", &path, "-r", "1"]);
        both.same("svnfsfs", &["dump-index", &path, "-r", "12"]);
        // Where figures are equal, the reference's order is that of a hash table.
        // On some repositories it stops at an assertion, and there is nothing to compare.
        if both.reference.run("svnfsfs", ["stats", &path]).code == 0 {
            both.same_lines("svnfsfs", &["stats", &path]);
            compared += 1;
        }
    }
    assert!(compared > 0);
    both.same("svnfsfs", &["stats"]);
    both.same("svnfsfs", &["nonsense"]);
}

#[test]
fn authz_files() {
    let both = Both::new();
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let good = file("good", "[groups]\ng = ann\ne =\n[/]\n* = r\n@g = rw\n@e = r\n[/x]\n* =\n");
    let bad = file("bad", "[/]\nann = x\n");
    let broken = file("broken", "[/\n");
    let groups = file("groups", "[groups]\ng = ann\n");
    let rules = file("rules", "[/]\n@g = rw\n");
    for args in [
        &["validate", good.as_str()][..],
        &["validate", &bad],
        &["validate", &broken],
        &["validate", "/nonexistent"],
        &["validate", "^/x"],
        &["validate", "http://x/y"],
        &["validate"],
        &["validate", &good, "extra"],
        &["validate", &good, "--is", "r"],
        &["accessof", &good],
        &["accessof", &good, "--username", "ann"],
        &["accessof", &good, "--path", "/x/y"],
        &["accessof", &good, "--path", "/x", "--username", "ann", "--is", "rw"],
        &["accessof", &good, "--is", "no"],
        &["accessof", &good, "--is", "r"],
        &["accessof", &good, "--is", "bogus"],
        &["accessof", &good, "-R"],
        &["accessof", &good, "-R", "--path", "/"],
        &["accessof", &good, "-R", "--path", "/y", "--username", "zoe"],
        &["accessof", &rules, "--groups-file", &groups, "--username", "ann"],
        &["accessof", &good, "--groups-file", &groups],
        &[],
        &["nonsense"],
        &["--bogus"],
    ] {
        both.same("svnauthz", args);
    }
}

/// Files of processes that were killed are named and removed, and nothing else is.
#[test]
fn what_killed_processes_left() {
    let dir = tempfile::tempdir().unwrap();
    let repo = dir.path().join("r");
    let path = repo.to_str().unwrap();
    Programs::reference().run("svnadmin", ["create", path]).expect_success("create");
    let url = format!("file://{path}");
    let mkdir = ["-m", "x", "mkdir", &format!("{url}/d")];
    Programs::reference().run("svnmucc", mkdir).expect_success("svnmucc");
    let run = |args: &[&str]| Programs::ours().run("svnadmin", args);
    assert_eq!(run(&["lstxns", path]).stderr_text(), "");
    let db = repo.join("db");
    let left = ["txn-protorevs/1-7.rev", "txn-protorevs/1-8.rev-lock", "current.3f.tmp"];
    for name in left {
        std::fs::write(db.join(name), "something").unwrap();
    }
    for args in [&["lstxns", path][..], &["verify", path]] {
        let done = run(args);
        assert_eq!(done.code, 0);
        let told = done.stderr_text();
        assert!(left.iter().all(|name| told.contains(&format!("'{name}'"))), "{args:?}: {told}");
    }
    assert_eq!(run(&["lstxns", path]).stdout_text(), "");
    assert_eq!(run(&["verify", "-q", path]).stderr_text(), "");
    // What a process may still write stays until it is named.
    run(&["recover", path]).expect_success("recover");
    assert_eq!(left.map(|name| db.join(name).exists()), [true, true, false]);
    let removed = run(&["rmtxns", path, "1-7", "1-8"]).expect_success("rmtxns");
    assert_eq!(removed.stdout_text(), "Transaction '1-7' removed.\nTransaction '1-8' removed.\n");
    assert_eq!(left.map(|name| db.join(name).exists()), [false; 3]);
    assert!(run(&["rmtxns", path, "1-7"]).stderr_text().contains("E160007"));
    // Old ones go by themselves.
    std::fs::write(db.join(left[0]), "something").unwrap();
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(3 * 24 * 3600);
    std::fs::File::options()
        .append(true)
        .open(db.join(left[0]))
        .unwrap()
        .set_modified(old)
        .unwrap();
    run(&["recover", path]).expect_success("recover");
    assert!(!db.join(left[0]).exists());
    Programs::reference().run("svnadmin", ["verify", "-q", path]).expect_success("verify");
}
