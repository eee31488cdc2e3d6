//! A server with few file handles and many repositories answers all clients.

use std::process::{Command, Stdio};

use sapwood_testkit::server::free_port;
use sapwood_testkit::{Output, Programs};

/// Repositories, and rounds of questions to all of them.
const REPOSITORIES: usize = 120;
const ROUNDS: usize = 2;
/// Commits after that, each to another repository.
const COMMITS: usize = 60;

#[test]
fn many_repositories_with_few_handles() {
    let dir = tempfile::tempdir().unwrap();
    let ours = Programs::ours();
    for n in 0..REPOSITORIES {
        let path = dir.path().join(format!("r{n}"));
        ours.run("svnadmin", ["create", path.to_str().unwrap()]).expect_success("create");
        let conf = path.join("conf/svnserve.conf");
        std::fs::write(conf, "[general]\nanon-access = write\n").unwrap();
    }
    let port = free_port();
    let server = ours.command("svnserve");
    let mut limited = Command::new("sh");
    // The shell sets the limit, and becomes the server.
    limited
        .args(["-c", "ulimit -n 64; exec \"$0\" \"$@\""])
        .arg(server.get_program())
        .args(server.get_args())
        .args(["-d", "--foreground", "--listen-host", "127.0.0.1", "--listen-port"])
        .arg(port.to_string())
        .arg("-r")
        .arg(dir.path())
        .stderr(Stdio::null());
    let mut child = limited.spawn().unwrap();
    let mut wrong = Vec::new();
    for n in 0..REPOSITORIES * ROUNDS {
        let url = format!("svn://127.0.0.1:{port}/r{}", n % REPOSITORIES);
        let ask = |n: usize| {
            let args: &[&str] = if n.is_multiple_of(2) {
                &["log", "-q", "-r0", &url]
            } else {
                &["proplist", "--revprop", "-r0", &url]
            };
            Programs::reference().run("svn", args.iter().chain(&["--non-interactive"]))
        };
        let mut out: Output = ask(n);
        // It takes a moment to start.
        if n == 0 {
            let _ = sapwood_testkit::patience::wait(10, || {
                out = ask(n);
                out.code == 0
            });
        }
        if out.code != 0 {
            wrong.push(format!("{url}: {}", out.stderr_text()));
        }
    }
    // Commits need more handles at a time, and SQLite's are not opened by us.
    let file = dir.path().join("file");
    std::fs::write(&file, "a text that is long enough to be shared\n".repeat(20)).unwrap();
    for n in 0..COMMITS {
        let url = format!("svn://127.0.0.1:{port}/r{}", n * 7 % REPOSITORIES);
        let new = format!("{url}/new-{n}");
        let args = ["-m", "x", "put", file.to_str().unwrap(), &new];
        let out = Programs::reference().run("svnmucc", args);
        if out.code != 0 || !out.stderr.is_empty() {
            wrong.push(format!("{new}: {}", out.stderr_text()));
        }
        // What SQLite could not write would be missing here.
        let kept = dir.path().join(format!("r{}/db/rep-cache.db", n * 7 % REPOSITORIES));
        if !std::fs::read(kept).is_ok_and(|bytes| bytes.len() > 4096) {
            wrong.push(format!("{new}: its text will not be shared"));
        }
    }
    let _ = child.kill();
    let _ = child.wait();
    assert!(wrong.is_empty(), "{} not answered: {}", wrong.len(), wrong[0]);
}
