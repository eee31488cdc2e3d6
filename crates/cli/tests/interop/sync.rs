//! `svnsync` of both sides makes the same mirrors, says the same, and goes on where the other one
//! stopped.

use sapwood_testkit::compare::assert_same;
use sapwood_testkit::repository::create;
use sapwood_testkit::{Output, Programs, Repository, Server, Shape, long};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// An empty repository that all users may change.
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

/// A dump of four revisions whose messages and properties are Latin-1 text.
fn latin1() -> Vec<u8> {
    let mut dump = b"SVN-fs-dump-format-version: 2\n\n\
        UUID: 4b56a4a5-0d4c-4b21-9f5e-8f9d1c3c3f11\n\n"
        .to_vec();
    for (revision, log) in
        [(0, &b""[..]), (1, b"f\xfcr alle"), (2, b"caf\xe9\r\nzwei"), (3, b"plain"), (4, b"\xa4")]
    {
        let mut props = Vec::new();
        if !log.is_empty() {
            props.extend(format!("K 7\nsvn:log\nV {}\n", log.len()).bytes());
            props.extend(log);
            props.push(b'\n');
        }
        props.extend(b"PROPS-END\n");
        let len = props.len();
        dump.extend(
            format!(
                "Revision-number: {revision}\nProp-content-length: {len}\nContent-length: {len}\n\n"
            )
            .bytes(),
        );
        dump.extend(props);
        dump.push(b'\n');
        if revision > 0 {
            let mut props = b"K 10\nsvn:ignore\nV 8\n".to_vec();
            props.extend(b"\xe4.o\n\xf6.o\n\nPROPS-END\n");
            let len = props.len();
            dump.extend(
                format!(
                    "Node-path: d{revision}\nNode-kind: dir\nNode-action: add\n\
                     Prop-content-length: {len}\nContent-length: {len}\n\n"
                )
                .bytes(),
            );
            dump.extend(props);
            dump.extend(b"\n\n");
        }
    }
    dump
}

fn load(at: &Path, dump: &[u8]) {
    let mut command = Programs::reference().command("svnadmin");
    command.args(["load", "-q", "--bypass-prop-validation"]).arg(at);
    let mut child = command.stdin(std::process::Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), dump).unwrap();
    assert!(child.wait().unwrap().success());
}

#[test]
fn encodings_locks_and_mirrors_that_are_begun() {
    let (reference, ours) = (Programs::reference(), Programs::ours());
    let told = [&reference, &ours].map(|programs| {
        let scratch = tempfile::tempdir().unwrap();
        let at = |name: &str| scratch.path().join(name);
        let url = |name: &str| format!("file://{}", at(name).display());
        for name in ["source", "one", "two", "three"] {
            mirror(&at(name));
        }
        load(&at("source"), &latin1());
        let first = reference
            .run("svnadmin", ["dump", "-q", "-r", "0:2", at("source").to_str().unwrap()])
            .expect_success("dump");
        load(&at("three"), &first.stdout);
        let lock = |name: &str| {
            let args = ["propset", "--revprop", "-r0", "svn:sync-lock", "somebody:else"];
            let set = reference.run("svn", [&args[..], &[&url(name)]].concat());
            set.expect_success("propset");
        };
        let run = |args: &[&str]| {
            let args: Vec<String> = args
                .iter()
                .map(|arg| match *arg {
                    "source" | "one" | "two" | "three" => url(arg),
                    other => other.to_owned(),
                })
                .collect();
            let out = programs.run("svnsync", &args);
            out.replacing(scratch.path().to_str().unwrap(), "SCRATCH").without_times()
        };
        let mut told = vec![
            run(&["init", "one", "source"]),
            run(&["sync", "one"]),
            run(&["info", "one"]),
            run(&["sync", "one", "--source-prop-encoding", "no-such"]),
            run(&["sync", "one", "--source-prop-encoding", "iso-8859-1"]),
            run(&["copy-revprops", "one", "--source-prop-encoding", "iso-8859-15"]),
        ];
        // A lock that a killed program left behind.
        run(&["init", "two", "source", "--source-prop-encoding", "latin1"]);
        lock("two");
        told.push(run(&["sync", "two", "--steal-lock", "--source-prop-encoding", "latin1"]));
        lock("two");
        told.push(run(&["sync", "two", "--disable-locking", "--source-prop-encoding", "latin1"]));
        told.push(run(&["copy-revprops", "two", "--steal-lock", "-r", "2:HEAD", "-q"]));
        if long() {
            lock("two");
            told.push(run(&["sync", "two"]));
        }
        // A mirror with the first revisions in it.
        told.push(run(&["init", "three", "source"]));
        told.push(run(&["init", "three", "source", "--allow-non-empty"]));
        told.push(run(&["sync", "three", "--source-prop-encoding", "latin1"]));
        told.push(run(&["init", "three", "source", "--allow-non-empty"]));
        // Mirrors that another user committed to.
        let mkdir = ["-mm", "mkdir", &format!("{}/x", url("three"))];
        reference.run("svnmucc", mkdir).expect_success("mkdir");
        told.push(run(&["sync", "three", "--source-prop-encoding", "latin1"]));
        told.extend(["one", "two", "three"].map(|name| revisions(&at(name)).without_times()));
        told
    });
    for (n, (wanted, found)) in told[0].iter().zip(&told[1]).enumerate() {
        assert_same(&format!("step {n}"), wanted, found);
    }
}

#[test]
fn killed_and_taken_up_again() {
    let (reference, ours) = (Programs::reference(), Programs::ours());
    let repo = Repository::random(&Shape::new("1.10").shard(7), 5, if long() { 200 } else { 40 });
    let scratch = tempfile::tempdir().unwrap();
    let server = Server::start(&ours, scratch.path(), &[]);
    for (name, others) in [("alone", &ours), ("mixed", &reference)] {
        let path = scratch.path().join(name);
        mirror(&path);
        let url = server.url(name);
        ours.run("svnsync", ["init", "-q", &url, &repo.url()]).expect_success("init");
        let mut killed = 0u32;
        let out = loop {
            let programs = if killed.is_multiple_of(2) { &ours } else { others };
            let mut command = programs.command("svnsync");
            command.args(["sync", "-q", "--steal-lock", "--non-interactive", &url]);
            let mut child = command.spawn().unwrap();
            // Later and later, so that it comes to an end.
            std::thread::sleep(std::time::Duration::from_millis(u64::from(20 + 12 * killed)));
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            child.kill().unwrap();
            child.wait().unwrap();
            killed += 1;
        };
        assert!(out.success(), "{name} after {killed} kills");
        assert!(killed > 0, "{name}");
        assert_same(name, &revisions(&repo.path()), &revisions(&path));
        let verified = reference.run("svnadmin", ["verify", "-q", path.to_str().unwrap()]);
        verified.expect_success("verify");
    }
}
