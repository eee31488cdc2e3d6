//! A mirror that `sapwood serve` keeps in front of a master, ours and httpd: what writes goes through it, by
//! our `svn` and by the reference's, and comes back by `svnsync`.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::Duration;

use sapwood_testkit::server::free_port;
use sapwood_testkit::{Output, Programs};

use crate::common::certificates;
use crate::common::httpd;
use crate::common::places;
use httpd::Httpd;

/// What runs until the test ends.
struct Served(Child);

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A repository, and its copy, which the repository's hooks keep up to date.
struct Pair {
    folder: tempfile::TempDir,
}

impl Pair {
    fn new() -> Self {
        let pair = Self { folder: tempfile::tempdir().unwrap() };
        let reference = Programs::reference();
        let run = |program: &str, args: &[&str]| {
            reference.run(program, args).expect_success(program);
        };
        let (master, copy) = (pair.path("masters/r 1"), pair.path("copies/r 1"));
        let (master, copy) = (master.to_str().unwrap(), copy.to_str().unwrap());
        let url = |path: &str| sapwood_core::uri::encode(path).into_owned();
        let urls = [copy, master].map(|path| format!("file://{}", url(path)));
        for path in [master, copy] {
            fs::create_dir_all(Path::new(path).parent().unwrap()).unwrap();
            run("svnadmin", &["create", path]);
            pair.hook(path, "pre-revprop-change", "exit 0");
        }
        let text = "/masters/r%201 is not an address: <D:href>/masters/r%201</D:href>\n";
        fs::write(pair.path("text"), text).unwrap();
        let text = pair.path("text");
        let put = ["put", text.to_str().unwrap(), "trunk/f"];
        run("svnmucc", &[&["-m", "one", "-U", &urls[1], "mkdir", "trunk"][..], &put].concat());
        run("svnsync", &["init", "-q", &urls[0], &urls[1]]);
        run("svnsync", &["sync", "-q", &urls[0]]);
        let sync = format!("/usr/bin/svnsync sync -q --non-interactive '{}'", urls[0]);
        pair.hook(master, "post-commit", &sync);
        let again = format!("/usr/bin/svnsync copy-revprops -q --non-interactive '{}' $2", urls[0]);
        pair.hook(master, "post-revprop-change", &again);
        pair
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn hook(&self, repository: &str, name: &str, command: &str) {
        let file = Path::new(repository).join("hooks").join(name);
        fs::write(&file, format!("#!/bin/sh\n{command}\n")).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Serves the copy as a mirror of `master`, and says at which port.
    fn mirror(&self, master: &str, more: &str) -> (Served, u16) {
        let port = free_port();
        let file = self.path(&format!("mirror-{port}.toml"));
        let conf = format!(
            "http-port = {port}\n[[location]]\nurl = '/mir ror'\nfolder = 'copies'\n\
             anonymous = 'write'\nmaster = '{master}'\n{more}\n"
        );
        fs::write(&file, conf).unwrap();
        (Served(places::serve(&file)), port)
    }
}

/// Everything that writes, through the mirror at `url`, by one client; what is asked for afterwards, the mirror
/// answers.
fn write_through(programs: &Programs, url: &str, folder: &Path) {
    let wc = folder.join("wc");
    let wc = wc.to_str().unwrap();
    let svn = |args: &[&str]| {
        let who = ["--username", "ada", "--password", "a", "--no-auth-cache", "--non-interactive"];
        programs.run("svn", [args, &who].concat())
    };
    let done = |args: &[&str]| svn(args).expect_success(&args.join(" ")).stdout_text();
    // A place of this run's own, as the first revision had it.
    let trunk = format!("{url}/of-{}", free_port());
    done(&["cp", "-m", "", &format!("{url}/trunk@1"), &trunk]);
    done(&["co", "-q", &trunk, wc]);
    let file = format!("{wc}/f");
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains("/masters/r%201</D:href>"), "{text}");
    let changed = format!("{text}/mir%20ror/r%201 neither\n");
    fs::write(&file, &changed).unwrap();
    fs::write(format!("{wc}/é & new"), "new\n").unwrap();
    done(&["add", "-q", &format!("{wc}/é & new")]);
    done(&["ps", "-q", "p", "/mir%20ror/r%201 <href>/mir%20ror/r%201</href>", &file]);
    let told = done(&["ci", "-m", "through the mirror", wc]);
    assert!(told.contains("Committed revision"), "{told}");
    assert_eq!(done(&["cat", &format!("{trunk}/f")]), changed);
    assert_eq!(
        done(&["pg", "p", &format!("{trunk}/f")]),
        "/mir%20ror/r%201 <href>/mir%20ror/r%201</href>\n"
    );
    // The working copy is at the new revision: no address of the master is in it.
    assert_eq!(done(&["up", wc]).lines().count(), 2, "nothing new");
    assert!(!fs::read(format!("{wc}/.svn/wc.db")).unwrap().windows(8).any(|w| w == b"/masters"));
    let author = done(&["info", "--show-item=last-changed-author", &trunk]);
    assert_eq!(author.trim(), "ada");
    // Copies, of this revision and of the first.
    done(&["cp", "-m", "", &trunk, &format!("{url}/copy")]);
    done(&["cp", "-m", "", "-r1", &format!("{trunk}/f"), &format!("{url}/copy/g")]);
    done(&["mv", "-m", "", &format!("{url}/copy/f"), &format!("{url}/copy/h")]);
    assert_eq!(done(&["ls", &format!("{url}/copy")]), "g\nh\né & new\n");
    // Locks: taken, heeded and given back with a commit.
    assert!(done(&["lock", &file]).contains("locked by user 'ada'"));
    fs::write(&file, "locked\n").unwrap();
    let other = programs.run(
        "svn",
        ["rm", "-m", "", "--username", "bob", "--password", "b", "--no-auth-cache"]
            .iter()
            .copied()
            .chain(["--non-interactive", &format!("{trunk}/f")]),
    );
    assert!(other.stderr_text().contains("lock"), "{}", other.stderr_text());
    done(&["ci", "-q", "-m", "", "--no-unlock", wc]);
    assert!(done(&["unlock", &file]).contains("'f' unlocked"));
    assert_eq!(done(&["cat", &format!("{trunk}/f")]), "locked\n");
    done(&["ps", "-q", "--revprop", "-r1", "svn:log", "said later", &trunk]);
    assert_eq!(done(&["pg", "--revprop", "-r1", "svn:log", &trunk]), "said later\n");
    done(&["rm", "-m", "", &format!("{url}/copy")]);
    let first = done(&["up", wc]).lines().last().unwrap().to_owned();
    assert!(first.starts_with("Updated to") || first.starts_with("At revision"), "{first}");
    // What the master refuses is refused.
    done(&["up", "-q", "-rPREV", &file]);
    fs::write(&file, "out of date\n").unwrap();
    let told = svn(&["ci", "-m", "", wc]).stderr_text();
    assert!(told.contains("out of date"), "{told}");
    let told = svn(&["ps", "--revprop", "-r99999", "p", "v", &trunk]).stderr_text();
    assert!(told.contains("E160006") || told.contains("E175"), "{told}");
    let _ = fs::remove_dir_all(wc);
}

fn both(pair: &Pair, mirrors: &[u16]) {
    for port in mirrors {
        let url = format!("http://127.0.0.1:{port}/mir%20ror/r%201");
        for programs in [Programs::ours(), Programs::reference()] {
            write_through(&programs, &url, pair.folder.path());
        }
    }
    let youngest = |path: &str| {
        let path = pair.path(path);
        let done = Programs::reference().run("svnlook", ["youngest", path.to_str().unwrap()]);
        done.expect_success("youngest").stdout_text()
    };
    assert_eq!(youngest("masters/r 1"), youngest("copies/r 1"));
}

#[test]
fn ours_before_ours() {
    let pair = Pair::new();
    fs::write(pair.path("users"), places::USERS).unwrap();
    let port = free_port();
    let conf = format!(
        "http-port = {port}\n[[location]]\nurl = '/masters'\nfolder = 'masters'\nusers = 'users'\n\
         login = 'optional'\nanonymous = 'read'\n"
    );
    fs::write(pair.path("master.toml"), conf).unwrap();
    let _master = Served(places::serve(&pair.path("master.toml")));
    let master = format!("http://127.0.0.1:{port}/masters");
    let (_one, v2) = pair.mirror(&master, "");
    let (_two, old) = pair.mirror(&master, "master-version = '1.6.3'");
    both(&pair, &[v2, old]);
    // What an old master lacks is not promised.
    let options = |port: u16| {
        let body = "<?xml version=\"1.0\"?><D:options xmlns:D=\"DAV:\">\
                    <D:activity-collection-set/></D:options>";
        ask(port, "OPTIONS", "/mir%20ror/r%201", body)
    };
    for (port, has) in [(v2, true), (old, false)] {
        let told = options(port);
        for token in ["put-result-checksum", "ephemeral-txnprops", "svn-me-resource"] {
            assert_eq!(told.contains(token), has, "{token}: {told}");
        }
    }
    // A mirror of a mirror.
    let (_three, behind) = pair.mirror(&format!("http://127.0.0.1:{v2}/mir%20ror"), "");
    both(&pair, &[behind]);
}

#[test]
fn ours_before_httpd() {
    let pair = Pair::new();
    let folder = pair.folder.path();
    fs::write(pair.path("users"), places::USERS).unwrap();
    let port = free_port();
    let at = folder.display();
    let conf = httpd::configuration(folder, port, &[])
        + &format!(
            "<Location /masters>\nDAV svn\nSVNParentPath {at}/masters\nAuthType Basic\nAuthName R\n\
             AuthUserFile {at}/users\n<LimitExcept GET PROPFIND OPTIONS REPORT>\n\
             Require valid-user\n</LimitExcept>\n</Location>\n"
        );
    httpd::hand_over(folder);
    let _master = Httpd::start(folder, port, &conf);
    let (_mirror, port) = pair.mirror(&format!("http://127.0.0.1:{port}/masters"), "");
    both(&pair, &[port]);
}

/// The answer to a plain request.
fn ask(port: u16, method: &str, path: &str, body: &str) -> String {
    let mut socket = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: h:1\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n"
    );
    socket.write_all(format!("{head}{body}").as_bytes()).unwrap();
    let mut answer = String::new();
    let _ = socket.read_to_string(&mut answer);
    answer
}

