//! The process-wide caches: raw blocks, parsed values, open files.
//!
//! [`Caches`] is one budget of memory that every filesystem opened with it shares, of whatever
//! engine. A quarter or less goes to raw blocks of files ([`blocks`]), the rest to values that
//! engines made of them, named by [`Key`]s. Values are shared (`Arc`), never copied. Everything
//! cached is immutable or carries its own proof of freshness (revision properties), so nothing is
//! invalidated but after a commit that failed late, and then for its filesystem alone
//! ([`Caches::forget`]): it is only evicted.
//!
//! What admits and evicts is [`bounded`]; [`in_use`] finds what a request holds although it is too
//! large to be kept; [`governor`] makes the budget smaller where the process takes too much.

mod blocks;
mod bounded;
mod governor;
mod in_use;
pub(crate) mod key;
mod loading;
mod marks;
pub(crate) mod open_files;
mod tally;

use sapwood_core::Exact;
use std::any::Any;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;

pub use self::blocks::Block;
pub use self::governor::Resident;
pub use self::tally::Reads;

use self::bounded::Store;
use self::governor::Governor;
use self::in_use::InUse;
use self::key::Key;
use self::loading::KeysInProgress;
use self::open_files::FileTable;
use self::tally::Tally;

/// One shared value.
type Item = Arc<dyn Any + Send + Sync>;

/// How many opened filesystems are cached.
const MAX_FILESYSTEMS: usize = 512;
/// How many revision files are kept open.
const MAX_FILES: usize = 256;
/// One byte in so many is lost to fragmentation: the allocator cannot use every hole that one
/// leaves for the next.
const SLACK: usize = 6;
/// Bytes of raw blocks that [`Caches::for_one_task`] keeps.
const BLOCKS_OF_ONE_TASK: usize = 4 << 20;
/// How many folders of revision properties are kept open.
const MAX_FOLDERS: usize = 64;

/// After a file that the system did not have in memory, so many are requested ahead before it is tried
/// again.
const LOOK_AGAIN: u32 = 64;

/// Caches that are given less, or nothing, hold so many bytes nevertheless: the blocks and pages of
/// indexes that neighbours share, without which a walk would read them again for each of them.
const LEAST: usize = 2 << 20;

/// The part of a budget for raw blocks.
const fn for_blocks(budget: usize) -> usize {
    budget / 4
}

/// One budget of memory shared by every filesystem that is opened with it.
pub struct Caches {
    blocks: Store,
    /// Whether files of one revision are kept with the items: to open one again costs more than to
    /// read a block of a pack again.
    files_are_items: bool,
    items: Store,
    /// Items that a request holds, whether they are kept or not.
    in_use: InUse,
    /// Counts of reads; only in caches that count.
    tally: Option<Tally>,
    /// Open files, the contents of which never change.
    files: FileTable,
    /// Folders of revision properties, which are checked again and again.
    folders: FileTable,
    block_reads: AtomicU64,
    /// Blocks that are being read.
    loading: KeysInProgress,
    /// Threads that read ahead now.
    pub(crate) readers: AtomicUsize,
    /// The number of further files that are requested ahead without checking whether the system has them in
    /// memory: see [`Caches::may_be_in_memory`].
    not_in_memory: AtomicU32,
    governor: Governor,
    capacity: usize,
    /// What engines know of the folders that they opened, with the time of the last use.
    filesystems: Mutex<HashMap<PathBuf, (u64, Item)>>,
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

    /// The same for a process that shall take no more than `bytes` and 64 MiB: `resident` returns what
    /// it takes, and the caches hold less while that is more.
    #[must_use]
    pub fn holding(bytes: usize, resident: Resident) -> Arc<Self> {
        Self::with_blocks(bytes, usize::MAX, false, Some(resident))
    }

    /// The same for a program that reads little and ends: it caches fewer raw blocks of
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

    /// The counts since the last call, of caches made by [`Caches::counting`]; nothing of
    /// others.
    #[must_use]
    pub fn reads(&self) -> Reads {
        self.tally.as_ref().map(Tally::take).unwrap_or_default()
    }

    /// Caches with a limit of bytes for raw blocks.
    fn with_blocks(
        bytes: usize,
        most: usize,
        files_are_items: bool,
        resident: Option<Resident>,
    ) -> Arc<Self> {
        Self::registered(Self::empty(bytes, most, files_are_items, resident))
    }

