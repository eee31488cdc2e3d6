//! URLs, and what lies between two of them.

use super::kinds::{RelPath, Url};
use crate::uri;

impl Url<String> {
    /// Makes a URL canonical.
    ///
    /// # Errors
    /// When the text is not a URL at all.
    pub fn canonicalize(text: &str) -> Result<Self, uri::Error> {
        uri::canonicalize(text).map(Self::trusted)
    }
}

impl Url<&str> {
    /// The URL without its last component, and that component, not escaped; `None` for a URL that
    /// names a host only.
    #[must_use]
    pub fn split(self) -> Option<(Self, String)> {
        let (parent, name) = uri::split(self.into_inner())?;
        Some((Self::trusted(parent), name))
    }

    /// The longest URL that both are at or below.
    #[must_use]
    pub fn common_ancestor(self, other: Url<&str>) -> Option<Self> {
        uri::common_ancestor(self.into_inner(), other.into_inner()).map(Self::trusted)
    }
}

impl<S: AsRef<str>> Url<S> {
    /// The URL of what is `below` this one.
    #[must_use]
    pub fn join<T: AsRef<str>>(&self, below: &RelPath<T>) -> Url<String> {
        Url::trusted(uri::join(self.as_str(), below.as_str()))
    }

    /// What leads from `above` to this URL, not escaped; `None` when this is not at or below it, or
    /// not UTF-8 without its escapes.
    #[must_use]
    pub fn below<T: AsRef<str>>(&self, above: &Url<T>) -> Option<RelPath<String>> {
        let rest = uri::skip_ancestor(above.as_str(), self.as_str())?;
        RelPath::new(rest).ok()
    }

    /// What the URL consists of.
    #[must_use]
    pub fn parts(&self) -> Option<uri::Parts<'_>> {
        uri::Parts::of(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn above_and_below() {
        let root = Url::canonicalize("SVN://Host/r/").unwrap();
        assert_eq!(root, Url::new("svn://host/r").unwrap());
        assert!(Url::new("svn://Host/r").is_err() && Url::new("/r").is_err());
        let below = RelPath::new("a b/c").unwrap();
        let url = root.join(&below);
        assert_eq!(url.as_str(), "svn://host/r/a%20b/c");
        assert_eq!(url.below(&root), Some(below.to_owned()));
        assert_eq!(root.below(&url), None);
        let (parent, name) = url.borrowed().split().unwrap();
        assert_eq!((parent.as_str(), name.as_str()), ("svn://host/r/a%20b", "c"));
        assert_eq!(url.borrowed().common_ancestor(root.borrowed()), Some(root.borrowed()));
    }
}
