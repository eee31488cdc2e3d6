//! A client that is not ours: the crate `svn`, 0.1.8, in asynchronous Rust, whose items end with
//! ` ) \n`. What its examples ask for (`tools/async-client`) is asked of both servers, and the answers
//! are the same.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use sapwood_testkit::{Output, Programs, Repository, Server, Shape};

/// Builds the client, in a target folder of its own below the workspace's.
fn client() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let target = root.join("target/async-client");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--locked", "--manifest-path"]);
    cargo.arg(root.join("tools/async-client/Cargo.toml")).arg("--target-dir").arg(&target);
    Output::of(&mut cargo).expect_success("cargo build");
    target.join("debug/async-client")
}

/// All that one server answers, on a repository of its own.
fn answers(programs: &Programs, client: &Path) -> Vec<String> {
    let repo = Repository::scripted(&Shape::new("1.10").shard(7));
    let conf = repo.path().join("conf");
    let general = "[general]\nanon-access = none\nauth-access = write\npassword-db = passwd\n";
    fs::write(conf.join("svnserve.conf"), general).unwrap();
    fs::write(conf.join("passwd"), "[users]\nharry = secret\n").unwrap();
    let server = Server::start(programs, repo.parent(), &[]);
    let uuid = fs::read_to_string(repo.path().join("db/uuid")).unwrap();
    let asked = Output::of(Command::new(client).arg(server.url("repo")));
    let text = String::from_utf8_lossy(&asked.expect_success("the client").stdout).into_owned();
    let text = text.replace(server.url("").trim_end_matches('/'), "SERVER");
    let text = text.replace(uuid.lines().next().unwrap(), "UUID");
    text.lines().map(ToOwned::to_owned).collect()
}

#[test]
fn the_crate_svn_is_answered_the_same() {
    let client = client();
    let reference = answers(&Programs::reference(), &client);
    let ours = answers(&Programs::ours(), &client);
    for (wanted, found) in reference.iter().zip(&ours) {
        assert_eq!(wanted, found);
    }
    assert_eq!(reference.len(), ours.len());
    // (What it does not understand of a replay, and paths that it refuses itself, are the client's own.)
    for needed in ["log", "update", "switch", "status", "diff", "commit", "text", "lock", "unlock"]
    {
        let answered = format!("{needed}: Ok(");
        let failed = format!("{needed}: Err(");
        assert!(ours.iter().any(|line| line.starts_with(&answered)), "{needed}");
        assert!(!ours.iter().any(|line| line.starts_with(&failed)), "{needed}");
    }
}
