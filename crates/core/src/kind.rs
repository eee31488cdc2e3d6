//! What a path leads to.

/// The kind of a node. "Nothing there" is `Option::None` where a question may have that answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NodeKind {
    /// A file (special files such as symbolic links are files with `svn:special`).
    File,
    /// A directory.
    Dir,
}

impl NodeKind {
    /// `file` or `dir`, the word that node-revisions, the wire and XML output use.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Dir => "dir",
        }
    }

    /// The inverse of [`NodeKind::word`].
    #[must_use]
    pub fn from_word(word: &[u8]) -> Option<Self> {
        match word {
            b"file" => Some(Self::File),
            b"dir" => Some(Self::Dir),
            _ => None,
        }
    }
}
