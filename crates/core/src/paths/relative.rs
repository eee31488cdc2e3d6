//! Paths in repositories, and their conversions.

use super::kinds::{FsPath, RelPath};
use crate::path;

impl RelPath<&'static str> {
    /// The root of what relpaths are relative to.
    pub const ROOT: Self = Self::root();
}

impl RelPath<String> {
    /// Makes any slash-separated text into a relpath.
    #[must_use]
    pub fn canonicalize(text: &str) -> Self {
        Self::trusted(path::canonical_relpath(text).into_owned())
    }
}

impl<'a> RelPath<&'a str> {
    /// The path without its last name; the root's parent is the root.
    #[must_use]
    pub fn parent(self) -> Self {
        Self::trusted(path::dirname(self.into_inner()))
    }

    /// The last name, empty for the root.
    #[must_use]
    pub fn name(self) -> &'a str {
        path::basename(self.into_inner())
    }

    /// What is left of this path below `above`; `None` when it is not at or below it.
    #[must_use]
    pub fn below(self, above: RelPath<&str>) -> Option<Self> {
        path::skip_ancestor(above.into_inner(), self.into_inner()).map(Self::trusted)
    }

    /// The names, in order.
    pub fn names(self) -> impl DoubleEndedIterator<Item = &'a str> {
        path::components(self.into_inner())
    }
}

impl<S: AsRef<str>> RelPath<S> {
    /// Whether this is the root.
    pub fn is_root(&self) -> bool {
        self.as_str().is_empty()
    }

    /// The path of `below` (one name or several) below this one.
    #[must_use]
    pub fn join<T: AsRef<str>>(&self, below: &RelPath<T>) -> RelPath<String> {
        RelPath::trusted(path::join(self.as_str(), below.as_str()))
    }

    /// The same from the root of a repository on.
    #[must_use]
    pub fn to_fspath(&self) -> FsPath<String> {
        FsPath::trusted(format!("/{}", self.as_str()))
    }
}

impl FsPath<&'static str> {
    /// The root of a repository.
    pub const ROOT: Self = Self::root();
}

impl FsPath<String> {
    /// Makes any slash-separated text into a repository path.
    #[must_use]
    pub fn canonicalize(text: &str) -> Self {
        Self::trusted(path::canonical_fspath(text).into_owned())
    }
}

impl<'a> FsPath<&'a str> {
    /// The path without its last name; the root's parent is the root.
    #[must_use]
    pub fn parent(self) -> Self {
        Self::trusted(path::dirname(self.into_inner()))
    }

    /// The last name, empty for the root.
    #[must_use]
    pub fn name(self) -> &'a str {
        path::basename(self.into_inner())
    }

    /// What is left of this path below `above`; `None` when it is not at or below it.
    #[must_use]
    pub fn below(self, above: FsPath<&str>) -> Option<RelPath<&'a str>> {
        path::skip_ancestor(above.into_inner(), self.into_inner()).map(RelPath::trusted)
    }

    /// The same without the leading slash.
    #[must_use]
    pub fn to_relpath(self) -> RelPath<&'a str> {
        RelPath::trusted(path::to_relpath(self.into_inner()))
    }
}

impl<S: AsRef<str>> FsPath<S> {
    /// The path of `below` below this one.
    #[must_use]
    pub fn join<T: AsRef<str>>(&self, below: &RelPath<T>) -> FsPath<String> {
        FsPath::trusted(path::join(self.as_str(), below.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn only_canonical_text() {
        for good in ["", "a", "a/b c"] {
            assert_eq!(RelPath::new(good).unwrap().as_str(), good);
        }
        for bad in ["/", "a/", "/a", "a//b"] {
            assert!(RelPath::new(bad).is_err(), "{bad}");
            assert!(RelPath::new(RelPath::canonicalize(bad).into_inner()).is_ok());
        }
        for bad in ["", "a", "/a/", "//a"] {
            assert!(FsPath::new(bad).is_err(), "{bad}");
            assert!(FsPath::new(FsPath::canonicalize(bad).into_inner()).is_ok());
        }
        assert_eq!(
            FsPath::new("a").unwrap_err().to_string(),
            "'a' is not a canonical repository path"
        );
    }

    #[test]
    fn there_and_back() {
        let fs = FsPath::new("/a/b").unwrap();
        assert_eq!(fs.to_relpath().to_fspath(), fs);
        assert_eq!(FsPath::ROOT.to_relpath(), RelPath::ROOT);
        assert_eq!(RelPath::ROOT.to_fspath(), FsPath::ROOT);
        assert_eq!(fs.below(fs.parent()), Some(RelPath::new("b").unwrap()));
        assert_eq!(FsPath::ROOT.join(&RelPath::new("x").unwrap()).as_str(), "/x");
        let rel = RelPath::new("a/b").unwrap();
        assert_eq!((rel.parent().as_str(), rel.name()), ("a", "b"));
        assert_eq!(rel.below(RelPath::ROOT), Some(rel));
        assert_eq!(rel.below(RelPath::new("a/bc").unwrap()), None);
        assert_eq!(RelPath::ROOT.join(&rel), rel);
        assert!(rel.names().eq(["a", "b"]));
    }

    #[test]
    fn maps_are_asked_with_text() {
        let mut map = HashMap::new();
        map.insert(RelPath::new("a/b").unwrap().to_shared(), 1);
        assert_eq!(map.get("a/b"), Some(&1));
    }
}
