//! A commit over http whose requests go out together fails as one whose requests wait for each other: the same message,
//! exit code and repository, whichever request fails and however.
//!
//! A proxy between `svn` and our server lets one request of each commit fail. Where it closes the connection after each
//! reply, the client makes one request at a time: that is what it is compared with.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use std::fs;
use std::io::{BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use sapwood_testkit::Programs;

use crate::common::places::{LOGIN_PLACE, Served, svn_as_ada};

/// How a request fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// It is answered with a status, and not passed on.
    Status(u16),
    /// The connection ends without a reply.
    Close,
    /// There is no reply, until the client gives up.
    Silence,
}

/// What the proxy does: how many requests that change something pass before the one that fails.
#[derive(Clone, Copy, Debug)]
struct Plan {
    left: usize,
    fault: Fault,
    /// Whether the fault was there.
    done: bool,
}

struct Proxy {
    port: u16,
    plan: Arc<Mutex<Option<Plan>>>,
}

/// A head, without the empty line.
fn read_head(from: &mut impl std::io::BufRead) -> Option<Vec<String>> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if from.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let line = line.trim_end();
        if line.is_empty() {
            return Some(lines);
        }
        lines.push(line.to_owned());
    }
}

fn header<'h>(head: &'h [String], name: &str) -> Option<&'h str> {
    head.iter().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        key.eq_ignore_ascii_case(name).then_some(value.trim())
    })
}

/// A body with a length or in chunks; of replies on connections that end, up to the end.
fn read_body(head: &[String], from: &mut impl std::io::BufRead, to_end: bool) -> Vec<u8> {
    let mut body = Vec::new();
    if header(head, "transfer-encoding").is_some() {
        loop {
            let mut size = String::new();
            from.read_line(&mut size).unwrap();
            let size = u64::from_str_radix(size.trim(), 16).unwrap();
            (&mut *from).take(size).read_to_end(&mut body).unwrap();
            from.read_line(&mut String::new()).unwrap();
            if size == 0 {
                return body;
            }
        }
    }
    match header(head, "content-length") {
        Some(length) => {
            (&mut *from).take(length.parse().unwrap()).read_to_end(&mut body).unwrap();
        }
        None if to_end => {
            from.read_to_end(&mut body).unwrap();
        }
        None => {}
    }
    body
}

/// A head without what is about the connection, with a body of a known length.
fn write(to: &mut TcpStream, head: &[String], body: &[u8], closes: bool, has_length: bool) -> bool {
    let own = ["connection", "transfer-encoding", "content-length", "keep-alive"];
    let mut text: String = head
        .iter()
        .filter(|line| {
            let name = line.split(':').next().unwrap();
            !own.iter().any(|own| name.eq_ignore_ascii_case(own))
        })
        .map(|line| format!("{line}\r\n"))
        .collect();
    if closes {
        text += "Connection: close\r\n";
    }
    if has_length {
        text += &format!("Content-Length: {}\r\n", body.len());
    }
    let bytes = [text.as_bytes(), b"\r\n", body].concat();
    to.write_all(&bytes).is_ok()
}

impl Proxy {
    fn start(to: u16, closes: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let plan = Arc::new(Mutex::new(None));
        let shared = Arc::clone(&plan);
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let plan = Arc::clone(&shared);
                std::thread::spawn(move || pass_on(client.unwrap(), to, closes, &plan));
            }
        });
        Self { port, plan }
    }
}

/// The fault of a request, if it is to fail.
fn fault_of(request: &str, plan: &Mutex<Option<Plan>>) -> Option<Fault> {
    let method = request.split(' ').next().unwrap();
    let is_write = matches!(method, "PUT" | "PROPPATCH" | "MKCOL" | "COPY" | "DELETE" | "MERGE");
    let mut plan = plan.lock().unwrap();
    let plan = plan.as_mut().filter(|plan| is_write && !plan.done)?;
    if plan.left > 0 {
        plan.left -= 1;
        return None;
    }
    plan.done = true;
    Some(plan.fault)
}

/// Passes the requests of a connection on, one after the other.
fn pass_on(mut client: TcpStream, to: u16, closes: bool, plan: &Mutex<Option<Plan>>) {
    let mut from_client = BufReader::new(client.try_clone().unwrap());
    while let Some(head) = read_head(&mut from_client) {
        let body = read_body(&head, &mut from_client, false);
        let is_head = head[0].starts_with("HEAD ");
        let (reply, content) = match fault_of(&head[0], plan) {
            Some(Fault::Close) => return,
            Some(Fault::Silence) => {
                let _ = from_client.read_to_end(&mut Vec::new());
                return;
            }
            Some(Fault::Status(status)) => (
                vec![format!("HTTP/1.1 {status} Fault"), "Content-Type: text/plain".to_owned()],
                b"fault".to_vec(),
            ),
            None => {
                let mut server = TcpStream::connect(("127.0.0.1", to)).unwrap();
                let has_body = !body.is_empty() || header(&head, "content-length").is_some();
                assert!(write(&mut server, &head, &body, true, has_body));
                let mut from_server = BufReader::new(server);
                let reply = read_head(&mut from_server).unwrap();
                let content =
                    if is_head { Vec::new() } else { read_body(&reply, &mut from_server, true) };
                (reply, content)
            }
        };
        let has_length = !reply[0].contains(" 204 ");
        if !write(&mut client, &reply, &content, closes, has_length) || closes {
            return;
        }
    }
}

