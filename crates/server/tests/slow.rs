//! Clients that send a byte now and then: what they are given up for, and what they are not. The
//! times of the server are shortened; the tests wait, and measure nothing.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a failure is a failed test"
)]

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use sapwood_repos::create::{RepositoryOptions, create};
use sapwood_server::common::current::Current;
use sapwood_server::dav::settings::HttpSettings;
use sapwood_server::dav::{Http, HttpServer};
use sapwood_server::{Listener, ServerState, Settings, Stopper};

const GREETING: &[u8] = b"( 2 ( edit-pipeline ) 20:svn://localhost/repo ) ( ANONYMOUS ( 0: ) ) ";

/// How long a request may stand still here.
const STALL: Duration = Duration::from_secs(1);

fn shared(root: &Path) -> Arc<ServerState> {
    create(&root.join("repo"), &RepositoryOptions::default()).unwrap();
    let mut settings = Settings::new(root.to_owned());
    settings.limits.stall = STALL;
    settings.limits.greeting = STALL;
    Arc::new(ServerState::new(settings, None))
}

/// A server in this process; ends when dropped.
struct Running {
    address: SocketAddr,
    stopper: Stopper,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Running {
    fn start(root: &Path) -> Self {
        let shared = Current::new(shared(root));
        let listener = Listener::bind(Some("127.0.0.1"), 0, false).unwrap();
        let (address, stopper) = (listener.address().unwrap(), listener.stopper());
        let thread = std::thread::spawn({
            let stopper = stopper.clone();
            move || listener.serve(&shared, sapwood_server::serve_stream, false, &stopper).unwrap()
        });
        Self { address, stopper, thread: Some(thread) }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stopper.stop();
        let _ = self.thread.take().unwrap().join();
    }
}

/// Sends `start`, then a byte of `rest` ten times a second, over and over: whether the server has
/// ended the connection before a minute is over.
fn is_ended(address: SocketAddr, start: &[u8], rest: u8) -> bool {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(start).unwrap();
    let mut reader = stream.try_clone().unwrap();
    let watcher = std::thread::spawn(move || {
        let mut block = [0; 4096];
        while reader.read(&mut block).is_ok_and(|got| got > 0) {}
    });
    for _ in 0..600 {
        if watcher.is_finished() || stream.write_all(&[rest]).is_err() {
            watcher.join().unwrap();
            return true;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    let _ = stream.shutdown(std::net::Shutdown::Both);
    watcher.join().unwrap();
    false
}

#[test]
fn a_byte_now_and_then_is_not_enough() {
    let dir = tempfile::tempdir().unwrap();
    let server = Running::start(dir.path());
    // No pause is as long as what a client may stand still: only all of them together are.
    assert!(is_ended(server.address, b"( 2 ( edit-pipeline ) 900:", b'x'), "in the greeting");
    let start = [GREETING, b"( check-path ( 100000:"].concat();
    assert!(is_ended(server.address, &start, b'x'), "in a string");
    let start = [GREETING, b"( log ( ( "].concat();
    assert!(is_ended(server.address, &start, b' '), "in white space inside of a request");
}

#[test]
fn a_client_may_think_before_a_long_request() {
    let dir = tempfile::tempdir().unwrap();
    let server = Running::start(dir.path());
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.write_all(GREETING).unwrap();
    // Longer than a request may stand still, but between requests.
    std::thread::sleep(STALL + STALL / 2);
    stream.write_all(b"( get-dated-rev ( 27:2020-01-01").unwrap();
    std::thread::sleep(STALL / 4);
    stream.write_all(b"T00:00:00.000000Z ) ) ").unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut reply = Vec::new();
    stream.read_to_end(&mut reply).unwrap();
    assert!(reply.ends_with(b"( success ( 0 ) ) "), "{}", reply.escape_ascii());
}

#[test]
fn bodies_of_http_have_their_time_too() {
    let dir = tempfile::tempdir().unwrap();
    let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    let mut settings = HttpSettings::default();
    settings.limits.body_first = STALL;
    let http = Http::new(&shared(dir.path()), settings).unwrap();
    let server = HttpServer::start(socket, &http, None).unwrap();
    let start = b"REPORT /repo/!svn/vcc/default HTTP/1.1\r\nHost: x\r\n\
        Content-Length: 900000\r\n\r\n<?xml version=\"1.0\"?><S:log-report xmlns:S=\"svn:\">";
    assert!(is_ended(address, start, b' '));
    server.stop();
}
