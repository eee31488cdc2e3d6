//! What can be wrong with the bytes, with its E-code and the reference's sentence.

use std::borrow::Cow;

use sapwood_core::{ErrorCode, SvnError, hashdump};

/// Shorthand for results of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Why bytes are not the item they should be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The bytes end inside the item: with more bytes it might be whole. When there are no more,
    /// this is corruption (E160004).
    #[error("Unexpected end of {0}")]
    UnexpectedEnd(&'static str),
    /// E160004.
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
    /// E160043: a format number that is not supported.
    #[error("{0}")]
    UnsupportedFormat(Cow<'static, str>),
    /// E125006: a malformed format file.
    #[error("{0}")]
    BadVersionFile(Cow<'static, str>),
    /// E160062.
    #[error("Malformed node revision ID string '{0}'")]
    MalformedNodeRevId(String),
    /// E160053.
    #[error("malformed txn id '{0}'")]
    MalformedTxnId(String),
    /// E200002: a malformed hash dump.
    #[error("{0}")]
    MalformedHash(Cow<'static, str>),
    /// E125003: a date that is none.
    #[error("Bogus date")]
    BadDate,
    /// E200022: a revision number that is none.
    #[error("Invalid revision number found parsing '{0}'")]
    Revnum(String),
    /// E160064: a manifest of packed revision properties is malformed.
    #[error("{0}")]
    RevpropManifest(Cow<'static, str>),
    /// E200004: a footer's offset is none; the cause says why.
    #[error("{sentence}")]
    FooterOffset {
        /// The reference's sentence.
        sentence: String,
        /// Why it is none, in the reference's words.
        cause: String,
    },
    /// E125012: a checksum of a footer is none.
    #[error("Invalid character in hex checksum")]
    FooterChecksum,
    /// A length or count is above what this program accepts.
    #[error("{what} of {size} exceeds the limit of {limit}")]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// What the bytes say.
        size: u64,
        /// What is accepted.
        limit: u64,
    },
}

impl Error {
    /// Data that breaks the rules of its format, in words.
    pub fn corrupt(message: impl Into<Cow<'static, str>>) -> Self {
        Self::Corrupt(message.into())
    }

    pub(crate) fn revnum(bytes: &[u8]) -> Self {
        Self::Revnum(crate::text::printable(bytes))
    }

    pub(crate) fn index(message: impl Into<Cow<'static, str>>) -> Self {
        Self::IndexCorrupt(message.into())
    }

    /// The E-code of this error.
    #[must_use]
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::UnexpectedEnd(_) | Self::Corrupt(_) | Self::TooLarge { .. } => {
                ErrorCode::FS_CORRUPT
            }
            Self::IndexCorrupt(_) => ErrorCode::FS_INDEX_CORRUPTION,
            Self::IndexRevision(_) => ErrorCode::FS_INDEX_REVISION,
            Self::IndexOverflow(_) => ErrorCode::FS_INDEX_OVERFLOW,
            Self::UnsupportedFormat(_) => ErrorCode::FS_UNSUPPORTED_FORMAT,
            Self::BadVersionFile(_) => ErrorCode::BAD_VERSION_FILE_FORMAT,
            Self::MalformedNodeRevId(_) => ErrorCode::FS_MALFORMED_NODEREV_ID,
            Self::MalformedTxnId(_) => ErrorCode::FS_MALFORMED_TXN_ID,
            Self::MalformedHash(_) => ErrorCode::MALFORMED_FILE,
            Self::BadDate => ErrorCode::BAD_DATE,
            Self::Revnum(_) => ErrorCode::REVNUM_PARSE_FAILURE,
            Self::RevpropManifest(_) => ErrorCode::FS_CORRUPT_REVPROP_MANIFEST,
            Self::FooterOffset { .. } => ErrorCode::INCORRECT_PARAMS,
            Self::FooterChecksum => ErrorCode::BAD_CHECKSUM_PARSE,
        }
    }

    /// This error as the program reports it, with `place` behind its sentence.
    #[must_use]
    pub fn with_place(self, place: std::fmt::Arguments<'_>) -> SvnError {
        let (code, message) = (self.code(), format!("{self}{place}"));
        match self {
            Self::FooterOffset { cause, .. } => SvnError::new(code, cause).context(message),
            _ => SvnError::new(code, message),
        }
    }
}

impl From<hashdump::Error> for Error {
    fn from(error: hashdump::Error) -> Self {
        Self::MalformedHash(error.to_string().into())
    }
}

impl From<Error> for SvnError {
    fn from(error: Error) -> Self {
        error.with_place(format_args!(""))
    }
}
