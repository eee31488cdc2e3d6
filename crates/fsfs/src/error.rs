//! What can go wrong in the filesystem, and its E-codes.

use std::path::PathBuf;
use std::slice::SliceIndex;

use sapwood_core::{ErrorCode, Revnum, SvnError};
use sapwood_fsfs_format as format;

/// Shorthand for results of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// A part of `all` that is there if there is no slip in this program.
#[track_caller]
pub(crate) fn part<T, I: SliceIndex<[T]>>(all: &[T], range: I) -> Result<&I::Output> {
    match all.get(range) {
        Some(part) => Ok(part),
        None => Err(Error::internal("a part is not within its whole")),
    }
}

/// An error of the filesystem.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Anything that already has its final form.
    #[error(transparent)]
    Svn(#[from] SvnError),
    /// A file operation failed. `what` is the reference's sentence without the system's words
    /// (`Can't open file '/r/db/current'`).
    #[error("{what}: {error}")]
    Io {
        /// What was tried.
        what: String,
        /// What the system said.
        error: std::io::Error,
    },
    /// A revision or pack file is not where it should be: it may have been packed meanwhile.
    #[error("'{}' is missing", path.display())]
    FileGone {
        /// The file.
        path: PathBuf,
    },
    /// There is no such revision.
    #[error("No such revision {0}")]
    NoSuchRevision(Revnum),
    /// There is no such transaction.
    #[error("No such transaction '{0}'")]
    NoSuchTransaction(String),
    /// An item of a file is not what it should be.
    #[error("r{revision}, {} at {offset}: {error}", path.display())]
    Item {
        /// The file.
        path: PathBuf,
        /// The revision that the item belongs to.
        revision: Revnum,
        /// Where the item begins in the file, in bytes.
        offset: u64,
        /// What is wrong.
        error: format::Error,
    },
    /// A small file of its own is not what it should be.
    #[error("{}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        error: format::Error,
    },
    /// A representation cannot be expanded.
    #[error("{message} (r{revision}, item {item})")]
    Rep {
        /// The revision of the representation.
        revision: Revnum,
        /// Its item index or offset.
        item: u64,
        /// The sentence.
        message: String,
        /// The E-code: E160004, or one of svndiff's.
        code: ErrorCode,
    },
    /// The checksum of an expanded representation is wrong.
    #[error("Checksum mismatch while reading representation")]
    Checksum {
        /// The revision of the representation.
        revision: Revnum,
        /// Its item index or offset.
        item: u64,
        /// What the node-revision says.
        expected: sapwood_core::Md5,
        /// What was found.
        actual: sapwood_core::Md5,
    },
    /// A node-revision is corrupt; the cause says how.
    #[error("Corrupt node-revision '{id}'")]
    Node {
        /// The node-revision's id.
        id: format::NodeRevId,
        /// How it is corrupt.
        cause: Box<Self>,
    },
    /// A node-revision of a transaction that is not there.
    #[error("Reference to non-existent node '{id}' in filesystem '{}'", path.display())]
    DanglingId {
        /// The id.
        id: format::NodeRevId,
        /// The filesystem.
        path: PathBuf,
    },
    /// A path leads nowhere. `place` is `revision 3` or `transaction '2-2'`.
    #[error("File not found: {place}, path '{path}'")]
    NotFound {
        /// The root.
        place: String,
        /// The fspath.
        path: String,
    },
    /// A parent of a path is a file.
    #[error("Failure opening '{path}' in {place}")]
    NotDirectory {
        /// The root.
        place: String,
        /// The parent that is a file.
        path: String,
        /// The filesystem's UUID.
        fs: String,
    },
    /// Another server has added to the store what was prepared without it: to be prepared again.
    #[error("Another server has changed the repository meanwhile")]
    Overtaken,
    /// Corruption that has no file of its own to name.
    #[error("{0}")]
    Corrupt(String),
}

impl From<sapwood_txn_rules::Error> for Error {
    fn from(error: sapwood_txn_rules::Error) -> Self {
        use sapwood_txn_rules::Error as Rule;
        match error {
            Rule::Svn(error) => Self::Svn(error),
            Rule::NotFound { place, path } => Self::NotFound { place, path },
            Rule::NotDirectory { place, path, fs } => Self::NotDirectory { place, path, fs },
            Rule::Corrupt(message) => Self::Corrupt(message),
        }
    }
}

impl From<sapwood_repo_log::Error> for Error {
    fn from(error: sapwood_repo_log::Error) -> Self {
        Self::Svn(error.into())
    }
}

