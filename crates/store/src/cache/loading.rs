//! Reads in progress, so that threads which want the same value read it once.

use parking_lot::{Condvar, Mutex};

use super::key::Name;

/// The keys of the values that are being read.
#[derive(Debug, Default)]
pub(super) struct KeysInProgress {
    /// As many as there are threads that read: few.
    keys: Mutex<Vec<Name>>,
    done: Condvar,
}

/// The right to read something, until this is dropped.
#[derive(Debug)]
pub(super) struct Turn<'a> {
    loading: &'a KeysInProgress,
    key: Name,
    waited: bool,
}

impl KeysInProgress {
    /// Waits until no thread reads `key`, and takes it.
    pub(super) fn enter(&self, key: Name) -> Turn<'_> {
        let mut keys = self.keys.lock();
        let mut waited = false;
        while keys.contains(&key) {
            waited = true;
            self.done.wait(&mut keys);
        }
        keys.push(key);
        Turn { loading: self, key, waited }
    }
}

impl Turn<'_> {
    /// Whether another thread read the same just before.
    pub(super) const fn waited(&self) -> bool {
        self.waited
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut keys = self.loading.keys.lock();
        keys.retain(|key| *key != self.key);
        drop(keys);
        self.loading.done.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn one_at_a_time() {
        let (loading, inside, waited) =
            (KeysInProgress::default(), AtomicUsize::new(0), AtomicUsize::new(0));
        let key = Name::new(1, 0, 1, 0, 0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let turn = loading.enter(key);
                    assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                    std::thread::sleep(std::time::Duration::from_millis(20));
                    waited.fetch_add(usize::from(turn.waited()), Ordering::SeqCst);
                    inside.fetch_sub(1, Ordering::SeqCst);
                });
            }
            // Another name is not waited for.
            let other = loading.enter(Name::new(1, 0, 2, 0, 0));
            assert!(!other.waited());
        });
        assert!(waited.into_inner() > 0);
        assert!(loading.keys.into_inner().is_empty());
    }
}
