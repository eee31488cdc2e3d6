//! `sapwood serve --config`: places with logins and rules of their own, redirects, the access log,
//! and what a trusted proxy says.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::Duration;

use sapwood_testkit::server::free_port;
use sapwood_testkit::{Programs, Repository, Shape};

struct Served {
    child: Child,
    port: u16,
    repo: Repository,
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The users ada and bob, with the passwords `a` and `b`.
const USERS: &str =
    "ada:{SHA}hvfkN/qlp/zhXR3cuerq6jd2Z7g=\nbob:{SHA}6dcfXufJLW3J6S/9rRe4vUlBj5g=\n";
const ADA: &str = "Authorization: Basic YWRhOmE=\r\n";
const BOB: &str = "Authorization: Basic Ym9iOmI=\r\n";
const WRONG: &str = "Authorization: Basic YWRhOng=\r\n";

impl Served {
    fn start(config: &str) -> Self {
        let repo = Repository::scripted(&Shape::few()[0]);
        let base = repo.parent();
        fs::write(base.join("users"), USERS).unwrap();
        fs::write(base.join("rules"), "[/]\n* = r\nada = rw\n[/trunk]\n* =\nada = rw\n").unwrap();
        fs::write(base.join("deep"), "[/]\n* =\n[/trunk]\n* = rw\n").unwrap();
        let port = free_port();
        let file = base.join("sapwood.toml");
        fs::write(&file, format!("http-port = {port}\n{config}")).unwrap();
        let mut child = Programs::ours()
            .command("sapwood")
            .args(["serve", "--config"])
            .arg(&file)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().contains("Ctrl-C")), "it serves");
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, port, repo }
    }

    fn get(&self, path: &str, headers: &str) -> String {
        let mut socket = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: h:1\r\nConnection: close\r\n{headers}\r\n");
        socket.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        let _ = socket.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// The statuses of requests for a path by nobody, ada, bob and ada with a wrong password.
    fn statuses(&self, path: &str) -> Vec<u16> {
        let status = |headers: &str| {
            let answer = self.get(path, headers);
            answer.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0)
        };
        ["", ADA, BOB, WRONG].into_iter().map(status).collect()
    }
}

/// A place for each way to log in, and what else one can say of places.
const PLACES: &str = r#"
[[location]]
url = "/open"
folder = "."
list = true
plain-pages = true
authz = "rules"
[[location]]
url = "/closed"
folder = "."
users = "users"
password-delay = 0
authz = "rules"
[[location]]
url = "/mixed"
folder = "."
list = true
users = "users"
password-delay = 0
login = "optional"
authz = "rules"
[[location]]
url = "/lenient"
folder = "."
users = "users"
password-delay = 0
login = "lenient"
authz = "rules"
[[location]]
url = "/inside"
folder = "."
users = "users"
password-delay = 0
login = "optional"
authz = "^/no/such/rules"
[[location]]
url = "/one"
repository = "repo"
name = "One"
[[redirect]]
from = "/old/"
to = "/open/"
permanent = true
"#;

#[test]
fn each_place_has_its_own_rules() {
    let served = Served::start(PLACES);
    assert_eq!(served.statuses("/open/repo/"), [200, 200, 200, 200]);
    assert_eq!(served.statuses("/open/repo/trunk/"), [403, 403, 403, 403]);
    assert_eq!(served.statuses("/closed/repo/"), [401, 200, 200, 401]);
    assert_eq!(served.statuses("/closed/repo/trunk/"), [401, 200, 403, 401]);
    assert_eq!(served.statuses("/mixed/repo/"), [200, 200, 200, 401]);
    assert_eq!(served.statuses("/mixed/repo/trunk/"), [401, 200, 403, 401]);
    assert_eq!(served.statuses("/lenient/repo/"), [200, 200, 200, 200]);
    assert_eq!(served.statuses("/lenient/repo/trunk/"), [401, 200, 403, 401]);
    // Rules in a repository that there is not (CVE-2020-17525).
    assert_eq!(served.statuses("/inside/nowhere/x"), [401, 403, 403, 401]);
    assert_eq!(served.statuses("/open/nowhere"), [404, 404, 404, 404]);
    assert_eq!(served.statuses("/elsewhere"), [404, 404, 404, 404]);
    // The folders above: listed where that is said.
    assert_eq!(served.statuses("/open"), [301, 301, 301, 301]);
    assert_eq!(served.statuses("/mixed/"), [200, 200, 200, 401]);
    assert_eq!(served.statuses("/closed/"), [401, 403, 403, 401]);
    assert!(served.get("/open/", "").contains("  <li><a href=\"repo/\">repo/</a></li>\n"));
    let page = served.get("/open/repo/", "");
    assert!(page.contains("<html><head><title>repo - Revision "), "{page}");
    assert!(!page.contains("trunk"), "what may not be read is not listed: {page}");
    assert!(served.get("/one/", "").contains("One: repo - Revision "));
    let moved = served.get("/old/repo/x?p=1", "");
    assert!(moved.starts_with("HTTP/1.1 301"), "{moved}");
    assert!(moved.contains("location: http://h:1/open/repo/x?p=1\r\n"), "{moved}");
}

