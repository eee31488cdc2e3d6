//! One cache with a byte budget: sharded, and of use too when less fits than is wanted.
//!
//! Each shard keeps a short first-in-first-out queue for newcomers and a long clock for entries
//! that have proved useful. What falls out of the queue leaves a mark in [`Marks`]. An entry that comes back
//! while its mark is there moves to the clock if the clock holds something that was not used
//! for longer than the newcomer was away; otherwise it queues again. Uses while in the queue count
//! for nothing: the request that brought an entry makes them. So
//!
//! - one pass over more data than fits leaves what is there alone;
//! - repeated passes over more than fits find as much of it as fits, for no newcomer was away for
//!   less than an entry of the clock, which stays;
//! - a new working set stays from its second pass on.
//!
//! Time is counted in bytes put in, so that it stands still while values are only looked up.

use sapwood_core::Exact;
use std::borrow::Borrow;
use std::collections::{HashSet, VecDeque};
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use parking_lot::RwLock;

use super::Item;
use super::key::{Name, PassThrough};
use super::marks::Marks;

/// What an entry costs beside its value: key, slot, map entry, mark, shared pointer's counters.
const OVERHEAD: usize = 216;
/// So many ticks of a shard's time pass while it is filled once.
const TICKS: usize = 256;
/// What was not used for so many ticks makes room for anything: so many times as much as fits was
/// read past it.
const DEAD: u32 = 16 * 256;
/// How many entries of the clock a newcomer may wind on.
const TURNS: u32 = 16;

type Set<T> = HashSet<T, BuildHasherDefault<PassThrough>>;

/// What a look-up needs, in one cache line: look-ups wait for memory most of their time.
#[repr(align(64))]
struct Entry {
    key: Name,
    item: Item,
    slot: u32,
    /// The tick of the last use.
    used: AtomicU32,
}

impl Borrow<Name> for Entry {
    fn borrow(&self) -> &Name {
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
    key: Name,
    /// In bytes; an entry that weighs more than this type can hold is not cached.
    weight: u32,
    /// The tick of the last use when the clock's hand last met the entry.
    seen: u32,
    in_clock: bool,
}

/// How much a cache holds, and how it fared.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Usage {
    pub(super) bytes: usize,
    pub(super) entries: usize,
    pub(super) hits: u64,
    pub(super) misses: u64,
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
    marks: Marks,
    now: u32,
    /// Bytes put in since the last tick.
    since: usize,
    hits: AtomicU64,
    misses: AtomicU64,
}

/// A cache.
pub(super) struct Store {
    shards: Box<[RwLock<Shard>]>,
    /// Whether there is a place for large values.
    has_place: bool,
    /// Values too large for a shard. Their bytes are taken from the budget of the others.
    large: RwLock<Shard>,
    /// Bytes in there.
    large_bytes: AtomicUsize,
    /// Bytes that all shards together may hold.
    budget: AtomicUsize,
}

/// A value that takes more than one byte in so many of a shard is large: a few of them would push
/// out all else.
const LARGE: usize = 8;
/// Large values may take one byte in so many of the budget.
const FOR_LARGE: usize = 4;
/// And so many bytes even if the budget is small: a directory of 40,000 entries.
const LARGE_AT_LEAST: usize = 8 << 20;

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("usage", &self.usage()).finish_non_exhaustive()
    }
}

impl Store {
    /// A cache of at most `budget` bytes, all values of which are small.
    pub(super) fn new(budget: usize) -> Self {
        Self::with_place(budget, 0)
    }

    /// A cache of at most `budget` bytes, or [`LARGE_AT_LEAST`] more if there are large values.
    pub(super) fn with_large(budget: usize) -> Self {
        Self::with_place(budget, for_large(budget))
    }

    fn with_place(budget: usize, for_large: usize) -> Self {
        // Shards of 4 MiB or more, so that one large value does not empty a whole shard.
        let count = budget.checked_div(4 << 20).unwrap_or(0).clamp(1, 64);
        let share = budget.checked_div(count).unwrap_or(0);
        let shard = || RwLock::new(Shard { budget: share, ..Shard::default() });
        let large = Shard { budget: for_large, ..Shard::default() };
        Self {
            shards: std::iter::repeat_with(shard).take(count).collect(),
            has_place: for_large > 0,
            large: RwLock::new(large),
            large_bytes: AtomicUsize::new(0),
            budget: AtomicUsize::new(budget),
        }
    }

