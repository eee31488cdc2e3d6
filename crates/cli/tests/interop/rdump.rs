//! `svnrdump` of both sides writes the same bytes, and loads them to the same repositories.

use sapwood_testkit::compare::assert_same;
use sapwood_testkit::repository::create;
use sapwood_testkit::{Output, Programs, Repository, Server, Shape, long};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;

const DUMPS: &[&[&str]] = &[
    &["dump", "%u"],
    &["dump", "-r", "3:9", "%u"],
    &["dump", "-q", "--incremental", "-r", "4:HEAD", "%u/trunk"],
    &["dump", "-r", "6", "%u/trunk"],
    &["dump", "-r", "5:3", "%u"],
    &["dump", "-r", "99999", "%u"],
    &["dump", "-r", "PREV", "%u"],
    &["dump", "x"],
    &["dump"],
];

/// An empty repository that all users may change.
fn target(at: &Path) {
    create(&Shape::new("1.10"), at);
    std::fs::write(at.join("conf/svnserve.conf"), "[general]\nanon-access = write\n").unwrap();
    let hook = at.join("hooks/pre-revprop-change");
    std::fs::write(&hook, "#!/bin/sh\nexit 0\n").unwrap();
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// What a repository holds, but for its UUID.
fn contents(path: &Path) -> Output {
    let out = Programs::reference()
        .run("svnadmin", ["dump", "-q", path.to_str().unwrap()])
        .expect_success("dump");
    let at = out.stdout.windows(17).position(|w| w == b"Revision-number: ").unwrap();
    Output { code: 0, stdout: out.stdout[at..].to_vec(), stderr: Vec::new() }
}

fn load(programs: &Programs, dump: &Path, url: &str) -> Output {
    let mut command = programs.command("svnrdump");
    command.args(["load", "--non-interactive", url]);
    Output::of(command.stdin(Stdio::from(std::fs::File::open(dump).unwrap())))
}

#[test]
fn dumps_are_byte_identical_and_load_to_the_same() {
    let (reference, ours) = (Programs::reference(), Programs::ours());
    let repositories = [
        Repository::scripted(&Shape::new("1.10").shard(7)),
        Repository::random(&Shape::new("1.8").shard(7), 21, 40),
    ];
    for repo in repositories.into_iter().take(if long() { 2 } else { 1 }) {
        let servers = [&reference, &ours].map(|p| Server::start(p, repo.parent(), &[]));
        for url in servers.iter().map(|s| s.url("repo")).chain([repo.url()]) {
            for command in DUMPS {
                let args: Vec<String> = command.iter().map(|a| a.replace("%u", &url)).collect();
                let [wanted, found] =
                    [&reference, &ours].map(|programs| programs.run("svnrdump", &args));
                // Deletions in one directory come in the order of a hash table there.
                let (wanted, found) = (wanted.unordered(), found.unordered());
                assert_same(&args.join(" "), &wanted, &found);
            }
        }
        let scratch = tempfile::tempdir().unwrap();
        let dumps = [("plain", &["dump", "-q"][..]), ("deltas", &["dump", "-q", "--deltas"])];
        for (name, args) in dumps {
            let dump = scratch.path().join(name);
            let path = repo.arg();
            let made = reference.run("svnadmin", [args, &[&path]].concat()).expect_success("dump");
            std::fs::write(&dump, made.stdout).unwrap();
            for (n, server) in [Some(&reference), Some(&ours), None].into_iter().enumerate() {
                let folder = scratch.path().join(format!("{name}{n}"));
                std::fs::create_dir(&folder).unwrap();
                let server = server.map(|programs| Server::start(programs, &folder, &[]));
                let [wanted, found] = [("r", &reference), ("o", &ours)].map(|(side, programs)| {
                    let at = folder.join(side);
                    target(&at);
                    let url = match &server {
                        Some(server) => server.url(side),
                        None => format!("file://{}", at.display()),
                    };
                    (load(programs, &dump, &url), contents(&at))
                });
                assert_same(&format!("{} {name} {n}", repo.name()), &wanted.0, &found.0);
                assert_same(&format!("{} {name} {n}", repo.name()), &wanted.1, &found.1);
            }
        }
    }
}
