//! Clients that mean harm, from seeds: conversations that were changed at random, sent by many at once.
//! The server stays, keeps its memory, and serves the next honest client.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::process::{Command, Stdio};
use std::time::Duration;

use sapwood_testkit::{Programs, Repository, Rng, Shape, patience};

/// What honest clients say after the greeting, one request a line.
const REQUESTS: &[&str] = &[
    "( get-latest-rev ( ) ) ",
    "( log ( ( 0: ) ( 20 ) ( 1 ) true false 0 false revprops ( 7:svn:log ) ) ) ",
    "( get-dir ( 5:trunk ( 9 ) true true ( kind size ) true ) ) ",
    "( get-file ( 0: ( 3 ) true true true ) ) ",
    "( update ( ( 12 ) 0: true ) ) ( set-path ( 0: 4 false ( ) infinity ) ) ( finish-report ( ) ) ",
    "( status ( 0: true ( 12 ) infinity ) ) ( set-path ( 0: 2 true ( ) ) ) ( finish-report ( ) ) ",
    "( diff ( ( 9 ) 0: true false 17:svn://localhost/x true ) ) ( abort-report ( ) ) ",
    "( replay ( 5 0 true ) ) ( replay-range ( 1 9 0 true ) ) ",
    "( get-mergeinfo ( ( 0: ) ( 5 ) inherited true ) ) ( get-locks ( 0: ) ) ",
    "( get-file-revs ( 0: ( 1 ) ( 9 ) true ) ) ( get-location-segments ( 0: ( 9 ) ( 9 ) ( 0 ) ) ) ",
    "( rev-proplist ( 3 ) ) ( rev-prop ( 3 7:svn:log ) ) ( stat ( 0: ( 4 ) ) ) ( check-path ( 0: ( ) ) ) ",
    "( commit ( 3:msg ( ) false ( ( 7:svn:log 1:x ) ) ) ) ( open-root ( ( 3 ) 2:d0 ) ) \
        ( add-file ( 1:f 2:d0 2:f0 ( ) ) ) ( apply-textdelta ( 2:f0 ( ) ) ) ( textdelta-chunk ( 2:f0 4:SVN\0 ) ) \
        ( textdelta-end ( 2:f0 ) ) ( close-file ( 2:f0 ( ) ) ) ( close-dir ( 2:d0 ) ) ( close-edit ( ) ) ",
    "( lock ( 1:f ( ) false ( ) ) ) ( unlock ( 1:f ( 1:x ) true ) ) ( get-iprops ( 0: ( 3 ) ) ) ",
    "( list ( 0: ( 4 ) infinity ( kind size ) ( 1:* ) ) ) ( get-deleted-rev ( 1:f 1 9 ) ) ",
];

/// A conversation of some requests, changed at random.
fn conversation(rng: &mut Rng) -> Vec<u8> {
    let mut bytes = b"( 2 ( edit-pipeline svndiff1 depth ) 21:svn://localhost/repo/ 3:bad ( ) ) \
        ( ANONYMOUS ( 0: ) ) "
        .to_vec();
    for _ in 0..=rng.below(4) {
        bytes.extend_from_slice(rng.pick(REQUESTS).as_bytes());
    }
    for _ in 0..rng.below(5) {
        let at = rng.below(bytes.len());
        match rng.below(7) {
            0 => bytes[at] = u8::try_from(rng.below(256)).unwrap(),
            1 => bytes.truncate(at + 1),
            2 => {
                bytes.splice(at..at, *b"99999999999999999999");
            }
            3 => {
                bytes.splice(at..at, b"( ".repeat(rng.below(3000)));
            }
            4 => {
                let piece = bytes[at..].to_vec();
                bytes.extend_from_slice(&piece);
            }
            5 => {
                bytes.splice(at..at, *b" \n\t  ");
            }
            _ => {
                let long = rng.below(200_000);
                let text = format!("{long}:{}", "x".repeat(long));
                bytes.splice(at..at, text.into_bytes());
            }
        }
    }
    bytes
}

fn say(port: u16, bytes: &[u8]) {
    let Ok(stream) = TcpStream::connect(("127.0.0.1", port)) else { return };
    stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let mut writer = stream.try_clone().unwrap();
    let bytes = bytes.to_vec();
    let sender = std::thread::spawn(move || {
        let _ = writer.write_all(&bytes);
        let _ = writer.shutdown(Shutdown::Write);
    });
    let _ = stream.take(4 << 20).read_to_end(&mut Vec::new());
    sender.join().unwrap();
}

#[test]
fn hostile_clients() {
    let repo = Repository::random(&Shape::new("1.9"), 77, 25);
    let conf = "[general]\nanon-access = write\n";
    std::fs::write(repo.path().join("conf/svnserve.conf"), conf).unwrap();
    let port = sapwood_testkit::server::free_port();
    let told = repo.parent().join("told");
    let mut server = Programs::ours()
        .command("svnserve")
        .args(["-d", "--foreground", "--listen-host", "127.0.0.1", "--listen-port"])
        .arg(port.to_string())
        .arg("-r")
        .arg(repo.parent())
        .stdout(Stdio::null())
        .stderr(File::create(&told).unwrap())
        .spawn()
        .unwrap();
    assert!(patience::wait(20, || TcpStream::connect(("127.0.0.1", port)).is_ok()));
    super::from_seeds("hostile conversations, four at once,", |seed| {
        std::thread::scope(|scope| {
            for client in 0..4 {
                let bytes = conversation(&mut Rng::new(seed * 4 + client));
                scope.spawn(move || say(port, &bytes));
            }
        });
        let stderr = std::fs::read_to_string(&told).unwrap();
        assert!(!stderr.contains("panicked"), "SAPWOOD_SEED={seed}: {stderr}");
        assert!(
            server.try_wait().unwrap().is_none(),
            "SAPWOOD_SEED={seed}: the server ended: {stderr}"
        );
        let status = std::fs::read_to_string(format!("/proc/{}/status", server.id())).unwrap();
        let peak = status.lines().find_map(|l| l.strip_prefix("VmHWM:")).unwrap().trim();
        let kib: u64 = peak.trim_end_matches(" kB").parse().unwrap();
        assert!(kib < 500 << 10, "SAPWOOD_SEED={seed}: {kib} KiB");
    });
    let url = format!("svn://127.0.0.1:{port}/repo");
    let mut honest = Command::new(Programs::reference().path("svn"));
    sapwood_testkit::programs::environment(&mut honest);
    honest.args(["log", "-q", &url]);
    patience::run(&mut honest, 60, &[], repo.parent()).unwrap().expect_success("an honest client");
    let verify = Programs::reference().run("svnadmin", ["verify", "-q", &repo.arg()]);
    let _ = server.kill();
    let _ = server.wait();
    verify.expect_success("verify after hostile clients");
}