    /// Shared, and registered to close its open files when handles run out.
    fn registered(self) -> Arc<Self> {
        let caches = Arc::new(self);
        let closer: Arc<dyn crate::handles::KeepsHandles> = caches.clone();
        crate::handles::register(&closer);
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
            loading: KeysInProgress::default(),
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
            bytes: items.bytes.plus(blocks.bytes),
            entries: items.entries.plus(blocks.entries),
            hits: items.hits,
            misses: items.misses,
            block_reads: self.block_reads.load(Ordering::Relaxed),
            opens: self.files.opens(),
        }
    }

    /// Whether it is worth looking if the system has a file in memory, to read it at once instead
    /// of asking for it: not for a while after one that it did not have.
    #[must_use]
    pub fn may_be_in_memory(&self) -> bool {
        let one_less = |left: u32| left.checked_sub(1);
        self.not_in_memory.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less).is_err()
    }

    /// A file was not in memory.
    pub fn was_not_in_memory(&self) {
        self.not_in_memory.store(LOOK_AGAIN, Ordering::Relaxed);
    }

    /// How many bytes may be held.
    #[must_use]
    pub fn capacity(&self) -> u64 {
        sapwood_core::exact::len64(self.capacity)
    }

    /// The value under `key`.
    #[must_use]
    pub fn get<T: Any + Send + Sync>(&self, key: Key<T>) -> Option<Arc<T>> {
        if let Some(item) = self.items.get(&key.name) {
            return item.downcast().ok();
        }
        if key.name.is_found_while_held() {
            self.in_use.get(&key.name)?.downcast().ok()
        } else {
            None
        }
    }

    /// Caches a value, and returns it shared.
    pub fn put<T: Any + Send + Sync>(&self, key: Key<T>, value: T) -> Arc<T> {
        let weight = (key.weight)(&value);
        let value = Arc::new(value);
        let item: Item = Arc::<T>::clone(&value);
        if let Some(tally) = &self.tally {
            tally.note::<T>(key.name, weight);
        }
        if key.name.is_found_while_held() {
            self.in_use.put(key.name, &item);
        }
        self.items.put(key.name, item, weight);
        self.govern(weight);
        value
    }

    /// To be called after so many bytes were put in.
    fn govern(&self, bytes: usize) {
        if let Some(budget) = self.governor.put(bytes) {
            let for_blocks = for_blocks(budget);
            self.blocks.set_budget(for_blocks);
            self.items.set_budget(budget.saturating_sub(for_blocks));
        }
    }

    /// Removes everything that is cached of one filesystem: for a commit that failed after what it had
    /// prepared was read.
    pub fn forget(&self, fs: u32) {
        self.items.forget(fs);
        self.in_use.forget(fs);
        self.blocks.forget(fs);
        self.files.close_all_of(fs);
        self.folders.close_all_of(fs);
    }

    /// Files, the contents of which never change, that are kept open.
    #[must_use]
    pub const fn files(&self) -> &FileTable {
        &self.files
    }

    /// Folders that are kept open for their stamps.
    #[must_use]
    pub const fn folders(&self) -> &FileTable {
        &self.folders
    }

    /// A number for a filesystem that no other one shares.
    #[must_use]
    pub fn new_id(&self) -> u32 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    /// The engine's shared state of the filesystem last opened at `path`.
    #[must_use]
    pub fn shared_state<T: Any + Send + Sync>(&self, path: &Path) -> Option<Arc<T>> {
        let now = self.clock.fetch_add(1, Ordering::Relaxed);
        let mut table = self.filesystems.lock();
        let (used, shared) = table.get_mut(path)?;
        *used = now;
        Arc::clone(shared).downcast().ok()
    }

    /// Stores the engine's shared state of an opened filesystem.
    pub fn keep_shared_state<T: Any + Send + Sync>(&self, path: &Path, shared: &Arc<T>) {
        let now = self.clock.fetch_add(1, Ordering::Relaxed);
        let mut table = self.filesystems.lock();
        if table.len() >= MAX_FILESYSTEMS && !table.contains_key(path) {
            let oldest = table.iter().min_by_key(|(_, (used, _))| *used);
            if let Some(path) = oldest.map(|(path, _)| path.clone()) {
                table.remove(&path);
            }
        }
        let shared: Item = Arc::<T>::clone(shared);
        table.insert(path.to_owned(), (now, shared));
    }
}

impl crate::handles::KeepsHandles for Caches {
    fn close_all(&self) -> bool {
        self.files.clear() | self.folders.clear()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::LocalStorage;
    use crate::storage::Storage;
    use crate::{FileKey, Kind};

    const NUMBER: Kind<u64> = Kind::new(1, |_| 100);
    const TEXT: Kind<String> = Kind::new(2, String::len).found_while_held();

    #[test]
    fn values_come_back_as_what_they_are() {
        let caches = Caches::new(1 << 20);
        let (one, other) = (caches.new_id(), caches.new_id());
        caches.put(NUMBER.key(one, 5, 6, 7), 8);
        assert_eq!(caches.get(NUMBER.key(one, 5, 6, 7)).as_deref(), Some(&8));
        assert!(caches.get(NUMBER.key(other, 5, 6, 7)).is_none());
        assert!(caches.get(TEXT.key(one, 5, 6, 7)).is_none());
        // Two engines that chose the same number find their own type, or nothing.
        const SAME: Kind<String> = Kind::new(1, String::len);
        assert!(caches.get(SAME.key(one, 5, 6, 7)).is_none());
    }

    #[test]
    fn what_is_held_is_found_although_it_is_too_large() {
        let caches = Caches::new(0);
        let key = TEXT.key(1, 1, 1, 1);
        let held = caches.put(key, "x".repeat(20 << 20));
        assert!(caches.get(key).is_some_and(|found| Arc::ptr_eq(&found, &held)));
        drop(held);
        assert!(caches.get(key).is_none());
    }

    #[test]
    fn the_trouble_of_one_filesystem_is_its_own() {
        let caches = Caches::new(1 << 20);
        let file = |fs| FileKey { fs, packed: false, number: 1 };
        for fs in [1, 2] {
            caches.put(NUMBER.key(fs, 1, 1, 1), 1);
            caches.keep_block(file(fs), 0, Box::new([1]));
            caches.files().get(file(fs), || LocalStorage.open("/dev/null".as_ref())).unwrap();
        }
        let large = caches.put(TEXT.key(1, 9, 9, 9), "x".repeat(20 << 20));
        caches.forget(1);
        for (fs, is_there) in [(1, false), (2, true)] {
            assert_eq!(caches.get(NUMBER.key(fs, 1, 1, 1)).is_some(), is_there);
            assert_eq!(caches.cached_block(file(fs), 0).is_some(), is_there);
            assert_eq!(caches.files().cached(file(fs)).is_some(), is_there);
        }
        assert!(caches.get(TEXT.key(1, 9, 9, 9)).is_none(), "{}", large.len());
    }
}
