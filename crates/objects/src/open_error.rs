//! Why a store or a log cannot be opened, of any kind that stands in a crate of its own.

use sapwood_core::{ErrorCode, SvnError};

use crate::error::Reason;

/// Why a store or a log cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// A text that is no address.
    #[error("'{address}' is no address of {of}")]
    BadAddress {
        /// The text, without what may be a password.
        address: String,
        /// What it is to be an address of, and how such an address looks.
        of: &'static str,
    },
    /// The feature is not there.
    #[error("Can't open '{address}': this program was built without the feature '{feature}'")]
    NotBuiltIn {
        /// The address.
        address: String,
        /// The feature of the build.
        feature: &'static str,
    },
    /// A setting does not fit, or the store cannot be used.
    #[error("Can't open '{address}': {reason}")]
    Settings {
        /// The address.
        address: String,
        /// What does not fit.
        reason: Reason,
    },
}

impl From<OpenError> for SvnError {
    fn from(error: OpenError) -> Self {
        let code = match error {
            OpenError::BadAddress { .. } => ErrorCode::BAD_URL,
            OpenError::NotBuiltIn { .. } => ErrorCode::UNSUPPORTED_FEATURE,
            OpenError::Settings { .. } => ErrorCode::BAD_CONFIG_VALUE,
        };
        Self::new(code, error.to_string())
    }
}