    pub(super) fn usage(&self) -> Usage {
        let mut usage = Usage::default();
        for shard in self.shards.iter().chain([&self.large]) {
            let shard = shard.read();
            usage.bytes.tally(shard.bytes);
            usage.entries.tally(shard.entries.len());
            usage.hits.tally(shard.hits.load(Ordering::Relaxed));
            usage.misses.tally(shard.misses.load(Ordering::Relaxed));
        }
        usage
    }

    /// Removes all values of one filesystem.
    pub(super) fn forget(&self, fs: u32) {
        for shard in self.shards.iter().chain([&self.large]) {
            let gone = shard.write().forget(fs);
            drop(gone);
        }
        self.share_out();
    }

    /// Sets the budget to `budget` bytes, and evicts what exceeds it.
    pub(super) fn set_budget(&self, budget: usize) {
        self.budget.store(budget, Ordering::Relaxed);
        if self.has_place {
            set_budget(&self.large, for_large(budget));
        }
        self.share_out();
    }

    /// Gives the shards what the large values leave of the budget.
    fn share_out(&self) {
        let budget = self.budget.load(Ordering::Relaxed);
        let large = self.large.read().bytes;
        self.large_bytes.store(large, Ordering::Relaxed);
        let left = budget.minus(large.min(budget.div_euclid(FOR_LARGE)));
        let share = left.checked_div(self.shards.len()).unwrap_or(0);
        for shard in &self.shards {
            set_budget(shard, share);
        }
    }

    fn shard(&self, hash: u64) -> Option<&RwLock<Shard>> {
        // The map uses the low and the highest bits; take others.
        let count = u64::try_from(self.shards.len()).ok()?;
        let at = (hash >> 32).checked_rem(count)?;
        self.shards.get(usize::try_from(at).ok()?)
    }

    /// The value of `key`.
    pub(super) fn get(&self, key: &Name) -> Option<Item> {
        let found = self.shard(key.hash64()).and_then(|shard| shard.read().get(key));
        if found.is_none() && self.large_bytes.load(Ordering::Relaxed) > 0 {
            return self.get_large(key);
        }
        found
    }

    #[cold]
    fn get_large(&self, key: &Name) -> Option<Item> {
        self.large.read().get(key)
    }

    /// Keeps a value, in place of an earlier one under the same key. Values that are too large
    /// even for the place of the large ones are not kept.
    pub(super) fn put(&self, key: Name, item: Item, weight: usize) {
        let Some(shard) = self.shard(key.hash64()) else { return };
        let mut shard = shard.write();
        let weight = weight.plus(OVERHEAD);
        let part = if self.has_place { LARGE } else { 2 };
        if weight <= shard.budget.checked_div(part).unwrap_or(0) {
            // Values that go are dropped after the lock is released.
            let gone = shard.put(key, item, weight);
            drop(shard);
            drop(gone);
            return;
        }
        drop(shard);
        let mut large = self.large.write();
        if weight <= large.budget {
            let gone = large.put(key, item, weight);
            drop(large);
            drop(gone);
            self.share_out();
        }
    }
}

/// What large values may take of a budget.
fn for_large(budget: usize) -> usize {
    budget.div_euclid(FOR_LARGE).max(LARGE_AT_LEAST)
}

fn set_budget(shard: &RwLock<Shard>, budget: usize) {
    let mut gone = Vec::new();
    let mut shard = shard.write();
    if shard.budget != budget {
        shard.budget = budget;
        shard.make_room(&mut gone);
    }
    drop(shard);
    drop(gone);
}

impl Shard {
    // A call of its own makes a look-up a quarter dearer, and requests are made of look-ups.
    #[inline(always)]
    fn get(&self, key: &Name) -> Option<Item> {
        let Some(entry) = self.entries.get(key) else {
            self.misses.fetch_add(1, Ordering::Relaxed);
            return None;
        };
        self.hits.fetch_add(1, Ordering::Relaxed);
        // Written only where it differs: threads that look up the same share its cache line.
        if entry.used.load(Ordering::Relaxed) != self.now {
            entry.used.store(self.now, Ordering::Relaxed);
        }
        Some(Arc::clone(&entry.item))
    }

    fn slot(&self, at: u32) -> Option<&Slot> {
        self.slots.get(usize::try_from(at).ok()?)?.as_ref()
    }

    fn slot_mut(&mut self, at: u32) -> Option<&mut Option<Slot>> {
        self.slots.get_mut(usize::try_from(at).ok()?)
    }

