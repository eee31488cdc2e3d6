//! Which paths exist halfway through a revision.
//!
//! Verifying a revision asks, for each change in the order of the replay, whether it is possible
//! where it stands: one cannot add what is there or change what is not. The tree changes above the
//! current path are kept on a stack; because the walk goes depth first, this is all that is needed.
//!
//! Invariant: each entry's path is a proper ancestor of the next one's.

use sapwood_core::{Revnum, path};

struct Entry {
    path: String,
    copied_from: Option<(String, Revnum)>,
    exists: bool,
}

/// Where to look whether a path exists.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// In a revision, at a path.
    At(String, Revnum),
    /// It does not.
    Nowhere,
}

/// The tree changes of one revision that matter to the current path. Paths are relpaths.
pub(super) struct Tracker {
    revision: Revnum,
    stack: Vec<Entry>,
}

impl Tracker {
    pub(super) fn new(revision: Revnum) -> Self {
        Self { revision, stack: Vec::new() }
    }

    /// The revision that is being walked.
    pub(super) fn revision(&self) -> Revnum {
        self.revision
    }

    fn trim(&mut self, path: &str, keep_same: bool) {
        while let Some(top) = self.stack.last() {
            match path::skip_ancestor(&top.path, path) {
                Some(rest) if keep_same || !rest.is_empty() => break,
                _ => self.stack.pop(),
            };
        }
    }

    /// Where `path`, as it is now, is to be looked for.
    pub(super) fn lookup(&mut self, path: &str) -> Origin {
        self.trim(path, true);
        let Some(top) = self.stack.last() else {
            let before = self.revision.prev().unwrap_or(Revnum::ZERO);
            return Origin::At(path.to_owned(), before);
        };
        if !top.exists {
            return Origin::Nowhere;
        }
        let Some(rest) = path::skip_ancestor(&top.path, path) else {
            debug_assert!(false, "{} was not trimmed for {path}", top.path);
            return Origin::Nowhere;
        };
        match &top.copied_from {
            Some((source, revision)) => Origin::At(path::join(source, rest), *revision),
            None if rest.is_empty() => Origin::At(path.to_owned(), self.revision),
            None => Origin::Nowhere,
        }
    }

    fn push(&mut self, path: &str, copied_from: Option<(String, Revnum)>, exists: bool) {
        self.trim(path, false);
        self.stack.push(Entry { path: path.to_owned(), copied_from, exists });
    }

    /// `path` was added (or replaced) without history.
    pub(super) fn add(&mut self, path: &str) {
        self.push(path, None, true);
    }

    /// `path` was copied from a relpath in a revision.
    pub(super) fn copy(&mut self, path: &str, source: &str, revision: Revnum) {
        self.push(path, Some((source.to_owned(), revision)), true);
    }

    /// `path` was deleted.
    pub(super) fn delete(&mut self, path: &str) {
        self.push(path, None, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(path: &str, revision: u64) -> Origin {
        Origin::At(path.to_owned(), Revnum(revision))
    }

    #[test]
    fn copies_deletions_and_additions() {
        let mut tracker = Tracker::new(Revnum(9));
        assert_eq!(tracker.lookup("a/b"), at("a/b", 8));
        tracker.copy("a", "src", Revnum(5));
        assert_eq!(tracker.lookup("a/b"), at("src/b", 5));
        tracker.delete("a/b");
        assert_eq!(tracker.lookup("a/b/c"), Origin::Nowhere);
        assert_eq!(tracker.lookup("a/c"), at("src/c", 5));
        tracker.add("a/d");
        assert_eq!(tracker.lookup("a/d"), at("a/d", 9));
        assert_eq!(tracker.lookup("a/d/e"), Origin::Nowhere);
        assert_eq!(tracker.lookup("b"), at("b", 8));
    }
}
