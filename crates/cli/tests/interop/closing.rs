//! `svnsync`, `svnmucc` and `svnrdump` through a proxy that closes connections: between requests
//! they go on over new ones, and a commit that the server did not answer is not made twice.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use rustix::process::{Pid, Signal, kill_process};
use sapwood_testkit::repository::create;
use sapwood_testkit::{Output, Programs, Repository, Server, Shape};

/// Requests with a short reply: one tuple about authentication, one with what was asked for.
const SHORT: &[&str] = &[
    "( get-latest-rev ",
    "( check-path ",
    "( reparent ",
    "( rev-proplist ",
    "( rev-prop ",
    "( change-rev-prop ",
    "( change-rev-prop2 ",
    "( get-dated-rev ",
    "( stat ",
];

/// When connections are closed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Closes {
    /// After the reply to each short request.
    AfterReplies,
    /// Towards the client, when it ends an edit; the server hears the end.
    AtTheEndOfEdits,
}

/// A proxy before a server.
struct Proxy {
    port: u16,
    /// Connections that were closed.
    closed: Arc<AtomicUsize>,
    /// The client's process.
    client: Arc<AtomicU32>,
}

impl Proxy {
    fn start(server: u16, closes: Closes) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (closed, client) = (Arc::default(), Arc::default());
        let proxy = Self { port, closed: Arc::clone(&closed), client: Arc::clone(&client) };
        std::thread::spawn(move || {
            for down in listener.incoming() {
                let up = TcpStream::connect(("127.0.0.1", server)).unwrap();
                let (closed, client) = (Arc::clone(&closed), Arc::clone(&client));
                std::thread::spawn(move || serve(&down.unwrap(), &up, closes, &closed, &client));
            }
        });
        proxy
    }

    fn url(&self, path: &str) -> String {
        format!("svn://127.0.0.1:{}/{path}", self.port)
    }

    /// Runs a program that goes through this proxy.
    fn run(&self, programs: &Programs, name: &str, args: &[&str], input: &Path) -> Output {
        let mut command = programs.command(name);
        command.args(args).stdin(std::fs::File::open(input).unwrap());
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        let child = command.spawn().unwrap();
        self.client.store(child.id(), Ordering::SeqCst);
        let done = child.wait_with_output().unwrap();
        Output { code: done.status.code().unwrap_or(-1), stdout: done.stdout, stderr: done.stderr }
    }
}

/// How many whole tuples `bytes` begins with, and where the last one ends.
fn tuples(bytes: &[u8]) -> (usize, usize) {
    let (mut at, mut depth, mut count, mut end) = (0, 0, 0, 0);
    while at < bytes.len() {
        match bytes[at] {
            b'(' => depth += 1,
            b')' => depth -= 1,
            digit if digit.is_ascii_digit() => {
                let after = bytes[at..].iter().position(|b| !b.is_ascii_digit());
                let Some(after) = after.map(|n| at + n) else { break };
                if bytes[after] == b':' {
                    let len: usize =
                        std::str::from_utf8(&bytes[at..after]).unwrap().parse().unwrap();
                    at = after + len;
                } else {
                    at = after - 1;
                }
            }
            _ => {}
        }
        at += 1;
        if depth == 0 && at <= bytes.len() && bytes[at - 1] == b')' {
            (count, end) = (count + 1, at);
        }
    }
    (count, end)
}

/// One connection.
fn serve(
    down: &TcpStream,
    up: &TcpStream,
    closes: Closes,
    closed: &AtomicUsize,
    client: &AtomicU32,
) {
    /// The short request that is on its way, as what of its reply came so far.
    type Pending = Mutex<Option<Vec<u8>>>;
    let pending: Pending = Mutex::new(None);
    let close = |stream: &TcpStream| {
        closed.fetch_add(1, Ordering::SeqCst);
        let _ = stream.shutdown(Shutdown::Both);
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (mut from, mut to) = (up, down);
            let mut buf = [0; 1 << 16];
            while let Ok(n @ 1..) = from.read(&mut buf) {
                let mut pending = pending.lock().unwrap();
                let ends = pending.as_mut().is_some_and(|reply| {
                    reply.extend_from_slice(&buf[..n]);
                    tuples(reply).0 >= 2
                });
                // The client is to find the connection closed before it asks for more.
                let id = i32::try_from(client.load(Ordering::SeqCst)).unwrap();
                let client = Pid::from_raw(id).filter(|_| ends);
                let signal = |signal| client.map(|client| kill_process(client, signal));
                let _ = signal(Signal::STOP);
                let _ = to.write_all(&buf[..n]);
                if ends {
                    close(down);
                    let _ = up.shutdown(Shutdown::Both);
                }
                let _ = signal(Signal::CONT);
            }
            let _ = down.shutdown(Shutdown::Write);
        });
        let (mut from, mut to) = (down, up);
        let mut buf = [0; 1 << 16];
        while let Ok(n @ 1..) = from.read(&mut buf) {
            let text = String::from_utf8_lossy(&buf[..n]);
            if closes == Closes::AfterReplies && SHORT.iter().any(|word| text.starts_with(word)) {
                *pending.lock().unwrap() = Some(Vec::new());
            }
            let ends = closes == Closes::AtTheEndOfEdits && text.contains("( close-edit ");
            if ends {
                // Nothing that the server says from here on arrives.
                close(down);
            }
            let _ = to.write_all(&buf[..n]);
        }
        if closes == Closes::AfterReplies {
            let _ = up.shutdown(Shutdown::Both);
        }
    });
}

