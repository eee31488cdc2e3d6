//! Packs are built while others are finished: shards are built on several threads, and handed on in
//! groups, in their order.

use sapwood_core::Exact;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;

use parking_lot::{Condvar, Mutex};

use crate::error::{Error, Result};
use sapwood_store::write::NewFile;

/// Shards that are made durable and shown together, at most.
const AT_ONCE: usize = 8;
/// Bytes of packs from which on no more are put together, or built ahead.
const BYTES_AT_ONCE: u64 = 128 << 20;

/// The files of a pack, which are complete but not durable.
#[derive(Debug, Default)]
pub(super) struct ShardFiles {
    pub(super) files: Vec<(Box<dyn NewFile>, PathBuf)>,
    pub(super) bytes: u64,
}

/// Builds a shard.
pub(super) type Builder<'a> = &'a (dyn Fn(u64) -> Result<ShardFiles> + Sync);

/// The shards between the threads that build and the one that finishes them.
pub(super) struct BuildQueue<'a> {
    build: Builder<'a>,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    /// The next shard to be built, and where they end.
    next: u64,
    end: u64,
    /// The first that is not finished.
    unfinished: u64,
    built: BTreeMap<u64, Result<ShardFiles>>,
    /// Bytes of shards that are built and not finished.
    bytes: u64,
    /// Threads that build.
    builders: usize,
    stopped: bool,
}

impl State {
    /// Whether the next shard may be built now: the number of unfinished shards is limited.
    fn may_build(&self) -> bool {
        let ahead = self.next.saturating_sub(self.unfinished);
        let most = sapwood_core::exact::len64(AT_ONCE).times(2);
        ahead == 0 || (ahead < most && self.bytes <= BYTES_AT_ONCE)
    }

    /// How many shards can be finished together now; `None` when it is better to wait for more.
    fn group(&self) -> Option<usize> {
        let (mut count, mut bytes) = (0usize, 0u64);
        for shard in self.unfinished..self.end {
            match self.built.get(&shard) {
                Some(Ok(built)) => {
                    count += 1;
                    bytes = bytes.plus(built.bytes);
                }
                Some(Err(_)) => return Some(count),
                None if self.builders == 0 => return Some(count),
                None => return None,
            }
            if count >= AT_ONCE || bytes > BYTES_AT_ONCE {
                break;
            }
        }
        Some(count)
    }

    fn take(&mut self, count: usize) -> Result<Vec<ShardFiles>> {
        let mut group = Vec::with_capacity(count);
        let from = self.unfinished;
        for shard in (from..self.end).take(count.max(1)) {
            let built = self.built.remove(&shard);
            // A builder ends early only after an error.
            let built =
                built.unwrap_or_else(|| Err(Error::Corrupt("Pack was not built".into())))?;
            group.push(built);
        }
        Ok(group)
    }
}

/// Says that a thread that builds has ended.
struct BuilderEnd<'a, 'b>(&'a BuildQueue<'b>);

impl Drop for BuilderEnd<'_, '_> {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.builders = state.builders.saturating_sub(1);
        state.stopped |= std::thread::panicking();
        self.0.changed.notify_all();
    }
}

