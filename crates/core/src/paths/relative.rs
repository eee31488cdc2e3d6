//! Paths in repositories, and their conversions.

use super::kinds::{FsPath, FsPathBuf, RelPath, RelPathBuf};
use crate::{SvnResult, path};

impl RelPathBuf {
    /// Makes any slash-separated text into a relpath.
    #[must_use]
    pub fn canonicalize(text: &str) -> Self {
        Self::trusted(path::canonical_relpath(text).into_owned())
    }
}

impl RelPath {
    /// Whether this is the root.
    #[must_use]
    pub fn is_root(&self) -> bool {
        self.is_empty()
    }

    /// The same from the root of a repository on.
    #[must_use]
    pub fn to_fspath(&self) -> FsPathBuf {
        FsPathBuf::trusted(format!("/{}", self.as_str()))
    }
}

impl FsPathBuf {
    /// Makes any slash-separated text into a repository path.
    #[must_use]
    pub fn canonicalize(text: &str) -> Self {
        Self::trusted(path::canonical_fspath(text).into_owned())
    }

    /// The same of text at hand, which mostly is canonical and then not copied.
    #[must_use]
    pub fn canonicalized(text: String) -> Self {
        Self::new(text).unwrap_or_else(|not| Self::canonicalize(&not.text))
    }
}

impl FsPath {
    /// Whether this is the root.
    #[must_use]
    pub fn is_root(&self) -> bool {
        self.len() == 1
    }

    /// The same without the leading slash.
    #[must_use]
    pub fn to_relpath(&self) -> &RelPath {
        RelPath::trusted(path::to_relpath(self))
    }
}

/// What relpaths and repository paths have in common: names between slashes, below a root.
macro_rules! names_below_a_root {
    ($name:ident, $owned:ident) => {
        impl $name {
            /// The path without its last name; the root's parent is the root.
            #[must_use]
            pub fn parent(&self) -> &Self {
                Self::trusted(path::dirname(self))
            }

            /// The last name, empty for the root.
            #[must_use]
            pub fn name(&self) -> &str {
                path::basename(self)
            }

            /// The parent and the last name.
            #[must_use]
            pub fn parent_and_name(&self) -> (&Self, &str) {
                let (parent, name) = path::split(self);
                (Self::trusted(parent), name)
            }

            /// What is left of this path below `above`; `None` when it is not at or below it.
            #[must_use]
            pub fn below(&self, above: &Self) -> Option<&RelPath> {
                path::skip_ancestor(above, self).map(RelPath::trusted)
            }

            /// The same where this was found at or below `above`.
            ///
            /// # Errors
            /// E235000 when it is not, which is a slip of ours.
            #[track_caller]
            pub fn rest_below(&self, above: &Self) -> SvnResult<&RelPath> {
                path::rest_below(above, self).map(RelPath::trusted)
            }

            /// Whether this is `above` or below it.
            #[must_use]
            pub fn is_at_or_below(&self, above: &Self) -> bool {
                path::is_ancestor(above, self)
            }

            /// The deepest path that both are at or below.
            #[must_use]
            pub fn common_ancestor(&self, other: &Self) -> &Self {
                Self::trusted(path::common_ancestor(self, other))
            }

            /// The names, in order.
            pub fn names(&self) -> impl DoubleEndedIterator<Item = &str> {
                path::components(self)
            }

            /// The path of `below` below this one.
            #[must_use]
            pub fn join(&self, below: &RelPath) -> $owned {
                $owned::trusted(path::join(self, below))
            }

            /// The path of one entry of this directory. The name has no slash and is not empty.
            #[must_use]
            #[track_caller]
            pub fn child(&self, name: &str) -> $owned {
                debug_assert!(!name.is_empty() && !name.contains('/'), "{name:?} is not one name");
                $owned::trusted(path::join(self, name))
            }
        }
    };
}

names_below_a_root!(RelPath, RelPathBuf);
names_below_a_root!(FsPath, FsPathBuf);

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
            assert!(RelPath::new(&RelPathBuf::canonicalize(bad)).is_ok());
        }
        for bad in ["", "a", "/a/", "//a"] {
            assert!(FsPath::new(bad).is_err(), "{bad}");
            assert!(FsPath::new(&FsPathBuf::canonicalize(bad)).is_ok());
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
        assert_eq!(&*RelPath::ROOT.to_fspath(), FsPath::ROOT);
        assert_eq!(fs.below(fs.parent()), Some(RelPath::new("b").unwrap()));
        assert_eq!(FsPath::ROOT.join(RelPath::new("x").unwrap()), "/x");
        assert_eq!(fs.child("c"), "/a/b/c");
        assert!(FsPath::ROOT.is_root() && !fs.is_root());
        let rel = RelPath::new("a/b").unwrap();
        assert_eq!((rel.parent().as_str(), rel.name()), ("a", "b"));
        assert_eq!(rel.parent_and_name(), (rel.parent(), "b"));
        assert_eq!(rel.below(RelPath::ROOT), Some(rel));
        assert_eq!(rel.below(RelPath::new("a/bc").unwrap()), None);
        assert_eq!(rel.common_ancestor(RelPath::new("a/bc").unwrap()), "a");
        assert_eq!(RelPath::ROOT.join(rel), rel);
        assert_eq!(RelPath::ROOT.child("x"), "x");
        assert!(rel.names().eq(["a", "b"]));
    }

    #[test]
    fn maps_are_asked_with_text_and_paths() {
        let mut map = HashMap::new();
        map.insert(RelPath::new("a/b").unwrap().to_owned(), 1);
        assert_eq!(map.get("a/b"), Some(&1));
        assert_eq!(map.get(RelPath::new("a/b").unwrap()), Some(&1));
    }

    #[test]
    #[should_panic(expected = "is not a canonical relpath")]
    #[cfg(debug_assertions)]
    fn trust_is_looked_at_in_debug_builds() {
        let _ = RelPath::trusted("/a");
    }
}
