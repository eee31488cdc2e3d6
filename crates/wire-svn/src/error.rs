//! What can be wrong with bytes from the other side.

use sapwood_core::{ErrorCode, SvnError};

/// Shorthand for results of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// An error in protocol data.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The bytes are no item, or not the item that is expected here.
    #[error("Malformed network data")]
    Malformed,
    /// Lists inside lists, more than [`crate::decode::MAX_NESTING`] deep.
    #[error("Items are nested too deeply")]
    NestedTooDeeply,
    /// A word of more than [`crate::decode::MAX_WORD`] letters.
    #[error("Word is too long")]
    WordTooLong,
    /// A number that does not fit 64 bits.
    #[error("Number is larger than maximum")]
    NumberTooLarge,
    /// One item has more parts than [`crate::decode::Limits::tokens`].
    #[error("Too many items in one request")]
    TooManyItems,
    /// One item is longer than [`crate::decode::Limits::bytes`].
    #[error("The client request size exceeds the configured limit")]
    RequestTooLarge,
    /// A part of a command is invalid, in the words of the command.
    #[error("{0}")]
    Part(&'static str),
    /// A string that has to be text is not UTF-8, or has a NUL byte, which no path, name or URL has.
    #[error("A string that has to be UTF-8 text without NUL bytes is not")]
    NoText,
    /// A number that is no revision. It is shown as the reference shows it.
    #[error("Invalid revision number '{}'", .0.cast_signed())]
    NoRevision(u64),
    /// A checksum is not 32 hexadecimal digits.
    #[error("Invalid character in hex checksum")]
    NoChecksum,
    /// The first word of a reply is neither `success` nor `failure`.
    #[error("Unknown status '{0}' in command response")]
    UnknownStatus(String),
}

impl Error {
    /// Whether the items are those that the protocol demands, and only a value in them cannot be: who sent them
    /// may have an error as the reply, and go on.
    #[must_use]
    pub const fn is_of_a_value(&self) -> bool {
        matches!(self, Self::NoText | Self::NoRevision(_) | Self::NoChecksum)
    }
}

impl From<Error> for SvnError {
    fn from(error: Error) -> Self {
        let code = match error {
            Error::RequestTooLarge => ErrorCode::RA_SVN_REQUEST_SIZE,
            Error::NoRevision(_) => ErrorCode::FS_NO_SUCH_REVISION,
            Error::NoChecksum => ErrorCode::BAD_CHECKSUM_PARSE,
            _ => ErrorCode::RA_SVN_MALFORMED_DATA,
        };
        Self::new(code, error.to_string())
    }
}
