//! A server as a service: it is asked to end, to read its configuration again, and gets its sockets from a supervisor.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use sapwood_testkit::Programs;
use sapwood_testkit::server::free_port;

use crate::common::places::{self, Served, status};
use crate::monitor::{ask, until};

fn signal(pid: u32, name: &str) {
    let kill = Command::new("kill").args(["-s", name, &pid.to_string()]).status().unwrap();
    assert!(kill.success());
}

/// A hook that says that it runs, and then waits.
fn waiting_hook(repository: &Path, base: &Path) {
    let at = base.display();
    // It ends with the test's folder, too: a server that ends at once leaves it behind.
    let text = format!(
        "#!/bin/sh\n: > {at}/in-hook\nwhile [ -e {at}/in-hook ] && [ ! -e {at}/go ]; do sleep 0.05; done\n"
    );
    let hook = repository.join("hooks/pre-commit");
    fs::write(&hook, text).unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
}

const OPEN: &str = "[[location]]\nurl = '/svn'\nfolder = '.'\nanonymous = 'write'\n";

fn commit(programs: &Programs, url: &str) -> Child {
    let mut svn = programs.command("svn");
    svn.args(["mkdir", "--non-interactive", "-m", "a commit", &format!("{url}/of-a-client")]);
    svn.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// An upgrade restarts the server: a commit that waits for its hook is made, and its client hears so.
#[test]
fn a_commit_in_progress_is_made_before_the_end() {
    for scheme in ["http", "svn"] {
        for programs in [Programs::reference(), Programs::ours()] {
            let svn_port = free_port();
            let served = Served::start(&format!("path = '.'\nsvn-port = {svn_port}\n{OPEN}"));
            let conf = served.repo.path().join("conf/svnserve.conf");
            fs::write(conf, "[general]\nanon-access = write\n").unwrap();
            let base = served.repo.parent();
            waiting_hook(&served.repo.path(), base);
            let before = served.youngest();
            let url = match scheme {
                "http" => format!("http://127.0.0.1:{}/svn/repo", served.port),
                _ => format!("svn://127.0.0.1:{svn_port}/repo"),
            };
            let client = commit(&programs, &url);
            until("the hook", || base.join("in-hook").exists());
            signal(served.pid(), "TERM");
            // No connection is accepted any more.
            until("closed sockets", || {
                [served.port, svn_port]
                    .iter()
                    .all(|port| TcpStream::connect(("127.0.0.1", *port)).is_err())
            });
            assert_eq!(served.youngest(), before);
            fs::write(base.join("go"), "").unwrap();
            let said = client.wait_with_output().unwrap();
            let words = String::from_utf8_lossy(&said.stderr).into_owned();
            assert!(said.status.success(), "{scheme} {}: {words}", programs.label);
            assert_eq!(served.youngest(), before + 1, "{scheme} {}", programs.label);
            until("the end", || !Path::new(&format!("/proc/{}/fd/0", served.pid())).exists());
        }
    }
}

/// The same between two requests of a commit over http; a new one is refused.
#[test]
fn a_commit_over_http_goes_on_on_its_connection() {
    let served = Served::start(OPEN);
    let before = served.youngest();
    let mut socket = TcpStream::connect(("127.0.0.1", served.port)).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let mut send = |method: &str, path: &str, headers: &str, body: &str| {
        let length = body.len();
        let head = format!(
            "{method} /svn/repo{path} HTTP/1.1\r\nHost: h\r\n{headers}Content-Length: {length}\r\n\r\n{body}"
        );
        socket.write_all(head.as_bytes()).unwrap();
        let mut reply = Vec::new();
        let mut byte = [0];
        while !reply.ends_with(b"\r\n\r\n") {
            assert_eq!(socket.read(&mut byte).unwrap(), 1, "{method} {path}: the connection ends");
            reply.push(byte[0]);
        }
        let head = String::from_utf8(reply).unwrap().to_ascii_lowercase();
        if let Some((_, rest)) = head.split_once("content-length: ") {
            let length: usize = rest.split("\r\n").next().unwrap().parse().unwrap();
            socket.read_exact(&mut vec![0; length]).unwrap();
        } else if head.contains("chunked") {
            let mut all = Vec::new();
            while !all.ends_with(b"0\r\n\r\n") {
                assert_eq!(socket.read(&mut byte).unwrap(), 1);
                all.push(byte[0]);
            }
        }
        head
    };
    let kind = "Content-Type: application/vnd.svn-skel\r\n";
    let begun = send("POST", "/!svn/me", kind, "( create-txn )");
    assert_eq!(status(&begun), 201, "{begun}");
    let name =
        begun.split("svn-txn-name: ").nth(1).unwrap().split("\r\n").next().unwrap().to_owned();
    signal(served.pid(), "TERM");
    until("a closed socket", || TcpStream::connect(("127.0.0.1", served.port)).is_err());
    assert_eq!(status(&send("POST", "/!svn/me", kind, "( create-txn )")), 503);
    let made = send("MKCOL", &format!("/!svn/txr/{name}/made"), "", "");
    assert_eq!(status(&made), 201, "{made}");
    let merge = format!(
        "<?xml version=\"1.0\"?><D:merge xmlns:D=\"DAV:\"><D:source><D:href>/svn/repo/!svn/txn/{name}</D:href>\
         </D:source><D:no-auto-merge/><D:no-checkout/></D:merge>"
    );
    let merged = send("MERGE", "", "Content-Type: text/xml\r\n", &merge);
    assert_eq!(status(&merged), 200, "{merged}");
    assert_eq!(served.youngest(), before + 1);
}

/// A second signal does not wait for a hook that never ends.
#[test]
fn the_second_signal_ends_the_server_at_once() {
    let mut served = Served::start(OPEN);
    let base = served.repo.parent().to_owned();
    waiting_hook(&served.repo.path(), &base);
    let url = format!("http://127.0.0.1:{}/svn/repo", served.port);
    let mut client = commit(&Programs::ours(), &url);
    until("the hook", || base.join("in-hook").exists());
    signal(served.pid(), "TERM");
    until("a closed socket", || TcpStream::connect(("127.0.0.1", served.port)).is_err());
    let begun = Instant::now();
    served.end();
    assert!(begun.elapsed() < Duration::from_secs(30), "it waited for the hook");
    fs::write(base.join("go"), "").unwrap();
    client.wait().unwrap();
}

/// SIGHUP: what is right is used, what is wrong changes nothing and is said with its line.
#[test]
fn the_configuration_is_read_again() {
    let metrics = free_port();
    let listen = format!("metrics-listen = '127.0.0.1:{metrics}'\nlog-file = 'log'\n");
    let served = Served::start(&format!("{listen}{OPEN}"));
    let base = served.repo.parent().to_owned();
    let config = base.join("sapwood.toml");
    let reload = |text: &str, result: &str| {
        let series = format!("sapwood_configuration_reloads_total{{result=\"{result}\"}} ");
        let count = || {
            let text = ask(metrics, "/metrics", "").1;
            let line = text.lines().find_map(|line| line.strip_prefix(&series).map(str::to_owned));
            line.unwrap().parse::<u64>().unwrap()
        };
        let before = count();
        fs::write(&config, format!("http-port = {}\n{listen}{text}", served.port)).unwrap();
        signal(served.pid(), "HUP");
        until("the new configuration", || count() > before);
    };
    let code = |path: &str| status(&served.get(path, ""));
    let log = || fs::read_to_string(base.join("log")).unwrap();
    assert_eq!((code("/svn/repo/"), code("/new/repo/")), (200, 404));
    // A commit at the old place is in progress.
    waiting_hook(&served.repo.path(), &base);
    let url = format!("http://127.0.0.1:{}/svn/repo", served.port);
    let client = commit(&Programs::reference(), &url);
    until("the hook", || base.join("in-hook").exists());
    for (wrong, why) in [
        (
            "[[location]]\nurl = '/new'\nfolder = '.'\nusers = 'nothere'\n",
            "sapwood.toml:7: location '/new': ",
        ),
        ("lisen = 'x'\n", "sapwood.toml:4: unknown field `lisen`"),
        ("[[location]\n", "sapwood.toml:4: "),
    ] {
        reload(wrong, "failure");
        assert!(log().contains(why), "{why}: {}", log());
        assert_eq!((code("/svn/repo/"), code("/new/repo/")), (200, 404));
    }
    let new = "[[location]]\nurl = '/new'\nfolder = '.'\nanonymous = 'read'\nauthz = 'rules'\n";
    reload(&format!("https-port = 1\n{new}"), "failure");
    reload(new, "success");
    assert_eq!((code("/svn/repo/"), code("/new/repo/"), code("/new/repo/trunk/")), (404, 200, 403));
    fs::write(base.join("rules"), "[/]\n* = r\n").unwrap();
    reload(&format!("cache-megabytes = 20\n{new}"), "success");
    assert_eq!(code("/new/repo/trunk/"), 200);
    assert!(
        log().contains("sapwood.toml:4: 'cache-megabytes' changes at the next start only"),
        "{}",
        log()
    );
    // Another log file: the lines that follow are in it.
    fs::write(base.join("go"), "").unwrap();
    let said = client.wait_with_output().unwrap();
    // The requests that its client sends next are for a place that there is no more.
    let words = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(said.status.success() || words.contains("E160013"), "{words}");
    assert_eq!(ask(metrics, "/readyz", "").0, 200);
}

/// Another certificate by another name; a wrong one changes nothing.
#[test]
fn the_certificate_is_taken_anew() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    Programs::reference()
        .run("svnadmin", ["create", at("repo").to_str().unwrap()])
        .expect_success("create");
    for name in ["one", "two"] {
        let made = rcgen::generate_simple_self_signed([format!("{name}.example")]).unwrap();
        fs::write(at(&format!("{name}.pem")), made.cert.pem()).unwrap();
        fs::write(at(&format!("{name}.key")), made.signing_key.serialize_pem()).unwrap();
    }
    let (port, metrics) = (free_port(), free_port());
    let write = |name: &str| {
        let text = format!(
            "https-port = {port}\nmetrics-listen = '127.0.0.1:{metrics}'\ntls-certificate = '{name}.pem'\n\
             tls-key = '{name}.key'\n{OPEN}"
        );
        fs::write(at("sapwood.toml"), text).unwrap();
    };
    write("one");
    let mut server = places::serve(&at("sapwood.toml"));
    let shown = || {
        let line = format!(
            "openssl s_client -connect 127.0.0.1:{port} </dev/null 2>/dev/null | openssl x509 -noout -ext subjectAltName"
        );
        let said = Command::new("sh").args(["-c", &line]).output().unwrap();
        String::from_utf8_lossy(&said.stdout).into_owned()
    };
    assert!(shown().contains("one.example"), "openssl says '{}'", shown());
    for (name, is_used) in [("nothere", false), ("two", true)] {
        write(name);
        let series = format!(
            "sapwood_configuration_reloads_total{{result=\"{}\"}} 1",
            if is_used { "success" } else { "failure" }
        );
        signal(server.id(), "HUP");
        until(name, || ask(metrics, "/metrics", "").1.contains(&series));
        let now = if is_used { "two.example" } else { "one.example" };
        assert!(shown().contains(now), "{name}: {}", shown());
    }
    server.kill().unwrap();
    server.wait().unwrap();
}

