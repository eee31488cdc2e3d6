//! The few things that were used last, by a key.

use std::sync::Arc;

use parking_lot::Mutex;

/// At most so many things; the one used last comes first.
#[derive(Debug)]
pub(crate) struct Recent<K, V> {
    most: usize,
    entries: Mutex<Vec<(K, Arc<V>)>>,
}

impl<K: PartialEq, V> Recent<K, V> {
    pub(crate) const fn new(most: usize) -> Self {
        Self { most, entries: Mutex::new(Vec::new()) }
    }

    /// What is kept for a key, or what `make` makes. No lock is held while it does.
    pub(crate) fn get_or<E>(
        &self,
        key: K,
        make: impl FnOnce() -> Result<V, E>,
    ) -> Result<Arc<V>, E> {
        if let Some(found) = self.find(&key) {
            return Ok(found);
        }
        Ok(self.put(key, make()?))
    }

    /// Keeps something for a key that nothing is kept for.
    pub(crate) fn put(&self, key: K, value: V) -> Arc<V> {
        let made = Arc::new(value);
        let mut entries = self.entries.lock();
        entries.insert(0, (key, Arc::clone(&made)));
        entries.truncate(self.most);
        made
    }

    /// Keeps nothing any more.
    pub(crate) fn clear(&self) {
        self.entries.lock().clear();
    }

    /// What is kept for a key.
    pub(crate) fn find(&self, key: &K) -> Option<Arc<V>> {
        let mut entries = self.entries.lock();
        let at = entries.iter().position(|(known, _)| known == key)?;
        let entry = entries.remove(at);
        let found = Arc::clone(&entry.1);
        entries.insert(0, entry);
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_one_not_used_for_longest_goes() {
        let recent = Recent::new(2);
        let get = |key: u8| *recent.get_or(key, || Ok::<_, ()>(key * 10)).unwrap();
        assert_eq!([get(1), get(2), get(1), get(3)], [10, 20, 10, 30]);
        assert_eq!(recent.get_or(1, || Err(())).map(|v| *v), Ok(10));
        assert_eq!(recent.get_or(2, || Err(())), Err(()));
    }
}
