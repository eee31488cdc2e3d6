//! Clients of http that let the server wait, in each way that there is: they hold no thread, little memory, and
//! keep no other client from being served.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::common::places;
use places::{ADA, Served, WRONG, status};

const PLACES: &str = r#"cache-megabytes = 16
log-file = "log"
[[location]]
url = "/free"
folder = "."
users = "users"
login = "optional"
anonymous = "read"
[[location]]
url = "/closed"
folder = "."
users = "users"
login = "required"
[[location]]
url = "/quick"
folder = "."
users = "users"
login = "required"
password-delay = 0
"#;

/// Clients of each kind.
const MANY: usize = 300;
/// How long an event is waited for before the test fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// A number of the server's process.
fn process(served: &Served, name: &str) -> u64 {
    let text = fs::read_to_string(format!("/proc/{}/status", served.pid())).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.trim_start_matches(':').trim().trim_end_matches(" kB").parse().unwrap()
}

/// Waits until something is so.
fn until(what: &str, is_so: impl Fn() -> bool) {
    assert!(
        sapwood_testkit::patience::wait(PATIENCE.as_secs(), &is_so),
        "not so after {PATIENCE:?}: {what}"
    );
}

fn connect(served: &Served) -> TcpStream {
    let socket = TcpStream::connect(("127.0.0.1", served.port)).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket
}

/// Many connections that have sent something.
fn hold(served: &Served, bytes: &[u8]) -> Vec<TcpStream> {
    let one = |_| {
        let mut socket = connect(served);
        socket.write_all(bytes).unwrap();
        socket
    };
    (0..MANY).map(one).collect()
}

/// Others are served while these wait, which have no threads; afterwards nothing is left of them.
fn cost_nothing(served: &Served, what: &str, bytes: &[u8]) {
    let memory = process(served, "RssAnon");
    let held = hold(served, bytes);
    assert_eq!(status(&served.get("/free/repo/trunk/", "")), 200, "{what}: others are served");
    until(&format!("{what}: no threads"), || process(served, "Threads") < 20);
    assert_eq!(status(&served.get("/free/repo/trunk/", "")), 200, "{what}: others are served");
    assert_eq!(status(&served.get("/closed/repo/trunk/", ADA)), 200, "{what}: logins, too");
    drop(held);
    until(&format!("{what}: memory back"), || process(served, "RssAnon") < memory + (24 << 10));
}

#[test]
fn waiting_clients_hold_no_threads() {
    let served = Served::start(PLACES);
    let large = "x".repeat(3 << 20);
    let url = format!("file://{}/large", served.repo.path().display());
    let source = served.repo.parent().join("large");
    fs::write(&source, large).unwrap();
    let put = ["-m", "x", "put", source.to_str().unwrap(), &url];
    sapwood_testkit::Programs::reference().run("svnmucc", put).expect_success("svnmucc");

    let head = "HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n";
    let body = |path: &str, more: &str| format!("REPORT {path} {head}{more}\r\n<").into_bytes();
    cost_nothing(&served, "a body", &body("/free/repo/!svn/me", ""));
    cost_nothing(&served, "a body without a login", &body("/closed/repo/!svn/me", ""));
    let expect = body("/free/repo/!svn/me", "Expect: 100-continue\r\n");
    cost_nothing(&served, "a body that is announced", &expect);
    let many = [body("/free/repo/!svn/me", "").as_slice(), &[b' '; 900]].concat();
    cost_nothing(&served, "most of a body", &many);
    let get = b"GET /free/repo/large HTTP/1.1\r\nHost: h\r\n\r\n";
    cost_nothing(&served, "a reply that is not read", get);
    let update = "<S:update-report xmlns:S='svn:' send-all='true'><S:src-path>/free/repo</S:src-path>\
                  <S:entry rev='0' start-empty='true'/></S:update-report>";
    let report = served.bytes("REPORT", "/free/repo/!svn/me", "", update.as_bytes());
    cost_nothing(&served, "an update that is not read", &report);
    let wrong = format!("GET /free/repo/trunk/ HTTP/1.1\r\nHost: h\r\n{WRONG}\r\n").into_bytes();
    cost_nothing_but_logins(&served, &wrong);
}

