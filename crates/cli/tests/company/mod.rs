//! Our programs and the reference's on one repository at the same time, and our server killed at
//! random moments: nothing that a client was told of is ever lost.
//!
//! `SAPWOOD_LONG=1` runs them for ten minutes and 500 kills; without it they only show that they
//! still work. `SAPWOOD_SECONDS` and `SAPWOOD_KILLS` say how long instead.

mod disks;
mod killed;
mod mixed;

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use sapwood_testkit::{Output, Programs, Server, patience};

/// Seconds after which a program hangs: none of them takes a tenth of it.
const PATIENCE: u64 = 120;

/// A number out of the environment, or the long or short one.
fn amount(name: &str, short: u64, long: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap(),
        Err(_) if std::env::var_os("SAPWOOD_LONG").is_some() => long,
        Err(_) => short,
    }
}

/// Small numbers that look random; the same ones in each run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

/// The engine that keeps a repository.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kept {
    Fsfs,
    Fsx,
}

/// A repository that all clients may write to, with small shards.
fn make(path: &Path, kept: Kept) {
    match kept {
        Kept::Fsfs => create_fsfs(path),
        Kept::Fsx => sapwood_testkit::fsx::create(path, SHARD),
    }
    std::fs::write(path.join("conf/svnserve.conf"), "[general]\nanon-access = write\n").unwrap();
    let hook = path.join("hooks/pre-revprop-change");
    std::fs::write(&hook, "#!/bin/sh\nexit 0\n").unwrap();
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// Revisions a shard.
const SHARD: u64 = 20;

fn create_fsfs(path: &Path) {
    let reference = Programs::reference();
    reference.run("svnadmin", ["create", path.to_str().unwrap()]).expect_success("create");
    let format = path.join("db/format");
    let text = std::fs::read_to_string(&format).unwrap();
    std::fs::remove_file(&format).unwrap();
    std::fs::write(&format, text.replace("sharded 1000", &format!("sharded {SHARD}"))).unwrap();
    // Tight packs, so that changes of properties divide them. Not in FSX: there 1.14 writes a manifest that none can read
    // when it divides one.
    let config = path.join("db/fsfs.conf");
    let text = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, format!("{text}\n[packed-revprops]\nrevprop-pack-size = 1\n")).unwrap();
}

/// What clients were told: revision and log message.
type Told = Mutex<BTreeMap<u64, String>>;

/// Runs programs beside each other, and looks at those that hang.
struct Watch {
    repository: PathBuf,
    servers: Mutex<Vec<u32>>,
    /// Programs of the reference that waited for the reference's server for ever.
    hung: AtomicU64,
}

impl Watch {
    fn new(repository: &Path, servers: &[Server]) -> Self {
        let servers = Mutex::new(servers.iter().map(Server::pid).collect());
        Self { repository: repository.to_owned(), servers, hung: AtomicU64::new(0) }
    }

    /// Runs a program to its end. `None` if it hangs, nothing of ours is involved (`strangers`), and
    /// no process of ours holds a lock that another waits for; else that is a failure.
    fn run(&self, command: &mut Command, strangers: bool) -> Option<Output> {
        let servers = self.servers.lock().unwrap().clone();
        let late = match patience::run(command, PATIENCE, &servers, &self.repository) {
            Ok(done) => return Some(done),
            Err(late) => late,
        };
        eprintln!("{}", late.report);
        let ours = Programs::ours().path("svnadmin").canonicalize().unwrap();
        let is_ours = |pid: &u32| {
            std::fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|program| program == ours)
        };
        let blocked = late.blockers.iter().any(is_ours);
        assert!(strangers && !blocked, "{command:?} hangs");
        self.hung.fetch_add(1, Ordering::Relaxed);
        None
    }

    /// Commits with the reference's svnmucc; the revision that it was told of, or what it complained,
    /// or `None` if it hangs.
    fn commit(
        &self,
        url: &str,
        message: &str,
        actions: &[&str],
        strangers: bool,
    ) -> Option<Result<u64, String>> {
        let mut command = Programs::reference().command("svnmucc");
        command.args(["--non-interactive", "-m", message, "-U", url]).args(actions);
        let out = self.run(&mut command, strangers)?;
        let text = out.stdout_text();
        let revision = text.strip_prefix('r').and_then(|t| t.split(' ').next()?.parse().ok());
        Some(revision.ok_or_else(|| out.stderr_text()))
    }
}

/// Commits while no other client does.
fn commit(url: &str, message: &str, actions: &[&str]) -> Result<u64, String> {
    Watch::new(Path::new("/nowhere"), &[]).commit(url, message, actions, false).unwrap()
}

fn tell(told: &Told, revision: u64, message: &str) {
    let old = told.lock().unwrap().insert(revision, message.to_owned());
    assert_eq!(old, None, "r{revision} was given to two");
}

/// All revisions and their log messages, as the reference reads them.
fn messages(path: &Path) -> BTreeMap<u64, String> {
    let url = format!("file://{}", path.display());
    let log = Programs::reference().run("svn", ["log", "-r0:HEAD", &url]).expect_success("log");
    let mut found = BTreeMap::new();
    for entry in log.stdout_text().split(&format!("{}\n", "-".repeat(72))) {
        let mut lines = entry.lines();
        let Some(head) = lines.next().and_then(|line| line.strip_prefix('r')) else { continue };
        let revision = head.split(' ').next().unwrap().parse().unwrap();
        found.insert(revision, lines.nth(1).unwrap_or_default().to_owned());
    }
    // Whether revision 0 has an entry depends on its properties.
    found.remove(&0);
    found
}

/// Every revision that a client was told of is there once, with the message that it was given, and
/// both programs find the repository whole.
fn check(path: &Path, told: &Told) -> u64 {
    let arg = path.to_str().unwrap();
    for programs in [Programs::reference(), Programs::ours()] {
        programs.run("svnadmin", ["verify", "-q", arg]).expect_success("verify");
    }
    let found = messages(path);
    let youngest = *found.keys().next_back().unwrap();
    assert_eq!(u64::try_from(found.len()).unwrap(), youngest, "a revision is missing");
    for (revision, message) in told.lock().unwrap().iter() {
        assert_eq!(found.get(revision), Some(message), "r{revision}");
    }
    let mut all: Vec<&String> = found.values().filter(|m| m.contains('#')).collect();
    let count = all.len();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), count, "a commit is there twice");
    youngest
}
