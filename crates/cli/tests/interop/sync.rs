//! `svnsync` of both sides makes the same mirrors, says the same, and goes on where the other one
//! stopped.

use sapwood_testkit::compare::assert_same;
use sapwood_testkit::repository::create;
use sapwood_testkit::{Output, Programs, Repository, Server, Shape, long};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// An empty repository that everybody may change.
fn mirror(at: &Path) {
    create(&Shape::new("1.10"), at);
    std::fs::write(at.join("conf/svnserve.conf"), "[general]\nanon-access = write\n").unwrap();
    let hook = at.join("hooks/pre-revprop-change");
    std::fs::write(&hook, "#!/bin/sh\nexit 0\n").unwrap();
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// The revisions of a repository as a dump, without the mirror's bookkeeping.
fn revisions(path: &Path) -> Output {
    let out = Programs::reference()
        .run("svnadmin", ["dump", "-q", "-r", "1:HEAD", path.to_str().unwrap()])
        .expect_success("dump");
    let at = out.stdout.windows(17).position(|w| w == b"Revision-number: ").unwrap();
    Output { code: 0, stdout: out.stdout[at..].to_vec(), stderr: Vec::new() }
}

/// Mirrors a repository: the first half by `first`, all the rest and more by `second`.
fn play(first: &Programs, second: &Programs, source: &str, target: &str) -> Vec<Output> {
    let run = |programs: &Programs, args: &[&str]| {
        let all: Vec<&str> = [&["--non-interactive"][..], args].concat();
        programs.run("svnsync", all).replacing(target, "TARGET").replacing(source, "SOURCE")
    };
    vec![
        run(first, &["info", target]),
        run(first, &["sync", target]),
        run(first, &["init", target, source]),
        run(second, &["init", target, source]),
        run(second, &["info", target]),
        run(second, &["sync", target]),
        run(first, &["sync", target]),
        run(second, &["copy-revprops", target, "2:4"]),
        run(second, &["copy-revprops", "--skip-unchanged", "-r", "5:1", target]),
        run(second, &["copy-revprops", "-r", "9999", target]),
        run(second, &["info", target]),
        run(second, &["sync", "--steal-lock", "--disable-locking", target]),
        run(second, &["sync", &format!("{target}/trunk")]),
    ]
}

#[test]
fn svnsync_makes_the_same_mirrors() {
    let (reference, ours) = (Programs::reference(), Programs::ours());
    let repositories = [
        Repository::scripted(&Shape::new("1.10").shard(7)),
        Repository::random(&Shape::new("1.8").shard(7), 21, 40),
    ];
    for repo in repositories.into_iter().take(if long() { 2 } else { 1 }) {
        let scratch = tempfile::tempdir().unwrap();
        let mut told = Vec::new();
        for (n, (first, second)) in
            [(&reference, &reference), (&ours, &ours), (&reference, &ours), (&ours, &reference)]
                .into_iter()
                .enumerate()
        {
            let path = scratch.path().join(format!("mirror{n}"));
            mirror(&path);
            // Over the servers of both sides, and in the same process.
            let servers = [&reference, &ours].map(|p| Server::start(p, repo.parent(), &[]));
            let mirrors = Server::start(first, scratch.path(), &[]);
            let source = servers[n % 2].url("repo");
            let target = mirrors.url(&format!("mirror{n}"));
            told.push(play(first, second, &source, &target));
            assert_same(&repo.name(), &revisions(&repo.path()), &revisions(&path));
        }
        for other in &told[1..] {
            for (n, (wanted, found)) in told[0].iter().zip(other).enumerate() {
                assert_same(&format!("{} step {n}", repo.name()), wanted, found);
            }
        }
        let local = scratch.path().join("local");
        mirror(&local);
        let url = format!("file://{}", local.display());
        ours.run("svnsync", ["init", "-q", &url, &repo.url()]).expect_success("init");
        ours.run("svnsync", ["sync", "-q", &url]).expect_success("sync");
        assert_same(&repo.name(), &revisions(&repo.path()), &revisions(&local));
        let verified = reference.run("svnadmin", ["verify", "-q", local.to_str().unwrap()]);
        verified.expect_success("verify");
    }
}
