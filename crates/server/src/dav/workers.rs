//! What the requests of an http server share: threads, memory and temporary files.
//!
//! Reading and writing have threads of their own, so that a hook that does not end can block writers only. All
//! permits are given out fairly (see [`FairPermits`]).
//!
//! Invariant: a request that waits for its client, for its turn or for a login holds none of these.

use std::net::IpAddr;
use std::sync::Arc;

use hyper::Method;

use super::blame_shares::BlameShares;
use super::head::Head;
use crate::common::fair::{Caller, FairPermits, Permit};
use crate::common::metrics::sample::Queue;
use crate::common::metrics::{Limit, Metrics};
use crate::common::request_memory::{RequestMemory, Share};
use crate::common::settings::Settings;
use crate::common::spool::Spool;
use crate::common::state::ServerState;

/// Requests that run at a time: those that read, and as many that write.
const THREADS: usize = 256;
/// Handlers that may wait for the rest of a large body at a time.
const STREAMS: usize = 64;
/// Attempts to log in that may wait for their turn.
const ATTEMPTS: usize = 1024;
/// Replies that may wait for clients that do not read.
const UNREAD: usize = 2048;
/// Archives that are made at a time for readers who have not logged in.
const ARCHIVES: usize = 8;
/// The limit of a body that is held whole.
pub(super) const MOST_HELD: usize = 256 << 20;
/// Threads for reading and writing temporary files.
const FILE_THREADS: usize = 32;

/// The resources that requests share.
#[derive(Debug)]
pub struct Workers {
    readers: Arc<FairPermits>,
    writers: Arc<FairPermits>,
    /// Handlers that wait for their clients' bodies.
    pub(super) streams: Arc<FairPermits>,
    /// Password hashes that are being computed.
    pub(super) hashes: Arc<FairPermits>,
    /// Attempts to log in that wait for their turn.
    pub(super) attempts: Arc<FairPermits>,
    /// Replies that wait for clients that do not read.
    pub(super) unread: Arc<FairPermits>,
    /// Archives of readers who have not logged in.
    pub(super) archives: Arc<FairPermits>,
    /// Blame of readers who have not logged in.
    pub(super) blames: BlameShares,
    /// Temporary files.
    pub(super) spool: Arc<Spool>,
    memory: Arc<RequestMemory>,
    metrics: Arc<Metrics>,
}

impl Workers {
    /// As many as the server's limits allow, with so many bytes of temporary files.
    pub(crate) fn new(server: &ServerState, spool_bytes: u64) -> Arc<Self> {
        let Settings { limits, scratch, .. } = &server.settings;
        let threads = limits.connections.min(THREADS);
        Arc::new(Self {
            readers: FairPermits::new(threads),
            writers: FairPermits::new(threads),
            streams: FairPermits::new(threads.min(STREAMS)),
            hashes: Arc::clone(&server.hashes),
            unread: FairPermits::new(UNREAD),
            attempts: FairPermits::new(ATTEMPTS),
            archives: FairPermits::new(ARCHIVES),
            blames: BlameShares::new(),
            spool: Spool::new(scratch.clone(), spool_bytes),
            memory: Arc::clone(&server.requests),
            metrics: Arc::clone(&server.metrics),
        })
    }

    /// The most threads that may be busy at a time.
    pub(super) const fn threads() -> usize {
        THREADS * 2 + FILE_THREADS
    }

    /// The permits for a request's handler.
    pub(super) fn permits(&self, method: &Method) -> &Arc<FairPermits> {
        if reads(method) { &self.readers } else { &self.writers }
    }

    /// Whether requests wait for a thread, so that no thread should wait for a client.
    pub(super) fn are_wanted(&self) -> bool {
        self.readers.is_contended() || self.writers.is_contended()
    }

    /// A permit to produce more of a reply.
    pub(super) async fn for_reply(&self, caller: Caller) -> Permit {
        self.readers.acquire(caller).await
    }

    /// Counts that a client met a limit.
    pub(super) fn met(&self, limit: Limit) {
        self.metrics.limit(limit);
    }

    /// What waits for which of these.
    pub(super) fn queues(&self) -> impl Iterator<Item = Queue> + '_ {
        let all = [
            ("read", &self.readers),
            ("write", &self.writers),
            ("body", &self.streams),
            ("password_hash", &self.hashes),
            ("login", &self.attempts),
            ("unread_reply", &self.unread),
        ];
        all.into_iter().map(|(name, permits)| {
            let (running, waiting) = permits.usage();
            Queue { name, running, waiting }
        })
    }

    /// An empty share of the memory for requests.
    pub(super) fn share(&self, address: IpAddr) -> Share {
        Share::new(&self.memory, None, Some(address))
    }
}

/// Whether a method changes nothing and runs no hook.
pub(super) fn reads(method: &Method) -> bool {
    matches!(method.as_str(), "GET" | "HEAD" | "OPTIONS" | "PROPFIND" | "REPORT")
}

/// Whether handlers of the method hold the whole body, and what they make of it, in memory.
pub(super) fn holds_body(method: &Method) -> bool {
    !matches!(method.as_str(), "GET" | "HEAD" | "PUT" | "REPORT")
}

/// Whether the handler may read the body more than once: what is saved at a plain URL may have to be rebased to
/// another revision.
pub(super) fn reads_again(head: &Head) -> bool {
    !reads(&head.method) && !head.path.contains("/!svn/")
}

/// The user of a request, as its head says.
pub(super) fn caller(head: &Head) -> Caller {
    match &head.basic {
        Some((user, _)) => Caller::new(Some(head.client), Some(user)),
        None => Caller::new(Some(head.client), super::digest::user(head).as_deref()),
    }
}
