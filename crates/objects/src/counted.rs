//! A store whose requests are counted, by kind: they cost time and money.
//!
//! What is counted are the calls of the two traits. A make may need several requests for one of them, and repeat each: what it
//! sent is counted by the make (`objects-s3`).

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sapwood_core::len64;

use crate::error::Result;
use crate::key::Key;
use crate::store::{Attempt, Blobs, ListedObject, Log, Store, Upload};

/// How many requests a store had.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Requests {
    /// Objects, or ranges of them, that were read.
    pub gets: u64,
    /// Objects that were written, and pieces of them.
    pub puts: u64,
    /// Pages of names.
    pub lists: u64,
    /// Objects that were removed.
    pub deletes: u64,
    /// Questions for the entries of a log from one on.
    pub reads: u64,
    /// Entries that these questions found.
    pub entries: u64,
    /// Attempts to create an entry.
    pub claims: u64,
    /// Those that met another entry.
    pub taken: u64,
    /// Requests that failed, and attempts that got no answer.
    pub failures: u64,
    /// Bytes that were read.
    pub bytes_in: u64,
    /// Bytes that were written.
    pub bytes_out: u64,
}

impl Requests {
    /// All, with their names, in the order in which they are shown.
    #[must_use]
    pub fn named(&self) -> [(&'static str, u64); 11] {
        [
            ("get", self.gets),
            ("put", self.puts),
            ("list", self.lists),
            ("delete", self.deletes),
            ("read", self.reads),
            ("entries", self.entries),
            ("claim", self.claims),
            ("taken", self.taken),
            ("failures", self.failures),
            ("bytes_in", self.bytes_in),
            ("bytes_out", self.bytes_out),
        ]
    }
}

#[derive(Debug, Default)]
struct Counters {
    gets: AtomicU64,
    puts: AtomicU64,
    lists: AtomicU64,
    deletes: AtomicU64,
    reads: AtomicU64,
    entries: AtomicU64,
    claims: AtomicU64,
    taken: AtomicU64,
    failures: AtomicU64,
    bytes_in: AtomicU64,
    bytes_out: AtomicU64,
}

fn add(counter: &AtomicU64, more: u64) {
    counter.fetch_add(more, Ordering::Relaxed);
}

impl Counters {
    fn done<T>(&self, counter: &AtomicU64, done: Result<T>) -> Result<T> {
        add(counter, 1);
        if done.is_err() {
            add(&self.failures, 1);
        }
        done
    }

    fn read(&self, bytes: &[u8]) {
        add(&self.bytes_in, len64(bytes.len()));
    }

    fn written(&self, bytes: &[u8]) {
        add(&self.bytes_out, len64(bytes.len()));
    }
}

/// A store whose requests are counted. Its clones count together.
#[derive(Clone, Debug)]
pub struct CountedStore {
    inner: Arc<dyn Store>,
    counters: Arc<Counters>,
}

impl CountedStore {
    /// Counts what a store is asked for from now on.
    #[must_use]
    pub fn new(inner: Arc<dyn Store>) -> Self {
        Self { inner, counters: Arc::default() }
    }

    /// Another store, whose requests are counted together with those of this one.
    #[must_use]
    pub fn beside(&self, inner: Arc<dyn Store>) -> Self {
        Self { inner, counters: Arc::clone(&self.counters) }
    }

    /// What was counted so far.
    #[must_use]
    pub fn requests(&self) -> Requests {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let Counters { gets, puts, lists, deletes, reads, entries, .. } = &*self.counters;
        let Counters { claims, taken, failures, bytes_in, bytes_out, .. } = &*self.counters;
        Requests {
            gets: of(gets),
            puts: of(puts),
            lists: of(lists),
            deletes: of(deletes),
            reads: of(reads),
            entries: of(entries),
            claims: of(claims),
            taken: of(taken),
            failures: of(failures),
            bytes_in: of(bytes_in),
            bytes_out: of(bytes_out),
        }
    }
}

impl Blobs for CountedStore {
    fn address(&self) -> &str {
        Blobs::address(&*self.inner)
    }

    fn get(&self, key: &Key, range: Range<u64>) -> Result<Option<Vec<u8>>> {
        let found = self.counters.done(&self.counters.gets, self.inner.get(key, range))?;
        found.iter().for_each(|bytes| self.counters.read(bytes));
        Ok(found)
    }

    fn put(&self, key: &Key, bytes: &[u8]) -> Result<()> {
        self.counters.written(bytes);
        self.counters.done(&self.counters.puts, self.inner.put(key, bytes))
    }

    fn upload(&self, key: &Key) -> Result<Box<dyn Upload>> {
        let inner = self.inner.upload(key)?;
        Ok(Box::new(CountedUpload { inner, counters: Arc::clone(&self.counters) }))
    }

    fn list(&self, part: &str, after: Option<&Key>, most: usize) -> Result<Vec<ListedObject>> {
        self.counters.done(&self.counters.lists, self.inner.list(part, after, most))
    }

    fn delete(&self, key: &Key) -> Result<()> {
        self.counters.done(&self.counters.deletes, self.inner.delete(key))
    }
}

impl Log for CountedStore {
    fn address(&self) -> &str {
        Log::address(&*self.inner)
    }

    fn read_from(&self, log: &Key, first: u64, most: usize) -> Result<Vec<Vec<u8>>> {
        let read = self.inner.read_from(log, first, most);
        let found = self.counters.done(&self.counters.reads, read)?;
        add(&self.counters.entries, len64(found.len()));
        found.iter().for_each(|bytes| self.counters.read(bytes));
        Ok(found)
    }

    fn attempt(&self, log: &Key, slot: u64, bytes: &[u8]) -> Result<Attempt> {
        self.counters.written(bytes);
        let attempt = self.inner.attempt(log, slot, bytes);
        let attempt = self.counters.done(&self.counters.claims, attempt)?;
        match attempt {
            Attempt::Created => {}
            Attempt::Taken => add(&self.counters.taken, 1),
            Attempt::Unknown(_) => add(&self.counters.failures, 1),
        }
        Ok(attempt)
    }

    fn discard(&self, log: &Key, slot: u64) -> Result<()> {
        self.counters.done(&self.counters.deletes, self.inner.discard(log, slot))
    }
}

#[derive(Debug)]
struct CountedUpload {
    inner: Box<dyn Upload>,
    counters: Arc<Counters>,
}

impl Upload for CountedUpload {
    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.counters.written(bytes);
        self.counters.done(&self.counters.puts, self.inner.append(bytes))
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.counters.done(&self.counters.puts, self.inner.finish())
    }
}
