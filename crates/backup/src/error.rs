//! Why a repository is not backed up.

use std::path::PathBuf;

use sapwood_core::{ErrorCode, SvnError};

/// The result of this crate's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a repository is not backed up.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The record of a copy is not what it should be.
    #[error("'{}': {why}", path.display())]
    Malformed {
        /// The record's file.
        path: PathBuf,
        /// What is wrong in it.
        why: String,
    },
    /// The copy is of another repository.
    #[error(
        "'{}' is the copy of '{}': for that of another repository, choose another folder (or \
         remove '{}' if the repository was moved)",
        copy.display(), known.display(), record.display()
    )]
    OfAnother {
        /// The copy.
        copy: PathBuf,
        /// The repository that it was made of.
        known: PathBuf,
        /// The record's file.
        record: PathBuf,
    },
    /// A revision of the copy is damaged.
    #[error("The copy '{}' is damaged", copy.display())]
    Damaged {
        /// The copy.
        copy: PathBuf,
        /// The first thing that is wrong.
        source: SvnError,
    },
    /// A file cannot be read or written.
    #[error("Can't {what} '{}': {source}", path.display())]
    Io {
        /// What was tried.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// Why it failed.
        source: std::io::Error,
    },
    /// A repository cannot be read or copied.
    #[error(transparent)]
    Repository(#[from] SvnError),
}

impl From<sapwood_repos::Error> for Error {
    fn from(error: sapwood_repos::Error) -> Self {
        Self::Repository(error.into())
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
            Error::Malformed { .. } => Self::new(ErrorCode::MALFORMED_FILE, message),
            Error::OfAnother { .. } => Self::new(ErrorCode::INCORRECT_PARAMS, message),
            Error::Damaged { source, .. } => {
                source.wrap(ErrorCode::CL_REPOS_VERIFY_FAILED, message)
            }
            Error::Io { what, path, source } => {
                Self::io(&source, format_args!("Can't {what} '{}'", path.display()))
            }
        }
    }
}
