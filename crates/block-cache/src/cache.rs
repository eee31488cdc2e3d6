//! Ranges of objects, from the folder where it has them, else from the store.
//!
//! Invariant: a block that several threads want at a time is asked for once, and blocks that are missing beside each other are
//! asked for together. In memory are at most [`IN_MEMORY`] blocks, and [`WINDOW`] for each thread, besides what it returns.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use parking_lot::Mutex;
use sapwood_core::exact::Exact as _;
use sapwood_core::{exact::clamped, len64};
use sapwood_objects::{Blobs, Key};

use crate::block::{BLOCK, BlockId, begin, piece};
use crate::disk::{Counters, Counts, Disk, add};
use crate::error::{Error, Result};
use crate::flights::{BlockRequest, Flights, Own};
use crate::recent::Recent;
use crate::wanted::RequestCounts;

/// Blocks that are read, and asked for, together: 4 MiB.
const WINDOW: u64 = 16;
/// Blocks that stay in memory: 4 MiB.
const IN_MEMORY: usize = 16;

/// Blocks of objects in a folder. It is shared by threads; processes share the folder.
#[derive(Debug)]
pub struct BlockCache {
    disk: Arc<Disk>,
    flights: Flights,
    recent: Recent,
    evictor: Mutex<Option<JoinHandle<()>>>,
    wanted: RequestCounts,
}

/// An object that is read.
struct Object<'a> {
    blobs: &'a dyn Blobs,
    key: &'a Key,
    len: u64,
}

impl BlockCache {
    /// The cache in a folder, which is made if it is not there. Its files have at most about `limit` bytes; with 0, none
    /// are kept.
    ///
    /// # Errors
    /// [`Error::Folder`] when it cannot be made.
    pub fn open(folder: &Path, limit: u64) -> Result<Arc<Self>> {
        Self::open_with(folder, limit, IN_MEMORY)
    }

    /// The same with another number of blocks that stay in memory.
    pub(crate) fn open_with(folder: &Path, limit: u64, in_memory: usize) -> Result<Arc<Self>> {
        let made = std::fs::create_dir_all(folder);
        made.map_err(|source| Error::Folder { path: folder.to_owned(), source })?;
        let disk = Disk { root: folder.to_owned(), limit, counters: Counters::default() };
        let (flights, evictor) = (Flights::default(), Mutex::new(None));
        let (disk, recent) = (Arc::new(disk), Recent::new(in_memory));
        Ok(Arc::new(Self { disk, flights, recent, evictor, wanted: RequestCounts::default() }))
    }