#[test]
fn what_a_trusted_proxy_says_and_the_access_log() {
    let place = "access-log = 'log'\n[[location]]\nurl = '/'\nfolder = '.'\nauthz = 'rules'\n\
                 user-header = 'X-User'\nlogin = 'optional'\n[[redirect]]\nfrom = '/a'\nto = '/b'\n";
    let said = "X-User: ada\r\nX-Forwarded-For: 192.0.2.7\r\nX-Forwarded-Proto: https\r\n\
                X-Forwarded-Host: svn.example.org\r\n";
    let served = Served::start(&format!("trusted-proxies = ['127.0.0.0/8']\n{place}"));
    assert!(served.get("/repo/trunk/", said).starts_with("HTTP/1.1 200"));
    assert!(served.get("/a", said).contains("location: https://svn.example.org/b\r\n"));
    let log = fs::read_to_string(served.repo.parent().join("log")).unwrap();
    let first = log.lines().next().unwrap();
    assert!(first.starts_with("192.0.2.7 - ada ["), "{log}");
    assert!(first.contains("] \"GET /repo/trunk/ HTTP/1.1\" 200 "), "{log}");
    assert!(first.ends_with(" \"-\" \"-\""), "{log}");
    // From others it is nothing but words.
    let served = Served::start(place);
    assert!(served.get("/repo/trunk/", said).starts_with("HTTP/1.1 403"));
    assert!(served.get("/a", said).contains("location: http://h:1/b\r\n"));
}

#[test]
fn our_client_needs_no_right_to_the_root() {
    let served = Served::start("[[location]]\nurl = '/'\nfolder = '.'\nauthz = 'deep'\n");
    let trunk = format!("http://127.0.0.1:{}/repo/trunk", served.port);
    let svn = |args: &[&str]| {
        let done = Programs::ours().run("svn", [args, &["--non-interactive"]].concat());
        done.expect_success(&args.join(" ")).stdout_text()
    };
    let new = format!("{trunk}/new");
    assert!(svn(&["mkdir", "-m", "", &new]).contains("Committed revision"));
    assert!(svn(&["ls", &trunk]).contains("new/\n"));
    assert!(svn(&["log", "-q", "-v", "-l1", &trunk]).contains("   A /trunk/new\n"));
}

#[test]
fn the_file_is_checked() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("f.toml");
    let check = |text: &str| {
        fs::write(&file, text).unwrap();
        let path = file.to_str().unwrap();
        Programs::ours().run("sapwood", ["serve", "--config", path, "--check"])
    };
    let done = check("path = '.'\n[[location]]\nurl = '/a'\nfolder = '.'\n");
    assert_eq!(done.expect_success("check").stdout_text(), "The configuration is sound.\n");
    let told = check("path = '.'\nhttp-prot = 1\n").stderr_text();
    assert!(told.contains("f.toml") && told.contains("line 2") && told.contains("http-prot"));
    fs::write(folder.path().join("users"), "old:TfHa.H5PMxwNI\n").unwrap();
    let told = check("[[location]]\nurl = '/a'\nfolder = 'b'\nusers = 'users'\n").stderr_text();
    assert!(told.contains("/b': No such file"), "{told}");
    assert!(told.contains("the password of 'old' has a hash that is not supported"), "{told}");
}
