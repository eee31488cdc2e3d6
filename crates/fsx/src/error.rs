//! What can go wrong in an FSX filesystem, and its E-codes.

use std::path::{Path, PathBuf};

use sapwood_core::{ErrorCode, Md5, Revnum, SvnError};
use sapwood_fsx_format as format;

/// Results of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// An error of the filesystem.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An error that already has its E-code.
    #[error(transparent)]
    Svn(#[from] SvnError),
    /// A file operation failed.
    #[error("{what} '{}': {error}", path.display())]
    Io {
        /// The operation, as the reference says it (`Can't open file`).
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: std::io::Error,
    },
    /// E160006: there is no such revision.
    #[error("No such revision {0}")]
    NoSuchRevision(Revnum),
    /// E160013: there is no such path.
    #[error("File not found: revision {revision}, path '{path}'")]
    NotFound {
        /// The revision.
        revision: Revnum,
        /// The path.
        path: String,
    },
    /// E160007: there is no such transaction.
    #[error("No such transaction '{0}'")]
    NoSuchTransaction(String),
    /// A file, or an item of it, is not what it should be.
    #[error("'{}', offset {offset}: {error}", path.display())]
    Item {
        /// The file.
        path: PathBuf,
        /// Where the item begins, in bytes.
        offset: u64,
        /// Why it is not.
        error: format::Error,
    },
    /// E160004: corruption that spans several files.
    #[error("{0}")]
    Corrupt(String),
}

impl From<sapwood_txn_rules::Error> for Error {
    fn from(error: sapwood_txn_rules::Error) -> Self {
        use sapwood_txn_rules::Error as Rule;
        match error {
            Rule::Svn(error) => Self::Svn(error),
            Rule::NotFound { place, path } => Self::new(
                ErrorCode::FS_NOT_FOUND,
                format!("File not found: {place}, path '{path}'"),
            ),
            Rule::NotDirectory { place, path, fs } => {
                let message = format!("'{path}' is not a directory in filesystem '{fs}'");
                let cause = SvnError::new(ErrorCode::FS_NOT_DIRECTORY, message);
                Self::Svn(cause.context(format!("Failure opening '{path}' in {place}")))
            }
            Rule::Corrupt(message) => Self::Corrupt(message),
        }
    }
}

impl From<format::Error> for Error {
    fn from(error: format::Error) -> Self {
        Self::Svn(error.into())
    }
}

impl Error {
    /// A text that is not the one that the node-revision means.
    pub(crate) fn mismatch(rep: &format::Representation, actual: Md5, len: u64) -> Self {
        Self::Corrupt(format!(
            "Checksum mismatch while reading representation: expected {} ({} bytes), actual {actual} ({len} bytes)",
            rep.md5, rep.expanded_size
        ))
    }

    pub(crate) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self::Svn(SvnError::new(code, message.into()))
    }

    /// A slip of this program.
    #[track_caller]
    pub(crate) fn internal(what: &str) -> Self {
        Self::Svn(SvnError::internal(what))
    }

    pub(crate) fn io(what: &'static str, path: &Path, error: std::io::Error) -> Self {
        Self::Io { what, path: path.to_owned(), error }
    }

    /// Whether a file is missing, which may be because its shard was packed.
    pub(crate) fn is_missing_file(&self) -> bool {
        matches!(self, Self::Io { error, .. } if error.kind() == std::io::ErrorKind::NotFound)
    }
}

impl From<Error> for SvnError {
    fn from(error: Error) -> Self {
        let message = error.to_string();
        match error {
            Error::Svn(error) => error,
            Error::Io { what, path, error } => {
                Self::io(&error, format_args!("{what} '{}'", path.display()))
            }
            Error::NoSuchRevision(_) => Self::new(ErrorCode::FS_NO_SUCH_REVISION, message),
            Error::NoSuchTransaction(_) => Self::new(ErrorCode::FS_NO_SUCH_TRANSACTION, message),
            Error::NotFound { .. } => Self::new(ErrorCode::FS_NOT_FOUND, message),
            Error::Item { error, .. } => Self::new(error.code(), message),
            Error::Corrupt(_) => Self::new(ErrorCode::FS_CORRUPT, message),
        }
    }
}
