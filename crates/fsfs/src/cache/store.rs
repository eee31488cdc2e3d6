//! One cache with a byte budget: sharded, safe against scans.
//!
//! Each shard keeps a short first-in-first-out queue for newcomers and a long clock for entries
//! that have proved useful. A newcomer moves to the clock when it is used again while in the
//! queue, when it comes back soon after it was evicted (a list of hashes remembers), or, one time
//! in 32, by chance. So one pass over more data than fits leaves most of what is there alone, and
//! repeated passes over more than fits still find what stayed, while a new working set settles in
//! at its second pass.

use std::borrow::Borrow;
use std::collections::{HashSet, VecDeque};
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use parking_lot::RwLock;

use crate::cache::item::{Item, Key};

/// What an entry costs beside its value: key, slot, map entry, shared pointer's counters.
const OVERHEAD: usize = 160;
/// How often an entry may be passed over by the clock.
const MAX_USES: u8 = 3;
/// One newcomer in so many moves to the clock without having been used.
const CHANCE: u32 = 32;

/// Keys hash themselves; this only hands the number on.
#[derive(Default)]
struct PassThrough(u64);

impl Hasher for PassThrough {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, _: &[u8]) {}
    fn write_u64(&mut self, n: u64) {
        self.0 = n;
    }
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash64());
    }
}

type Set<T> = HashSet<T, BuildHasherDefault<PassThrough>>;

/// What a look-up needs, in one cache line: look-ups wait for memory most of their time.
#[repr(align(64))]
struct Entry {
    key: Key,
    item: Item,
    slot: u32,
    uses: AtomicU8,
}

impl Borrow<Key> for Entry {
    fn borrow(&self) -> &Key {
        &self.key
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for Entry {}

impl Hash for Entry {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key.hash(state);
    }
}

/// What eviction needs.
#[derive(Clone, Copy)]
struct Slot {
    key: Key,
    weight: usize,
    in_clock: bool,
}

/// How much a cache holds, and how it fared.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Usage {
    pub(crate) bytes: usize,
    pub(crate) entries: usize,
    pub(crate) hits: u64,
    pub(crate) misses: u64,
}

#[derive(Default)]
struct Shard {
    budget: usize,
    bytes: usize,
    young_bytes: usize,
    entries: Set<Entry>,
    slots: Vec<Option<Slot>>,
    free: Vec<u32>,
    young: VecDeque<u32>,
    clock: VecDeque<u32>,
    ghosts: VecDeque<u64>,
    ghost_set: Set<u64>,
    random: u32,
    hits: AtomicU64,
    misses: AtomicU64,
}

/// A cache.
pub(crate) struct Store {
    shards: Box<[RwLock<Shard>]>,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("usage", &self.usage()).finish_non_exhaustive()
    }
}

impl Store {
    /// A cache of at most `budget` bytes.
    pub(crate) fn new(budget: usize) -> Self {
        // Shards of 4 MiB or more, so that one large value does not empty a whole shard.
        let count = budget.checked_div(4 << 20).unwrap_or(0).clamp(1, 64);
        let share = budget.checked_div(count).unwrap_or(0);
        let shard =
            || RwLock::new(Shard { budget: share, random: 0x9e37_79b9, ..Shard::default() });
        Self { shards: std::iter::repeat_with(shard).take(count).collect() }
    }

    pub(crate) fn usage(&self) -> Usage {
        let mut usage = Usage::default();
        for shard in &self.shards {
            let shard = shard.read();
            usage.bytes = usage.bytes.saturating_add(shard.bytes);
            usage.entries = usage.entries.saturating_add(shard.entries.len());
            usage.hits = usage.hits.saturating_add(shard.hits.load(Ordering::Relaxed));
            usage.misses = usage.misses.saturating_add(shard.misses.load(Ordering::Relaxed));
        }
        usage
    }

    /// Forgets all values.
    pub(crate) fn clear(&self) {
        for shard in &self.shards {
            let mut shard = shard.write();
            let fresh = Shard { budget: shard.budget, random: shard.random, ..Shard::default() };
            let gone = std::mem::replace(&mut *shard, fresh);
            drop(shard);
            drop(gone);
        }
    }

    fn shard(&self, hash: u64) -> Option<&RwLock<Shard>> {
        // The map uses the low and the highest bits; take others.
        let count = u64::try_from(self.shards.len()).ok()?;
        let at = (hash >> 32).checked_rem(count)?;
        self.shards.get(usize::try_from(at).ok()?)
    }

