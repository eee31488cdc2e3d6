//! Paths of this machine, and their conversions to and from the system's.

use std::io;
use std::path::{Component, Path, PathBuf};

use super::NotCanonical;
use super::kinds::{LocalPath, LocalPathBuf, RelPath};
use crate::path;

/// The absolute form of a path, seen from the current folder: as [`absolute_from`].
///
/// # Errors
/// When the current folder is not known.
pub fn absolute(path: &Path) -> io::Result<PathBuf> {
    match path.is_absolute() {
        true => Ok(absolute_from(Path::new("/"), path)),
        false => Ok(absolute_from(&std::env::current_dir()?, path)),
    }
}

/// The absolute form of a path, seen from the folder `here`: `.` and doubled slashes go, `..` takes a name
/// away. That is done with the text, as the reference does it: links are not looked at.
#[must_use]
pub fn absolute_from(here: &Path, path: &Path) -> PathBuf {
    let mut found = here.to_owned();
    for part in path.components() {
        match part {
            Component::RootDir | Component::Prefix(_) => found = PathBuf::from("/"),
            Component::CurDir => {}
            Component::ParentDir => drop(found.pop()),
            Component::Normal(name) => found.push(name),
        }
    }
    found
}

impl LocalPathBuf {
    /// Makes an absolute path canonical: without doubled slashes and `.`, with `..` taking a name
    /// away (as text: links are not looked at).
    ///
    /// # Errors
    /// When it is not absolute, or not UTF-8.
    pub fn from_path(path: &Path) -> Result<Self, NotCanonical> {
        let wrong = || NotCanonical { text: path.display().to_string(), kind: "absolute path" };
        let text = path.to_str().filter(|text| text.starts_with('/')).ok_or_else(wrong)?;
        let found = absolute_from(Path::new("/"), Path::new(text)).into_os_string();
        found.into_string().map(Self::trusted).map_err(|_| wrong())
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
    fn paths_are_seen_from_a_folder() {
        for (path, expected) in [
            ("", "/srv/repo"),
            (".", "/srv/repo"),
            ("../other//x/.", "/srv/other/x"),
            ("../../../..", "/"),
            ("/a/b/../c/", "/a/c"),
            ("/..", "/"),
        ] {
            assert_eq!(absolute_from(Path::new("/srv/repo"), Path::new(path)), Path::new(expected));
        }
        let here = std::env::current_dir().unwrap();
        assert_eq!(absolute(Path::new("x/..")).unwrap(), here);
    }

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
        for out in ["..", "a/../../x"] {
            assert!(root.join(RelPath::new(out).unwrap()).is_none(), "{out}");
        }
        assert!(RelPath::new("./a").is_err());
    }
}
