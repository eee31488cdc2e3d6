//! Operations of clients, with their beginnings and answers: what 1.14's programs and ours do at random on all servers.
//!
//! Files and properties are used for a while and then others, so that the history of each stays short.
//!
//! Invariant: an operation whose answer is not understood is one that may have happened.

use std::path::Path;
use std::sync::atomic::Ordering;

use super::net::SERVERS;
use super::servers::Servers;
use super::{ClusterState, Plan};
use crate::{Output, Programs, Rng};

/// How many operations a file or property has before others take its place.
const EPOCH: u64 = 60;
/// Files and properties at a time.
const AT_ONCE: u64 = 4;
/// Seconds after which a client is killed.
const TIMEOUT: &str = "20";

/// What is done, and to what.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// A text or value is written: its number.
    Put(u64),
    /// A text or value is read; none where nothing is there.
    Get(Option<u64>),
    /// A file is locked by a user.
    Lock(u64),
    /// A file is unlocked by the user that had locked it.
    Unlock(u64),
    /// Something is refused because a file is locked.
    Refused,
    /// Who has locked a file is read.
    Owner(Option<u64>),
}

/// What became of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It happened, as the operation says.
    Done,
    /// It is not known.
    Unknown,
}

/// One operation of a client.
#[derive(Clone, Debug)]
pub struct Record {
    /// What it was done to: a file (`f3`) or a property of revision 0 (`p3`).
    pub what: String,
    /// What was done.
    pub op: Op,
    /// What became of it.
    pub outcome: Outcome,
    /// The revision that a commit was answered with, or the youngest that was read.
    pub revision: Option<u64>,
    /// When it began, in microseconds.
    pub begun: u64,
    /// When the client had ended.
    pub ended: u64,
    /// On which server, and what the client said, for people.
    pub said: String,
}

/// A client that asks one server.
struct Client<'a> {
    user: u64,
    servers: &'a Servers<'a>,
    shared: &'a ClusterState,
    text: std::path::PathBuf,
}

/// Does one thing after the other, until the end.
pub(super) fn work(user: u64, plan: &Plan, shared: &ClusterState, servers: &Servers<'_>) {
    let mut rng = Rng::new(plan.seed.wrapping_mul(1000).wrapping_add(user));
    let text = servers.folder.join(format!("text-{user}"));
    let client = Client { user, servers, shared, text };
    while !shared.ends() {
        client.one(&mut rng);
    }
}

