//! The process-wide caches: raw blocks, parsed items, open files.
//!
//! [`Caches`] is one budget of memory that every filesystem opened with it shares. A quarter or
//! less goes to raw blocks of revision files, the rest to parsed items. Values are shared (`Arc`), never
//! copied. Everything cached is immutable or carries its own proof of freshness (revision
//! properties), so nothing is invalidated but after a commit that failed late: it is only evicted.

mod alive;
pub(crate) mod files;
mod ghosts;
mod governor;
pub(crate) mod item;
pub(crate) mod loading;
pub(crate) mod store;
mod tally;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;

pub use crate::cache::governor::Resident;
pub use crate::cache::tally::Reads;

use crate::cache::alive::InUse;
use crate::cache::files::FileTable;
use crate::cache::governor::Governor;
use crate::cache::item::{Cached, Item, Key};
use crate::cache::loading::Loading;
use crate::cache::store::Store;
use crate::cache::tally::Tally;
use crate::filesystem::Shared;

/// How many opened filesystems are remembered.
const MAX_FILESYSTEMS: usize = 512;
/// How many revision files are kept open.
const MAX_FILES: usize = 256;
/// One byte in so many is lost between the values: the allocator cannot use every hole that one
/// leaves for the next.
const SLACK: usize = 6;
/// Bytes of raw blocks that [`Caches::for_one_task`] keeps.
const BLOCKS_OF_ONE_TASK: usize = 4 << 20;
/// How many folders of revision properties are kept open.
const MAX_FOLDERS: usize = 64;

/// After a file that the system did not have in memory, so many are asked for before it is tried
/// again.
const LOOK_AGAIN: u32 = 64;

/// Caches that are given less, or nothing, hold so many bytes all the same: the blocks and pages of
/// indexes that neighbours share, without which a walk would read them again for each of them.
const LEAST: usize = 2 << 20;

/// What of a budget goes to raw blocks.
const fn for_blocks(budget: usize) -> usize {
    budget / 4
}

/// One budget of memory shared by every filesystem that is opened with it.
pub struct Caches {
    blocks: Store,
    /// Whether files of one revision are kept with the items: to open one again costs more than to
    /// read a block of a pack again.
    files_are_items: bool,
    pub(crate) items: Store,
    /// Items that a request holds, whether they are kept or not.
    in_use: InUse,
    /// What was read how often; only where that is counted.
    tally: Option<Tally>,
    pub(crate) files: FileTable,
    /// Folders of revision properties, which are looked at again and again.
    pub(crate) folders: FileTable,
    pub(crate) block_reads: AtomicU64,
    /// Blocks that are being read.
    pub(crate) loading: Loading,
    /// Threads that read ahead now.
    pub(crate) readers: AtomicUsize,
    /// So many more files are asked for ahead without looking whether the system has them in
    /// memory: see [`Caches::may_be_in_memory`].
    not_in_memory: AtomicU32,
    governor: Governor,
    capacity: usize,
    filesystems: Mutex<HashMap<PathBuf, (u64, Arc<Shared>)>>,
    clock: AtomicU64,
    next_id: AtomicU32,
}

impl std::fmt::Debug for Caches {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Caches").field("stats", &self.stats()).finish_non_exhaustive()
    }
}

/// How the caches fared since they were made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheStats {
    /// Bytes held now.
    pub bytes: usize,
    /// Entries held now.
    pub entries: usize,
    /// Look-ups of parsed items that found something.
    pub hits: u64,
    /// Look-ups of parsed items that found nothing.
    pub misses: u64,
    /// Blocks that were read from files.
    pub block_reads: u64,
    /// Files that were opened.
    pub opens: u64,
}

impl Caches {
    /// Caches that together hold at most `bytes` bytes.
    #[must_use]
    pub fn new(bytes: usize) -> Arc<Self> {
        Self::with_blocks(bytes, usize::MAX, false, None)
    }

    /// The same for a process that shall take no more than `bytes` and 64 MiB: `resident` tells what
    /// it takes, and the caches hold less while that is more.
    #[must_use]
    pub fn holding(bytes: usize, resident: Resident) -> Arc<Self> {
        Self::with_blocks(bytes, usize::MAX, false, Some(resident))
    }

    /// The same for a program that asks for a few things and ends: it keeps fewer raw blocks of
    /// packs. To read one a second time costs it less than memory that the system has to find first.
    #[must_use]
    pub fn for_one_task(bytes: usize) -> Arc<Self> {
        Self::with_blocks(bytes, BLOCKS_OF_ONE_TASK, true, None)
    }

    /// As [`Caches::new`], and counts what is read: see [`Caches::reads`]. For tests of what a
    /// request costs.
    #[must_use]
    pub fn counting(bytes: usize) -> Arc<Self> {
        let caches = Self::empty(bytes, usize::MAX, false, None);
        Self::registered(Self { tally: Some(Tally::default()), ..caches })
    }

    /// What was read since the last call, of caches made by [`Caches::counting`]; nothing of
    /// others.
    #[must_use]
    pub fn reads(&self) -> Reads {
        self.tally.as_ref().map(Tally::take).unwrap_or_default()
    }

    /// Caches with at most so many bytes of raw blocks.
    fn with_blocks(
        bytes: usize,
        most: usize,
        files_are_items: bool,
        resident: Option<Resident>,
    ) -> Arc<Self> {
        Self::registered(Self::empty(bytes, most, files_are_items, resident))
    }

