//! Blocks that will be wanted soon, fetched by threads beside those that read: a store answers many requests at a time, and each of
//! them late.
//!
//! Invariants: nothing waits for what is fetched ahead but those who read it; at most [`THREADS`] requests of this kind are on their way.
//! What fails is left to those who read.

use std::ops::Range;
use std::sync::Arc;
use std::thread;

use sapwood_core::Exact as _;
use sapwood_objects::{Key, Store};

use crate::block::{BLOCK, begin};
use crate::cache::BlockCache;
use crate::disk::add;
use crate::error::Result;
use crate::wanted::Job;

/// Most requests that are sent ahead at a time.
const THREADS: usize = 16;
/// Blocks that one request ahead asks for: 1 MiB.
const TOGETHER: u64 = 4;
/// How many blocks before one are looked at, and how many of them must be there, so that those behind it are taken to be wanted too.
const BEFORE: u64 = 8;
const DENSE: usize = 4;
/// How many blocks are wanted behind it then: 8 MiB.
const BEHIND: u64 = 32;

impl BlockCache {
    /// As [`Self::read`]; where most of the blocks before one that had to be fetched are there, those behind it are fetched ahead.
    ///
    /// # Errors
    /// As [`Self::read`]
    pub fn read_on(
        self: &Arc<Self>,
        store: &Arc<dyn Store>,
        key: &Key,
        len: u64,
        range: Range<u64>,
    ) -> Result<Vec<u8>> {
        let mut fetched = None;
        let bytes = self.read_noting(&**store, key, len, range, &mut fetched)?;
        if let Some(last) = fetched
            && len != u64::MAX
        {
            let before = last.minus(last.min(BEFORE))..last;
            let there = before.filter(|number| self.has_block(&**store, key, *number));
            if there.count() >= DENSE {
                let first = begin(last.plus(1));
                self.will_need(store, key, len, first..first.plus(BEHIND.times(BLOCK)));
            }
        }
        Ok(bytes)
    }

    /// Says that a range of an object will be read soon: what is missing of it is fetched, and nothing waits. A hint: where too much is
    /// wanted already, nothing happens.
    pub fn will_need(
        self: &Arc<Self>,
        store: &Arc<dyn Store>,
        key: &Key,
        len: u64,
        range: Range<u64>,
    ) {
        if !self.keeps() {
            return;
        }
        let end = range.end.min(len).div_ceil(BLOCK);
        let mut at = range.start / BLOCK;
        while at < end {
            let behind = end.min(at.plus(TOGETHER));
            if (at..behind).any(|number| !self.has_block(&**store, key, number)) {
                let (store, key) = (Arc::clone(store), key.clone());
                let job = Job { store, key, len, bytes: begin(at)..begin(behind) };
                if !self.fetch_ahead(job) {
                    return;
                }
            }
            at = behind;
        }
    }

    /// Lets a thread fetch blocks. Whether there was room for it.
    fn fetch_ahead(self: &Arc<Self>, job: Job) -> bool {
        if !self.wanted().add(job) {
            return false;
        }
        if self.wanted().begin_thread(THREADS) {
            let cache = Arc::clone(self);
            let thread = thread::Builder::new().name("blocks ahead".to_owned());
            if self.heard(thread.spawn(move || cache.fetch_all_ahead())).is_none() {
                self.wanted().end_thread();
                return false;
            }
        }
        true
    }

    /// What a thread does, until nothing waits.
    fn fetch_all_ahead(&self) {
        while let Some(Job { store, key, len, bytes }) = self.wanted().next_or_end() {
            if self.prefetch(&*store, &key, len, bytes).is_err() {
                add(&self.counters().failures, 1);
            }
        }
    }
}