impl<'a> BuildQueue<'a> {
    /// For `shards`, which `builders` threads build; with none they are built when they are wanted.
    pub(super) fn new(build: Builder<'a>, shards: Range<u64>, builders: usize) -> Self {
        let state = State {
            next: shards.start,
            end: shards.end,
            unfinished: shards.start,
            built: BTreeMap::new(),
            bytes: 0,
            builders,
            stopped: false,
        };
        Self { build, state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Builds until nothing is left: what each of the threads does.
    pub(super) fn run(&self) {
        let _leaving = BuilderEnd(self);
        let mut state = self.state.lock();
        loop {
            while !state.stopped && state.next < state.end && !state.may_build() {
                self.changed.wait(&mut state);
            }
            if state.stopped || state.next >= state.end {
                return;
            }
            let shard = state.next;
            state.next = shard.plus(1);
            drop(state);
            let built = (self.build)(shard);
            state = self.state.lock();
            state.bytes = state.bytes.plus(built.as_ref().map_or(0, |b| b.bytes));
            let failed = built.is_err();
            state.built.insert(shard, built);
            self.changed.notify_all();
            if failed {
                return;
            }
        }
    }

    /// The next shards that are built, in their order: at least one, unless all are finished.
    pub(super) fn next(&self) -> Result<Vec<ShardFiles>> {
        let mut state = self.state.lock();
        if state.builders == 0 {
            while state.next < state.end
                && state.built.len() < AT_ONCE
                && state.bytes <= BYTES_AT_ONCE
                && state.built.values().all(Result::is_ok)
            {
                let shard = state.next;
                let built = (self.build)(shard);
                state.next = shard.plus(1);
                state.bytes = state.bytes.plus(built.as_ref().map_or(0, |b| b.bytes));
                state.built.insert(shard, built);
            }
        }
        if state.unfinished >= state.end {
            return Ok(Vec::new());
        }
        loop {
            if let Some(count) = state.group() {
                return state.take(count);
            }
            self.changed.wait(&mut state);
        }
    }

    /// Counts finished shards of the last group, and their bytes.
    pub(super) fn finished(&self, count: u64, bytes: u64) {
        let mut state = self.state.lock();
        state.unfinished = state.unfinished.plus(count);
        state.bytes = state.bytes.saturating_sub(bytes);
        self.changed.notify_all();
    }

    /// Nothing more is wanted.
    pub(super) fn stop(&self) {
        self.state.lock().stopped = true;
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sizes of the groups in which shards of these sizes are finished.
    fn groups(sizes: &[u64], builders: usize, bad: Option<u64>) -> (Vec<usize>, bool) {
        let build = |shard: u64| match bad {
            Some(bad) if bad == shard => Err(Error::Corrupt("bad".into())),
            _ => Ok(ShardFiles {
                files: Vec::new(),
                bytes: sizes[usize::try_from(shard - 3).unwrap()],
            }),
        };
        let end = 3 + u64::try_from(sizes.len()).unwrap();
        let queue = BuildQueue::new(&build, 3..end, builders);
        let mut groups = Vec::new();
        let failed = std::thread::scope(|scope| {
            for _ in 0..builders {
                scope.spawn(|| queue.run());
            }
            let mut next = 3;
            let failed = loop {
                match queue.next() {
                    Ok(group) if group.is_empty() => break false,
                    Ok(group) => {
                        let bytes = group.iter().map(|built| built.bytes).sum();
                        for built in &group {
                            assert_eq!(built.bytes, sizes[usize::try_from(next - 3).unwrap()]);
                            next += 1;
                        }
                        groups.push(group.len());
                        queue.finished(u64::try_from(group.len()).unwrap(), bytes);
                    }
                    Err(error) => {
                        assert!(matches!(error, Error::Corrupt(_)));
                        break true;
                    }
                }
            };
            queue.stop();
            failed
        });
        (groups, failed)
    }

    #[test]
    fn all_in_their_order_in_groups() {
        for builders in [0, 1, 2, 5] {
            assert_eq!(groups(&[1; 3], builders, None), (vec![3], false));
            assert_eq!(groups(&[7; 19], builders, None), (vec![8, 8, 3], false));
            let large = BYTES_AT_ONCE + 1;
            assert_eq!(groups(&[large; 4], builders, None), (vec![1; 4], false));
            assert_eq!(groups(&[1, large, 1, 1], builders, None), (vec![2, 2], false));
            assert_eq!(groups(&[1; 5], builders, Some(6)), (vec![3], true));
            assert_eq!(groups(&[1; 5], builders, Some(3)), (vec![], true));
            assert_eq!(groups(&[], builders, None), (vec![], false));
        }
    }
}
