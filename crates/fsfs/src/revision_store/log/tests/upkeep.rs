//! What puts small entries together: commits do not wait for it, and it harms nothing when it fails.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Condvar;
use sapwood_objects::{Attempt, Blobs, Key, ListedObject, Log, Result, Upload, trouble};
use sapwood_testkit::patience;

use super::super::upkeep::finish;
use super::*;

/// A store that stops those who write segments and checkpoints, until it is opened, and refuses them if it is to.
#[derive(Debug)]
struct Gate {
    inner: Arc<dyn Store>,
    open: Mutex<bool>,
    opened: Condvar,
    refuses: bool,
    stopped: AtomicBool,
    claims: AtomicU64,
}

impl Gate {
    fn new(inner: &Arc<dyn Store>, refuses: bool) -> Arc<Self> {
        Arc::new(Self {
            inner: Arc::clone(inner),
            open: Mutex::new(false),
            opened: Condvar::new(),
            refuses,
            stopped: AtomicBool::new(false),
            claims: AtomicU64::new(0),
        })
    }

    fn let_through(&self) {
        *self.open.lock() = true;
        self.opened.notify_all();
    }
}

impl Blobs for Gate {
    fn address(&self) -> &str {
        Blobs::address(&*self.inner)
    }

    fn get(&self, key: &Key, range: Range<u64>) -> Result<Option<Vec<u8>>> {
        self.inner.get(key, range)
    }

    fn put(&self, key: &Key, bytes: &[u8]) -> Result<()> {
        let mut open = self.open.lock();
        self.stopped.store(true, Ordering::SeqCst);
        while !*open {
            self.opened.wait(&mut open);
        }
        drop(open);
        if self.refuses {
            return Err(Error::failed("write", Blobs::address(self), key, "refused"));
        }
        self.inner.put(key, bytes)
    }

    fn upload(&self, key: &Key) -> Result<Box<dyn Upload>> {
        self.inner.upload(key)
    }

    fn list(&self, part: &str, after: Option<&Key>, most: usize) -> Result<Vec<ListedObject>> {
        self.inner.list(part, after, most)
    }

    fn delete(&self, key: &Key) -> Result<()> {
        self.inner.delete(key)
    }
}

impl Log for Gate {
    fn address(&self) -> &str {
        Blobs::address(self)
    }

    fn read_from(&self, log: &Key, first: u64, most: usize) -> Result<Vec<Vec<u8>>> {
        self.inner.read_from(log, first, most)
    }

    fn attempt(&self, log: &Key, slot: u64, bytes: &[u8]) -> Result<Attempt> {
        // Others try the store.
        if log.as_str() == "log" {
            self.claims.fetch_add(1, Ordering::SeqCst);
        }
        self.inner.attempt(log, slot, bytes)
    }

    fn discard(&self, log: &Key, slot: u64) -> Result<()> {
        self.inner.discard(log, slot)
    }
}

fn segments_of(stored: &StoredRepository) -> usize {
    let log = sapwood_repo_log::RepositoryLog::open(Arc::clone(&stored.store)).unwrap().unwrap();
    log.state().segments.len()
}

/// A server with so many commits that some are to be put together; the thread that does so waits at the gate, which is shut.
fn stopped_at_gate(stored: &StoredRepository) -> (Arc<Gate>, Server) {
    let gate = Gate::new(&stored.store, false);
    let server = stored.server("one", Arc::<Gate>::clone(&gate)).unwrap();
    for n in 0..80 {
        server.put("/a", &n.to_string()).unwrap();
    }
    assert!(patience::wait(60, || gate.stopped.load(Ordering::SeqCst)));
    (gate, server)
}

#[test]
fn commits_do_not_wait_for_what_is_put_together() {
    let stored = StoredRepository::new();
    let (gate, server) = stopped_at_gate(&stored);
    // These commits are answered whatever the thread does.
    for n in 80..90 {
        server.put("/a", &n.to_string()).unwrap();
    }
    assert_eq!(segments_of(&stored), 0);
    gate.let_through();
    assert!(patience::wait(60, || {
        server.put("/b", "x").unwrap();
        segments_of(&stored) > 0
    }));
    // An entry of a commit names them: there is no other.
    let commits = server.fs.youngest().unwrap().0;
    assert_eq!(gate.claims.load(Ordering::SeqCst), commits);
    drop(server);
    finish();
    sapwood_repo_log::verify(&stored.store).unwrap();
}

/// A repository is closed in the middle of a request for another one, when too many are open.
#[test]
fn closing_waits_for_nothing() {
    let stored = StoredRepository::new();
    let (gate, server) = stopped_at_gate(&stored);
    // This would not come back before the thread gives up.
    drop(server);
    assert_eq!(segments_of(&stored), 0);
    gate.let_through();
    finish();
    assert!(segments_of(&stored) > 0);
    sapwood_repo_log::verify(&stored.store).unwrap();
}

#[test]
fn a_server_that_ends_names_what_it_has_written() {
    let stored = StoredRepository::new();
    let server = stored.server("one", Arc::clone(&stored.store)).unwrap();
    let mut n = 0;
    // The last commit is the one that it is time with.
    while server.fs.fs.revisions.as_log().unwrap().log.read().entries() < 64 {
        server.put("/a", &n.to_string()).unwrap();
        n += 1;
    }
    drop(server);
    finish();
    assert!(segments_of(&stored) > 0);
    sapwood_repo_log::verify(&stored.store).unwrap();
}

#[test]
fn a_failure_is_passed_on_and_harms_nothing() {
    static FAILURES: Mutex<Vec<String>> = Mutex::new(Vec::new());
    trouble::set_report(Arc::new(|error| {
        let chain: Vec<&str> = error.chain().map(sapwood_core::SvnError::message).collect();
        FAILURES.lock().push(chain.join(": "));
    }));
    let stored = StoredRepository::new();
    let gate = Gate::new(&stored.store, true);
    gate.let_through();
    let server = stored.server("one", Arc::<Gate>::clone(&gate)).unwrap();
    for n in 0..100 {
        server.put("/a", &n.to_string()).unwrap();
    }
    let folder = stored.path("one").display().to_string();
    drop(server);
    finish();
    let failures = FAILURES.lock().clone();
    let ours: Vec<_> = failures.iter().filter(|failure| failure.contains(&folder)).collect();
    assert!(!ours.is_empty() && ours[0].contains("refused"), "{failures:?}");
    assert_eq!(segments_of(&stored), 0);
    assert_eq!(stored.exported("plain").youngest().unwrap(), Revnum(100));
}
