//! What a long way costs: requests of one command that do not need each other's replies go out together, however many
//! files there are.
//!
//! A relay between `svn` and our server passes no reply on from the first request of a method to the last one: a client
//! that waited for a reply in between would wait until the test fails.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use crate::common::places::{LOGIN_PLACE, Served, svn_as_ada};

/// How long an event is waited for before the test fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// Requests of one method, and how many have been seen.
struct Gate {
    method: &'static str,
    wanted: usize,
    seen: Mutex<(usize, usize)>,
    changed: Condvar,
}

impl Gate {
    /// Counts the requests in all that the client has sent on a connection.
    fn look(&self, sent: &[u8], counted: &mut usize) {
        let start = format!("{} /", self.method).into_bytes();
        let is_request = |at: usize| sent[at..].starts_with(&start) && !sent[..at].ends_with(b"UN");
        let found = (0..sent.len()).filter(|at| is_request(*at)).count();
        let mut seen = self.seen.lock().unwrap();
        seen.0 += found - *counted;
        *counted = found;
        self.changed.notify_all();
    }

    /// Waits until a reply may pass: before the first request, and after the last one.
    fn pass(&self) -> bool {
        let seen = self.seen.lock().unwrap();
        let is_shut = |seen: &mut (usize, usize)| seen.0 > 0 && seen.0 < self.wanted;
        !self.changed.wait_timeout_while(seen, PATIENCE, is_shut).unwrap().1.timed_out()
    }
}

/// A relay to a port; returns its own.
fn relay(to: u16, gate: &Arc<Gate>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let gate = Arc::clone(gate);
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let client = client.unwrap();
            let server = TcpStream::connect(("127.0.0.1", to)).unwrap();
            gate.seen.lock().unwrap().1 += 1;
            let (to_client, from_server) =
                (client.try_clone().unwrap(), server.try_clone().unwrap());
            let (asked, answered) = (Arc::clone(&gate), Arc::clone(&gate));
            std::thread::spawn(move || {
                forward(client, server, &mut |sent, counted| {
                    asked.look(sent, counted);
                    true
                })
            });
            std::thread::spawn(move || {
                forward(from_server, to_client, &mut |_, _| answered.pass())
            });
        }
    });
    port
}

/// Passes on what one side sends, after `look` at all of it.
fn forward(
    mut from: TcpStream,
    mut to: TcpStream,
    look: &mut dyn FnMut(&[u8], &mut usize) -> bool,
) {
    let (mut sent, mut counted) = (Vec::new(), 0);
    let mut piece = [0; 4096];
    while let Ok(read @ 1..) = from.read(&mut piece) {
        sent.extend_from_slice(&piece[..read]);
        if !look(&sent, &mut counted) || to.write_all(&piece[..read]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}

/// Runs our `svn` as ada, which must not fail.
fn svn(args: &[&str]) {
    svn_as_ada(args).expect_success(args[0]);
}

/// Runs our `svn`, whose requests of a method go out together over one connection.
fn together(served: &Served, wc: &Path, method: &'static str, wanted: usize, args: &[&str]) {
    let gate = Gate { method, wanted, seen: Mutex::default(), changed: Condvar::new() };
    let gate = Arc::new(gate);
    let url = |port: u16| format!("http://127.0.0.1:{port}/svn/repo");
    let port = relay(served.port, &gate);
    svn(&["relocate", &url(port), wc.to_str().unwrap()]);
    let before = *gate.seen.lock().unwrap();
    svn(args);
    let after = *gate.seen.lock().unwrap();
    assert_eq!(after.0, wanted, "requests of {method}");
    assert_eq!(after.1 - before.1, 1, "one connection");
}

#[test]
fn requests_do_not_grow_into_turns() {
    let served = Served::start(LOGIN_PLACE);
    let wc = served.repo.parent().join("far");
    let wc_path = wc.to_str().unwrap();
    let url = format!("http://127.0.0.1:{}/svn/repo", served.port);
    svn(&["checkout", "-q", &url, wc_path]);
    for count in [10, 40] {
        let folder = wc.join(format!("many{count}"));
        fs::create_dir(&folder).unwrap();
        let files: Vec<String> =
            (0..count).map(|n| folder.join(format!("f{n}")).to_str().unwrap().to_owned()).collect();
        files.iter().for_each(|file| fs::write(file, format!("text of {file}\n")).unwrap());
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        let folder = folder.to_str().unwrap();
        svn(&["add", "-q", folder]);
        together(&served, &wc, "PUT", count, &["commit", "-q", "-m", "many", wc_path]);
        svn(&[&["propset", "-q", "p", "v"], &files[..]].concat());
        together(&served, &wc, "PROPPATCH", count, &["commit", "-q", "-m", "props", wc_path]);
        together(&served, &wc, "LOCK", count, &[&["lock", "-q"], &files[..]].concat());
        together(&served, &wc, "UNLOCK", count, &[&["unlock", "-q"], &files[..]].concat());
        svn(&[&["delete", "-q"], &files[..]].concat());
        together(&served, &wc, "DELETE", count, &["commit", "-q", "-m", "gone", wc_path]);
    }
}