    /// Caches a value. Evicted values are returned, to be dropped without the lock.
    fn put(&mut self, key: Name, item: Item, weight: usize) -> Vec<Item> {
        let mut gone = Vec::new();
        let Ok(slot_weight) = u32::try_from(weight) else { return vec![item] };
        if let Some(mut entry) = self.entries.take(&key) {
            gone.push(std::mem::replace(&mut entry.item, item));
            let at = entry.slot;
            self.entries.insert(entry);
            if let Some(slot) = self.slot_mut(at).and_then(Option::as_mut) {
                let (old, in_clock) = (slot.bytes(), slot.in_clock);
                slot.weight = slot_weight;
                self.bytes = self.bytes.minus(old).plus(weight);
                if !in_clock {
                    self.young_bytes = self.young_bytes.minus(old).plus(weight);
                }
            }
            self.make_room(&mut gone);
            return gone;
        }
        self.pass_time(weight);
        let away = self.marks.take(key.hash64(), self.now);
        let in_clock = away.is_some_and(|away| self.make_place(weight, away, &mut gone));
        let at = match self.free.pop() {
            Some(at) => at,
            None => {
                let Ok(at) = u32::try_from(self.slots.len()) else { return vec![item] };
                self.slots.push(None);
                at
            }
        };
        let seen = self.now;
        if let Some(place) = self.slot_mut(at) {
            *place = Some(Slot { key, weight: slot_weight, seen, in_clock });
        }
        self.entries.insert(Entry { key, item, slot: at, used: AtomicU32::new(seen) });
        self.bytes = self.bytes.plus(weight);
        if in_clock {
            self.clock.push_back(at);
        } else {
            self.young.push_back(at);
            self.young_bytes = self.young_bytes.plus(weight);
        }
        self.make_room(&mut gone);
        gone
    }

    fn pass_time(&mut self, weight: usize) {
        let tick = self.budget.div_euclid(TICKS).max(1);
        self.since = self.since.plus(weight);
        let ticks = self.since.checked_div(tick).unwrap_or(0);
        self.since = self.since.checked_rem(tick).unwrap_or(0);
        self.now = self.now.wrapping_add(u32::try_from(ticks).unwrap_or(u32::MAX));
    }

    /// Makes room in the clock for an entry that was `away` for so many ticks, if there are entries
    /// that were not used for longer: whether there is room now.
    fn make_place(&mut self, weight: usize, away: u32, gone: &mut Vec<Item>) -> bool {
        // Time is coarse, and what is read together does not keep its order: what is about equal
        // stays.
        let limit = away.plus(away.div_euclid(8)).plus(2);
        while !self.fits_in_clock(weight) {
            if self.oldest().is_none_or(|idle| idle <= limit) {
                return false;
            }
            self.evict_clock(gone);
        }
        true
    }

    /// Winds the clock on to an entry that was not used since the hand met it last: for how many
    /// ticks it was not used.
    fn oldest(&mut self) -> Option<u32> {
        for _ in 0..TURNS {
            let at = *self.clock.front()?;
            let used = self.used(at)?;
            let slot = self.slot_mut(at)?.as_mut()?;
            if std::mem::replace(&mut slot.seen, used) == used {
                return Some(self.now.wrapping_sub(used));
            }
            self.clock.rotate_left(1);
        }
        None
    }

    /// The queue's share of the bytes.
    fn for_young(&self) -> usize {
        self.budget / 10
    }

    fn fits_in_clock(&self, weight: usize) -> bool {
        let in_clock = self.bytes.minus(self.young_bytes);
        in_clock.plus(weight) <= self.budget.minus(self.for_young())
    }

    fn make_room(&mut self, gone: &mut Vec<Item>) {
        while self.young_bytes > self.for_young() {
            if self.leave_young(gone).is_none() {
                break;
            }
        }
        // Only where a value was replaced by a larger one, or the budget is smaller now.
        while self.bytes > self.budget {
            self.oldest();
            if self.evict_clock(gone).is_none() {
                break;
            }
        }
    }

    fn move_to_clock(&mut self, at: u32) {
        if let Some(slot) = self.slot_mut(at).and_then(Option::as_mut) {
            slot.in_clock = true;
        }
        self.clock.push_back(at);
    }

    fn used(&self, at: u32) -> Option<u32> {
        Some(self.entries.get(&self.slot(at)?.key)?.used.load(Ordering::Relaxed))
    }