    /// Shared, and known to those who need the handles that it keeps.
    fn registered(self) -> Arc<Self> {
        let caches = Arc::new(self);
        crate::handles::register(&caches);
        caches
    }

    fn empty(bytes: usize, most: usize, files_are_items: bool, resident: Option<Resident>) -> Self {
        let bytes = bytes.max(LEAST);
        let values = bytes.saturating_sub(bytes.checked_div(SLACK).unwrap_or(0));
        let for_blocks = for_blocks(values).min(most);
        Self {
            blocks: Store::new(for_blocks),
            files_are_items,
            items: Store::with_large(values.saturating_sub(for_blocks)),
            in_use: InUse::default(),
            tally: None,
            files: FileTable::new(crate::handles::limit(MAX_FILES, 8)),
            folders: FileTable::new(crate::handles::limit(MAX_FOLDERS, 16)),
            block_reads: AtomicU64::new(0),
            loading: Loading::default(),
            readers: AtomicUsize::new(0),
            not_in_memory: AtomicU32::new(0),
            governor: Governor::new(values, bytes, resident),
            capacity: bytes,
            filesystems: Mutex::new(HashMap::new()),
            clock: AtomicU64::new(0),
            next_id: AtomicU32::new(1),
        }
    }

    /// How the caches fared.
    #[must_use]
    pub fn stats(&self) -> CacheStats {
        let (items, blocks) = (self.items.usage(), self.blocks.usage());
        CacheStats {
            bytes: items.bytes.saturating_add(blocks.bytes),
            entries: items.entries.saturating_add(blocks.entries),
            hits: items.hits,
            misses: items.misses,
            block_reads: self.block_reads.load(Ordering::Relaxed),
            opens: self.files.opens(),
        }
    }

    /// Whether it is worth looking if the system has a file in memory, to read it at once instead
    /// of asking for it: not for a while after one that it did not have.
    pub(crate) fn may_be_in_memory(&self) -> bool {
        let one_less = |left: u32| left.checked_sub(1);
        self.not_in_memory.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less).is_err()
    }

    /// A file was not in memory.
    pub(crate) fn was_not_in_memory(&self) {
        self.not_in_memory.store(LOOK_AGAIN, Ordering::Relaxed);
    }

    /// How many bytes may be held.
    #[must_use]
    pub fn capacity(&self) -> u64 {
        u64::try_from(self.capacity).unwrap_or(u64::MAX)
    }

    /// Where a raw block is kept.
    pub(crate) const fn blocks(&self, key: &Key) -> &Store {
        let is_packed = key.b == 1;
        if self.files_are_items && !is_packed { &self.items } else { &self.blocks }
    }

    /// The item of type `T` under `key`.
    pub(crate) fn get<T: Cached>(&self, key: Key) -> Option<Arc<T>> {
        if let Some(item) = self.items.get(&key) {
            return T::unwrap(item);
        }
        if T::KIND.is_asked_for_again() { T::unwrap(self.in_use.get(&key)?) } else { None }
    }

    /// Keeps an item, and hands it back shared.
    pub(crate) fn put<T: Cached>(&self, key: Key, value: T) -> Arc<T> {
        let value = Arc::new(value);
        let weight = value.weight();
        let item = T::wrap(Arc::clone(&value));
        if let Some(tally) = &self.tally {
            tally.note(key, weight);
        }
        if T::KIND.is_asked_for_again() {
            self.in_use.put(key, &item);
        }
        self.items.put(key, item, weight);
        self.govern(weight);
        value
    }

    /// Keeps a raw block.
    pub(crate) fn put_block(&self, key: Key, block: Item, weight: usize) {
        if let Some(tally) = &self.tally {
            tally.note(key, weight);
        }
        self.blocks(&key).put(key, block, weight);
        self.govern(weight);
    }

    /// After so many bytes were put in.
    fn govern(&self, bytes: usize) {
        if let Some(budget) = self.governor.put(bytes) {
            let for_blocks = for_blocks(budget);
            self.blocks.set_budget(for_blocks);
            self.items.set_budget(budget.saturating_sub(for_blocks));
        }
    }

    /// Forgets everything: for a commit that failed after what it had prepared was read.
    pub(crate) fn clear(&self) {
        self.items.clear();
        self.in_use.clear();
        self.blocks.clear();
        self.files.clear();
        self.folders.clear();
    }

    /// Closes the files and folders that are kept open: whether there were any.
    pub(crate) fn close_all(&self) -> bool {
        self.files.clear() | self.folders.clear()
    }

    /// A number for a filesystem that no other one shares.
    pub(crate) fn new_id(&self) -> u32 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    /// The filesystem last opened at `path`.
    pub(crate) fn known(&self, path: &Path) -> Option<Arc<Shared>> {
        let now = self.clock.fetch_add(1, Ordering::Relaxed);
        let mut table = self.filesystems.lock();
        let (used, shared) = table.get_mut(path)?;
        *used = now;
        Some(Arc::clone(shared))
    }

    /// Remembers an opened filesystem.
    pub(crate) fn remember(&self, path: &Path, shared: &Arc<Shared>) {
        let now = self.clock.fetch_add(1, Ordering::Relaxed);
        let mut table = self.filesystems.lock();
        if table.len() >= MAX_FILESYSTEMS && !table.contains_key(path) {
            let oldest = table.iter().min_by_key(|(_, (used, _))| *used);
            if let Some(path) = oldest.map(|(path, _)| path.clone()) {
                table.remove(&path);
            }
        }
        table.insert(path.to_owned(), (now, Arc::clone(shared)));
    }
}