    /// The value of `key`.
    pub(crate) fn get(&self, key: &Key) -> Option<Item> {
        self.shard(key.hash64()).and_then(|shard| shard.read().get(key))
    }

    /// Keeps a value, in place of an earlier one under the same key. Values that are too large
    /// are not kept.
    pub(crate) fn put(&self, key: Key, item: Item, weight: usize) {
        let Some(shard) = self.shard(key.hash64()) else { return };
        let mut shard = shard.write();
        let weight = weight.saturating_add(OVERHEAD);
        if weight <= shard.budget.checked_div(2).unwrap_or(0) {
            // Values that go are dropped after the lock is released.
            let gone = shard.put(key, item, weight);
            drop(shard);
            drop(gone);
        }
    }
}

impl Shard {
    fn get(&self, key: &Key) -> Option<Item> {
        let Some(entry) = self.entries.get(key) else {
            self.misses.fetch_add(1, Ordering::Relaxed);
            return None;
        };
        self.hits.fetch_add(1, Ordering::Relaxed);
        let uses = entry.uses.load(Ordering::Relaxed);
        if uses < MAX_USES {
            entry.uses.store(uses.saturating_add(1), Ordering::Relaxed);
        }
        Some(entry.item.clone())
    }

    fn slot(&self, at: u32) -> Option<&Slot> {
        self.slots.get(usize::try_from(at).ok()?)?.as_ref()
    }

    fn slot_mut(&mut self, at: u32) -> Option<&mut Option<Slot>> {
        self.slots.get_mut(usize::try_from(at).ok()?)
    }

    /// Keeps a value. What had to go is handed back, to be dropped without the lock.
    fn put(&mut self, key: Key, item: Item, weight: usize) -> Vec<Item> {
        let mut gone = Vec::new();
        if let Some(Entry { key, item: before, slot: at, uses }) = self.entries.take(&key) {
            gone.push(before);
            self.entries.insert(Entry { key, item, slot: at, uses });
            if let Some(slot) = self.slot_mut(at).and_then(Option::as_mut) {
                let (old, in_clock) = (slot.weight, slot.in_clock);
                slot.weight = weight;
                self.bytes = self.bytes.saturating_sub(old).saturating_add(weight);
                if !in_clock {
                    self.young_bytes = self.young_bytes.saturating_sub(old).saturating_add(weight);
                }
            }
            self.make_room(&mut gone);
            return gone;
        }
        // What was here not long ago goes straight to the clock.
        let in_clock = self.ghost_set.remove(&key.hash64());
        let at = match self.free.pop() {
            Some(at) => at,
            None => {
                let Ok(at) = u32::try_from(self.slots.len()) else { return vec![item] };
                self.slots.push(None);
                at
            }
        };
        if let Some(place) = self.slot_mut(at) {
            *place = Some(Slot { key, weight, in_clock });
        }
        self.entries.insert(Entry { key, item, slot: at, uses: AtomicU8::new(0) });
        self.bytes = self.bytes.saturating_add(weight);
        if in_clock {
            self.clock.push_back(at);
        } else {
            self.young.push_back(at);
            self.young_bytes = self.young_bytes.saturating_add(weight);
        }
        self.make_room(&mut gone);
        gone
    }

    /// True one time in [`CHANCE`] (xorshift).
    const fn chance(&mut self) -> bool {
        let mut x = self.random;
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        self.random = x;
        x.is_multiple_of(CHANCE)
    }

    fn make_room(&mut self, gone: &mut Vec<Item>) {
        let for_young = self.budget / 10;
        // Newcomers beyond their share move on while there is room, so that the first pass over
        // the data fills the clock.
        while self.young_bytes > for_young && self.bytes <= self.budget {
            let Some(at) = self.pop_young() else { break };
            self.move_to_clock(at);
        }
        while self.bytes > self.budget {
            let from_young = self.young_bytes > for_young || self.clock.is_empty();
            let done = if from_young { self.evict_young(gone) } else { self.evict_clock(gone) };
            if done.is_none() {
                break;
            }
        }
    }

    fn pop_young(&mut self) -> Option<u32> {
        let at = self.young.pop_front()?;
        let weight = self.slot(at).map_or(0, |s| s.weight);
        self.young_bytes = self.young_bytes.saturating_sub(weight);
        Some(at)
    }

    fn move_to_clock(&mut self, at: u32) {
        if let Some(slot) = self.slot_mut(at).and_then(Option::as_mut) {
            slot.in_clock = true;
            let key = slot.key;
            if let Some(entry) = self.entries.get(&key) {
                entry.uses.store(0, Ordering::Relaxed);
            }
        }
        self.clock.push_back(at);
    }

