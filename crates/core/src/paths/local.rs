//! Paths of this machine, and their conversions to and from the system's.

use std::path::{Path, PathBuf};

use super::NotCanonical;
use super::kinds::{LocalPath, RelPath};
use crate::path;

impl LocalPath<String> {
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

impl<'a> LocalPath<&'a str> {
    /// The folder that this is in; the root's is the root.
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
    pub fn below(self, above: LocalPath<&str>) -> Option<RelPath<&'a str>> {
        path::skip_ancestor(above.into_inner(), self.into_inner()).map(RelPath::trusted)
    }
}

impl<S: AsRef<str>> LocalPath<S> {
    /// The path of what is `below` this one. Names that lead out of it are not: `None`.
    #[must_use]
    pub fn join<T: AsRef<str>>(&self, below: &RelPath<T>) -> Option<LocalPath<String>> {
        LocalPath::new(path::join(self.as_str(), below.as_str())).ok()
    }

    /// As the system takes it.
    pub fn as_path(&self) -> &Path {
        Path::new(self.as_str())
    }

    /// The same, with text of its own.
    pub fn to_path_buf(&self) -> PathBuf {
        PathBuf::from(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absolute_and_inside() {
        let of = |text: &str| LocalPath::from_path(Path::new(text)).map(LocalPath::into_inner);
        assert_eq!(of("/a//b/./c/../d/").as_deref(), Ok("/a/b/d"));
        assert_eq!(of("/..").as_deref(), Ok("/"));
        assert!(of("a").is_err());
        let root = LocalPath::new("/wc").unwrap();
        let below = RelPath::new("a/b").unwrap();
        let path = root.join(&below).unwrap();
        assert_eq!(path.borrowed().below(root), Some(below));
        assert_eq!(path.as_path(), Path::new("/wc/a/b"));
        for out in ["..", "a/../../x", "./a"] {
            assert!(root.join(&RelPath::new(out).unwrap()).is_none(), "{out}");
        }
    }
}