#[test]
fn a_master_over_https() {
    let pair = Pair::new();
    let authority = certificates::authority("Servers");
    certificates::server(&authority, pair.folder.path());
    fs::write(pair.path("authority"), authority.pem()).unwrap();
    let (https, http) = (free_port(), free_port());
    let conf = format!(
        "https-port = {https}\nhttp-port = {http}\ntls-certificate = 'certificate'\ntls-key = 'key'\n\
         [[location]]\nurl = '/masters'\nfolder = 'masters'\nanonymous = 'write'\n"
    );
    fs::write(pair.path("master.toml"), conf).unwrap();
    let _master = Served(places::serve(&pair.path("master.toml")));
    let master = format!("https://localhost:{https}/masters");
    let make = |port: u16| {
        let url = format!("http://127.0.0.1:{port}/mir%20ror/r%201/over-{port}");
        Programs::ours().run("svn", ["mkdir", "-m", "", "--non-interactive", &url])
    };
    let (_known, port) = pair.mirror(&master, "master-ca = 'authority'");
    make(port).expect_success("mkdir");
    // One of an unknown authority is not believed.
    let (_unknown, port) = pair.mirror(&master, "");
    let told = make(port).stderr_text();
    assert!(told.contains("E175002") && told.contains("certificate"), "{told}");
}