/// Wrong passwords: those of others are heard meanwhile, and that of the same user somewhere else.
fn cost_nothing_but_logins(served: &Served, wrong: &[u8]) {
    let held = hold(served, wrong);
    let bob = places::BOB;
    assert_eq!(status(&served.get("/free/repo/trunk/", "")), 200);
    assert_eq!(status(&served.get("/closed/repo/trunk/", bob)), 200, "another user logs in");
    assert_eq!(status(&served.get("/quick/repo/trunk/", ADA)), 200, "a place without delays");
    until("no threads for wrong passwords", || process(served, "Threads") < 20);
    drop(held);
    let log = || fs::read_to_string(served.repo.parent().join("log")).unwrap();
    until("lines in the log", || log().contains("Authentication Failed Basic user=ada failures="));
}

#[test]
fn an_office_is_not_shut_out_by_old_passwords() {
    let served = Served::start(PLACES);
    let wrong = format!("GET /closed/repo/ HTTP/1.1\r\nHost: h\r\n{WRONG}\r\n");
    let held: Vec<_> = (0..14)
        .map(|_| {
            let mut socket = connect(&served);
            socket.write_all(wrong.as_bytes()).unwrap();
            socket
        })
        .collect();
    // `Served` waits for five seconds; the wrong ones wait for up to half a minute.
    assert_eq!(status(&served.get("/closed/repo/trunk/", ADA)), 200);
    assert_eq!(status(&served.get("/closed/repo/trunk/", places::BOB)), 200);
    // And a wrong one is answered in the end.
    let mut first = [0; 12];
    let mut held = held.into_iter();
    held.next().unwrap().read_exact(&mut first).unwrap();
    assert_eq!(&first, b"HTTP/1.1 401");
}

/// A hook that does not end keeps no reader waiting, nor does it take a thread for each of those who write.
#[test]
fn hooks_that_do_not_end() {
    let mut served = Served::start(PLACES);
    let hook = served.repo.path().join("hooks/start-commit");
    let end = served.repo.parent().join("end");
    let wait = format!("#!/bin/sh\nuntil test -e '{}'; do sleep .2; done\n", end.display());
    fs::write(&hook, wait).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&hook, mode).unwrap();
    let post = served.bytes(
        "POST",
        "/quick/repo/!svn/me",
        &format!("{ADA}Content-Type: application/vnd.svn-skel\r\n"),
        b"( create-txn )",
    );
    let held = hold(&served, &post);
    until("hooks run", || process(&served, "Threads") > 30);
    // Threads that looked at a request end a moment after it.
    until("a hook for each permit, no more", || process(&served, "Threads") < 120);
    assert_eq!(status(&served.get("/free/repo/trunk/", "")), 200);
    assert_eq!(status(&served.get("/closed/repo/trunk/", ADA)), 200);
    fs::write(end, "").unwrap();
    let done = |mut socket: TcpStream| {
        let mut first = [0; 12];
        socket.read_exact(&mut first).unwrap();
        assert_eq!(&first, b"HTTP/1.1 201");
    };
    held.into_iter().for_each(done);
    served.end();
}

/// A client that reads nothing for a while gets all of it in the end.
#[test]
fn a_client_that_reads_on() {
    let served = Served::start(PLACES);
    let text: String = (0..400_000).map(|number| format!("{number} of many lines\n")).collect();
    let source = served.repo.parent().join("large");
    fs::write(&source, &text).unwrap();
    let url = format!("file://{}/large", served.repo.path().display());
    let put = ["-m", "x", "put", source.to_str().unwrap(), &url];
    sapwood_testkit::Programs::reference().run("svnmucc", put).expect_success("svnmucc");
    let update = "<S:update-report xmlns:S='svn:' send-all='true'><S:src-path>/free/repo</S:src-path>\
                  <S:entry rev='0' start-empty='true'/></S:update-report>";
    let asks = [
        served.bytes("GET", "/free/repo/large", "", b""),
        served.bytes("REPORT", "/free/repo/!svn/me", "", update.as_bytes()),
    ];
    let expected = asks.clone().map(|ask| served.raw(&ask));
    assert!(expected[0].ends_with(text.as_bytes()));
    let stuck = asks.map(|ask| {
        let mut socket = connect(&served);
        socket.write_all(&ask).unwrap();
        socket
    });
    until("no threads", || process(&served, "Threads") < 8);
    let body = |answer: &[u8]| {
        let at = answer.windows(4).position(|end| end == b"\r\n\r\n").unwrap();
        answer[at + 4..].to_vec()
    };
    for (mut socket, expected) in stuck.into_iter().zip(expected) {
        let mut answer = Vec::new();
        socket.read_to_end(&mut answer).unwrap();
        assert!(unchunked(&body(&answer)) == unchunked(&body(&expected)), "the same bytes");
    }
}

