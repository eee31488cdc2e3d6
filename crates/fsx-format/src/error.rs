//! Why bytes are not the item that they should be, with the E-code of each error.

use std::borrow::Cow;

use sapwood_core::{ErrorCode, SvnError};

use crate::NEWEST;

/// Results of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Why bytes are not the item that they should be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// E160004: the bytes end inside the item. With more bytes it might be whole.
    #[error("Unexpected end of {0}")]
    UnexpectedEnd(&'static str),
    /// E160004: the item breaks the rules of its format.
    #[error("{0}")]
    Corrupt(Cow<'static, str>),
    /// E160054: an index contradicts itself or its file.
    #[error("{0}")]
    IndexCorrupt(Cow<'static, str>),
    /// E160056: a number in an index, or asked of it, is out of range.
    #[error("{0}")]
    IndexOverflow(Cow<'static, str>),
    /// E160055: an index does not cover the revision.
    #[error("Revision {0} not covered by item index")]
    IndexRevision(u64),
    /// E160043: a format of an earlier experiment.
    #[error("Unsupported experimental FSX format '{0}' found; current format is '{NEWEST}'")]
    OldFormat(u64),
    /// E160043: a format number that this program does not know.
    #[error("Expected FSX format between '{next}' and '{NEWEST}'; found format '{0}'", next = NEWEST + 1)]
    NewFormat(u64),
    /// E125006: a format file that cannot be parsed.
    #[error("{0}")]
    BadVersionFile(Cow<'static, str>),
    /// E160004: the checksum at the end of a file is not that of its contents.
    #[error("Checksum mismatch in {what}: expected {expected:08x}, actual {actual:08x}")]
    Checksum {
        /// The kind of file.
        what: &'static str,
        /// The checksum that the file ends with.
        expected: u32,
        /// That of its contents.
        actual: u32,
    },
    /// E160004: a length or count is above what this program accepts.
    #[error("{what} of {size} exceeds the limit of {limit}")]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// The number that the bytes say.
        size: u64,
        /// The largest number that is accepted.
        limit: u64,
    },
}

impl Error {
    /// An item that breaks the rules of its format, in words.
    pub fn corrupt(message: impl Into<Cow<'static, str>>) -> Self {
        Self::Corrupt(message.into())
    }

    /// An index that contradicts itself, in words.
    pub fn index(message: impl Into<Cow<'static, str>>) -> Self {
        Self::IndexCorrupt(message.into())
    }

    /// The E-code of this error.
    #[must_use]
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::UnexpectedEnd(_)
            | Self::Corrupt(_)
            | Self::Checksum { .. }
            | Self::TooLarge { .. } => ErrorCode::FS_CORRUPT,
            Self::IndexCorrupt(_) => ErrorCode::FS_INDEX_CORRUPTION,
            Self::IndexOverflow(_) => ErrorCode::FS_INDEX_OVERFLOW,
            Self::IndexRevision(_) => ErrorCode::FS_INDEX_REVISION,
            Self::OldFormat(_) | Self::NewFormat(_) => ErrorCode::FS_UNSUPPORTED_FORMAT,
            Self::BadVersionFile(_) => ErrorCode::BAD_VERSION_FILE_FORMAT,
        }
    }
}

impl From<Error> for SvnError {
    fn from(error: Error) -> Self {
        Self::new(error.code(), error.to_string())
    }
}
