//! Webhooks and mail of `sapwood serve`: commits by 1.14's client over both protocols and by `file://`, targets that are
//! down, a server that is killed, and a configuration that is read again.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sapwood_testkit::Programs;
use sapwood_testkit::server::free_port;
use sha2::Sha256;

use crate::common::places;
use crate::monitor::ask;
use places::Served;

/// The longest wait for a message.
const PATIENCE: Duration = Duration::from_secs(60);

/// A request that a receiver got: its head in lower case, and its body.
struct Request {
    head: String,
    body: String,
}

impl Request {
    fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(&format!("{name}: ")))
    }

    fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap()
    }

    fn revision(&self) -> u64 {
        self.json()["revision"].as_u64().unwrap()
    }
}

/// Reads a request, and answers with a status.
fn answer(mut stream: TcpStream, status: u16) -> Request {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut head = String::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if line.trim().is_empty() {
            break;
        }
        head.push_str(&line.to_ascii_lowercase());
    }
    let mut request = Request { head, body: String::new() };
    let length = request.header("content-length").unwrap().trim().parse().unwrap();
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    request.body = String::from_utf8(body).unwrap();
    write!(stream, "HTTP/1.1 {status} x\r\ncontent-length: 0\r\n\r\n").unwrap();
    request
}

/// A receiver at a port, which answers with these statuses in turn, and with the last one from then on.
fn receiver(port: u16, statuses: &'static [u16]) -> Receiver<Request> {
    let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
    let (requests, received) = channel();
    std::thread::spawn(move || {
        let mut left = statuses;
        for stream in listener.incoming() {
            let request = answer(stream.unwrap(), left[0]);
            if left.len() > 1 {
                left = &left[1..];
            }
            if requests.send(request).is_err() {
                return;
            }
        }
    });
    received
}

fn serve(folder: &Path, more: &str) -> (Served, u16) {
    fs::write(folder.join("secret"), "the key\n").unwrap();
    let (svn, at) = (free_port(), folder.display());
    let served = Served::start(&format!(
        "path = '.'\nsvn-port = {svn}\nlog-file = '{at}/log'\nqueue-folder = '{at}/queue'\n{more}"
    ));
    let conf = served.repo.path().join("conf/svnserve.conf");
    // No user has a name here.
    fs::write(conf, "[general]\nanon-access = write\n").unwrap();
    (served, svn)
}

fn svn(args: &[&str]) {
    let login = ["--no-auth-cache", "--non-interactive"];
    Programs::reference().run("svn", [args, &login].concat()).expect_success(&format!("{args:?}"));
}

#[test]
fn each_commit_is_sent_once_a_target_takes_it() {
    let folder = tempfile::tempdir().unwrap();
    let port = free_port();
    let hook = format!(
        "[[webhook]]\nname = 'ci'\nurl = 'http://127.0.0.1:{port}/hook?x=1'\ninternal = true\n\
         secret-file = '{}/secret'\nrepositories = ['rep*']\npaths = ['/in/**', '/in']\n",
        folder.path().display()
    );
    let monitor = free_port();
    let hook = format!("metrics-listen = '127.0.0.1:{monitor}'\n{hook}");
    let (mut served, port_of_svn) = serve(folder.path(), &hook);
    let measured = |waiting: u64, down: u64| {
        let text = ask(monitor, "/metrics", "").1;
        text.contains(&format!("_waiting_revisions{{target=\"ci\"}} {waiting}\n"))
            && text.contains(&format!("_target_down{{target=\"ci\"}} {down}\n"))
    };
    let svn_url = format!("svn://127.0.0.1:{port_of_svn}/repo");
    let http_url = format!("http://127.0.0.1:{}/repo", served.port);
    let file_url = format!("file://{}", served.repo.path().display());
    let first = served.youngest() + 1;
    // Nothing listens yet: the commits do not wait for that.
    svn(&["mkdir", "-m", "One: \"ä\"", &format!("{svn_url}/in")]);
    svn(&["mkdir", "-m", "not sent", &format!("{http_url}/out")]);
    svn(&["cp", "-m", "by file", &format!("{file_url}/in"), &format!("{file_url}/in/copy")]);
    let log = || fs::read_to_string(folder.path().join("log")).unwrap();
    let is_reported = || log().contains("'ci' cannot be reached");
    assert!(sapwood_testkit::patience::wait(60, is_reported), "{}", log());
    assert!(measured(3, 1));
    let pid = served.pid().to_string();
    assert!(std::process::Command::new("kill").args(["-9", &pid]).status().unwrap().success());
    served.start_again();
    // One that is busy at first gets the same message again.
    let received = receiver(port, &[503, 200]);
    let next = || received.recv_timeout(PATIENCE).expect("a message");
    let busy = next();
    let again = next();
    assert_eq!((busy.revision(), again.revision()), (first, first));
    assert!(busy.head.starts_with("post /hook?x=1 http/1.1"), "{}", busy.head);
    let delivery = |request: &Request| request.header("x-sapwood-delivery").unwrap().to_owned();
    assert_eq!(delivery(&busy), delivery(&again));
    let mac = Hmac::<Sha256>::new_from_slice(b"the key").unwrap();
    let sum = mac.chain_update(&again.body).finalize().into_bytes();
    let hex = sum.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    assert_eq!(again.header("x-sapwood-signature").unwrap(), format!("sha256={hex}"));
    let json = again.json();
    assert_eq!(json["message"], "One: \"ä\"");
    assert_eq!(json["repository"]["name"], "repo");
    assert_eq!(json["paths"], serde_json::json!([{"path": "/in", "action": "A"}]));
    // What another program committed, and what another commit of ours was not about.
    let copied = next();
    assert_eq!(copied.revision(), first + 2);
    let from = serde_json::json!({"path": "/in", "revision": first + 1});
    assert_eq!(copied.json()["paths"][0]["copied-from"], from);
    svn(&["rm", "-m", "gone", &format!("{http_url}/in")]);
    let last = next();
    assert_eq!((last.revision(), last.json()["author"].as_str()), (first + 3, None));
    assert!(received.try_recv().is_err(), "nothing twice");
    assert!(sapwood_testkit::patience::wait(60, || measured(0, 0)));
}

