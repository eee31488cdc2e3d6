//! One cache with a byte budget: sharded, safe against scans.
//!
//! Each shard keeps a short first-in-first-out queue for newcomers and a long clock for entries
//! that have proved useful. A newcomer moves to the clock when it is used again while in the
//! queue, when it comes back soon after it was evicted (a list of hashes remembers), or, one time
//! in 32, by chance. So one pass over more data than fits leaves most of what is there alone, and
//! repeated passes over more than fits still find what stayed, while a new working set settles in
//! at its second pass.

use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};
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

/// A key with its hash.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Hashed {
    hash: u64,
    key: Key,
}

impl std::hash::Hash for Hashed {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

type Map<K, V> = HashMap<K, V, BuildHasherDefault<PassThrough>>;

struct Slot {
    key: Hashed,
    item: Item,
    weight: usize,
    uses: AtomicU8,
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
    map: Map<Hashed, usize>,
    slots: Vec<Option<Slot>>,
    free: Vec<usize>,
    young: VecDeque<usize>,
    clock: VecDeque<usize>,
    ghosts: VecDeque<u64>,
    ghost_set: HashSet<u64, BuildHasherDefault<PassThrough>>,
    random: u32,
}

/// A cache.
pub(crate) struct Store {
    shards: Box<[RwLock<Shard>]>,
    hits: AtomicU64,
    misses: AtomicU64,
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
        Self {
            shards: std::iter::repeat_with(shard).take(count).collect(),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
        }
    }

    pub(crate) fn usage(&self) -> Usage {
        let mut usage = Usage {
            hits: self.hits.load(Ordering::Relaxed),
            misses: self.misses.load(Ordering::Relaxed),
            ..Usage::default()
        };
        for shard in &self.shards {
            let shard = shard.read();
            usage.bytes = usage.bytes.saturating_add(shard.bytes);
            usage.entries = usage.entries.saturating_add(shard.map.len());
        }
        usage
    }

    fn shard(&self, hash: u64) -> Option<&RwLock<Shard>> {
        // The map uses the low and the highest bits; take others.
        let count = u64::try_from(self.shards.len()).ok()?;
        let at = (hash >> 32).checked_rem(count)?;
        self.shards.get(usize::try_from(at).ok()?)
    }

    /// The value of `key`.
    pub(crate) fn get(&self, key: &Key) -> Option<Item> {
        let key = Hashed { hash: key.hash64(), key: *key };
        let found = self.shard(key.hash).and_then(|shard| shard.read().get(&key));
        let counter = if found.is_some() { &self.hits } else { &self.misses };
        counter.fetch_add(1, Ordering::Relaxed);
        found
    }

    /// Keeps a value, in place of an earlier one under the same key. Values that are too large
    /// are not kept.
    pub(crate) fn put(&self, key: Key, item: Item, weight: usize) {
        let key = Hashed { hash: key.hash64(), key };
        let Some(shard) = self.shard(key.hash) else { return };
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
    fn get(&self, key: &Hashed) -> Option<Item> {
        let slot = self.slots.get(*self.map.get(key)?)?.as_ref()?;
        let uses = slot.uses.load(Ordering::Relaxed);
        if uses < MAX_USES {
            slot.uses.store(uses.saturating_add(1), Ordering::Relaxed);
        }
        Some(slot.item.clone())
    }

    fn put(&mut self, key: Hashed, item: Item, weight: usize) -> Vec<Item> {
        let mut gone = Vec::new();
        let old = self.map.get(&key).copied();
        if let Some(slot) = old.and_then(|at| self.slots.get_mut(at)?.as_mut()) {
            self.bytes = self.bytes.saturating_sub(slot.weight).saturating_add(weight);
            if !slot.in_clock {
                self.young_bytes =
                    self.young_bytes.saturating_sub(slot.weight).saturating_add(weight);
            }
            slot.weight = weight;
            gone.push(std::mem::replace(&mut slot.item, item));
            self.make_room(&mut gone);
            return gone;
        }
        // While there is room, or when it was here not long ago, it goes straight to the clock.
        let in_clock = self.ghost_set.remove(&key.hash);
        let slot = Slot { key, item, weight, uses: AtomicU8::new(0), in_clock };
        let at = match self.free.pop() {
            Some(at) => at,
            None => {
                self.slots.push(None);
                self.slots.len().saturating_sub(1)
            }
        };
        if let Some(place) = self.slots.get_mut(at) {
            *place = Some(slot);
        }
        self.map.insert(key, at);
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

    /// A cheap pseudo-random number (xorshift).
    fn chance(&mut self) -> bool {
        let mut x = self.random;
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        self.random = x;
        x.checked_rem(CHANCE) == Some(0)
    }

    fn make_room(&mut self, gone: &mut Vec<Item>) {
        let for_young = self.budget.checked_div(10).unwrap_or(0);
        // Newcomers beyond their share move on while there is room, so that the first pass over
        // the data fills the clock.
        while self.young_bytes > for_young && self.bytes <= self.budget {
            let Some(at) = self.pop_young() else { break };
            self.to_clock(at);
        }
        while self.bytes > self.budget {
            let from_young = self.young_bytes > for_young || self.clock.is_empty();
            let done = if from_young { self.evict_young(gone) } else { self.evict_clock(gone) };
            if done.is_none() {
                break;
            }
        }
    }

    fn pop_young(&mut self) -> Option<usize> {
        let at = self.young.pop_front()?;
        let weight = self.slots.get(at).and_then(Option::as_ref).map_or(0, |s| s.weight);
        self.young_bytes = self.young_bytes.saturating_sub(weight);
        Some(at)
    }

    fn to_clock(&mut self, at: usize) {
        if let Some(slot) = self.slots.get_mut(at).and_then(Option::as_mut) {
            slot.in_clock = true;
            slot.uses.store(0, Ordering::Relaxed);
        }
        self.clock.push_back(at);
    }

    fn evict_young(&mut self, gone: &mut Vec<Item>) -> Option<()> {
        let at = self.pop_young()?;
        let slot = self.slots.get(at)?.as_ref()?;
        if slot.uses.load(Ordering::Relaxed) > 0 || self.chance() {
            self.to_clock(at);
            return Some(());
        }
        let hash = self.slots.get(at)?.as_ref()?.key.hash;
        self.ghosts.push_back(hash);
        self.ghost_set.insert(hash);
        while self.ghosts.len() > self.map.len() {
            if let Some(old) = self.ghosts.pop_front() {
                self.ghost_set.remove(&old);
            }
        }
        self.drop_slot(at, gone);
        Some(())
    }

    fn evict_clock(&mut self, gone: &mut Vec<Item>) -> Option<()> {
        let at = self.clock.pop_front()?;
        let slot = self.slots.get(at)?.as_ref()?;
        let uses = slot.uses.load(Ordering::Relaxed);
        if uses > 0 {
            slot.uses.store(uses.saturating_sub(1), Ordering::Relaxed);
            self.clock.push_back(at);
        } else {
            self.drop_slot(at, gone);
        }
        Some(())
    }

    fn drop_slot(&mut self, at: usize, gone: &mut Vec<Item>) {
        if let Some(slot) = self.slots.get_mut(at).and_then(Option::take) {
            self.map.remove(&slot.key);
            self.bytes = self.bytes.saturating_sub(slot.weight);
            self.free.push(at);
            gone.push(slot.item);
        }
    }
}
