//! The folders of revision properties of a filesystem, and how a change in one of them is noticed.
//!
//! All writers put a new file in place by a rename, which changes the time stamp of the folder that
//! holds it. Each state of a folder has a *generation*, a number that grows whenever the stamp is found
//! changed, or cannot be trusted yet because it is so young that another change could leave it as it
//! is.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::time::SystemTime;

use sapwood_store::{PassThrough, Stamp};

/// A folder of revision properties.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shard {
    pub(crate) packed: bool,
    /// The shard's number; 0 for the one folder of the linear layout.
    pub(crate) number: u64,
}

// Shards are looked up in every hot request, and numbers that the repository chooses need no more.
impl Hash for Shard {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let number = (self.number << 1) | u64::from(self.packed);
        state.write_u64(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    }
}

pub(crate) type ShardMap<T> = HashMap<Shard, T, BuildHasherDefault<PassThrough>>;

#[derive(Clone, Copy, Debug)]
struct ShardState {
    stamp: Stamp,
    /// Whether a later change is certain to give another stamp.
    settled: bool,
    generation: u64,
}

/// The generation of a folder that was settled when it was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StableVersion(u64);

impl StableVersion {
    /// A number that no other state of any folder of the filesystem has.
    pub(crate) const fn generation(self) -> u64 {
        self.0
    }
}

/// What is known of all folders of revision properties of a filesystem.
#[derive(Debug, Default)]
pub(crate) struct RevpropShards {
    known: ShardMap<ShardState>,
    last_generation: u64,
}

impl RevpropShards {
    /// The generation of a folder whose stamp is now `stamp`, when that has not changed since it
    /// was settled.
    pub(crate) fn unchanged(&self, shard: Shard, stamp: Stamp) -> Option<u64> {
        let state = self.known.get(&shard)?;
        (state.settled && state.stamp == stamp).then_some(state.generation)
    }

    /// Whether the folder was settled when it was looked at last.
    pub(crate) fn is_known_settled(&self, shard: Shard) -> bool {
        self.known.get(&shard).is_some_and(|state| state.settled)
    }

    /// Whether `generation` is the folder's, and a change would give it another.
    pub(crate) fn is_settled(&self, shard: Shard, generation: u64) -> bool {
        self.stable(shard, generation).is_some()
    }

    /// The folder's state if that is so.
    pub(crate) fn stable(&self, shard: Shard, generation: u64) -> Option<StableVersion> {
        let state = self.known.get(&shard)?;
        (state.settled && state.generation == generation).then_some(StableVersion(generation))
    }

    /// The generation of a folder whose stamp was `stamp` after `now`.
    pub(crate) fn generation(&mut self, shard: Shard, stamp: Stamp, now: SystemTime) -> u64 {
        if let Some(generation) = self.unchanged(shard, stamp) {
            return generation;
        }
        self.last_generation += 1;
        let generation = self.last_generation;
        let settled = stamp.is_settled(now);
        self.known.insert(shard, ShardState { stamp, settled, generation });
        generation
    }
}

/// What is known of properties before they are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unread {
    /// They are in the cache, and take so many bytes there.
    Known(usize),
    /// They are in a file of their own. Read now, they are of this generation, or newer.
    InFile { generation: u64 },
    /// They are packed, or were changed a moment ago.
    Elsewhere,
}