#[test]
fn masters_that_are_not_there() {
    let pair = Pair::new();
    // No server listens there.
    let (_mirror, port) = pair.mirror(&format!("http://127.0.0.1:{}/x", free_port()), "");
    let url = format!("http://127.0.0.1:{port}/mir%20ror/r%201");
    let svn = |args: &[&str]| -> Output {
        Programs::ours().run("svn", [args, &["--non-interactive"]].concat())
    };
    assert!(svn(&["ls", &url]).expect_success("reading goes on").stdout_text().contains("trunk/"));
    let told = svn(&["mkdir", "-m", "", &format!("{url}/new")]).stderr_text();
    assert!(told.contains("E175002") && told.contains("cannot be reached"), "{told}");
    let path = "/mir%20ror/r%201/!svn/txr/1-1/x";
    assert!(ask(port, "PUT", path, "text").starts_with("HTTP/1.1 502"));
    // A mirror of itself.
    let own = free_port();
    let conf = format!(
        "http-port = {own}\n[[location]]\nurl = '/mir ror'\nfolder = 'copies'\n\
         anonymous = 'write'\nmaster = 'http://127.0.0.1:{own}/mir%20ror'\n"
    );
    fs::write(pair.path("own.toml"), conf).unwrap();
    let _own = Served(places::serve(&pair.path("own.toml")));
    assert!(ask(own, "PUT", path, "text").starts_with("HTTP/1.1 508"));
}

