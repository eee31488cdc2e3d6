//! What stays in one shard of a cache, and what goes. No shard holds more than its budget.
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

use std::borrow::Borrow;
use std::collections::{HashSet, VecDeque};
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use sapwood_core::Exact;

use super::super::Item;
use super::super::key::{Name, PassThrough};
use super::super::marks::Marks;

/// What an entry costs beside its value: key, slot, map entry, mark, shared pointer's counters.
pub(super) const OVERHEAD: usize = 216;
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
pub(in super::super) struct Usage {
    pub(in super::super) bytes: usize,
    pub(in super::super) entries: usize,
    pub(in super::super) hits: u64,
    pub(in super::super) misses: u64,
}

/// A part of a cache, with a budget of its own.
#[derive(Default)]
pub(super) struct Shard {
    pub(super) budget: usize,
    pub(super) bytes: usize,
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

impl Shard {
    pub(super) fn new(budget: usize) -> Self {
        Self { budget, ..Self::default() }
    }

    /// Adds what it holds, and how it fared.
    pub(super) fn add_to(&self, usage: &mut Usage) {
        usage.bytes.tally(self.bytes);
        usage.entries.tally(self.entries.len());
        usage.hits.tally(self.hits.load(Ordering::Relaxed));
        usage.misses.tally(self.misses.load(Ordering::Relaxed));
    }

    // A call of its own makes a look-up a quarter dearer, and requests are made of look-ups.
    #[inline(always)]
    pub(super) fn get(&self, key: &Name) -> Option<Item> {
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
    pub(super) fn put(&mut self, key: Name, item: Item, weight: usize) -> Vec<Item> {
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

    pub(super) fn make_room(&mut self, gone: &mut Vec<Item>) {
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
    pub(super) fn forget(&mut self, fs: u32) -> Vec<Item> {
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
