//! Why a log cannot be opened.

use sapwood_core::{ErrorCode, SvnError};

/// The result of this crate's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a log cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A text that is no address.
    #[error(
        "'{0}' is no address of a log: postgres://[USER@][HOST][:PORT]/DATABASE+STORE is one, without a password, \
         where STORE is the address of a store"
    )]
    BadAddress(String),
    /// The feature is not there.
    #[error("Can't open '{0}': this program was built without the feature 'postgres'")]
    NotBuiltIn(String),
    /// A setting does not fit, or the database cannot be used.
    #[error("Can't open '{address}': {reason}")]
    Settings {
        /// The address.
        address: String,
        /// What does not fit.
        reason: sapwood_objects::Reason,
    },
}

impl From<Error> for SvnError {
    fn from(error: Error) -> Self {
        let code = match error {
            Error::BadAddress(_) => ErrorCode::BAD_URL,
            Error::NotBuiltIn(_) => ErrorCode::UNSUPPORTED_FEATURE,
            Error::Settings { .. } => ErrorCode::BAD_CONFIG_VALUE,
        };
        Self::new(code, error.to_string())
    }
}
