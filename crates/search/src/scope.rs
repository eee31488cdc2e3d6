//! What of a repository is in its index.
//!
//! Invariant: a path is in scope by its names alone, so that each part of the index decides alike.

use sapwood_core::FsPath;

/// What is left out. Copies for releases and lines of work have the same texts a thousand times: by default, what is inside
/// each folder of a folder `tags` or `branches` is left out. (The folders themselves are found.)
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope {
    collections: Vec<String>,
}

impl Default for Scope {
    fn default() -> Self {
        Self::without(["tags", "branches"].map(str::to_owned).into())
    }
}

impl Scope {
    /// Leaves out what is inside the folders of folders with these names.
    #[must_use]
    pub fn without(mut collections: Vec<String>) -> Self {
        collections.sort_unstable();
        collections.dedup();
        Self { collections }
    }

    /// Whether a path is in the index.
    #[must_use]
    pub fn has(&self, path: &FsPath) -> bool {
        let mut names = path.names().filter(|name| !name.is_empty());
        while let Some(name) = names.next() {
            if self.collections.iter().any(|one| one == name) {
                // The folder in it, and what is inside that.
                return names.nth(1).is_none();
            }
        }
        true
    }

    pub(crate) fn of_key(key: &str) -> Self {
        Self::without(key.split('/').filter(|name| !name.is_empty()).map(str::to_owned).collect())
    }

    /// Its form in the index: another one is another index.
    pub(crate) fn key(&self) -> String {
        self.collections.join("/")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_left_out() {
        let scope = Scope::default();
        let has = |path: &str| scope.has(FsPath::new(path).unwrap());
        for inside in ["/", "/trunk/a", "/tags", "/tags/1.0", "/p/branches/x", "/trunk/tagsx/a/b"] {
            assert!(has(inside), "{inside}");
        }
        for outside in ["/tags/1.0/a", "/p/branches/x/y/z", "/tags/tags/x"] {
            assert!(!has(outside), "{outside}");
        }
        assert!(Scope::without(Vec::new()).has(FsPath::new("/tags/1.0/a").unwrap()));
    }
}
