//! Why there is no answer.

use std::path::PathBuf;

use sapwood_core::{ErrorCode, SvnError};

/// The result of this crate's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The database of the index.
    #[error("The search index '{}' cannot be used: {source}", path.display())]
    Database {
        /// Its file.
        path: PathBuf,
        /// What SQLite says.
        source: rusqlite::Error,
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
    /// The question means nothing.
    #[error("{0}")]
    Query(&'static str),
    /// The repository cannot be read.
    #[error(transparent)]
    Repository(#[from] SvnError),
}

impl Error {
    /// Whether the file of the index is damaged, so that it has to be made anew.
    #[must_use]
    pub fn is_damage(&self) -> bool {
        use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
        let Self::Database { source, .. } = self else { return false };
        matches!(source.sqlite_error_code(), Some(DatabaseCorrupt | NotADatabase))
    }
}

impl From<sapwood_fs::Error> for Error {
    fn from(error: sapwood_fs::Error) -> Self {
        Self::Repository(error.into())
    }
}

impl From<Error> for SvnError {
    fn from(error: Error) -> Self {
        let message = error.to_string();
        match error {
            Error::Repository(error) => error,
            Error::Database { .. } => Self::new(ErrorCode::SQLITE_ERROR, message),
            Error::Query(_) => Self::new(ErrorCode::CL_ARG_PARSING_ERROR, message),
            Error::Io { what, path, source } => {
                Self::io(&source, format_args!("Can't {what} '{}'", path.display()))
            }
        }
    }
}
