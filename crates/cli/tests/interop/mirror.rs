//! Programs that read whole histories from our server: svnrdump, svnsync, git-svn.

use sapwood_testkit::programs::environment;
use sapwood_testkit::repository::{Packing, create};
use sapwood_testkit::{Output, Pair, Programs, Repository, Server, Shape};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

fn repositories() -> [Repository; 3] {
    [
        Repository::scripted(&Shape::new("1.10").shard(7).pack(Packing::Half)),
        Repository::scripted(&Shape::new("1.6")),
        Repository::random(&Shape::new("1.8").shard(7), 21, 60),
    ]
}

#[test]
fn svnrdump() {
    for repo in repositories() {
        let mut pair = Pair::start(&repo, &[]);
        pair.unordered("svnrdump", &["dump", "%u"]);
        pair.unordered("svnrdump", &["dump", "-q", "-r", "5:12", "%u"]);
        pair.unordered("svnrdump", &["dump", "-q", "--incremental", "-r", "5:HEAD", "%u/trunk"]);
        pair.finish();
    }
}

#[test]
fn svnsync() {
    for repo in repositories() {
        let server = Server::start(&Programs::ours(), repo.parent(), &[]);
        let scratch = tempfile::tempdir().unwrap();
        let mirror = scratch.path().join("mirror");
        create(&Shape::new("1.10"), &mirror);
        let hook = mirror.join("hooks/pre-revprop-change");
        std::fs::write(&hook, "#!/bin/sh\nexit 0\n").unwrap();
        std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
        let url = format!("file://{}", mirror.display());
        let reference = Programs::reference();
        let source = server.url("repo");
        reference
            .run("svnsync", ["init", "-q", "--allow-non-empty", &url, &source])
            .expect_success("svnsync init");
        reference.run("svnsync", ["sync", "-q", &url]).expect_success("svnsync sync");
        // Revision 0 holds the mirror's own bookkeeping; the UUIDs differ.
        let dump = |path: &str| {
            let out = reference.run("svnadmin", ["dump", "-q", "-r", "1:HEAD", path]);
            let text = out.expect_success("dump").stdout;
            let at = text.windows(17).position(|w| w == b"Revision-number: ").unwrap();
            Output { code: 0, stdout: text[at..].to_vec(), stderr: Vec::new() }
        };
        let (wanted, found) = (dump(&repo.arg()), dump(mirror.to_str().unwrap()));
        sapwood_testkit::compare::assert_same(&repo.name(), &wanted, &found);
    }
}

#[test]
fn git_svn_clone() {
    let repo = Repository::random(&Shape::new("1.10").shard(7), 21, 60);
    let mut hashes = Vec::new();
    for programs in [Programs::reference(), Programs::ours()] {
        let server = Server::start(&programs, repo.parent(), &[]);
        let scratch = tempfile::tempdir().unwrap();
        let git = |args: &[&str]| {
            let mut command = Command::new("git");
            environment(&mut command);
            Output::of(command.args(args).current_dir(scratch.path())).expect_success("git")
        };
        let url = server.url("repo");
        // Without the metadata line, which holds the server's address, the hashes must agree.
        git(&["svn", "clone", "-q", "--no-metadata", "--stdlayout", &url, "clone"]);
        let refs = git(&["-C", "clone", "for-each-ref", "--format=%(refname) %(objectname)"]);
        assert!(refs.stdout_text().contains("trunk"), "{refs:?}");
        hashes.push(refs);
    }
    assert_eq!(hashes[0], hashes[1], "{}", repo.name());
}
