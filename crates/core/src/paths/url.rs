//! URLs, and what lies between two of them.

use super::kinds::{RelPath, RelPathBuf, Url, UrlBuf};
use crate::{SvnResult, uri};

impl UrlBuf {
    /// Makes a URL canonical.
    ///
    /// # Errors
    /// When the text is not a URL at all.
    pub fn canonicalize(text: &str) -> Result<Self, uri::Error> {
        uri::canonicalize(text).map(Self::trusted)
    }
}

impl Url {
    /// The URL without its last component, and that component, not escaped; `None` for a URL that
    /// names a host only.
    #[must_use]
    pub fn parent_and_name(&self) -> Option<(&Self, String)> {
        let (parent, name) = uri::split(self)?;
        Some((Self::trusted(parent), name))
    }

    /// The longest URL that both are at or below.
    #[must_use]
    pub fn common_ancestor(&self, other: &Self) -> Option<&Self> {
        uri::common_ancestor(self, other).map(Self::trusted)
    }

    /// The URL of what is `below` this one.
    #[must_use]
    pub fn join(&self, below: &RelPath) -> UrlBuf {
        self.with(below)
    }

    /// A server may report a file called `.`, which no URL can name: such a name is left out.
    fn with(&self, below: &str) -> UrlBuf {
        let text = uri::join(self, below);
        if below.split('/').any(|name| name == ".") {
            return UrlBuf::canonicalize(&text).unwrap_or_else(|_| self.to_owned());
        }
        UrlBuf::trusted(text)
    }

    /// The URL of one entry of this directory. The name has no slash and is not empty.
    #[must_use]
    #[track_caller]
    pub fn child(&self, name: &str) -> UrlBuf {
        debug_assert!(!name.is_empty() && !name.contains('/'), "{name:?} is not one name");
        self.with(name)
    }

    /// What leads from `above` to this URL, not escaped; `None` when this is not at or below it, or
    /// not UTF-8 without its escapes.
    #[must_use]
    pub fn below(&self, above: &Self) -> Option<RelPathBuf> {
        RelPathBuf::new(uri::skip_ancestor(above, self)?).ok()
    }

    /// The same where the caller asked for a URL within a repository, whose root it has from the server.
    ///
    /// # Errors
    /// E170000 when the URL is not there, or not UTF-8 when it is decoded.
    pub fn relpath(&self, root: &Self) -> SvnResult<RelPathBuf> {
        Ok(RelPathBuf::new(uri::relpath(root, self)?)?)
    }

    /// What the URL consists of.
    #[must_use]
    pub fn parts(&self) -> Option<uri::Parts<'_>> {
        uri::Parts::of(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn above_and_below() {
        let root = UrlBuf::canonicalize("SVN://Host/r/").unwrap();
        assert_eq!(root, Url::new("svn://host/r").unwrap());
        assert!(Url::new("svn://Host/r").is_err() && Url::new("/r").is_err());
        let below = RelPath::new("a b/c").unwrap();
        let url = root.join(below);
        assert_eq!(url, "svn://host/r/a%20b/c");
        assert_eq!(url, root.child("a b").child("c"));
        assert_eq!(url.below(&root).as_deref(), Some(below));
        assert_eq!(root.below(&url), None);
        let (parent, name) = url.parent_and_name().unwrap();
        assert_eq!((parent.as_str(), name.as_str()), ("svn://host/r/a%20b", "c"));
        assert_eq!(url.common_ancestor(&root), Some(root.as_path()));
    }
}