/// An empty repository that all users may change.
fn repository(at: &Path) {
    create(&Shape::new("1.10"), at);
    std::fs::write(at.join("conf/svnserve.conf"), "[general]\nanon-access = write\n").unwrap();
    let hook = at.join("hooks/pre-revprop-change");
    std::fs::write(&hook, "#!/bin/sh\nexit 0\n").unwrap();
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// The revisions of a repository as a dump.
fn revisions(path: &Path) -> Vec<u8> {
    let args = ["dump", "-q", "--deltas", "-r", "1:HEAD", path.to_str().unwrap()];
    let out = Programs::reference().run("svnadmin", args).expect_success("dump").stdout;
    let at = out.windows(17).position(|w| w == b"Revision-number: ").unwrap();
    out[at..].to_vec()
}

#[test]
fn programs_go_on_over_new_connections() {
    let ours = Programs::ours();
    let source = Repository::random(&Shape::new("1.10").shard(7), 21, 12);
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let none = Path::new("/dev/null");
    Programs::reference()
        .run("svnadmin", ["hotcopy", &source.arg(), folder.join("s").to_str().unwrap()])
        .expect_success("hotcopy");
    for name in ["m", "l", "c"] {
        repository(&folder.join(name));
    }
    let server = Server::start(&Programs::reference(), folder, &[]);
    let proxy = Proxy::start(server.port(), Closes::AfterReplies);
    let mut seen = 0;
    let mut play = |name: &str, args: &[&str], input: &Path| {
        let out = proxy.run(&ours, name, args, input).expect_success(&args.join(" "));
        // It was tried, and not only once.
        let closed = proxy.closed.load(Ordering::SeqCst);
        assert!(closed > seen, "{name} {args:?}");
        seen = closed;
        out
    };

    let (mirror, url) = (proxy.url("m"), proxy.url("s"));
    play("svnsync", &["init", &mirror, &url], none);
    play("svnsync", &["sync", &mirror], none);
    play("svnsync", &["copy-revprops", &mirror], none);
    play("svnsync", &["info", &mirror], none);
    assert!(revisions(&folder.join("m")) == revisions(&folder.join("s")), "svnsync");

    let dumped = play("svnrdump", &["dump", "-q", &url], none).stdout;
    let direct = ours.run("svnrdump", ["dump", "-q", &server.url("s")]).expect_success("dump");
    assert!(dumped == direct.stdout, "svnrdump dump");
    let stream = folder.join("stream");
    std::fs::write(&stream, dumped).unwrap();
    play("svnrdump", &["load", "-q", &proxy.url("l")], &stream);
    assert!(revisions(&folder.join("l")) == revisions(&folder.join("s")), "svnrdump load");

    let root = proxy.url("c");
    play("svnmucc", &["-mm", "-U", &root, "mkdir", "a", "mkdir", "a/b"], none);
    play("svnmucc", &["-mm", "-U", &root, "cp", "HEAD", "a", "c", "rm", "a/b"], none);
    play("svnmucc", &["-mm", "-U", &root, "mv", "c", "d", "propset", "p", "v", "a"], none);
    let tree = Programs::reference().run("svnlook", ["tree", folder.join("c").to_str().unwrap()]);
    assert_eq!(String::from_utf8_lossy(&tree.stdout), "/\n a/\n d/\n  b/\n");
    let youngest = ours.run("svnlook", ["youngest", folder.join("c").to_str().unwrap()]);
    assert_eq!(youngest.stdout, b"3\n");
}

#[test]
fn commits_without_an_answer_are_not_repeated() {
    for programs in [Programs::reference(), Programs::ours()] {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        repository(&folder.join("r"));
        repository(&folder.join("l"));
        let server = Server::start(&Programs::reference(), folder, &[]);
        let proxy = Proxy::start(server.port(), Closes::AtTheEndOfEdits);
        let youngest = |name: &str| {
            let path = folder.join(name);
            Programs::reference().run("svnlook", ["youngest", path.to_str().unwrap()]).stdout
        };
        // The server goes on when the client has gone.
        let settled = |name: &str| {
            let _ = sapwood_testkit::patience::wait(20, || youngest(name) != b"0\n");
            assert_eq!(youngest(name), b"1\n", "{} {name}", programs.label);
        };
        let root = proxy.url("r");
        let args = ["-mm", "-U", &root, "mkdir", "a"];
        let out = proxy.run(&programs, "svnmucc", &args, Path::new("/dev/null"));
        assert_eq!(out.code, 1, "{}", programs.label);
        assert!(String::from_utf8_lossy(&out.stderr).contains("E210002"), "{}", programs.label);
        settled("r");

        let stream = folder.join("stream");
        let dump = Repository::random(&Shape::new("1.10"), 4, 3);
        let dump = Programs::reference().run("svnadmin", ["dump", "-q", "--deltas", &dump.arg()]);
        std::fs::write(&stream, dump.stdout).unwrap();
        let out = proxy.run(&programs, "svnrdump", &["load", "-q", &proxy.url("l")], &stream);
        assert_eq!(out.code, 1, "{}", programs.label);
        settled("l");
    }
}
