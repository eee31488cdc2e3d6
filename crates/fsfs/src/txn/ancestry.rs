//! What writers know of the ancestors of committed node-revisions and representations, so that a
//! base for the next delta is found without reading all of them again.
//!
//! Nothing here is needed: what is not known is read from the repository. Everything here is of
//! revisions, which never change; only a commit that failed late takes some of it back.

use sapwood_core::Exact;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use parking_lot::Mutex;
use sapwood_core::Revnum;
use sapwood_fsfs_format::{NodeRev, NodeRevId};

use super::Writer;
use crate::error::Result;

/// The most values of each kind that are cached.
const KEPT: usize = 1 << 15;

/// How many representations one is a delta to, one after the other, and in how many shards all of
/// them are.
pub(crate) type Chain = (u64, u32);

/// Several steps from a node-revision to its predecessors at once.
#[derive(Clone, Copy, Debug)]
struct Jump {
    /// Where to.
    to: NodeRevId,
    /// How many predecessors back.
    steps: u64,
    /// How many of these steps go to another shard.
    crossings: u32,
}

/// What is known.
#[derive(Debug, Default)]
pub(crate) struct Ancestry {
    /// By the first representation.
    chains: Mutex<Recent<Chain>>,
    jumps: Mutex<Recent<Jump>>,
}

impl Ancestry {
    /// Forgets everything.
    pub(super) fn clear(&self) {
        *self.chains.lock() = Recent::default();
        *self.jumps.lock() = Recent::default();
    }

    /// The chain that begins with a representation, if it is known.
    pub(super) fn chain(&self, revision: Revnum, item: u64) -> Option<Chain> {
        self.chains.lock().get(&(revision.0, item))
    }

    /// Keeps a chain.
    pub(super) fn add_chain(&self, revision: Revnum, item: u64, chain: Chain) {
        self.chains.lock().insert((revision.0, item), chain);
    }
}

/// A walk from a node-revision to its predecessors.
pub(super) struct Ancestor {
    /// Where it is now.
    pub(super) id: NodeRevId,
    /// How often it went from one shard to another.
    pub(super) crossings: u32,
}

impl Writer {
    /// Walks `left` predecessors back, as far as `walk` is known: how many steps are left.
    fn jump(&self, walk: &mut Ancestor, mut left: u64) -> u64 {
        let mut jumps = self.common.ancestry.jumps.lock();
        while left > 0 {
            let known = key(&walk.id).and_then(|key| jumps.get(&key));
            let Some(jump) = known.filter(|jump| jump.steps > 0 && jump.steps <= left) else {
                break;
            };
            walk.id = jump.to;
            walk.crossings = walk.crossings.plus(jump.crossings);
            left = left.minus(jump.steps);
        }
        left
    }

    /// Walks `steps` predecessors back. `node` is whose base is looked for.
    pub(super) fn walk_back(
        &self,
        walk: &mut Ancestor,
        steps: u64,
        node: &NodeRev,
        youngest: Revnum,
    ) -> Result<()> {
        let mut left = self.jump(walk, steps);
        while left > 0 {
            let there = self.fs.fs.node(&walk.id)?;
            self.step(walk, self.predecessor_id(&there, node)?, youngest);
            left = self.jump(walk, left.minus(1));
        }
        Ok(())
    }

    /// Goes to the predecessor `to`.
    pub(super) fn step(&self, walk: &mut Ancestor, to: NodeRevId, youngest: Revnum) {
        let shard = |id: &NodeRevId| self.shard_of(id.revision().unwrap_or(youngest));
        let crosses = shard(&walk.id) != shard(&to);
        walk.crossings = walk.crossings.plus(u32::from(crosses));
        walk.id = to;
    }

    /// Keeps what is known of the predecessors of a new node-revision: how to get to the one that
    /// would be its base if all deltas were skip deltas. Walks to bases of its successors lead
    /// from one such place to the next.
    pub(super) fn note_ancestors(&self, node: &NodeRev) {
        let (Some(first), Some(key)) = (node.predecessor, key(&node.id)) else { return };
        let steps = node.predecessor_count & node.predecessor_count.wrapping_neg();
        let mut walk = Ancestor { id: node.id, crossings: 0 };
        self.step(&mut walk, first, Revnum(key.0));
        let wanted = steps.max(1).minus(1);
        let left = self.jump(&mut walk, wanted);
        let steps = wanted.minus(left).plus(1);
        let jump = Jump { to: walk.id, steps, crossings: walk.crossings };
        self.common.ancestry.jumps.lock().insert(key, jump);
    }
}

fn key(id: &NodeRevId) -> Option<(u64, u64)> {
    Some((id.revision()?.0, id.item()?))
}

/// The values that were last put in or requested: at least half of [`KEPT`].
#[derive(Debug)]
struct Recent<T> {
    new: Map<T>,
    old: Map<T>,
}

type Map<T> = HashMap<(u64, u64), T, BuildHasherDefault<Mix>>;

impl<T> Default for Recent<T> {
    fn default() -> Self {
        Self { new: Map::default(), old: Map::default() }
    }
}

impl<T: Copy> Recent<T> {
    fn get(&mut self, key: &(u64, u64)) -> Option<T> {
        if let Some(value) = self.new.get(key) {
            return Some(*value);
        }
        let value = self.old.remove(key)?;
        self.insert(*key, value);
        Some(value)
    }

    fn insert(&mut self, key: (u64, u64), value: T) {
        if self.new.len() >= KEPT / 2 {
            self.old = std::mem::take(&mut self.new);
        }
        self.new.insert(key, value);
    }
}

/// Mixes numbers that the repository chooses.
#[derive(Default)]
struct Mix(u64);

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u64(&mut self, n: u64) {
        let mixed = (self.0.rotate_left(29) ^ n).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ (mixed >> 32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_values_are_kept() {
        let mut recent = Recent::default();
        let count = u64::try_from(KEPT).unwrap() * 2;
        for n in 0..count {
            recent.insert((n, n % 7), n);
            // What is asked for stays.
            assert_eq!(recent.get(&(3, 3)), (n >= 3).then_some(3), "{n}");
        }
        assert!(recent.new.len() + recent.old.len() <= KEPT);
        let half = count / 4;
        assert!((count - half..count).all(|n| recent.get(&(n, n % 7)) == Some(n)));
        assert_eq!(recent.get(&(5, 5)), None);
    }
}
