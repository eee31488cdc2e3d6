//! The folders of revision properties of a filesystem, and how a change in one of them is noticed.
//!
//! All writers put a new file in place by a rename, which changes the time stamp of the folder that
//! holds it. Each state of a folder has a *version*, a number that grows whenever the stamp is found
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
    stable: bool,
    version: u64,
}

/// The version of a folder that was stable when it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StableVersion(u64);

impl StableVersion {
    /// A number that no other state of any folder of the filesystem has.
    pub(crate) const fn version(self) -> u64 {
        self.0
    }
}

/// What is known of all folders of revision properties of a filesystem.
#[derive(Debug, Default)]
pub(crate) struct RevpropShards {
    known: ShardMap<ShardState>,
    last_version: u64,
}

impl RevpropShards {
    /// The version of a folder whose stamp is now `stamp`, if that has not changed since the folder
    /// was stable.
    pub(crate) fn unchanged(&self, shard: Shard, stamp: Stamp) -> Option<u64> {
        let state = self.known.get(&shard)?;
        (state.stable && state.stamp == stamp).then_some(state.version)
    }

    /// Whether the folder was stable when it was read last.
    pub(crate) fn is_known_stable(&self, shard: Shard) -> bool {
        self.known.get(&shard).is_some_and(|state| state.stable)
    }

    /// Whether `version` is the folder's, and every later change is certain to give another.
    pub(crate) fn is_stable(&self, shard: Shard, version: u64) -> bool {
        self.stable(shard, version).is_some()
    }

    /// The stable version, if `version` is it.
    pub(crate) fn stable(&self, shard: Shard, version: u64) -> Option<StableVersion> {
        let state = self.known.get(&shard)?;
        (state.stable && state.version == version).then_some(StableVersion(version))
    }

    /// The version of a folder whose stamp was `stamp` after `now`.
    pub(crate) fn version(&mut self, shard: Shard, stamp: Stamp, now: SystemTime) -> u64 {
        if let Some(version) = self.unchanged(shard, stamp) {
            return version;
        }
        self.last_version += 1;
        let version = self.last_version;
        let stable = stamp.is_stable(now);
        self.known.insert(shard, ShardState { stamp, stable, version });
        version
    }
}

/// Where properties are, before they are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PropsPlace {
    /// They are in the cache, and take so many bytes there.
    Known(usize),
    /// They are in a file of their own. Read now, they are of this version, or newer.
    InFile { version: u64 },
    /// They are packed, or were changed a moment ago.
    Elsewhere,
}