#[test]
fn internal_addresses_are_not_asked_and_a_reload_changes_targets() {
    let folder = tempfile::tempdir().unwrap();
    let port = free_port();
    let received = receiver(port, &[200]);
    let hook = format!("[[webhook]]\nname = 'ci'\nurl = 'http://localhost:{port}/'\n");
    let (served, port_of_svn) = serve(folder.path(), &hook);
    let url = format!("svn://127.0.0.1:{port_of_svn}/repo/new");
    svn(&["mkdir", "-m", "new", &url]);
    let log = || fs::read_to_string(folder.path().join("log")).unwrap();
    assert!(
        sapwood_testkit::patience::wait(60, || log().contains("an internal address")),
        "{}",
        log()
    );
    assert!(received.try_recv().is_err());
    let file = served.repo.parent().join("sapwood.toml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("{text}internal = true\n")).unwrap();
    let pid = served.pid().to_string();
    let kill = std::process::Command::new("kill").args(["-s", "HUP", &pid]).status();
    assert!(kill.unwrap().success());
    let request = received.recv_timeout(PATIENCE).expect("the message that waited");
    assert_eq!(request.json()["message"], "new");
}

/// A mail server for one mail: what its client says, line by line.
fn mail_server(port: u16) -> Receiver<String> {
    let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
    let (lines, received) = channel();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        stream.write_all(b"220 here\r\n").unwrap();
        let mut is_text = false;
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            let line = line.trim_end().to_owned();
            let reply: &[u8] = match (is_text, line.as_str()) {
                (true, ".") => {
                    is_text = false;
                    b"250 taken\r\n"
                }
                (true, _) => b"",
                (false, "DATA") => {
                    is_text = true;
                    b"354 go on\r\n"
                }
                (false, _) => b"250 ok\r\n",
            };
            let _ = stream.write_all(reply);
            if lines.send(line).is_err() {
                return;
            }
        }
    });
    received
}

#[test]
fn mail_goes_out_after_a_commit() {
    let folder = tempfile::tempdir().unwrap();
    let port = free_port();
    let lines = mail_server(port);
    let mail = format!(
        "[[mail]]\nname = 'devs'\nserver = 'smtp://127.0.0.1:{port}'\nplain = true\nfrom = 'Svn <svn@example.com>'\n\
         to = ['a@example.com', 'b@example.com']\n"
    );
    let (served, _) = serve(folder.path(), &mail);
    let revision = served.youngest() + 1;
    let url = format!("http://127.0.0.1:{}/repo/new", served.port);
    svn(&["mkdir", "-m", "A new folder\n\nwith a reason", &url]);
    let mut said = Vec::new();
    while said.last().is_none_or(|line| line != ".") {
        said.push(lines.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("a mail: {said:?}")));
    }
    let has = |wanted: &str| said.iter().any(|line| line == wanted);
    assert!(has("MAIL FROM:<svn@example.com>") && has("RCPT TO:<b@example.com>"), "{said:?}");
    assert!(has(&format!("Subject: [repo] r{revision} (no author): A new folder")), "{said:?}");
    assert!(has("with a reason") && has("   A /new") && has("Auto-Submitted: auto-generated"));
}
