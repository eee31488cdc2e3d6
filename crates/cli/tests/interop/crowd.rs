//! Many clients at once: all of them get right answers.

use sapwood_testkit::{Output, Programs, Repository, Server, Shape, Trees};
use std::io::Read;
use std::net::TcpStream;
use std::time::Duration;

/// Connections that only stand there, as those of idle IDEs do.
const IDLE: usize = 450;
/// Clients that check out at the same time.
const BUSY: usize = 50;

#[test]
fn five_hundred_clients() {
    let repo = Repository::scripted(&Shape::new("1.10").shard(7));
    let server = Server::start(&Programs::ours(), repo.parent(), &[]);
    let idle: Vec<TcpStream> = (0..IDLE)
        .map(|_| {
            let mut stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
            stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
            let mut greeting = [0; 10];
            stream.read_exact(&mut greeting).unwrap();
            assert_eq!(&greeting, b"( success ");
            stream
        })
        .collect();
    let scratch = tempfile::tempdir().unwrap();
    let url = server.url("repo");
    let revisions: Vec<usize> = (0..BUSY).map(|n| 1 + n * 7 % repo.history.youngest()).collect();
    std::thread::scope(|scope| {
        for (n, revision) in revisions.iter().enumerate() {
            let (url, dir) = (&url, scratch.path().join(n.to_string()));
            scope.spawn(move || {
                let mut svn = Programs::reference().command("svn");
                svn.args(["export", "-q", "--ignore-externals", "-r", &revision.to_string(), url]);
                Output::of(svn.arg(dir)).expect_success("svn export");
            });
        }
    });
    for (n, revision) in revisions.iter().enumerate() {
        let wanted = scratch.path().join("wanted");
        let _ = std::fs::remove_dir_all(&wanted);
        let mut svn = Programs::reference().command("svn");
        svn.args(["export", "-q", "--ignore-externals", "-r", &revision.to_string(), &repo.url()]);
        Output::of(svn.arg(&wanted)).expect_success("svn export from the disk");
        let found = Trees::read(&scratch.path().join(n.to_string()));
        assert_eq!(Trees::read(&wanted).difference(&found), None, "r{revision}");
    }
    drop(idle);
}