/// A client that goes in the middle of a body: the master hears of no end. One that says too little hears it.
#[test]
fn what_has_no_end_here_has_none_there() {
    let pair = Pair::new();
    let master = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = master.local_addr().unwrap().port();
    let (_mirror, port) = pair.mirror(&format!("http://127.0.0.1:{at}/m"), "");
    let path = "/mir%20ror/r%201/!svn/txr/1-1/x";
    // More than what is collected before the master is asked.
    let much = "x".repeat(100_000);
    for (framing, sent) in [
        ("Content-Length: 1000000", format!("{much}only this")),
        ("Transfer-Encoding: chunked", format!("186A9\r\n{much}only this\r\n")),
    ] {
        let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let head = format!(
            "PUT {path} HTTP/1.1\r\nHost: h\r\nAuthorization: Basic x\r\n{framing}\r\n\r\n"
        );
        client.write_all(format!("{head}{sent}").as_bytes()).unwrap();
        let (mut upstream, _) = master.accept().unwrap();
        upstream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let mut heard = Vec::new();
        let mut piece = [0; 1000];
        while !String::from_utf8_lossy(&heard).contains("only this") {
            let read = upstream.read(&mut piece).unwrap();
            assert_ne!(read, 0, "the connection ends too early");
            heard.extend_from_slice(&piece[..read]);
        }
        drop(client);
        // Nothing more, and the end of the connection.
        let before = heard.len();
        let _ = upstream.read_to_end(&mut heard);
        let text = String::from_utf8_lossy(&heard).into_owned();
        assert_eq!(heard.len(), before, "{text}");
        assert!(text.starts_with("PUT /m/r%201/!svn/txr/1-1/x HTTP/1.1\r\n"), "{text}");
        assert!(text.contains("authorization: Basic x\r\n"), "{text}");
        assert!(text.contains(&format!("host: 127.0.0.1:{at}\r\n")), "{text}");
        assert!(text.contains("x-forwarded-for: 127.0.0.1\r\n"), "{text}");
    }
    // A master that ends in the middle of its reply: so does the mirror.
    let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let head = format!("GET {path} HTTP/1.1\r\nHost: h\r\n\r\n");
    client.write_all(head.as_bytes()).unwrap();
    let (mut upstream, _) = master.accept().unwrap();
    let mut piece = [0; 1000];
    let _ = upstream.read(&mut piece).unwrap();
    upstream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n").unwrap();
    upstream.write_all(&[b'x'; 100_000]).unwrap();
    drop(upstream);
    client.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut answer = Vec::new();
    let _ = client.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let body = answer.split_once("\r\n\r\n").unwrap().1;
    assert!(body.len() <= 100_000, "no more than the master said");
}

