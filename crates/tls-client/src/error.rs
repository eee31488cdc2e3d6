//! What can be wrong with files of authorities.

use std::path::PathBuf;

use sapwood_core::{ErrorCode, SvnError};

/// The result of this crate's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a configuration of TLS cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be read.
    #[error("'{}': {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// A certificate in the file cannot be used.
    #[error("'{}', line {line}: {why}", path.display())]
    Certificate {
        /// The file.
        path: PathBuf,
        /// The line where the certificate begins, from 1; the last line if the file ends within it.
        line: usize,
        /// What is wrong with it.
        why: String,
    },
    /// The file has no certificate.
    #[error("'{}': there is no certificate in it", .0.display())]
    Empty(PathBuf),
    /// The key in a file cannot be used.
    #[error("'{}', line {line}: {why}", path.display())]
    Key {
        /// The file.
        path: PathBuf,
        /// The line where the key begins, from 1; the last line if there is none.
        line: usize,
        /// What is wrong with it.
        why: String,
    },
    /// The key in a file is that of another certificate.
    #[error("'{}', line {line}: the key is not that of the certificate in '{}'", path.display(), certificate.display())]
    OtherKey {
        /// The file of the key.
        path: PathBuf,
        /// The line where it begins, from 1.
        line: usize,
        /// The file of the certificate.
        certificate: PathBuf,
    },
    /// The library refuses its own defaults.
    #[error("TLS cannot be used: {0}")]
    Library(#[from] rustls::Error),
}

impl From<Error> for SvnError {
    fn from(error: Error) -> Self {
        Self::new(ErrorCode::BAD_CONFIG_VALUE, error.to_string())
    }
}