impl Client<'_> {
    fn one(&self, rng: &mut Rng) {
        let number = self.shared.next.fetch_add(1, Ordering::SeqCst);
        let server = rng.below(SERVERS);
        let epoch = number / (EPOCH * AT_ONCE);
        let slot = number % AT_ONCE;
        let file = format!("f{epoch}-{slot}");
        let property = format!("p{epoch}-{slot}");
        match rng.below(100) {
            0..40 => self.put(rng, server, &file, number),
            40..55 => self.get(rng, server, &file),
            55..62 => self.lock(server, &file),
            62..72 => self.unlock(server, &file),
            72..77 => self.owner(server, &file),
            77..85 => self.set_property(server, &property, number),
            85..92 => self.get_property(server, &property),
            92..99 => self.youngest(server),
            _ => self.pack(server),
        }
    }

    /// Runs a program of 1.14's, or ours, beside the store; its output, and when it ran.
    fn run(&self, program: &str, is_ours: bool, args: &[&str]) -> (Output, u64, u64) {
        let programs = if is_ours { Programs::ours() } else { Programs::reference() };
        let mut command = self.servers.command(&self.servers.net.hub(), Path::new("timeout"));
        command.args(["-s", "KILL", TIMEOUT]).arg(programs.path(program));
        let user = format!("u{}", self.user);
        let login =
            ["--username", &user, "--password", "p", "--no-auth-cache", "--non-interactive"];
        command.args(login).args(args);
        let begun = self.shared.now();
        let output = Output::of(&mut command);
        (output, begun, self.shared.now())
    }

    fn note(&self, what: &str, op: Op, outcome: Outcome, ran: &(Output, u64, u64), server: usize) {
        let (output, begun, ended) = ran;
        let said = format!("server {server}: {}{}", output.stdout_text(), output.stderr_text());
        let revision = match op {
            Op::Put(_) => revision_of(&output.stdout_text()),
            _ => None,
        };
        let record = Record {
            what: what.to_owned(),
            op,
            outcome,
            revision,
            begun: *begun,
            ended: *ended,
            said,
        };
        self.shared.records.lock().expect("the records").push(record);
    }

    fn put(&self, rng: &mut Rng, server: usize, file: &str, number: u64) {
        std::fs::write(&self.text, number.to_string()).expect("a text");
        let url = self.servers.url(server, rng.below(3) == 0);
        let text = self.text.display().to_string();
        let message = format!("op {number}");
        let args = ["-m", &message, "-U", &url, "put", &text, file];
        let ran = self.run("svnmucc", rng.below(4) == 0, &args);
        let said = ran.0.stderr_text();
        if ran.0.code == 0 && revision_of(&ran.0.stdout_text()).is_some() {
            self.shared.acknowledged.fetch_add(1, Ordering::SeqCst);
            self.note(file, Op::Put(number), Outcome::Done, &ran, server);
        } else if is_refused(&said) {
            self.note(file, Op::Refused, Outcome::Done, &ran, server);
            // That it did not happen after all is looked at, too.
            self.note(file, Op::Put(number), Outcome::Unknown, &ran, server);
        } else {
            self.note(file, Op::Put(number), Outcome::Unknown, &ran, server);
        }
    }

    fn get(&self, rng: &mut Rng, server: usize, file: &str) {
        let url = format!("{}/{file}", self.servers.url(server, rng.below(3) == 0));
        let ran = self.run("svn", rng.below(4) == 0, &["cat", &url]);
        let said = ran.0.stderr_text();
        match (ran.0.code, ran.0.stdout_text().parse()) {
            (0, Ok(number)) => self.note(file, Op::Get(Some(number)), Outcome::Done, &ran, server),
            // A text that is none of ours is one that was never written.
            (0, Err(_)) => self.note(file, Op::Get(Some(u64::MAX)), Outcome::Done, &ran, server),
            _ if says(&said, "160013") || says(&said, "200009") && !says(&said, "1700") => {
                self.note(file, Op::Get(None), Outcome::Done, &ran, server);
            }
            _ => {}
        }
    }

    fn lock(&self, server: usize, file: &str) {
        let url = format!("{}/{file}", self.servers.url(server, false));
        let ran = self.run("svn", false, &["lock", &url]);
        let said = ran.0.stderr_text();
        if ran.0.code == 0 && ran.0.stdout_text().contains("locked by user") {
            self.note(file, Op::Lock(self.user), Outcome::Done, &ran, server);
        } else if says(&said, "160035") {
            self.note(file, Op::Refused, Outcome::Done, &ran, server);
        } else if !says(&said, "160013") {
            self.note(file, Op::Lock(self.user), Outcome::Unknown, &ran, server);
        }
    }

    fn unlock(&self, server: usize, file: &str) {
        let url = format!("{}/{file}", self.servers.url(server, false));
        let ran = self.run("svn", false, &["unlock", &url]);
        if ran.0.code == 0 && ran.0.stdout_text().contains("unlocked") {
            self.note(file, Op::Unlock(self.user), Outcome::Done, &ran, server);
        } else if !says(&ran.0.stderr_text(), "160040") {
            self.note(file, Op::Unlock(self.user), Outcome::Unknown, &ran, server);
        }
    }

    fn owner(&self, server: usize, file: &str) {
        let url = format!("{}/{file}", self.servers.url(server, false));
        let ran = self.run("svn", false, &["info", &url]);
        if ran.0.code != 0 {
            return;
        }
        let text = ran.0.stdout_text();
        let owner = text.lines().find_map(|line| line.strip_prefix("Lock Owner: u")?.parse().ok());
        self.note(file, Op::Owner(owner), Outcome::Done, &ran, server);
    }

    fn set_property(&self, server: usize, name: &str, number: u64) {
        let url = self.servers.url(server, false);
        let value = number.to_string();
        let ran = self.run("svn", false, &["propset", "--revprop", "-r", "0", name, &value, &url]);
        let outcome = if ran.0.code == 0 { Outcome::Done } else { Outcome::Unknown };
        self.note(name, Op::Put(number), outcome, &ran, server);
    }

    fn get_property(&self, server: usize, name: &str) {
        let url = self.servers.url(server, false);
        let args = ["propget", "--no-newline", "--revprop", "-r", "0", name, &url];
        let ran = self.run("svn", false, &args);
        let text = ran.0.stdout_text();
        if ran.0.code == 0 {
            let number =
                if text.is_empty() { None } else { Some(text.parse().unwrap_or(u64::MAX)) };
            self.note(name, Op::Get(number), Outcome::Done, &ran, server);
        } else if says(&ran.0.stderr_text(), "200017") {
            self.note(name, Op::Get(None), Outcome::Done, &ran, server);
        }
    }

    fn youngest(&self, server: usize) {
        let url = self.servers.url(server, false);
        let ran = self.run("svn", false, &["info", "--show-item", "revision", &url]);
        if let (0, Ok(revision)) = (ran.0.code, ran.0.stdout_text().trim().parse()) {
            let said = format!("server {server}");
            let (_, begun, ended) = ran;
            let record = Record {
                what: "youngest".to_owned(),
                op: Op::Get(Some(revision)),
                outcome: Outcome::Done,
                revision: Some(revision),
                begun,
                ended,
                said,
            };
            self.shared.records.lock().expect("the records").push(record);
        }
    }

    /// Another process of the server's machine packs what can be packed.
    fn pack(&self, server: usize) {
        let program = Programs::ours().path("svnadmin");
        let mut command = self.servers.command(&self.servers.net.of(server), Path::new("timeout"));
        command.args(["-s", "KILL", "60"]).arg(program);
        command.args(["pack", "-q", &self.servers.repository(server)]);
        command.env("SAPWOOD_STORE_CACHE", self.servers.of(server).join("cache"));
        let output = Output::of(&mut command);
        if output.code == 0 {
            *self.shared.faults.lock().expect("faults").entry("(packs)").or_default() += 1;
        }
    }
}

/// Whether an error has a code, or a warning.
fn says(said: &str, code: &str) -> bool {
    said.contains(&format!("E{code}")) || said.contains(&format!("W{code}"))
}

/// Whether something was refused because a file is locked.
fn is_refused(said: &str) -> bool {
    ["160035", "160037", "160038", "160039", "195022"].iter().any(|code| says(said, code))
}

/// The revision of `r12 committed by ...`.
fn revision_of(said: &str) -> Option<u64> {
    said.lines().find_map(|line| line.strip_prefix('r')?.split(' ').next()?.parse().ok())
}