impl From<sapwood_objects::Error> for Error {
    fn from(error: sapwood_objects::Error) -> Self {
        Self::Svn(error.into())
    }
}

impl Error {
    /// A failed file operation. `verb` is `Can't open file` or the like.
    pub(crate) fn io(error: std::io::Error, verb: &str, path: &std::path::Path) -> Self {
        Self::Io { what: format!("{verb} '{}'", path.display()), error }
    }

    /// Reports a revision's file that is missing as the missing revision.
    pub(crate) fn missing_instead_of_gone(self, first: Revnum) -> Self {
        match self {
            Self::FileGone { .. } => Self::NoSuchRevision(first),
            other => other,
        }
    }

    /// A small file that could not be replaced.
    pub(crate) fn replacing(error: std::io::Error, path: &std::path::Path) -> Self {
        Self::Io { what: sapwood_store::write::replace_failure(&error, path), error }
    }

    /// A lock file that could not be locked.
    pub(crate) fn locking(error: std::io::Error, path: &std::path::Path) -> Self {
        Self::Io { what: sapwood_store::write::lock_failure(&error, path), error }
    }

    /// Something that cannot happen, unless there is a slip in this program: E235000, and where it was
    /// noticed.
    #[track_caller]
    pub(crate) fn internal(what: &str) -> Self {
        let place = std::panic::Location::caller();
        Self::new(
            ErrorCode::ASSERTION_FAIL,
            format!("Internal error: {what} ({}:{})", place.file(), place.line()),
        )
    }

    /// A plain error with a code and the reference's sentence.
    pub(crate) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self::Svn(SvnError::new(code, message))
    }

    /// Whether this says that the data on disk are damaged.
    #[must_use]
    pub fn is_corruption(&self) -> bool {
        match self {
            Self::Svn(e) => e.code() == ErrorCode::FS_CORRUPT,
            Self::Item { error, .. } | Self::File { error, .. } => {
                error.code() == ErrorCode::FS_CORRUPT
            }
            Self::Rep { code, .. } => *code == ErrorCode::FS_CORRUPT,
            Self::Checksum { .. } | Self::Node { .. } | Self::Corrupt(_) => true,
            _ => false,
        }
    }
}

impl From<Error> for SvnError {
    fn from(error: Error) -> Self {
        let message = error.to_string();
        match error {
            Error::Svn(e) => e,
            Error::Io { what, error } => Self::io(&error, what),
            Error::FileGone { path } => Self::io(
                &std::io::Error::from_raw_os_error(2),
                format!("Can't open file '{}'", path.display()),
            ),
            Error::NoSuchRevision(_) => Self::new(ErrorCode::FS_NO_SUCH_REVISION, message),
            Error::NoSuchTransaction(_) => Self::new(ErrorCode::FS_NO_SUCH_TRANSACTION, message),
            // The reference's sentences, one error for one of its; where it is stands behind them.
            Error::Item { path, revision, offset, error } => error.with_place(format_args!(
                " (in '{}', r{revision}, at offset {offset})",
                path.display()
            )),
            // `current` and `min-unpacked-rev`: a sentence that people know as it is.
            Error::File { error, .. } if error.code() == ErrorCode::REVNUM_PARSE_FAILURE => {
                Self::new(error.code(), error.to_string())
            }
            Error::File { path, error } => {
                Self::new(error.code(), format!("{error} (in '{}')", path.display()))
            }
            Error::Rep { revision, item, message, code } => Self::new(
                code,
                format!("{message} (in the representation r{revision}, item {item})"),
            ),
            Error::Checksum { revision, item, expected, actual } => Self::new(
                ErrorCode::CHECKSUM_MISMATCH,
                format!("{message}:\n   expected:  {expected}\n     actual:  {actual}\n"),
            )
            .wrap(
                ErrorCode::FS_CORRUPT,
                format!("Filesystem is corrupt (the representation r{revision}, item {item})"),
            ),
            Error::Node { cause, .. } => Self::from(*cause).wrap(ErrorCode::FS_CORRUPT, message),
            Error::DanglingId { .. } => Self::new(ErrorCode::FS_ID_NOT_FOUND, message),
            Error::NotFound { .. } => Self::new(ErrorCode::FS_NOT_FOUND, message),
            Error::NotDirectory { path, fs, .. } => Self::new(
                ErrorCode::FS_NOT_DIRECTORY,
                format!("'{path}' is not a directory in filesystem '{fs}'"),
            )
            .context(message),
            Error::Overtaken => Self::new(ErrorCode::FS_TXN_OUT_OF_DATE, message),
            Error::Corrupt(message) => Self::new(ErrorCode::FS_CORRUPT, message),
        }
    }
}
