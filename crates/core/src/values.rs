//! The values that every layer uses: requests to a repository and its replies, whatever
//! filesystem answers and whatever protocol carries them. They are defined here once; the crates that make
//! and read them re-export the same types.

use crate::date::Timestamp;
use crate::paths::{FsPath, FsPathBuf, RelPathBuf};
use crate::{NodeKind, PropList, Revnum};

/// A lock on a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lock {
    /// The locked path.
    pub path: FsPathBuf,
    /// `opaquelocktoken:` and a UUID.
    pub token: String,
    /// The user that holds it.
    pub owner: String,
    /// Why; `None` when nothing was said, which tools show differently from an empty text.
    pub comment: Option<String>,
    /// Whether the comment came from a DAV client's XML.
    pub is_dav_comment: bool,
    /// Microseconds since 1970.
    pub created: i64,
    /// Microseconds since 1970, `None` for a lock that does not end by itself.
    pub expires: Option<i64>,
}

/// A range of revisions in which a node was at one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// First revision.
    pub start: Revnum,
    /// Last revision.
    pub end: Revnum,
    /// The path there; `None` for a gap in the history.
    pub path: Option<RelPathBuf>,
}

/// One revision of a file.
#[derive(Clone, Copy, Debug)]
pub struct FileRev<'a> {
    /// The file's path there.
    pub path: &'a FsPath,
    /// The revision.
    pub revision: Revnum,
    /// The revision properties that may be read.
    pub revprops: &'a PropList,
    /// Whether the revision came by a merge.
    pub merged_revision: bool,
    /// How the file's properties differ from the revision sent before.
    pub prop_changes: &'a [(String, Option<Vec<u8>>)],
}

/// Where mergeinfo may come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inherit {
    /// From the path itself only.
    Explicit,
    /// From the path itself, or else the nearest parent that has any.
    Inherited,
    /// From the nearest parent that has any, not from the path itself.
    NearestAncestor,
}

impl Inherit {
    /// The word on the wire.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Explicit => "explicit",
            Self::Inherited => "inherited",
            Self::NearestAncestor => "nearest-ancestor",
        }
    }

    /// The inverse of [`Inherit::word`].
    #[must_use]
    pub fn from_word(word: &[u8]) -> Option<Self> {
        match word {
            b"explicit" => Some(Self::Explicit),
            b"inherited" => Some(Self::Inherited),
            b"nearest-ancestor" => Some(Self::NearestAncestor),
            _ => None,
        }
    }
}

/// Which revision properties are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RevpropSelection<'a> {
    /// All of them.
    All,
    /// These; an empty slice for none.
    Names(&'a [&'a str]),
}

/// One changed path of a log entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangedPath<'a> {
    /// The path.
    pub path: &'a FsPath,
    /// `A`, `D`, `R` or `M`.
    pub action: u8,
    /// Where it was copied from.
    pub copy_from: Option<(&'a FsPath, Revnum)>,
    /// File or directory, `None` when it is not known.
    pub kind: Option<NodeKind>,
    /// Whether the text changed.
    pub text_mod: bool,
    /// Whether properties changed.
    pub prop_mod: bool,
}

/// Which fields of a directory entry are asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[allow(clippy::struct_excessive_bools, reason = "they are independent switches")]
pub struct DirentFields {
    /// File or directory.
    pub kind: bool,
    /// Length of a file.
    pub size: bool,
    /// Whether there are properties.
    pub has_props: bool,
    /// Revision of the last change.
    pub created_rev: bool,
    /// Date of the last change.
    pub time: bool,
    /// Author of the last change.
    pub last_author: bool,
}

impl DirentFields {
    /// Every field.
    pub const ALL: Self = Self {
        kind: true,
        size: true,
        has_props: true,
        created_rev: true,
        time: true,
        last_author: true,
    };

    /// Whether nothing but the kind (or not even that) is asked for.
    #[must_use]
    pub const fn kind_only(&self) -> bool {
        !(self.size || self.has_props || self.created_rev || self.time || self.last_author)
    }

    /// Whether anything of the last commit is asked for.
    #[must_use]
    pub const fn committed(&self) -> bool {
        self.created_rev || self.time || self.last_author
    }
}

/// What is known of a node. Fields that were not asked for are empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dirent {
    /// File or directory; `None` when it was not asked for.
    pub kind: Option<NodeKind>,
    /// Length of a file in bytes; `None` for directories.
    pub size: Option<u64>,
    /// Whether there are properties.
    pub has_props: bool,
    /// Revision of the last change.
    pub created_rev: Revnum,
    /// Date of the last change.
    pub time: Option<Timestamp>,
    /// Author of the last change.
    pub last_author: Option<String>,
}

/// One revision of a log.
#[derive(Clone, Debug)]
pub struct LogEntry<'a> {
    /// The revision; `None` for the entry that ends a list of merged revisions.
    pub revision: Option<Revnum>,
    /// Whether merged revisions follow, ended by an entry without revision.
    pub has_children: bool,
    /// Whether this revision was merged by being taken away.
    pub subtractive_merge: bool,
    /// The changed paths, if they were asked for and there are any.
    pub changes: Vec<ChangedPath<'a>>,
    /// The properties that were asked for.
    pub revprops: Vec<(&'a str, &'a [u8])>,
}

impl LogEntry<'_> {
    /// One of the properties.
    #[must_use]
    pub fn revprop(&self, name: &str) -> Option<&[u8]> {
        self.revprops.iter().find(|(n, _)| *n == name).map(|(_, value)| *value)
    }
}