/// A number of a process.
fn status_of(served: &Served, name: &str) -> u64 {
    let text = fs::read_to_string(format!("/proc/{}/status", served.0.id())).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.trim_start_matches(':').trim().trim_end_matches(" kB").parse().unwrap()
}

/// How long an event is waited for before the test fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// The status of a reply to a request on a connection of its own.
fn status(port: u16, request: &str) -> String {
    let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
    client.set_read_timeout(Some(PATIENCE)).unwrap();
    client.write_all(request.as_bytes()).unwrap();
    let mut answer = [0; 12];
    client.read_exact(&mut answer).unwrap();
    String::from_utf8_lossy(&answer[9..]).into_owned()
}

/// Waits until the server has no more threads than without work.
fn await_few_threads(served: &Served, what: &str) {
    let few = || status_of(served, "Threads") <= 20;
    assert!(sapwood_testkit::patience::wait(PATIENCE.as_secs(), few), "{what}");
}

/// A master that takes requests and says nothing: what is passed on to it keeps other users neither from reading
/// nor from writing, and ends when those who wait for it go.
#[test]
fn a_master_that_does_not_answer() {
    let pair = Pair::new();
    let master = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = master.local_addr().unwrap().port();
    // It listens, and the system takes its connections: more than may be under way.
    let own = "[[location]]\nurl = '/own'\nfolder = 'masters'\nanonymous = 'write'\n";
    let (served, port) = pair.mirror(&format!("http://127.0.0.1:{at}/m"), own);
    let begin = "( create-txn )";
    let post = |place: &str, user: &str| {
        format!(
            "POST /{place}/r%201/!svn/me HTTP/1.1\r\nHost: h\r\n{user}\
             Content-Type: application/vnd.svn-skel\r\nContent-Length: {}\r\n\r\n{begin}",
            begin.len()
        )
    };
    let lock = "<D:lockinfo xmlns:D='DAV:'/>";
    let lock = format!(
        "LOCK /mir%20ror/r%201/trunk/f HTTP/1.1\r\nHost: h\r\nContent-Length: {}\r\n\r\n{lock}",
        lock.len()
    );
    let asks = [
        post("mir%20ror", ""),
        lock,
        "GET /mir%20ror/r%201/!svn/txr/1-1/x HTTP/1.1\r\nHost: h\r\n\r\n".to_owned(),
        "PUT /mir%20ror/r%201/!svn/txr/1-1/x HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nx"
            .to_owned(),
    ];
    let held: Vec<TcpStream> = (0..300)
        .map(|n| {
            let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
            client.write_all(asks[n % asks.len()].as_bytes()).unwrap();
            client
        })
        .collect();
    // The master is asked by each of them, and while they wait for it none has a thread.
    let asked: Vec<TcpStream> = (0..held.len())
        .map(|_| {
            let (mut upstream, _) = master.accept().unwrap();
            assert_eq!(upstream.read(&mut [0]).unwrap(), 1, "the master is asked");
            upstream
        })
        .collect();
    await_few_threads(&served, "requests that wait for a master hold threads");
    // Others read, at the mirror too, and another user writes.
    let get = |place: &str| {
        format!(
            "GET /{place}/r%201/trunk/f HTTP/1.1\r\nHost: h\r\nAuthorization: Basic YTphCg==\r\n\r\n"
        )
    };
    assert_eq!(status(port, &get("mir%20ror")), "200");
    assert_eq!(status(port, &get("own")), "200");
    assert_eq!(status(port, &post("own", "Authorization: Basic YTphCg==\r\n")), "201");
    drop(held);
    for mut upstream in asked {
        upstream.set_read_timeout(Some(PATIENCE)).unwrap();
        let _ = upstream.read_to_end(&mut Vec::new()).map_err(|error| {
            assert_eq!(
                error.kind(),
                std::io::ErrorKind::ConnectionReset,
                "it ends with its client"
            );
        });
    }
    assert_eq!(status(port, &post("own", "")), "201", "and leave room");
}
