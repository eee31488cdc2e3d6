//! In which revision a path was deleted, as somebody found out.
//!
//! A comparison of two trees tells of each entry that is gone when it went, which takes a search
//! by halves through the revisions between. What is committed never changes, so neither does the
//! answer.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use sapwood_core::Revnum;

use crate::cache::item::{Cached, Key};
use crate::filesystem::Filesystem;

/// A path that was looked for, and the answer.
#[derive(Debug)]
pub(crate) struct Deletion {
    path: Box<str>,
    revision: Option<Revnum>,
}

impl Deletion {
    pub(crate) fn weight(&self) -> usize {
        self.path.len().saturating_add(size_of::<Self>())
    }
}

impl Filesystem {
    fn deletion_key(&self, path: &str, start: Revnum, end: Revnum) -> Key {
        let mut hasher = DefaultHasher::new();
        path.hash(&mut hasher);
        let kind = Deletion::KIND;
        Key { fs: self.fs.id, kind, a: start.0, b: end.0, part: hasher.finish() }
    }

    /// What was found out about a path between two committed revisions: the revision of its first
    /// deletion, if there was one.
    #[must_use]
    pub fn kept_deletion(&self, path: &str, start: Revnum, end: Revnum) -> Option<Option<Revnum>> {
        let found = self.fs.caches.get::<Deletion>(self.deletion_key(path, start, end))?;
        (*found.path == *path).then_some(found.revision)
    }

    /// Keeps such a finding.
    pub fn keep_deletion(&self, path: &str, start: Revnum, end: Revnum, found: Option<Revnum>) {
        let deletion = Deletion { path: path.into(), revision: found };
        self.fs.caches.put(self.deletion_key(path, start, end), deletion);
    }
}
