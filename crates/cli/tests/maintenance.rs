//! `svnadmin hotcopy`, `recover`, `upgrade`, `freeze`, `build-repcache` and `deltify`, ours and the
//! reference's, on the same repositories: the same words, and repositories that the reference
//! verifies and dumps alike.

use std::path::{Path, PathBuf};

use crate::common::Both;
use sapwood_testkit::compare::assert_same;
use sapwood_testkit::{Output, Programs, Repository, Shape, library};

const SHAPES: [&str; 5] =
    ["v1.4", "v1.5-s7", "v1.6-s7-half-deltify", "v1.8-up-s3-half", "v1.10-s7"];

fn shape(name: &str) -> Shape {
    Shape::all().into_iter().find(|shape| shape.name() == name).unwrap()
}

fn dump(both: &Both, path: &Path) -> Vec<u8> {
    let path = path.to_str().unwrap();
    both.reference.run("svnadmin", ["verify", "-q", path]).expect_success("verify");
    both.reference.run("svnadmin", ["dump", "-q", path]).expect_success("dump").stdout
}

/// A copy of a repository for each side.
fn copies(dir: &Path, history: &Repository) -> [PathBuf; 2] {
    ["reference", "ours"].map(|side| {
        let path = dir.join(side).join("repo");
        std::fs::create_dir_all(dir.join(side)).unwrap();
        library::copy_tree(&history.path(), &path);
        path
    })
}

/// Runs a command in the folder of each side, and compares what it says.
fn same(both: &Both, dir: &Path, args: &[&str]) -> Output {
    let run = |programs: &Programs, side: &str| {
        let mut command = programs.command("svnadmin");
        let output = Output::of(command.args(args).current_dir(dir.join(side)));
        output.replacing(&format!("{}/", dir.join(side).display()), "/")
    };
    let ours = run(&both.ours, "ours");
    assert_same(&args.join(" "), &run(&both.reference, "reference"), &ours);
    ours
}

/// What is on disk, but for what differs from copy to copy.
fn listing(path: &Path) -> Vec<String> {
    let mut all = Vec::new();
    let mut todo = vec![path.to_owned()];
    while let Some(dir) = todo.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() {
                todo.push(entry.path());
            }
            let name = entry.path().strip_prefix(path).unwrap().display().to_string();
            if !name.contains("-lock") && !name.ends_with("-journal") {
                all.push(name);
            }
        }
    }
    all.sort();
    all
}

fn commit(both: &Both, path: &Path, number: u32) {
    let url = format!("file://{}", path.display());
    let (message, target) = (format!("new {number}"), format!("{url}/new{number}"));
    both.reference.run("svnmucc", ["-m", &message, "mkdir", &target]).expect_success("commit");
}

#[test]
fn hotcopies() {
    let both = Both::new();
    for name in SHAPES {
        let shape = shape(name);
        let history = Repository::scripted(&shape);
        let dir = tempfile::tempdir().unwrap();
        let [reference, ours] = copies(dir.path(), &history);
        std::fs::write(ours.join("hooks/mine"), "own").unwrap();
        std::fs::write(reference.join("hooks/mine"), "own").unwrap();
        same(&both, dir.path(), &["hotcopy", "--clean-logs", "repo", "copy"]);
        let copy = dir.path().join("ours/copy");
        assert_eq!(listing(&dir.path().join("reference/copy")), listing(&copy), "{name}");
        for lock in ["locks/db.lock", "locks/db-logs.lock"] {
            // Whose words they are, they stay.
            let read = |path: &Path| std::fs::read(path.join(lock)).unwrap();
            assert_eq!(read(&ours), read(&copy), "{name} {lock}");
        }
        assert!(dump(&both, &copy) == dump(&both, &history.path()), "{name}");
        // There is something now; and only in an incremental copy that is right.
        same(&both, dir.path(), &["hotcopy", "repo", "copy"]);
        same(&both, dir.path(), &["hotcopy", "repo", "repo"]);
        same(&both, dir.path(), &["hotcopy", "--incremental", "repo", "copy"]);
        for path in [&reference, &ours] {
            (0..3).for_each(|number| commit(&both, path, number));
            both.reference.run("svnadmin", ["pack", path.to_str().unwrap()]);
        }
        same(&both, dir.path(), &["hotcopy", "--incremental", "repo", "copy"]);
        assert!(dump(&both, &copy) == dump(&both, &ours), "{name}");
        let swapped = same(&both, dir.path(), &["hotcopy", "--incremental", "repo", "copy", "-q"]);
        assert_eq!(swapped.stdout_text(), "");
        // The other way round there are revisions too many.
        for side in ["reference", "ours"] {
            commit(&both, &dir.path().join(side).join("copy"), 9);
        }
        same(&both, dir.path(), &["hotcopy", "--incremental", "repo", "copy"]);
    }
}

