//! What is kept of the repositories that were used last, so that the next request need not open them.
//!
//! Invariant: at most so many are kept, and no more than one where they would take more memory than they may; the one that goes was used
//! before all others, so one that is in use all the time stays, whatever number of others is asked for.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sapwood_core::Exact as _;

/// Values by path, those that were used last.
#[derive(Debug)]
pub(super) struct UsedLast<T> {
    most: usize,
    most_bytes: u64,
    clock: u64,
    bytes: u64,
    values: HashMap<Arc<Path>, CachedValue<T>>,
    /// Their paths, by the time of their last use.
    order: BTreeMap<u64, Arc<Path>>,
}

/// A value, with the time of its last use, and the bytes that it took then.
#[derive(Debug)]
struct CachedValue<T> {
    used: u64,
    bytes: u64,
    value: T,
}

impl<T> UsedLast<T> {
    /// At most so many, which take so many bytes, and at least one.
    pub(super) fn new(most: usize, most_bytes: u64) -> Self {
        let (values, order) = (HashMap::new(), BTreeMap::new());
        Self { most: most.max(1), most_bytes, clock: 0, bytes: 0, values, order }
    }

    fn now(&mut self) -> u64 {
        self.clock = self.clock.plus(1);
        self.clock
    }

    /// The value of a path, which is used now, and takes what `bytes` says.
    pub(super) fn get(&mut self, path: &Path, bytes: impl FnOnce(&T) -> u64) -> Option<&T> {
        let now = self.now();
        let kept = self.values.get_mut(path)?;
        if let Some(path) = self.order.remove(&kept.used) {
            self.order.insert(now, path);
        }
        kept.used = now;
        let before = std::mem::replace(&mut kept.bytes, bytes(&kept.value));
        self.bytes = self.bytes.minus(before).plus(kept.bytes);
        Some(&kept.value)
    }

    /// Keeps a value, which takes so many bytes, in the place of the path's last one. Those that have to go are returned: what they hold is
    /// given back when nothing waits for it.
    #[must_use]
    pub(super) fn insert(&mut self, path: PathBuf, bytes: u64, value: T) -> Vec<T> {
        let mut gone: Vec<T> = self.remove(&path).into_iter().collect();
        while self.values.len() >= self.most
            || !self.values.is_empty() && self.bytes.plus(bytes) > self.most_bytes
        {
            let Some(oldest) = self.order.first_key_value().map(|(_, path)| Arc::clone(path))
            else {
                break;
            };
            gone.extend(self.remove(&oldest));
        }
        let (used, path) = (self.now(), Arc::from(path));
        self.order.insert(used, Arc::clone(&path));
        self.bytes = self.bytes.plus(bytes);
        self.values.insert(path, CachedValue { used, bytes, value });
        gone
    }

    /// Forgets the value of a path, which is returned.
    pub(super) fn remove(&mut self, path: &Path) -> Option<T> {
        let CachedValue { used, bytes, value } = self.values.remove(path)?;
        self.order.remove(&used);
        self.bytes = self.bytes.minus(bytes);
        Some(value)
    }

    /// Forgets all.
    pub(super) fn clear(&mut self) {
        self.values.clear();
        self.order.clear();
        self.bytes = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: fn(&()) -> u64 = |()| 0;

    /// A hot one among `others` that are asked for once: how often each kind is opened, and how many are kept.
    fn opened(others: u32) -> (u32, u32, usize) {
        let mut kept = UsedLast::new(16, u64::MAX);
        let (mut hot, mut cold) = (0, 0);
        for other in 0..others {
            let path = PathBuf::from(format!("/r/{other}"));
            if kept.get(&path, NOTHING).is_none() {
                cold += 1;
                drop(kept.insert(path, 0, ()));
            }
            if kept.get(Path::new("/r/hot"), NOTHING).is_none() {
                hot += 1;
                drop(kept.insert("/r/hot".into(), 0, ()));
            }
        }
        assert_eq!(kept.values.len(), kept.order.len());
        (hot, cold, kept.values.len())
    }

    #[test]
    fn a_hot_one_stays_and_the_rest_is_bounded() {
        assert_eq!(opened(1_000), (1, 1_000, 16));
        assert_eq!(opened(4_000), (1, 4_000, 16));
    }

    #[test]
    fn what_they_take_is_bounded_whatever_their_number() {
        let mut kept = UsedLast::new(100, 1_000);
        let path = |n: usize| PathBuf::from(format!("/{n}"));
        for n in 0..50 {
            assert_eq!(kept.insert(path(n), 100, n).len(), usize::from(n >= 10));
        }
        assert_eq!((kept.values.len(), kept.bytes), (10, 1_000));
        // One that has grown makes room by the others, and is kept although it takes all.
        assert_eq!(kept.get(&path(49), |_| 5_000), Some(&49));
        assert_eq!(kept.insert(path(50), 100, 50), [40, 41, 42, 43, 44, 45, 46, 47, 48, 49]);
        assert_eq!(kept.insert(path(51), 5_000, 51), [50]);
        assert_eq!((kept.values.len(), kept.bytes), (1, 5_000));
    }

    #[test]
    fn what_was_replaced_or_removed_is_gone() {
        let mut kept = UsedLast::new(2, 100);
        assert!(kept.insert("/a".into(), 1, 1).is_empty());
        assert_eq!(kept.insert("/a".into(), 1, 2), [1]);
        assert_eq!(kept.get(Path::new("/a"), |_| 1), Some(&2));
        assert_eq!(kept.remove(Path::new("/a")), Some(2));
        assert_eq!(kept.get(Path::new("/a"), |_| 1), None);
        assert_eq!((kept.order.len(), kept.bytes), (0, 0));
        assert!(kept.insert("/b".into(), 1, 3).is_empty());
        kept.clear();
        assert!(kept.get(Path::new("/b"), |_| 1).is_none() && kept.order.is_empty());
    }
}
