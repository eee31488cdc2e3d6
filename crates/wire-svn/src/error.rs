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
    /// The first word of a reply is neither `success` nor `failure`.
    #[error("Unknown status '{0}' in command response")]
    UnknownStatus(String),
}

impl From<Error> for SvnError {
    fn from(error: Error) -> Self {
        let code = match error {
            Error::RequestTooLarge => ErrorCode::RA_SVN_REQUEST_SIZE,
            _ => ErrorCode::RA_SVN_MALFORMED_DATA,
        };
        Self::new(code, error.to_string())
    }
}
