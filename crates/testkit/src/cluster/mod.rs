//! Three servers of one repository in a store, in network namespaces of their own; clients of 1.14 and ours that change it and look at it;
//! and all that can happen to servers, network and store meanwhile. In the end the history is judged: `cargo xtask cluster`.
//!
//! - [`net`]: the namespaces, and what goes wrong between them;
//! - [`servers`]: the servers and the store;
//! - [`clients`]: operations, with their beginnings and answers;
//! - [`faults`]: what goes wrong, one thing after the other;
//! - [`judge`]: whether what clients saw can be.
//!
//! Invariant: an operation that got no answer is counted as one that may have happened; nothing else is forgiven.

pub mod clients;
pub mod faults;
pub mod judge;
pub mod net;
pub mod servers;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use self::clients::Record;
use self::servers::Servers;
use crate::{Rng, patience};

/// What a repository can be in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A folder that all servers see.
    Folder,
    /// Ceph's gateway (`tools/ceph.sh`).
    Ceph,
    /// The log in PostgreSQL (`tools/postgres.sh`), objects in a folder.
    Postgres,
}

impl Kind {
    /// A name for people.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Folder => "a folder",
            Self::Ceph => "Ceph's gateway",
            Self::Postgres => "a log in PostgreSQL",
        }
    }
}

/// How long, how many, and of what.
#[derive(Clone, Debug)]
pub struct Plan {
    /// It ends after so long,
    pub time: Duration,
    /// or when so many commits were acknowledged, and each fault came once.
    pub commits: u64,
    /// Clients at a time.
    pub clients: u64,
    /// What is random follows from it, but for the order of threads.
    pub seed: u64,
    /// How many commits are acknowledged between one fault and the next, at least.
    pub calm: u64,
    /// How long a server is stopped for at most.
    pub longest_stop: Duration,
    /// What the repository is in.
    pub kind: Kind,
    /// A folder for all of it, which is made and removed.
    pub folder: PathBuf,
}

/// What all threads know.
#[derive(Debug)]
pub struct ClusterState {
    pub(crate) begun: Instant,
    pub(crate) ends: AtomicBool,
    pub(crate) acknowledged: AtomicU64,
    pub(crate) next: AtomicU64,
    pub(crate) records: Mutex<Vec<Record>>,
    /// How often each fault came.
    pub(crate) faults: Mutex<BTreeMap<&'static str, u64>>,
}

impl ClusterState {
    /// Microseconds since the beginning.
    pub(crate) fn now(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_micros()).expect("less than some thousand years")
    }

    pub(crate) fn ends(&self) -> bool {
        self.ends.load(Ordering::SeqCst)
    }

    /// Waits, but not beyond the end.
    pub(crate) fn pause(&self, time: Duration) {
        let until = Instant::now() + time;
        patience::wait(time.as_secs() + 1, || Instant::now() >= until || self.ends());
    }
}

/// Runs it, and judges: lines for people, or what is wrong.
///
/// # Errors
/// A sentence, or several lines, that say what is wrong.
pub fn run(plan: &Plan) -> Result<Vec<String>, String> {
    let net = net::Net::new()?;
    let servers = Servers::start(plan, &net)?;
    let shared = ClusterState {
        begun: Instant::now(),
        ends: AtomicBool::new(false),
        acknowledged: AtomicU64::new(0),
        next: AtomicU64::new(1),
        records: Mutex::default(),
        faults: Mutex::default(),
    };
    std::thread::scope(|scope| {
        for client in 0..plan.clients {
            let (shared, servers) = (&shared, &servers);
            scope.spawn(move || clients::work(client, plan, shared, servers));
        }
        let harming = scope.spawn(|| faults::harm(plan, &shared, &servers));
        patience::wait(plan.time.as_secs() + 1, || is_over(plan, &shared) || harming.is_finished());
        shared.ends.store(true, Ordering::SeqCst);
        harming.join().map_err(|_| "the thread of faults has failed".to_owned())
    })??;
    let took = shared.begun.elapsed();
    let mut rng = Rng::new(plan.seed);
    servers.heal_all(&mut rng)?;
    let mut lines = vec![format!(
        "seed {}, {} s, {} clients, {}",
        plan.seed,
        took.as_secs(),
        plan.clients,
        plan.kind.name()
    )];
    let faults = shared.faults.lock().expect("faults").clone();
    let faults: Vec<String> =
        faults.iter().map(|(name, times)| format!("{name} {times}")).collect();
    lines.push(format!("faults: {}", faults.join(", ")));
    lines.extend(judge::judge(plan, &shared, &servers)?);
    Ok(lines)
}

fn is_over(plan: &Plan, shared: &ClusterState) -> bool {
    let enough = shared.acknowledged.load(Ordering::SeqCst) >= plan.commits;
    let all = shared.faults.lock().expect("faults").len() >= faults::kinds(plan).len();
    (enough && all) || shared.begun.elapsed() >= plan.time
}
