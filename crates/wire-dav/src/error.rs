//! Errors in a body, a path or a header.

use sapwood_core::{ErrorCode, SvnError};

/// Shorthand for results of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// An error of the codec.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The body is not XML, or not the expected element.
    #[error("Malformed XML: {0}")]
    Malformed(String),
    /// The body has something that is refused for safety.
    #[error("The XML body has {0}, which is refused")]
    Refused(&'static str),
    /// The body is larger than a limit.
    #[error("The XML body is too large: {0}")]
    TooLarge(&'static str),
    /// An element is missing something, or has what it must not have.
    #[error("The request's '{0}' element is malformed; there is a problem with the client.")]
    Element(&'static str),
    /// A path that is not canonical.
    #[error("Path '{0}' is not canonicalized; there is a problem with the client.")]
    NotCanonical(String),
    /// An element of a reply is missing something, or has what it must not have.
    #[error("The server's reply has a malformed '{0}'")]
    Reply(&'static str),
    /// A path of a reply that is not canonical, or leads out of the tree.
    #[error("The server's reply has the path '{0}', which is not canonical")]
    ReplyPath(String),
    /// An invalid address.
    #[error("{0}")]
    Address(&'static str),
    /// Reading the body failed.
    #[error(transparent)]
    Svn(#[from] SvnError),
}

impl From<Error> for SvnError {
    fn from(error: Error) -> Self {
        match error {
            Error::Svn(error) => error,
            other => Self::new(other.code(), other.to_string()),
        }
    }
}

impl Error {
    /// The E-code.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Malformed(_) | Self::Refused(_) | Self::TooLarge(_) => ErrorCode::XML_MALFORMED,
            Self::Element(_) | Self::NotCanonical(_) => ErrorCode::RA_DAV_REQUEST_FAILED,
            Self::Reply(_) | Self::ReplyPath(_) => ErrorCode::RA_DAV_MALFORMED_DATA,
            Self::Address(_) => ErrorCode::APMOD_MALFORMED_URI,
            Self::Svn(error) => error.code(),
        }
    }

    /// The http status of the reply to it.
    #[must_use]
    pub fn status(&self) -> u16 {
        match self {
            Self::TooLarge(_) => 413,
            Self::Svn(error) => crate::status::status_of(error.code()).unwrap_or(500),
            _ => 400,
        }
    }
}
