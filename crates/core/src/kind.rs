//! What a path leads to, and what was done to it.

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

/// What happened to a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChangeKind {
    /// Contents or properties changed.
    Modify,
    /// Added, perhaps as a copy.
    Add,
    /// Deleted.
    Delete,
    /// Deleted and added again.
    Replace,
    /// All earlier changes of the path are void (only in transactions of old programs).
    Reset,
}

impl ChangeKind {
    /// `modify`, `add` and so on: the word of lists of changed paths on disk.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Modify => "modify",
            Self::Add => "add",
            Self::Delete => "delete",
            Self::Replace => "replace",
            Self::Reset => "reset",
        }
    }

    /// The inverse of [`ChangeKind::word`].
    #[must_use]
    pub fn from_word(word: &[u8]) -> Option<Self> {
        Some(match word {
            b"modify" => Self::Modify,
            b"add" => Self::Add,
            b"delete" => Self::Delete,
            b"replace" => Self::Replace,
            b"reset" => Self::Reset,
            _ => return None,
        })
    }
}