/// Sockets by name, as systemd passes them.
#[test]
fn sockets_of_a_supervisor() {
    let served_folder = tempfile::tempdir().unwrap();
    let at = |name: &str| served_folder.path().join(name);
    Programs::reference()
        .run("svnadmin", ["create", at("repo").to_str().unwrap()])
        .expect_success("create");
    let config = at("sapwood.toml");
    let start = |text: &str, names: &str, ports: &[u16]| {
        fs::write(&config, text).unwrap();
        let mut activate = Command::new("systemd-socket-activate");
        for port in ports {
            activate.args(["-l", &format!("127.0.0.1:{port}")]);
        }
        activate.arg(format!("--fdname={names}")).arg(Programs::ours().path("sapwood"));
        activate.args(["serve", "--config"]).arg(&config);
        activate.stdout(Stdio::piped()).stderr(Stdio::piped());
        activate.spawn().expect(
            "systemd-socket-activate of Debian's package systemd: run `cargo xtask packages`",
        )
    };
    // The program starts with the first connection, and may have ended before a second one.
    let knock = |port: u16| {
        let mut socket = None;
        until("a socket", || {
            socket = TcpStream::connect(("127.0.0.1", port)).ok();
            socket.is_some()
        });
        socket
    };
    let [http, svn, metrics, unused] = [(); 4].map(|()| free_port());
    let text = format!("path = '.'\nhttp-port = {unused}\nsvn-port = {unused}\n");
    let text = text.replacen(&format!("svn-port = {unused}\n"), "", 1);
    let mut server = start(&text, "http:svn:metrics", &[http, svn, metrics]);
    let socket = knock(http);
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("Ctrl-C")));
    drop(socket);
    for url in [format!("http://127.0.0.1:{http}/repo"), format!("svn://127.0.0.1:{svn}/repo")] {
        Programs::reference().run("svn", ["info", &url]).expect_success(&url);
    }
    assert_eq!(ask(metrics, "/healthz", "").0, 200);
    assert!(TcpStream::connect(("127.0.0.1", unused)).is_err(), "nothing else is listened at");
    signal(server.id(), "TERM");
    server.wait().unwrap();
    // Sockets that nothing would be served at.
    for (text, names, why) in [
        ("path = '.'\n", "sapwood.socket", "is named 'sapwood.socket'"),
        ("path = '.'\n", "https", "'tls-certificate' and 'tls-key' are needed"),
        (OPEN, "svn", "set 'path'"),
    ] {
        let port = free_port();
        let mut server = start(text, names, &[port]);
        let socket = knock(port);
        let mut said = String::new();
        server.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert!(said.contains(why), "{why}: {said}");
        assert!(!server.wait().unwrap().success());
        drop(socket);
    }
}