    fn uses(&self, at: u32) -> Option<&AtomicU8> {
        Some(&self.entries.get(&self.slot(at)?.key)?.uses)
    }

    fn evict_young(&mut self, gone: &mut Vec<Item>) -> Option<()> {
        let at = self.pop_young()?;
        let used = self.uses(at)?.load(Ordering::Relaxed) > 0;
        if used || self.chance() {
            self.move_to_clock(at);
            return Some(());
        }
        let hash = self.slot(at)?.key.hash64();
        self.ghosts.push_back(hash);
        self.ghost_set.insert(hash);
        while self.ghosts.len() > self.entries.len() {
            if let Some(old) = self.ghosts.pop_front() {
                self.ghost_set.remove(&old);
            }
        }
        self.drop_slot(at, gone);
        Some(())
    }

    fn evict_clock(&mut self, gone: &mut Vec<Item>) -> Option<()> {
        let at = self.clock.pop_front()?;
        let uses = self.uses(at)?;
        let count = uses.load(Ordering::Relaxed);
        if count > 0 {
            uses.store(count.saturating_sub(1), Ordering::Relaxed);
            self.clock.push_back(at);
        } else {
            self.drop_slot(at, gone);
        }
        Some(())
    }

    fn drop_slot(&mut self, at: u32, gone: &mut Vec<Item>) {
        if let Some(slot) = self.slot_mut(at).and_then(Option::take) {
            self.bytes = self.bytes.saturating_sub(slot.weight);
            self.free.push(at);
            gone.extend(self.entries.take(&slot.key).map(|entry| entry.item));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::item::{Block, Kind};
    use std::sync::Arc;

    fn key(n: u64) -> Key {
        Key { fs: 1, kind: Kind::Block, a: n, b: 0, part: 0 }
    }

    fn fill(store: &Store, n: u64, weight: usize) {
        store.put(key(n), Item::Block(Arc::new(Block(n.to_le_bytes().into()))), weight);
    }

    /// Hits of one pass over `count` keys that puts in what it misses.
    fn pass(store: &Store, from: u64, count: u64, weight: usize) -> u64 {
        let mut hits = 0;
        for n in from..from + count {
            match store.get(&key(n)) {
                Some(Item::Block(block)) => {
                    assert_eq!(*block.0, n.to_le_bytes());
                    hits += 1;
                }
                _ => fill(store, n, weight),
            }
        }
        hits
    }

    #[test]
    fn stays_within_its_budget() {
        let store = Store::new(1 << 20);
        for n in 0..100_000 {
            fill(&store, n, usize::try_from(n % 700).unwrap());
            if n % 1000 == 0 {
                assert!(store.usage().bytes <= 1 << 20);
            }
        }
        fill(&store, 1, 1 << 30);
        assert!(store.usage().bytes <= 1 << 20);
        assert!(store.usage().bytes > 900 << 10);
    }

    #[test]
    fn replaces_values() {
        let store = Store::new(1 << 20);
        fill(&store, 1, 100);
        fill(&store, 1, 300);
        let usage = store.usage();
        assert_eq!((usage.entries, usage.bytes), (1, 300 + OVERHEAD));
    }

    #[test]
    fn repeated_passes_over_too_much_still_hit() {
        // Room for 1,000; 1,700 in a cycle: at least half of the best possible.
        let store = Store::new(1000 * (400 + OVERHEAD));
        for _ in 0..5 {
            pass(&store, 0, 1700, 400);
        }
        let hits = pass(&store, 0, 1700, 400);
        assert!(hits > 450, "{hits}");
    }

    #[test]
    fn a_new_working_set_settles_in() {
        let store = Store::new(1000 * (400 + OVERHEAD));
        for _ in 0..5 {
            pass(&store, 0, 800, 400);
        }
        assert_eq!(pass(&store, 0, 800, 400), 800);
        for _ in 0..6 {
            pass(&store, 10_000, 800, 400);
        }
        let hits = pass(&store, 10_000, 800, 400);
        assert!(hits > 700, "{hits}");
    }

    #[test]
    fn one_large_scan_leaves_the_working_set_alone() {
        let store = Store::new(1000 * (400 + OVERHEAD));
        for _ in 0..5 {
            pass(&store, 0, 800, 400);
        }
        pass(&store, 10_000, 5_000, 400);
        let hits = pass(&store, 0, 800, 400);
        assert!(hits > 600, "{hits}");
    }
}