    /// Sends the first of the queue away, or to the clock where that is not full yet: so the first
    /// pass over the data fills it.
    fn leave_young(&mut self, gone: &mut Vec<Item>) -> Option<()> {
        let at = self.young.pop_front()?;
        let weight = self.slot(at).map_or(0, Slot::bytes);
        self.young_bytes = self.young_bytes.minus(weight);
        // While it is neither here nor there it counts as one of the clock.
        if self.fits_in_clock(0) {
            self.move_to_clock(at);
        } else if self.oldest().is_some_and(|idle| idle > DEAD) {
            self.evict_clock(gone);
            self.move_to_clock(at);
        } else {
            let used = self.used(at)?;
            let hash = self.slot(at)?.key.hash64();
            self.marks.add(hash, used, self.now, self.entries.len());
            self.drop_slot(at, gone);
        }
        Some(())
    }

    fn evict_clock(&mut self, gone: &mut Vec<Item>) -> Option<()> {
        let at = self.clock.pop_front()?;
        // What is pushed out comes back by the same way as a newcomer.
        let used = self.used(at)?;
        let hash = self.slot(at)?.key.hash64();
        self.marks.add(hash, used, self.now, self.entries.len());
        self.drop_slot(at, gone);
        Some(())
    }

    /// Drops all entries of one filesystem: what is left keeps its order.
    fn forget(&mut self, fs: u32) -> Vec<Item> {
        let mut gone = Vec::new();
        let is_of = |slots: &[Option<Slot>], at: u32| {
            let slot = usize::try_from(at).ok().and_then(|at| slots.get(at)?.as_ref());
            slot.is_some_and(|slot| slot.key.fs == fs)
        };
        let (mut young, mut clock) =
            (std::mem::take(&mut self.young), std::mem::take(&mut self.clock));
        for (queue, is_young) in [(&mut young, true), (&mut clock, false)] {
            queue.retain(|&at| {
                if !is_of(&self.slots, at) {
                    return true;
                }
                if is_young {
                    let weight = self.slot(at).map_or(0, Slot::bytes);
                    self.young_bytes = self.young_bytes.minus(weight);
                }
                self.drop_slot(at, &mut gone);
                false
            });
        }
        (self.young, self.clock) = (young, clock);
        gone
    }

    fn drop_slot(&mut self, at: u32, gone: &mut Vec<Item>) {
        if let Some(slot) = self.slot_mut(at).and_then(Option::take) {
            self.bytes = self.bytes.minus(slot.bytes());
            self.free.push(at);
            gone.extend(self.entries.take(&slot.key).map(|entry| entry.item));
        }
    }
}

