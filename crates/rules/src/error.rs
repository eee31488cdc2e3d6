//! What can be wrong with a file of rules.

use sapwood_core::{ErrorCode, SvnError};

/// The result of this crate's functions.
pub type Result<T> = std::result::Result<T, Error>;

/// What can be wrong with a file of rules.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file is not what it should be.
    #[error("'{file}', line {line}: {why}")]
    Malformed {
        /// The file.
        file: String,
        /// The line, counted from 1.
        line: usize,
        /// What is wrong in it.
        why: String,
    },
    /// The file was written for a newer version.
    #[error("'{file}' has format {format}, and this version knows formats up to {known}")]
    Newer {
        /// The file.
        file: String,
        /// The format that the file names.
        format: u32,
        /// The newest that is known.
        known: u32,
    },
}

impl From<Error> for SvnError {
    fn from(error: Error) -> Self {
        Self::new(ErrorCode::BAD_CONFIG_VALUE, error.to_string())
    }
}