    /// What it did so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.disk.counters.all()
    }

    /// A range of an object that is never changed: fewer bytes where it ends before. `len` is its length, or `u64::MAX` when
    /// that is not known.
    ///
    /// # Errors
    /// Those of the store, also that there is no such object; [`Error::Short`] when it is shorter than `len`.
    pub fn read(
        &self,
        blobs: &dyn Blobs,
        key: &Key,
        len: u64,
        range: Range<u64>,
    ) -> Result<Vec<u8>> {
        self.read_noting(blobs, key, len, range, &mut None)
    }

    /// The same, which notes the last block that it had to fetch.
    pub(crate) fn read_noting(
        &self,
        blobs: &dyn Blobs,
        key: &Key,
        len: u64,
        range: Range<u64>,
        fetched: &mut Option<u64>,
    ) -> Result<Vec<u8>> {
        let object = Object { blobs, key, len };
        let end = range.end.min(len);
        let known = if len == u64::MAX { 0 } else { end.minus(range.start.min(end)) };
        let mut out = Vec::with_capacity(clamped(known));
        let mut at = range.start;
        while at < end {
            let first = at / BLOCK;
            let behind = end.div_ceil(BLOCK).min(first.plus(WINDOW));
            let window = self.window(&object, first..behind, fetched)?;
            for (number, data) in (first..behind).zip(window) {
                let block = begin(number);
                let found = piece(&data, at.minus(block), end.minus(block));
                out.extend_from_slice(found);
                at = at.plus(len64(found.len()));
                if len64(data.len()) < BLOCK {
                    // The object ends here.
                    return Ok(out);
                }
            }
        }
        Ok(out)
    }

    /// Fetches what is missing of a range, so that it is there when it is read.
    ///
    /// # Errors
    /// As [`Self::read`]
    pub fn prefetch(
        &self,
        blobs: &dyn Blobs,
        key: &Key,
        len: u64,
        range: Range<u64>,
    ) -> Result<()> {
        let object = Object { blobs, key, len };
        let end = range.end.min(len).div_ceil(BLOCK);
        let mut at = range.start / BLOCK;
        while at < end {
            let behind = end.min(at.plus(WINDOW));
            let missing = |number: &u64| !self.disk.has(&object.block(*number));
            let missing: Vec<u64> = (at..behind).filter(missing).collect();
            if let (Some(first), Some(last)) = (missing.first(), missing.last()) {
                let found = self.window(&object, *first..last.plus(1), &mut None)?;
                if found.last().is_some_and(|data| len64(data.len()) < BLOCK) {
                    return Ok(());
                }
            }
            at = behind;
        }
        Ok(())
    }

    /// The blocks of a range, which is not longer than a window; notes the last one that was fetched.
    fn window(
        &self,
        object: &Object<'_>,
        numbers: Range<u64>,
        fetched: &mut Option<u64>,
    ) -> Result<Vec<Arc<[u8]>>> {
        let mut found: Vec<Option<Arc<[u8]>>> = Vec::new();
        for number in numbers.clone() {
            found.push(self.kept(object, number));
        }
        while found.iter().any(Option::is_none) {
            let mut own = Vec::new();
            let mut others = Vec::new();
            let missing = numbers.clone().zip(&mut found).filter(|(_, place)| place.is_none());
            let missing: Vec<_> = missing.collect();
            let ids = missing.iter().map(|(number, _)| object.block(*number));
            for (asked, (number, place)) in self.flights.ask(ids).into_iter().zip(missing) {
                match asked {
                    // It may have landed since this thread looked.
                    BlockRequest::Own(flight) => match self.kept(object, number) {
                        Some(data) => {
                            flight.land(&data);
                            *place = Some(data);
                        }
                        None => own.push((flight, place)),
                    },
                    BlockRequest::Other(flight) => others.push((flight, place)),
                }
            }
            *fetched = own.last().map(|(flight, _)| flight.id().number).or(*fetched);
            self.fetch_all(object, own)?;
            for (flight, place) in others {
                // One that failed is asked for again, by this thread.
                *place = flight.wait();
                add(&self.disk.counters.shared, u64::from(place.is_some()));
            }
        }
        Ok(found.into_iter().flatten().collect())
    }

    /// A block that was kept, and has the length that it must have.
    fn kept(&self, object: &Object<'_>, number: u64) -> Option<Arc<[u8]>> {
        let id = object.block(number);
        let fits = |data: &Arc<[u8]>| {
            object.len == u64::MAX || len64(data.len()) == object.block_len(number)
        };
        if let Some(data) = self.recent.get(&id).filter(fits) {
            return Some(data);
        }
        let data = Some(self.disk.read(&id)?.into()).filter(fits)?;
        self.recent.add(id, &data);
        Some(data)
    }

    /// Fetches blocks, those beside each other together.
    fn fetch_all(
        &self,
        object: &Object<'_>,
        mut own: Vec<(Own<'_>, &mut Option<Arc<[u8]>>)>,
    ) -> Result<()> {
        while !own.is_empty() {
            let first = own.first().map_or(0, |(flight, _)| flight.id().number);
            let beside = (first..).zip(&own).take_while(|(n, (own, _))| own.id().number == *n);
            let count = beside.count();
            let rest = own.split_off(count);
            self.fetch(object, first, own)?;
            own = rest;
        }
        Ok(())
    }

    /// Fetches blocks that are beside each other, by one request.
    fn fetch(
        &self,
        object: &Object<'_>,
        first: u64,
        own: Vec<(Own<'_>, &mut Option<Arc<[u8]>>)>,
    ) -> Result<()> {
        let count = len64(own.len());
        add(&self.disk.counters.misses, count);
        add(&self.disk.counters.requests, 1);
        let end = begin(first.plus(count)).min(object.len);
        let got = object.blobs.get(object.key, begin(first)..end)?;
        let missing = || sapwood_objects::Error::missing(object.blobs.address(), object.key);
        let got = got.ok_or_else(missing)?;
        add(&self.disk.counters.bytes_fetched, len64(got.len()));
        for (number, (flight, place)) in (first..).zip(own) {
            let from = begin(number.minus(first));
            let data = piece(&got, from, from.plus(BLOCK));
            if object.len != u64::MAX && len64(data.len()) != object.block_len(number) {
                return Err(object.short());
            }
            let block: Arc<[u8]> = data.into();
            self.recent.add(*flight.id(), &block);
            // A block behind the end of an object whose length is not known is none.
            let is_kept = self.keeps() && (number == 0 || !data.is_empty());
            // Before it lands: who asks from then on finds it, also when it is not in memory any more.
            if is_kept && self.disk.write(flight.id(), data) {
                self.start_evictor();
            }
            flight.land(&block);
            *place = Some(block);
        }
        Ok(())
    }

    /// Whether blocks are kept.
    pub(crate) fn keeps(&self) -> bool {
        self.disk.limit > 0
    }

    /// Whether there is a file of a block, whatever it holds.
    pub(crate) fn has_block(&self, blobs: &dyn Blobs, key: &Key, number: u64) -> bool {
        self.disk.has(&BlockId::new(blobs.address(), key, number))
    }

    /// What waits to be fetched ahead.
    pub(crate) fn wanted(&self) -> &RequestCounts {
        &self.wanted
    }

    pub(crate) fn counters(&self) -> &Counters {
        &self.disk.counters
    }

    /// What an operation gave; one that failed is counted.
    pub(crate) fn heard<T>(&self, done: std::io::Result<T>) -> Option<T> {
        self.disk.heard(done)
    }

    /// Lets a thread hold the limit, unless one does.
    fn start_evictor(&self) {
        let mut evictor = self.evictor.lock();
        if evictor.as_ref().is_some_and(|running| !running.is_finished()) {
            return;
        }
        let disk = Arc::clone(&self.disk);
        let thread = thread::Builder::new().name("block cache".to_owned());
        *evictor = self.disk.heard(thread.spawn(move || disk.evict()));
    }

    /// Waits until the limit is held, if it is being held.
    pub fn wait_for_evictor(&self) {
        if let Some(running) = self.evictor.lock().take()
            && running.join().is_err()
        {
            add(&self.disk.counters.failures, 1);
        }
    }
}

impl Drop for BlockCache {
    fn drop(&mut self) {
        self.wait_for_evictor();
    }
}

impl Object<'_> {
    fn block(&self, number: u64) -> BlockId {
        BlockId::new(self.blobs.address(), self.key, number)
    }

    /// How many bytes a block has.
    fn block_len(&self, number: u64) -> u64 {
        self.len.minus(begin(number).min(self.len)).min(BLOCK)
    }

    fn short(&self) -> Error {
        Error::Short { store: self.blobs.address().into(), key: self.key.as_str().into() }
    }
}