impl Slot {
    fn bytes(&self) -> usize {
        sapwood_core::exact::clamped(self.weight)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(n: u64) -> Name {
        Name::new(1, 0, n, 0, 0)
    }

    fn fill(store: &Store, n: u64, weight: usize) {
        store.put(key(n), Arc::new(n), weight);
    }

    /// Hits of one pass over `count` keys that puts in what it misses.
    fn pass(store: &Store, from: u64, count: u64, weight: usize) -> u64 {
        let mut hits = 0;
        for n in from..from + count {
            match store.get(&key(n)) {
                Some(found) => {
                    assert_eq!(found.downcast_ref(), Some(&n));
                    hits += 1;
                }
                None => fill(store, n, weight),
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
    fn a_smaller_budget_holds_at_once_and_a_larger_one_is_used() {
        let store = Store::new(8 << 20);
        pass(&store, 0, 40_000, 400);
        assert!(store.usage().bytes > 7 << 20);
        store.set_budget(2 << 20);
        assert!(store.usage().bytes <= 2 << 20 && store.usage().bytes > 1 << 20);
        store.set_budget(8 << 20);
        pass(&store, 0, 40_000, 400);
        assert!(store.usage().bytes > 7 << 20 && store.usage().bytes <= 8 << 20);
    }

    #[test]
    fn one_filesystem_is_forgotten_and_others_are_not() {
        let store = Store::with_large(1 << 20);
        let of = |fs: u32, n: u64| Name::new(fs, 0, n, 0, 0);
        for n in 0..4000 {
            store.put(of(1 + u32::from(n % 3 == 0), n), Arc::new(n), 100);
        }
        store.put(of(2, 9999), Arc::new(()), 300 << 10);
        let held = |fs: u32| (0..10_000).filter(|n| store.get(&of(fs, *n)).is_some()).count();
        let (kept, usage) = (held(1), store.usage());
        assert!(kept > 500 && held(2) > 200 && store.get(&of(2, 9999)).is_some());
        store.forget(2);
        assert_eq!((held(1), held(2)), (kept, 0));
        let left = store.usage();
        assert_eq!((left.entries, left.bytes), (kept, kept * (100 + OVERHEAD)));
        assert!(usage.bytes > left.bytes);
        // Their room is there for others.
        for n in 10_000..14_000 {
            store.put(of(1, n), Arc::new(n), 100);
        }
        assert!(store.usage().bytes > 900 << 10 && store.usage().bytes <= 1 << 20);
    }

    #[test]
    fn replaces_values() {
        let store = Store::new(1 << 20);
        fill(&store, 1, 100);
        fill(&store, 1, 300);
        let usage = store.usage();
        assert_eq!((usage.entries, usage.bytes), (1, 300 + OVERHEAD));
    }

    /// Hits of one pass as a request with a reader ahead makes it: what is brought is taken out
    /// later, twice.
    fn pass_ahead(store: &Store, from: u64, count: u64, weight: usize) -> u64 {
        let mut hits = 0;
        for batch in (from..from + count).step_by(16) {
            for n in batch..batch + 16 {
                hits += u64::from(store.get(&key(n)).is_some());
                if store.get(&key(n)).is_none() {
                    fill(store, n, weight);
                }
            }
            for n in batch..batch + 16 {
                assert!(store.get(&key(n)).is_some() && store.get(&key(n)).is_some());
            }
        }
        hits
    }

    #[test]
    fn repeated_passes_over_too_much_still_hit() {
        // Room for 1,000 of so many in a cycle: nearly the best possible, which is 1,000.
        for (count, expected) in [(1056, 850), (1696, 850), (2000, 850), (3200, 800)] {
            let store = Store::new(1000 * (400 + OVERHEAD));
            for _ in 0..3 {
                pass(&store, 0, count, 400);
            }
            let hits = pass(&store, 0, count, 400);
            assert!(hits > expected, "{count}: {hits}");
            let store = Store::new(1000 * (400 + OVERHEAD));
            for _ in 0..3 {
                pass_ahead(&store, 0, count, 400);
            }
            let hits = pass_ahead(&store, 0, count, 400);
            assert!(hits > expected, "{count} ahead: {hits}");
            for _ in 0..20 {
                pass_ahead(&store, 0, count, 400);
            }
            let hits = pass_ahead(&store, 0, count, 400);
            assert!(hits > expected, "{count} ahead, later: {hits}");
        }
    }

    #[test]
    fn what_is_made_of_others_ousts_them() {
        // As a log does it: sixteen pieces of raw material for one product. Room for half of all
        // together, which is room for all products.
        let store = Store::new(1_000 * (400 + OVERHEAD));
        let mut products = 0;
        for round in 0..10 {
            for n in 0..100 {
                if store.get(&key((1 << 40) | n)).is_some() {
                    products += u64::from(round > 5);
                    continue;
                }
                pass_ahead(&store, n * 16, 16, 400);
                fill(&store, (1 << 40) | n, 2400);
            }
        }
        assert!(products > 4 * 95, "{products}");
    }

    #[test]
    fn what_was_not_used_for_very_long_goes() {
        // Passes so long that no mark lasts for one: they find nothing while the clock is full of
        // what is not wanted any more.
        let store = Store::new(1000 * (400 + OVERHEAD));
        pass(&store, 1 << 40, 1000, 400);
        assert_eq!(pass(&store, 0, 10_000, 400), 0);
        assert_eq!(pass(&store, 0, 10_000, 400), 0);
        assert!(pass(&store, 0, 10_000, 400) > 300);
    }

    #[test]
    fn what_is_used_often_stays() {
        // Three of four look-ups go to a tenth of the keys, without any order.
        let store = Store::new(1000 * (400 + OVERHEAD));
        let (mut random, mut hits) = (1u64, 0);
        for round in 0..40_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let (n, rare) = ((random >> 33) % 8000, (random >> 61) < 2);
            let n = if rare { n } else { n % 800 };
            if store.get(&key(n)).is_some() {
                hits += u64::from(round >= 20_000);
            } else {
                fill(&store, n, 400);
            }
        }
        // All of the tenth would be 15,000 and some by chance.
        assert!(hits > 14_000, "{hits}");
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
