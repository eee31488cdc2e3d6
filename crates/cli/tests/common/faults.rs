//! A proxy between a client and an http server that lets one request of a commit fail.
//!
//! Invariant: a proxy that closes the connection after each reply makes the client send one request at a time; one that does
//! not passes requests on one after the other, in the order in which they came.

#![allow(dead_code, reason = "not every test needs everything")]

use std::io::{BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// How a request fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It is answered with a status, and not passed on.
    Status(u16),
    /// The connection ends without a reply.
    Close,
    /// There is no reply, until the client gives up.
    Silence,
}

/// What the proxy does: how many requests that change something pass before the one that fails.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) left: usize,
    pub(crate) fault: Fault,
    /// Whether the fault was there.
    pub(crate) done: bool,
}

pub(crate) struct Proxy {
    pub(crate) port: u16,
    pub(crate) plan: Arc<Mutex<Option<Plan>>>,
    /// The requests, each with the first line of its reply.
    pub(crate) log: Arc<Mutex<Vec<String>>>,
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
    pub(crate) fn start(to: u16, closes: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let plan = Arc::new(Mutex::new(None));
        let log = Arc::default();
        let shared = (Arc::clone(&plan), Arc::clone(&log));
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let (plan, log) = shared.clone();
                std::thread::spawn(move || pass_on(client.unwrap(), to, closes, &plan, &log));
            }
        });
        Self { port, plan, log }
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
fn pass_on(
    mut client: TcpStream,
    to: u16,
    closes: bool,
    plan: &Mutex<Option<Plan>>,
    log: &Mutex<Vec<String>>,
) {
    // A reply that waits for an acknowledgement (Nagle) would be lost where the proxy then closes the connection.
    client.set_nodelay(true).unwrap();
    let mut from_client = BufReader::new(client.try_clone().unwrap());
    while let Some(head) = read_head(&mut from_client) {
        let body = read_body(&head, &mut from_client, false);
        let is_head = head[0].starts_with("HEAD ");
        let fault = fault_of(&head[0], plan);
        let note = |reply: &str| log.lock().unwrap().push(format!("{} -> {reply}", head[0]));
        if matches!(fault, Some(Fault::Close | Fault::Silence)) {
            note("nothing");
        }
        let (reply, content) = match fault {
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
        note(&reply[0]);
        let has_length = !reply[0].contains(" 204 ");
        if !write(&mut client, &reply, &content, closes, has_length) || closes {
            return;
        }
    }
}

/// A text without what follows `mark` up to the next slash or quotation mark.
pub(crate) fn without_names(text: &str, mark: &str) -> String {
    let mut parts = text.split(mark);
    let first = parts.next().unwrap().to_owned();
    parts.fold(first, |all, part| {
        let end = part.find(['/', '\'']).unwrap_or(part.len());
        format!("{all}{mark}TXN{}", &part[end..])
    })
}
