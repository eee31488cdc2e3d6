//! One cache with a byte budget: sharded, and of use too when less fits than is wanted ([`shard`] says how).
//!
//! Invariant: all shards together, with the one of the large values, hold no more than the budget, but for
//! [`LARGE_AT_LEAST`].

mod shard;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::RwLock;
use sapwood_core::Exact;

pub(super) use self::shard::Usage;
use self::shard::{OVERHEAD, Shard};
use super::Item;
use super::key::Name;

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
        let shard = || RwLock::new(Shard::new(share));
        let large = Shard::new(for_large);
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
            shard.read().add_to(&mut usage);
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