/// A working copy with changes of all kinds.
struct Site {
    proxy: Proxy,
    wc: PathBuf,
}

impl Site {
    fn new(served: &Served, name: &str, closes: bool) -> Self {
        let proxy = Proxy::start(served.port, closes);
        let wc = served.repo.parent().join(name);
        let url = format!("http://127.0.0.1:{}/svn/repo/base", proxy.port);
        let at = |name: &str| wc.join(name).to_str().unwrap().to_owned();
        svn_as_ada(&["checkout", "-q", &url, &at("")]).expect_success("checkout");
        let local = |args: &[&str]| svn_as_ada(args).expect_success("a change");
        for name in ["a", "b"] {
            fs::write(at(name), format!("other text of {name}\n")).unwrap();
        }
        fs::create_dir(at("new")).unwrap();
        for name in ["new/x", "new/y"] {
            fs::write(at(name), "new\n").unwrap();
        }
        fs::write(at("alone"), "new\n").unwrap();
        local(&["add", "-q", &at("new"), &at("alone")]);
        local(&["propset", "-q", "p", "v", &at("a"), &at("d")]);
        local(&["delete", "-q", &at("c")]);
        local(&["copy", "-q", &at("d/e"), &at("d/copy")]);
        local(&["move", "-q", &at("d/f"), &at("moved")]);
        Self { proxy, wc }
    }

    /// What comes of a commit: all that is said, without what is the site's own.
    fn commit(&self, plan: Option<Plan>) -> (String, i32, bool) {
        *self.proxy.plan.lock().unwrap() = plan;
        let wc = self.wc.to_str().unwrap();
        let patience = "servers:global:http-timeout=1";
        let outcome = svn_as_ada(&["commit", "-q", "-m", "all", "--config-option", patience, wc]);
        let said = outcome.stderr_text().replace(&format!(":{}/", self.proxy.port), ":PORT/");
        let said = said.replace(self.wc.to_str().unwrap(), "WC");
        // Names of transactions grow.
        let said = without_names(&said, "/!svn/txr/");
        let done = self.proxy.plan.lock().unwrap().is_some_and(|plan| plan.done);
        (said, outcome.code, done)
    }
}

/// A text without what follows `mark` up to the next slash or quotation mark.
fn without_names(text: &str, mark: &str) -> String {
    let mut parts = text.split(mark);
    let first = parts.next().unwrap().to_owned();
    parts.fold(first, |all, part| {
        let end = part.find(['/', '\'']).unwrap_or(part.len());
        format!("{all}{mark}TXN{}", &part[end..])
    })
}

fn youngest(repo: &Path) -> String {
    Programs::reference().run("svnlook", ["youngest", repo.to_str().unwrap()]).stdout_text()
}

#[test]
fn failures_are_those_of_one_request_at_a_time() {
    let served = Served::start(LOGIN_PLACE);
    let base = served.repo.parent().join("base");
    fs::create_dir_all(base.join("d/e")).unwrap();
    for name in ["a", "b", "c", "d/f", "d/e/g"] {
        fs::write(base.join(name), format!("text of {name}\n")).unwrap();
    }
    let repo = served.repo.path().to_owned();
    let url = format!("file://{}/base", repo.display());
    Programs::ours()
        .run("svn", ["import", "-q", "-m", "base", base.to_str().unwrap(), &url])
        .expect_success("import");
    let together = Site::new(&served, "together", false);
    let single = Site::new(&served, "single", true);
    let before = youngest(&repo);
    let faults = [403, 404, 405, 409, 412, 423, 500].map(Fault::Status);
    for fault in faults.into_iter().chain([Fault::Close]) {
        for left in 0..REQUESTS {
            let plan = Plan { left, fault, done: false };
            let expected = single.commit(Some(plan));
            let found = together.commit(Some(plan));
            assert_eq!(found, expected, "{plan:?}");
            assert!(found.1 != 0 && found.2, "{plan:?}");
            assert_eq!(youngest(&repo), before, "{plan:?}: nothing is committed");
        }
    }
    // A server that does not answer costs its timeout: only some of the requests.
    for left in [0, 4, REQUESTS - 1] {
        let plan = Plan { left, fault: Fault::Silence, done: false };
        let expected = single.commit(Some(plan));
        assert!(expected.0.contains("E175012") && expected.2, "{expected:?}");
        assert_eq!(together.commit(Some(plan)), expected, "{plan:?}");
        assert_eq!(youngest(&repo), before, "{plan:?}: nothing is committed");
    }
    // There are no more requests than these.
    let plan = Plan { left: REQUESTS, fault: Fault::Close, done: false };
    assert_eq!(together.commit(Some(plan)), (String::new(), 0, false));
}

/// The requests of the commit that change something.
const REQUESTS: usize = 13;
