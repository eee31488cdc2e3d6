//! Paths of this machine, and their conversions to and from the system's.

use std::path::{Path, PathBuf};

use super::NotCanonical;
use super::kinds::{LocalPath, LocalPathBuf, RelPath};
use crate::path;

impl LocalPathBuf {
    /// Makes an absolute path canonical: without doubled slashes and `.`, with `..` taking a name
    /// away (as text: links are not looked at).
    ///
    /// # Errors
    /// When it is not absolute, or not UTF-8.
    pub fn from_path(path: &Path) -> Result<Self, NotCanonical> {
        let wrong = || NotCanonical { text: path.display().to_string(), kind: "absolute path" };
        let text = path.to_str().filter(|text| text.starts_with('/')).ok_or_else(wrong)?;
        let mut names: Vec<&str> = Vec::new();
        for name in text.split('/') {
            match name {
                "" | "." => {}
                ".." => drop(names.pop()),
                name => names.push(name),
            }
        }
        Ok(Self::trusted(format!("/{}", names.join("/"))))
    }
}

impl LocalPath {
    /// The folder that this is in; the root's is the root.
    #[must_use]
    pub fn parent(&self) -> &Self {
        Self::trusted(path::dirname(self))
    }

    /// The last name, empty for the root.
    #[must_use]
    pub fn name(&self) -> &str {
        path::basename(self)
    }

    /// What is left of this path below `above`; `None` when it is not at or below it.
    #[must_use]
    pub fn below(&self, above: &Self) -> Option<&RelPath> {
        path::skip_ancestor(above, self).map(RelPath::trusted)
    }

    /// The path of what is `below` this one. Names that lead out of it are not: `None`.
    #[must_use]
    pub fn join(&self, below: &RelPath) -> Option<LocalPathBuf> {
        LocalPathBuf::new(path::join(self, below)).ok()
    }

    /// The same, with text of its own.
    #[must_use]
    pub fn to_path_buf(&self) -> PathBuf {
        PathBuf::from(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absolute_and_inside() {
        let of = |text: &str| LocalPathBuf::from_path(Path::new(text));
        assert_eq!(of("/a//b/./c/../d/").unwrap(), "/a/b/d");
        assert_eq!(of("/..").unwrap(), "/");
        assert!(of("a").is_err());
        let root = LocalPath::new("/wc").unwrap();
        let below = RelPath::new("a/b").unwrap();
        let path = root.join(below).unwrap();
        assert_eq!(path.below(root), Some(below));
        assert_eq!(path, "/wc/a/b");
        for out in ["..", "a/../../x", "./a"] {
            assert!(root.join(RelPath::new(out).unwrap()).is_none(), "{out}");
        }
    }
}
