//! Why a repository is not brought into a store, or out of one.

use std::io;
use std::path::{Path, PathBuf};

use sapwood_core::{ErrorCode, SvnError};

/// The result of this crate's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a repository is not brought into a store, or out of one.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The store, or the repository in it.
    #[error(transparent)]
    Log(#[from] sapwood_repo_log::Error),
    /// A file of the folder.
    #[error("Can't {what} '{}': {source}", path.display())]
    Io {
        /// What was tried.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A folder whose repository a store cannot take.
    #[error(
        "'{}' {what}, and a store takes FSFS repositories of format 8 with logical addressing: make one of it by \
         'sapwood convert {} NEW', and import that",
        path.display(), path.display()
    )]
    Format {
        /// The folder.
        path: PathBuf,
        /// What it is.
        what: String,
    },
    /// A folder that is no repository, or a file in it that is not what it should be.
    #[error("'{}' {why}", path.display())]
    Unfit {
        /// The folder or file.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// The store has a repository that the folder's does not continue.
    #[error("'{store}' has another repository than '{}': {why}", path.display())]
    Another {
        /// The store's address.
        store: String,
        /// The folder.
        path: PathBuf,
        /// What differs.
        why: String,
    },
    /// The folder's database of representations.
    #[error(transparent)]
    Reps(SvnError),
    /// The user has stopped it, or what was written cannot be reported.
    #[error(transparent)]
    Stopped(SvnError),
}

impl From<sapwood_objects::Error> for Error {
    fn from(error: sapwood_objects::Error) -> Self {
        Self::Log(error.into())
    }
}

impl From<Error> for SvnError {
    fn from(error: Error) -> Self {
        let message = error.to_string();
        match error {
            Error::Log(error) => error.into(),
            Error::Stopped(error) | Error::Reps(error) => error,
            Error::Io { what, path, source } => {
                Self::io(&source, format_args!("Can't {what} '{}'", path.display()))
            }
            Error::Format { .. } => Self::new(ErrorCode::FS_UNSUPPORTED_FORMAT, message),
            Error::Unfit { .. } => Self::new(ErrorCode::REPOS_BAD_ARGS, message),
            Error::Another { .. } => Self::new(ErrorCode::INCORRECT_PARAMS, message),
        }
    }
}

/// An error about a file.
pub(crate) fn failed(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.to_owned();
    move |source| Error::Io { what, path, source }
}