#[test]
fn upgrades() {
    let both = Both::new();
    for name in SHAPES.iter().chain(&["v1.1", "v1.6-s7-packed", "v1.5-linear"]) {
        let shape = shape(name);
        let history = Repository::scripted(&shape);
        let dir = tempfile::tempdir().unwrap();
        let [reference, ours] = copies(dir.path(), &history);
        same(&both, dir.path(), &["upgrade", "repo"]);
        same(&both, dir.path(), &["upgrade", "repo"]);
        assert_eq!(listing(&reference), listing(&ours), "{name}");
        for file in ["db/format", "format", "db/current"] {
            let read = |path: &Path| std::fs::read(path.join(file)).unwrap();
            assert_eq!(read(&reference), read(&ours), "{name} {file}");
        }
        assert!(dump(&both, &ours) == dump(&both, &history.path()), "{name}");
        commit(&both, &ours, 1);
        let ours = ours.to_str().unwrap();
        both.reference.run("svnadmin", ["verify", "-q", ours]).expect_success(name);
    }
}

#[test]
fn recoveries() {
    let both = Both::new();
    for name in SHAPES.iter().chain(&["v1.1"]) {
        let shape = shape(name);
        let history = Repository::scripted(&shape);
        let dir = tempfile::tempdir().unwrap();
        let paths = copies(dir.path(), &history);
        let current = |path: &Path| std::fs::read_to_string(path.join("db/current")).unwrap();
        let before = current(&paths[1]);
        for damaged in ["", "0 1 1\n"] {
            for path in &paths {
                std::fs::write(path.join("db/current"), damaged).unwrap();
            }
            same(&both, dir.path(), &["recover", "repo"]);
            assert_eq!(current(&paths[0]), current(&paths[1]), "{name}");
        }
        assert_eq!(before.split(' ').next(), current(&paths[1]).split(' ').next(), "{name}");
        assert!(dump(&both, &paths[1]) == dump(&both, &history.path()), "{name}");
        for path in &paths {
            std::fs::write(path.join("db/current"), "9999 z z\n").unwrap();
        }
        same(&both, dir.path(), &["recover", "repo"]);
    }
}

#[test]
fn smaller_ones() {
    let both = Both::new();
    let history = Repository::scripted(&shape("v1.10-s7"));
    let dir = tempfile::tempdir().unwrap();
    let paths = copies(dir.path(), &history);
    for args in [
        &["deltify", "repo", "-r", "1:3"][..],
        &["deltify", "repo", "-r", "3:1"],
        &["deltify", "repo", "-q"],
        &["list-dblogs", "repo"],
        &["list-unused-dblogs", "repo"],
        &["freeze", "repo", "--", "sh", "-c", "echo frozen; exit 7"],
        &["freeze", "repo"],
        &["freeze", "-F", "list", "--", "true"],
        &["freeze", "repo", "--", "no-such-program"],
        &["build-repcache", "repo", "-r", "3:1"],
        &["build-repcache", "repo", "-r", "2:5"],
        &["build-repcache", "repo", "-q"],
        &["build-repcache", "repo"],
    ] {
        for side in ["reference", "ours"] {
            std::fs::write(dir.path().join(side).join("list"), "repo\n").unwrap();
        }
        same(&both, dir.path(), args);
    }
    // A database made anew is the one that was.
    for path in &paths {
        std::fs::remove_file(path.join("db/rep-cache.db")).unwrap();
    }
    same(&both, dir.path(), &["build-repcache", "repo"]);
    dump(&both, &paths[1]);
}

fn load_index(programs: &Programs, repository: &Path, index: &[u8]) -> Output {
    let file = repository.with_extension("index");
    std::fs::write(&file, index).unwrap();
    let mut command = programs.command("svnfsfs");
    command.arg("load-index").arg(repository).stdin(std::fs::File::open(&file).unwrap());
    Output::of(&mut command)
}

#[test]
fn indexes_are_loaded_again() {
    let both = Both::new();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("repo");
    let repo = path.to_str().unwrap();
    both.reference.run("svnadmin", ["create", repo]).expect_success("create");
    let format = path.join("db/format");
    let text = std::fs::read_to_string(&format).unwrap();
    std::fs::write(&format, text.replace("sharded 1000", "sharded 3")).unwrap();
    let url = format!("file://{repo}");
    for n in 0..4 {
        let name = format!("d{n}");
        let args = ["-m", "x", "-U", &url, "mkdir", &name, "cp", "HEAD", "", &format!("{name}/b")];
        both.reference.run("svnmucc", args).expect_success("svnmucc");
    }
    both.ours.run("svnadmin", ["pack", "-q", repo]).expect_success("pack");
    for (revision, file) in [("1", "db/revs/0.pack/pack"), ("4", "db/revs/1/4")] {
        let file = path.join(file);
        let before = std::fs::read(&file).unwrap();
        let index = both.ours.run("svnfsfs", ["dump-index", repo, "-r", revision]);
        let index = index.expect_success("dump-index");
        // With the old footer, and without one that could be read.
        for cut in [0, 3] {
            std::fs::remove_file(&file).unwrap();
            std::fs::write(&file, &before[..before.len() - cut]).unwrap();
            load_index(&both.ours, &path, &index.stdout).expect_success("load-index");
            assert!(std::fs::read(&file).unwrap() == before, "r{revision}, {cut} bytes cut off");
        }
    }
    both.reference.run("svnadmin", ["verify", "-q", repo]).expect_success("verify");
    for bad in
        ["0 5 frep 4 3\n", "0 5 frep 4\n", "0 5 frog 4 3\n", "0 x frep 4 3\n", "4 1 frep 4 3\n"]
    {
        let [reference, ours] = [&both.reference, &both.ours]
            .map(|programs| load_index(programs, &path, bad.as_bytes()));
        assert_same(bad, &reference, &ours);
    }
}
