//! The words and small types of columns.

use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, ValueRef};
use sapwood_core::paths::RelPathBuf;
use sapwood_core::{Depth, Md5, NodeKind, Revnum, Sha1};

/// What a row of NODES says about its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Presence {
    /// All is known.
    Normal,
    /// The node is known by name only, or not all of its children are.
    Incomplete,
    /// The parent in the repository has it at the parent's revision, the working copy does not.
    NotPresent,
    /// The user does not want it.
    Excluded,
    /// The server does not show it to this user.
    ServerExcluded,
    /// A layer above BASE deletes what is below it.
    BaseDeleted,
}

impl Presence {
    /// The word in the database.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::Incomplete => "incomplete",
            Self::NotPresent => "not-present",
            Self::Excluded => "excluded",
            Self::ServerExcluded => "server-excluded",
            Self::BaseDeleted => "base-deleted",
        }
    }

    /// The inverse of [`Presence::word`].
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Some(match word {
            "normal" => Self::Normal,
            "incomplete" => Self::Incomplete,
            "not-present" => Self::NotPresent,
            "excluded" => Self::Excluded,
            "server-excluded" => Self::ServerExcluded,
            "base-deleted" => Self::BaseDeleted,
            _ => return None,
        })
    }

    /// Whether the node is really there: normal or incomplete.
    #[must_use]
    pub const fn is_there(self) -> bool {
        matches!(self, Self::Normal | Self::Incomplete)
    }
}

/// What kind of node a row is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A file; symbolic links are files with `svn:special`.
    File,
    /// A directory.
    Dir,
    /// Reserved by the format, written by no program.
    Symlink,
    /// Not known, of nodes that are not present.
    Unknown,
}

impl Kind {
    /// The word in the database.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Dir => "dir",
            Self::Symlink => "symlink",
            Self::Unknown => "unknown",
        }
    }

    /// The kind that the rest of Sapwood speaks of; `None` when it is not known.
    #[must_use]
    pub const fn node_kind(self) -> Option<NodeKind> {
        match self {
            Self::File | Self::Symlink => Some(NodeKind::File),
            Self::Dir => Some(NodeKind::Dir),
            Self::Unknown => None,
        }
    }
}

impl From<NodeKind> for Kind {
    fn from(kind: NodeKind) -> Self {
        match kind {
            NodeKind::File => Self::File,
            NodeKind::Dir => Self::Dir,
        }
    }
}

fn word_of<'a>(value: ValueRef<'a>) -> FromSqlResult<&'a str> {
    value.as_str()
}

fn bad(word: &str) -> FromSqlError {
    FromSqlError::Other(format!("'{word}' is not allowed here").into())
}

impl FromSql for Presence {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let word = word_of(value)?;
        Self::from_word(word).ok_or_else(|| bad(word))
    }
}

impl ToSql for Presence {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.word().into())
    }
}

impl FromSql for Kind {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        Ok(match word_of(value)? {
            "file" => Self::File,
            "dir" => Self::Dir,
            "symlink" => Self::Symlink,
            "unknown" => Self::Unknown,
            other => return Err(bad(other)),
        })
    }
}

impl ToSql for Kind {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.word().into())
    }
}

/// Paths as columns. A database is a file that other programs write: what is no relpath there is
/// no value of its column.
pub(crate) trait Paths {
    /// The path in a column.
    fn relpath(&self, at: usize) -> rusqlite::Result<RelPathBuf>;
    /// The same where there may be none.
    fn relpath_if_any(&self, at: usize) -> rusqlite::Result<Option<RelPathBuf>>;
}

impl Paths for rusqlite::Row<'_> {
    fn relpath(&self, at: usize) -> rusqlite::Result<RelPathBuf> {
        self.get::<_, RelPathColumn>(at).map(|column| column.0)
    }

    fn relpath_if_any(&self, at: usize) -> rusqlite::Result<Option<RelPathBuf>> {
        Ok(self.get::<_, Option<RelPathColumn>>(at)?.map(|column| column.0))
    }
}

struct RelPathColumn(RelPathBuf);

impl FromSql for RelPathColumn {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let path = RelPathBuf::new(word_of(value)?.to_owned());
        path.map(Self).map_err(|error| FromSqlError::Other(error.into()))
    }
}

/// A depth as a column: NULL is the default, infinity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DepthColumn(pub(crate) Depth);

impl FromSql for DepthColumn {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        Ok(Self(Depth::from_word(word_of(value)?.as_bytes())))
    }
}

/// A SHA-1 as a column: `$sha1$` and hexadecimal digits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sha1Column(pub(crate) Sha1);

impl FromSql for Sha1Column {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let text = word_of(value)?;
        parse_sha1(text).map(Self).ok_or_else(|| bad(text))
    }
}

impl ToSql for Sha1Column {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(sha1_text(&self.0).into())
    }
}

/// The form of a SHA-1 in columns and skels.
#[must_use]
fn sha1_text(sum: &Sha1) -> String {
    format!("$sha1${sum}")
}

/// The inverse of [`sha1_text`].
#[must_use]
pub(crate) fn parse_sha1(text: &str) -> Option<Sha1> {
    Sha1::parse(text.strip_prefix("$sha1$")?.as_bytes())
}

/// The form of an MD5 in columns.
#[must_use]
pub(crate) fn md5_text(sum: &Md5) -> String {
    format!("$md5 ${sum}")
}

/// The inverse of [`md5_text`].
#[must_use]
pub(crate) fn parse_md5(text: &str) -> Option<Md5> {
    Md5::parse(text.strip_prefix("$md5 $")?.as_bytes())
}

/// A revision for SQLite, whose integers have a sign.
pub(crate) fn revision_value(revision: Option<Revnum>) -> Option<i64> {
    revision.and_then(|r| i64::try_from(r.0).ok())
}

/// A revision out of a column; NULL and negative numbers are none.
pub(crate) fn revision_of(value: Option<i64>) -> Option<Revnum> {
    value.and_then(|n| u64::try_from(n).ok()).map(Revnum)
}
