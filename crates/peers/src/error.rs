//! Why another server is not used for a request.

use sapwood_core::{ErrorCode, SvnError};

/// The result of something between two servers.
pub(crate) type Result<T, E = Error> = std::result::Result<T, E>;

/// Why another server is not used for a request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// It cannot be reached, or does not answer in time.
    #[error("Server '{name}' cannot be reached: {why}")]
    Unreachable {
        /// The server.
        name: String,
        /// What went wrong.
        why: String,
    },
    /// What is there is no server that knows the secret, or one of another name.
    #[error("Server '{name}' is refused: {why}")]
    Refused {
        /// The server.
        name: String,
        /// Why.
        why: String,
    },
    /// It does not serve the repository under this address.
    #[error("Server '{name}' does not have the repository at this address")]
    Elsewhere {
        /// The server.
        name: String,
    },
    /// A name or a secret in a configuration cannot be used.
    #[error("{0}")]
    Setting(String),
}

impl From<sapwood_tls_client::Error> for Error {
    fn from(error: sapwood_tls_client::Error) -> Self {
        Self::Setting(error.to_string())
    }
}

impl From<Error> for SvnError {
    fn from(error: Error) -> Self {
        let code = match error {
            Error::Setting(_) => ErrorCode::BAD_CONFIG_VALUE,
            _ => ErrorCode::RA_CANNOT_CREATE_SESSION,
        };
        Self::new(code, error.to_string())
    }
}
