//! Why a range of an object cannot be read.

use std::io;
use std::path::PathBuf;

use sapwood_core::{ErrorCode, SvnError};

/// The result of this crate's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a range of an object cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The store.
    #[error(transparent)]
    Store(#[from] sapwood_objects::Error),
    /// The folder cannot be made.
    #[error("Can't make the cache '{}': {source}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// An object has fewer bytes than it must have.
    #[error("The object '{key}' in the store '{store}' is too short")]
    Short {
        /// The store's address.
        store: Box<str>,
        /// The object.
        key: Box<str>,
    },
}

impl From<Error> for SvnError {
    fn from(error: Error) -> Self {
        let message = error.to_string();
        match error {
            Error::Store(error) => error.into(),
            Error::Folder { path, source } => {
                Self::io(&source, format_args!("Can't make the cache '{}'", path.display()))
            }
            Error::Short { .. } => Self::new(ErrorCode::FS_CORRUPT, message),
        }
    }
}
