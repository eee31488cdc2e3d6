//! What earlier patches of a file added and deleted: in a dry run the working copy does not say it.

use std::collections::HashMap;

use sapwood_core::exact::Exact;
use sapwood_core::path;

/// The outcome for a path.
#[derive(Clone, Copy, Debug)]
struct Fate {
    number: usize,
    added: bool,
    deleted: bool,
}

/// Paths that were patched, absolute.
#[derive(Debug, Default)]
pub(super) struct PatchedPaths {
    paths: HashMap<String, Fate>,
    count: usize,
}

impl PatchedPaths {
    pub(super) fn add(&mut self, abspath: &str, added: bool, deleted: bool) {
        self.count = self.count.plus(1);
        self.paths.insert(abspath.to_owned(), Fate { number: self.count, added, deleted });
    }

    /// The last record of a path or of one above it, and whether it was the path itself.
    fn last(&self, abspath: &str) -> Option<(bool, Fate)> {
        let mut at = abspath;
        let mut last: Option<(bool, Fate)> = None;
        loop {
            if let Some(fate) = self.paths.get(at)
                && last.is_none_or(|(_, known)| known.number < fate.number)
            {
                last = Some((at == abspath, *fate));
            }
            let parent = path::dirname(at);
            if parent.len() >= at.len() {
                return last;
            }
            at = parent;
        }
    }

    /// Whether a path is new.
    pub(super) fn is_added(&self, abspath: &str) -> bool {
        self.last(abspath).is_some_and(|(own, fate)| own && fate.added)
    }

    /// Whether a path, or one above it, was deleted.
    pub(super) fn is_deleted(&self, abspath: &str) -> bool {
        self.last(abspath).is_some_and(|(_, fate)| fate.deleted)
    }

    /// Whether this very path was deleted.
    pub(super) fn is_gone(&self, abspath: &str) -> bool {
        self.paths.get(abspath).is_some_and(|fate| fate.deleted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_counts() {
        let mut known = PatchedPaths::default();
        known.add("/a/b", false, true);
        assert!(known.is_deleted("/a/b/c") && known.is_gone("/a/b") && !known.is_gone("/a/b/c"));
        known.add("/a/b/c", true, false);
        assert!(
            !known.is_deleted("/a/b/c") && known.is_added("/a/b/c") && known.is_deleted("/a/b/d")
        );
        known.add("/a", false, true);
        assert!(known.is_deleted("/a/b/c") && !known.is_added("/a/b/c"));
        assert!(!known.is_deleted("/b"));
    }
}