/// The bytes of a chunked body, or the body itself.
fn unchunked(mut body: &[u8]) -> Vec<u8> {
    let mut all = Vec::new();
    let whole = body.to_vec();
    loop {
        let Some(end) = body.windows(2).position(|end| end == b"\r\n") else { return whole };
        let text = std::str::from_utf8(&body[..end]).unwrap_or("");
        let Ok(length) = usize::from_str_radix(text, 16) else { return whole };
        if length == 0 {
            return all;
        }
        all.extend_from_slice(&body[end + 2..end + 2 + length]);
        body = &body[end + 4 + length..];
    }
}

/// Clients that wait are no reason for a server to wait when it is to end.
#[test]
fn a_server_ends_at_once() {
    let mut served = Served::start(PLACES);
    let send = |bytes: &[u8]| {
        let mut socket = connect(&served);
        socket.write_all(bytes).unwrap();
        socket
    };
    let ask = b"GET /free/repo/trunk/ HTTP/1.1\r\nHost: h\r\n\r\n";
    let mut idle: Vec<TcpStream> = (0..20).map(|_| send(ask)).collect();
    for socket in &mut idle {
        assert_eq!(socket.read(&mut [0; 1000]).unwrap().min(1), 1);
    }
    let half_heads: Vec<TcpStream> = (0..20).map(|_| send(&ask[..30])).collect();
    let silent: Vec<TcpStream> = (0..20).map(|_| send(b"")).collect();
    let body = b"REPORT /free/repo/!svn/me HTTP/1.1\r\nHost: h\r\nContent-Length: 99\r\n\r\n<";
    let half_bodies: Vec<TcpStream> = (0..20).map(|_| send(body)).collect();
    assert_eq!(status(&served.get("/free/repo/trunk/", "")), 200);
    let begun = Instant::now();
    served.end();
    // A request that is worked on is given five seconds: this is of none.
    assert!(begun.elapsed() < Duration::from_secs(4), "after {:?}", begun.elapsed());
    drop((idle, half_heads, silent, half_bodies));
}

/// Requests that take many times their size are worked on one after the other when they come together.
#[test]
fn large_requests_at_once_take_the_memory_of_one() {
    let rights = "anonymous = \"write\"\n";
    let mut served =
        Served::start(&format!("{PLACES}[[location]]\nurl = \"/own\"\nfolder = \".\"\n{rights}"));
    let props = "1 a 1 b ".repeat(1 << 20);
    let body = format!("( create-txn-with-props ({props}) )");
    let kind = "Content-Type: application/vnd.svn-skel\r\n";
    let request = served.bytes("POST", "/own/repo/!svn/me", kind, body.as_bytes());
    let post = |served: &Served| {
        let mut socket = connect(served);
        socket.write_all(&request).unwrap();
        let mut answer = Vec::new();
        socket.read_to_end(&mut answer).unwrap();
        assert_eq!(status(&String::from_utf8_lossy(&answer)), 201);
    };
    let before = process(&served, "VmHWM");
    post(&served);
    let one = process(&served, "VmHWM") - before;
    assert!(one > 16 << 10, "it is a large request: {one} KiB");
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| post(&served));
        }
    });
    let eight = process(&served, "VmHWM") - before;
    assert!(eight < 2 * one + (16 << 10), "one takes {one} KiB, eight at once {eight}");
    served.end();
}
