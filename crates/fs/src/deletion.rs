//! A cache of the revisions in which paths were deleted.
//!
//! A comparison of two trees reports when each missing entry was deleted, which takes a search
//! by halves through the revisions between. What is committed never changes, so neither does the
//! answer.

use sapwood_core::Exact;
use sapwood_core::FsPath;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use sapwood_core::Revnum;
use sapwood_store::{Key, Kind};

use crate::filesystem::Filesystem;
use crate::kinds;

/// A path, and the revision in which it was deleted.
#[derive(Debug)]
struct Deletion {
    path: Box<str>,
    revision: Option<Revnum>,
}

/// Deletions: first and last revision, path mixed.
const DELETION: Kind<Deletion> = Kind::new(kinds::DELETION, Deletion::weight);

impl Deletion {
    fn weight(&self) -> usize {
        self.path.len().plus(size_of::<Self>())
    }
}

impl Filesystem {
    fn deletion_key(&self, path: &FsPath, start: Revnum, end: Revnum) -> Key<Deletion> {
        let mut hasher = DefaultHasher::new();
        path.hash(&mut hasher);
        DELETION.key(self.caches().1, start.0, end.0, hasher.finish())
    }

    /// The cached result for a path between two committed revisions: the revision of its first
    /// deletion, if there was one.
    #[must_use]
    pub fn cached_deletion(
        &self,
        path: &FsPath,
        start: Revnum,
        end: Revnum,
    ) -> Option<Option<Revnum>> {
        let found = self.caches().0.get(self.deletion_key(path, start, end))?;
        (*found.path == *path).then_some(found.revision)
    }

    /// Caches such a result.
    pub fn cache_deletion(&self, path: &FsPath, start: Revnum, end: Revnum, found: Option<Revnum>) {
        let deletion = Deletion { path: path.into(), revision: found };
        self.caches().0.put(self.deletion_key(path, start, end), deletion);
    }
}
