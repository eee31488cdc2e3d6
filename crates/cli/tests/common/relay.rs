//! A relay between a client and a server that counts requests and connections, and holds replies back while a rule says
//! so: a client that waits for a reply before it sends what it could send at once waits until the test fails.

#![allow(dead_code, reason = "not every test needs everything")]

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

/// How long an event is waited for before the test fails.
const PATIENCE: Duration = Duration::from_secs(30);

/// What was seen so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) connections: usize,
    /// How often a client spoke after its server: what a long way costs.
    pub(crate) turns: usize,
    /// Requests that begin with each of the words.
    pub(crate) requests: Vec<usize>,
}

/// Whether replies are held back, by the numbers of requests.
pub(crate) type Rule = Box<dyn Fn(&[usize]) -> bool + Send + Sync>;

/// A relay to a port.
pub(crate) struct Relay {
    pub(crate) port: u16,
    gate: Arc<Gate>,
}

struct Gate {
    words: Vec<&'static str>,
    is_shut: Rule,
    seen: Mutex<Seen>,
    changed: Condvar,
}

impl Gate {
    /// Counts the requests in all that the client has sent on a connection.
    fn look(&self, sent: &[u8], counted: &mut [usize]) {
        let mut seen = self.seen.lock().unwrap();
        for (at, word) in self.words.iter().enumerate() {
            let begins = |place: usize| {
                let is_word_before = place > 0 && sent[place - 1].is_ascii_uppercase();
                sent[place..].starts_with(word.as_bytes()) && !is_word_before
            };
            let found = (0..sent.len()).filter(|place| begins(*place)).count();
            seen.requests[at] += found - counted[at];
            counted[at] = found;
        }
        self.changed.notify_all();
    }

    /// One side of a connection speaks: the client if `asks`. `is_asking` says who spoke before.
    fn speaks(&self, is_asking: &Mutex<bool>, asks: bool) {
        let before = std::mem::replace(&mut *is_asking.lock().unwrap(), asks);
        if asks && !before {
            self.seen.lock().unwrap().turns += 1;
        }
    }

    /// Waits until a reply may pass; false when that takes too long.
    fn pass(&self) -> bool {
        let seen = self.seen.lock().unwrap();
        let is_shut = |seen: &mut Seen| (self.is_shut)(&seen.requests);
        let (seen, waited) = self.changed.wait_timeout_while(seen, PATIENCE, is_shut).unwrap();
        if waited.timed_out() {
            // The test that fails for it shows what was waited for.
            eprintln!("the rule still holds replies back: {:?} {seen:?}", self.words);
        }
        !waited.timed_out()
    }
}

impl Relay {
    /// A relay that counts requests that begin with `words`: `PUT /`, `( get-file (`.
    pub(crate) fn start(to: u16, words: &[&'static str], is_shut: Rule) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Seen { connections: 0, turns: 0, requests: vec![0; words.len()] };
        let gate = Gate {
            words: words.to_vec(),
            is_shut,
            seen: Mutex::new(seen),
            changed: Condvar::new(),
        };
        let gate = Arc::new(gate);
        let shared = Arc::clone(&gate);
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let client = client.unwrap();
                let server = TcpStream::connect(("127.0.0.1", to)).unwrap();
                shared.seen.lock().unwrap().connections += 1;
                let (to_client, from_server) =
                    (client.try_clone().unwrap(), server.try_clone().unwrap());
                let (asked, answered) = (Arc::clone(&shared), Arc::clone(&shared));
                let asking = Arc::new(Mutex::new(false));
                let asking_too = Arc::clone(&asking);
                std::thread::spawn(move || {
                    let mut counted = vec![0; asked.words.len()];
                    forward(client, server, &mut |sent| {
                        asked.speaks(&asking, true);
                        asked.look(sent, &mut counted);
                        true
                    });
                });
                std::thread::spawn(move || {
                    forward(from_server, to_client, &mut |_| {
                        answered.speaks(&asking_too, false);
                        answered.pass()
                    });
                });
            }
        });
        Self { port, gate }
    }

    /// What was seen so far.
    pub(crate) fn seen(&self) -> Seen {
        self.gate.seen.lock().unwrap().clone()
    }
}

/// Passes on what one side sends, after `look` at all of it.
fn forward(mut from: TcpStream, mut to: TcpStream, look: &mut dyn FnMut(&[u8]) -> bool) {
    let mut sent = Vec::new();
    let mut piece = [0; 4096];
    while let Ok(read @ 1..) = from.read(&mut piece) {
        sent.extend_from_slice(&piece[..read]);
        if !look(&sent) || to.write_all(&piece[..read]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}
