//! Random histories written through `svnserve`, ours and the reference's, by the reference's
//! clients: the reference finds the same history in both repositories and nothing wrong with ours,
//! which is not larger.

use std::fs::File;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use sapwood_testkit::compare::assert_same;
use sapwood_testkit::repository::{DELTIFY_ALL, ZLIB, create};
use sapwood_testkit::{Output, Programs, Repository, Server, Shape};

/// Writes the history whose dump is at `dump` into a new repository: all of it as dumped, and the
/// bytes that its revisions take.
fn written(programs: &Programs, shape: &Shape, dump: &Path) -> (Output, u64) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("repo");
    create(shape, &path);
    let hook = path.join("hooks/pre-revprop-change");
    std::fs::write(&hook, "#!/bin/sh\nexit 0\n").unwrap();
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::write(path.join("conf/svnserve.conf"), "[general]\nanon-access = write\n").unwrap();
    let server = Server::start(programs, dir.path(), &[]);
    let reference = Programs::reference();
    let mut load = reference.command("svnrdump");
    load.args(["load", "-q", &server.url("repo")]).stdin(File::open(dump).unwrap());
    Output::of(&mut load).expect_success("svnrdump load");
    reference.run("svnadmin", ["verify", "-q", path.to_str().unwrap()]).expect_success("verify");
    let dumped = reference.run("svnadmin", ["dump", "-q", path.to_str().unwrap()]);
    let dumped = dumped.expect_success("dump").without_lines("UUID: ");
    (dumped, size(&path.join("db/revs")) + size(&path.join("db/revprops")))
}

fn size(dir: &Path) -> u64 {
    let mut total = 0;
    for entry in std::fs::read_dir(dir).unwrap().map(Result::unwrap) {
        let data = entry.metadata().unwrap();
        total += if data.is_dir() { size(&entry.path()) } else { data.len() };
    }
    total
}

#[test]
fn random_histories() {
    let mut shapes = vec![Shape::new("1.4"), Shape::new("1.8"), Shape::new("1.10")];
    let mut revisions = 15;
    if sapwood_testkit::long() {
        shapes.extend(["1.1", "1.5", "1.6", "1.9"].map(Shape::new));
        shapes.push(Shape::new("1.8").shard(3).config(DELTIFY_ALL));
        shapes.push(Shape::new("1.9").shard(7).config(ZLIB));
        revisions = 120;
    }
    for (seed, shape) in (71..).zip(shapes) {
        let source = Repository::random(&Shape::new("1.10"), seed, revisions);
        let dump = source.parent().join("dump");
        let stream = Programs::reference().run("svnadmin", ["dump", "-q", &source.arg()]);
        std::fs::write(&dump, stream.expect_success("dump").stdout).unwrap();
        let (wanted, their_size) = written(&Programs::reference(), &shape, &dump);
        let (found, size) = written(&Programs::ours(), &shape, &dump);
        assert_same(&shape.name(), &wanted, &found);
        assert!(size * 100 <= their_size * 105, "{}: {size} and {their_size}", shape.name());
    }
}
