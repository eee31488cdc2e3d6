//! Why there is no certificate, and what can be wrong with settings.

use std::path::PathBuf;

use sapwood_core::{ErrorCode, SvnError};

/// The result of this crate's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why there is no certificate.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The authority cannot be reached, does not answer in time, or not as ACME says.
    #[error("'{directory}': {why}")]
    Unreachable {
        /// The URL of the authority's directory.
        directory: String,
        /// What went wrong.
        why: String,
    },
    /// The authority refuses the account, the order or the proof.
    #[error("'{directory}' refuses it: {why}")]
    Refused {
        /// The URL of the authority's directory.
        directory: String,
        /// The authority's reason.
        why: String,
    },
    /// A file of the folder, or a certificate that came, is not what it should be.
    #[error("'{}': {why}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong in it.
        why: String,
    },
    /// The disk.
    #[error("Can't {what} '{}': {source}", path.display())]
    Io {
        /// What was tried.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// Why it failed.
        source: std::io::Error,
    },
}

impl Error {
    /// Whether the authority has counted the attempt against its limits, perhaps.
    pub(crate) const fn is_refusal(&self) -> bool {
        matches!(self, Self::Refused { .. } | Self::Malformed { .. })
    }
}

impl From<Error> for SvnError {
    fn from(error: Error) -> Self {
        let code = match &error {
            Error::Unreachable { .. } => ErrorCode::RA_CANNOT_CREATE_SESSION,
            Error::Refused { .. } => ErrorCode::RA_NOT_AUTHORIZED,
            Error::Malformed { .. } => ErrorCode::BAD_CONFIG_VALUE,
            Error::Io { what, path, source } => {
                return Self::io(source, format_args!("Can't {what} '{}'", path.display()));
            }
        };
        Self::new(code, error.to_string())
    }
}
