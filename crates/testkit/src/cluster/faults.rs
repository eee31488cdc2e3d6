//! What goes wrong, one thing after the other, each for a while, with a pause in which all is well.
//!
//! Invariant: when it ends, nothing goes wrong any more, but for servers that are dead.

use std::sync::atomic::Ordering;
use std::time::Duration;

use sapwood_core::exact::{clamped, millis};

use super::net::{SERVERS, Trouble};
use super::servers::{Servers, signal};
use super::{ClusterState, Kind, Plan};
use crate::{Rng, patience};

/// A kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// SIGKILL; another server begins in its place.
    Kill,
    /// SIGSTOP, and SIGCONT after a while.
    Stop,
    /// A line that loses packets.
    Loss,
    /// A slow line with long queues.
    Slow,
    /// No network.
    Cut,
    /// The store does not hear the server.
    NoRequests,
    /// The server does not hear the store.
    NoAnswers,
    /// A daemon of the store is killed, and comes back.
    KillDaemon(&'static str),
}

/// The kinds that a plan has, with their names.
#[must_use]
pub fn kinds(plan: &Plan) -> Vec<(Fault, &'static str)> {
    let mut kinds = vec![
        (Fault::Kill, "server killed"),
        (Fault::Stop, "server stopped"),
        (Fault::Loss, "packets lost"),
        (Fault::Slow, "slow line"),
        (Fault::Cut, "cut off"),
    ];
    if plan.kind != Kind::Folder {
        kinds.extend([(Fault::NoRequests, "requests lost"), (Fault::NoAnswers, "answers lost")]);
    }
    match plan.kind {
        Kind::Folder => {}
        Kind::Ceph => kinds.extend([
            (Fault::KillDaemon("gateway"), "gateway killed"),
            (Fault::KillDaemon("osd"), "store's disk killed"),
        ]),
        Kind::Postgres => kinds.push((Fault::KillDaemon("postgres"), "database killed")),
    }
    kinds
}

/// Does harm until the end.
///
/// # Errors
/// When a server ends by itself, or the machine does not do what it is asked.
pub(super) fn harm(
    plan: &Plan,
    shared: &ClusterState,
    servers: &Servers<'_>,
) -> Result<(), String> {
    let mut rng = Rng::new(plan.seed ^ 0x5eed);
    let kinds = kinds(plan);
    let mut turn = rng.below(kinds.len());
    while !shared.ends() {
        // All is well until some commits were acknowledged.
        let before = shared.acknowledged.load(Ordering::SeqCst);
        let goes_on =
            || shared.ends() || shared.acknowledged.load(Ordering::SeqCst) >= before + plan.calm;
        if !patience::wait(180, goes_on) {
            return Err("no commit was acknowledged for three minutes in which nothing went wrong"
                .to_owned());
        }
        for server in 0..SERVERS {
            if servers.has_ended(server) {
                return Err(format!("server {server} has ended by itself: see its output"));
            }
        }
        if shared.ends() {
            break;
        }
        let (fault, name) = kinds[turn % kinds.len()];
        turn += 1;
        let server = rng.below(SERVERS);
        *shared.faults.lock().expect("faults").entry(name).or_default() += 1;
        let most = millis(plan.longest_stop).max(500);
        let held = Duration::from_millis(300 + sapwood_core::len64(rng.below(clamped(most))));
        one(fault, server, held, &mut rng, shared, servers)?;
    }
    Ok(())
}

fn one(
    fault: Fault,
    server: usize,
    held: Duration,
    rng: &mut Rng,
    shared: &ClusterState,
    servers: &Servers<'_>,
) -> Result<(), String> {
    let trouble = match fault {
        Fault::Kill => {
            servers.kill(server);
            return servers.begin(server);
        }
        Fault::Stop => {
            if let Some(process) = servers.process(server) {
                signal(process, "STOP");
                shared.pause(held);
                signal(process, "CONT");
            }
            return Ok(());
        }
        Fault::KillDaemon(name) => {
            let daemon = servers.daemon(name).ok_or("the store has no such daemon")?;
            signal(daemon, "KILL");
            return Ok(());
        }
        Fault::Loss => Trouble::Loss(10 + u32::try_from(rng.below(25)).unwrap_or(0)),
        Fault::Slow => Trouble::Slow(100 + u32::try_from(rng.below(400)).unwrap_or(0)),
        Fault::Cut => Trouble::Cut,
        Fault::NoRequests => Trouble::NoRequests,
        Fault::NoAnswers => Trouble::NoAnswers,
    };
    servers.net.begin(server, trouble)?;
    shared.pause(held);
    servers.net.heal(server)
}
