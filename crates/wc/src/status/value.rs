//! What status says of one path.

use sapwood_core::paths::RelPathBuf;
use sapwood_core::{Depth, NodeKind, Revnum};

/// One of the states that a node, its text or its properties can be in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum State {
    /// No state: no properties, or not examined.
    #[default]
    None,
    /// Not under version control.
    Unversioned,
    /// As it was checked out.
    Normal,
    /// Scheduled for addition.
    Added,
    /// Versioned, and not on disk.
    Missing,
    /// Scheduled for deletion.
    Deleted,
    /// Deleted, and something else added in its place.
    Replaced,
    /// Changed.
    Modified,
    /// Left by a conflict that waits for its resolution.
    Conflicted,
    /// Unversioned, and matched by an ignore pattern.
    Ignored,
    /// Something of another kind is in its place.
    Obstructed,
    /// Unversioned, and there because of `svn:externals`.
    External,
    /// A directory that was not received completely.
    Incomplete,
}

impl State {
    /// The letter in the columns of `svn status`.
    #[must_use]
    pub const fn letter(self) -> char {
        match self {
            Self::None | Self::Normal => ' ',
            Self::Added => 'A',
            Self::Missing | Self::Incomplete => '!',
            Self::Deleted => 'D',
            Self::Replaced => 'R',
            Self::Modified => 'M',
            Self::Conflicted => 'C',
            Self::Obstructed => '~',
            Self::Ignored => 'I',
            Self::External => 'X',
            Self::Unversioned => '?',
        }
    }

    /// The word in XML.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Normal => "normal",
            Self::Added => "added",
            Self::Missing => "missing",
            Self::Incomplete => "incomplete",
            Self::Deleted => "deleted",
            Self::Replaced => "replaced",
            Self::Modified => "modified",
            Self::Conflicted => "conflicted",
            Self::Obstructed => "obstructed",
            Self::Ignored => "ignored",
            Self::External => "external",
            Self::Unversioned => "unversioned",
        }
    }
}

/// What is at a path on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskKind {
    /// A regular file.
    File,
    /// A directory.
    Dir,
    /// A symbolic link, or anything else that is neither file nor directory.
    Special,
}

/// A lock in the repository: one whose token this working copy has, or one that the repository
/// reported.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LockInfo {
    /// The token.
    pub token: String,
    /// The owner.
    pub owner: Option<String>,
    /// The comment.
    pub comment: Option<String>,
    /// When it was taken, in microseconds since 1970.
    pub date: i64,
}

/// The last change of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LastChange {
    /// Its revision.
    pub revision: Option<Revnum>,
    /// Its date, in microseconds since 1970; 0 when there is none.
    pub date: i64,
    /// Its author.
    pub author: Option<String>,
}

/// What the repository has to say, when it was asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remote {
    /// The node there, beside the one here.
    pub node: State,
    /// Its text.
    pub text: State,
    /// Its properties.
    pub props: State,
    /// Its lock.
    pub lock: Option<LockInfo>,
    /// Its kind.
    pub kind: Option<NodeKind>,
    /// Its last change.
    pub changed: LastChange,
}

/// The status of one path.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Status {
    /// Where it is, below the root of the working copy.
    pub relpath: RelPathBuf,
    /// Whether it is under version control.
    pub versioned: bool,
    /// The kind under version control.
    pub kind: Option<NodeKind>,
    /// What is on disk.
    pub actual_kind: Option<DiskKind>,
    /// The size on disk of a file, in bytes.
    pub filesize: Option<u64>,
    /// The node in whole.
    pub node: State,
    /// Its text.
    pub text: State,
    /// Its properties.
    pub props: State,
    /// Whether there is a conflict, of whatever kind.
    pub conflicted: bool,
    /// Whether the conflict is one of text.
    pub text_conflicted: bool,
    /// Whether the conflict is one of properties.
    pub prop_conflicted: bool,
    /// Whether the conflict is one of the tree.
    pub tree_conflicted: bool,
    /// Whether the directory is locked in the working copy (by an operation that runs or was killed).
    pub wc_locked: bool,
    /// Whether the addition has a history.
    pub copied: bool,
    /// Whether the node does not come from where its place says.
    pub switched: bool,
    /// Whether it is a file that `svn:externals` put there.
    pub file_external: bool,
    /// The revision of BASE.
    pub revision: Option<Revnum>,
    /// The last change.
    pub changed: LastChange,
    /// Where it is in the repository.
    pub repos_relpath: Option<RelPathBuf>,
    /// The repository, as its number in the working copy.
    pub repos_id: Option<i64>,
    /// The lock that this working copy holds.
    pub lock: Option<LockInfo>,
    /// The changelist.
    pub changelist: Option<String>,
    /// How deep the directory is.
    pub depth: Option<Depth>,
    /// Where it was moved from, below the root of the working copy.
    pub moved_from: Option<RelPathBuf>,
    /// Where it was moved to.
    pub moved_to: Option<RelPathBuf>,
    /// Whether it is the root of an addition, a copy, or a deletion.
    pub op_root: bool,
    /// Whether status can go below it.
    pub has_descendants: bool,
    /// What the repository says.
    pub remote: Remote,
}
