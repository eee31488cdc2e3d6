//! A cache of what is made of the histories of files: who changed each line, say.
//!
//! What is committed never changes, so a value for a path in a revision stays valid. The values are made above this crate.

use std::any::Any;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use sapwood_core::{Exact, FsPath, Revnum};
use sapwood_store::{Key, Kind};

use crate::filesystem::Filesystem;
use crate::kinds;

/// A value that is made of the history of a file.
pub trait HistoryValue: Any + Send + Sync {
    /// How many bytes of memory it takes.
    fn weight(&self) -> usize;
}

/// Such a value, the path that it is of, and in which form.
struct CachedValue<T> {
    path: Box<str>,
    form: Box<str>,
    value: Arc<T>,
}

impl<T: HistoryValue> CachedValue<T> {
    /// By revision; path and form mixed.
    const KIND: Kind<Self> = Kind::new(kinds::OF_HISTORY, Self::weight);

    fn weight(&self) -> usize {
        self.path.len().plus(self.form.len()).plus(size_of::<Self>()).plus(self.value.weight())
    }
}

impl Filesystem {
    fn history_key<T: HistoryValue>(
        &self,
        path: &FsPath,
        revision: Revnum,
        form: &str,
    ) -> Key<CachedValue<T>> {
        let mut hasher = DefaultHasher::new();
        (path, form).hash(&mut hasher);
        CachedValue::KIND.key(self.caches().1, revision.0, 0, hasher.finish())
    }

    /// The cached value of the history of `path` in `revision` in the form `form`.
    #[must_use]
    pub fn cached_of_history<T: HistoryValue>(
        &self,
        path: &FsPath,
        revision: Revnum,
        form: &str,
    ) -> Option<Arc<T>> {
        let found = self.caches().0.get(self.history_key::<T>(path, revision, form))?;
        let is_it = *found.path == *path.as_str() && *found.form == *form;
        is_it.then(|| Arc::clone(&found.value))
    }

    /// Caches such a value, and returns it shared.
    pub fn cache_of_history<T: HistoryValue>(
        &self,
        path: &FsPath,
        revision: Revnum,
        form: &str,
        value: T,
    ) -> Arc<T> {
        let value = Arc::new(value);
        let kept = CachedValue { path: path.into(), form: form.into(), value: Arc::clone(&value) };
        self.caches().0.put(self.history_key::<T>(path, revision, form), kept);
        value
    }
}
