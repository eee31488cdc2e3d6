//! What can go wrong in a working copy, and its E-codes.

use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};

use sapwood_core::{ErrorCode, SvnError};

/// Shorthand for results of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// An error of the working copy. Paths are shown as they are on disk.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Anything that already has its final form.
    #[error(transparent)]
    Svn(#[from] SvnError),
    /// A file operation failed. `what` is the sentence without the system's words.
    #[error("{what}: {error}")]
    Io {
        /// What was tried.
        what: String,
        /// What the system said.
        error: io::Error,
    },
    /// SQLite failed.
    #[error("{0}")]
    Sqlite(#[from] rusqlite::Error),
    /// There is no working copy at or above a path.
    #[error("'{}' is not a working copy", .0.display())]
    NotWorkingCopy(PathBuf),
    /// The database has no such node.
    #[error("The node '{}' was not found.", .0.display())]
    NodeNotFound(PathBuf),
    /// What is to be added is there already.
    #[error("'{}' is already under version control", .0.display())]
    AlreadyVersioned(PathBuf),
    /// The text of a file, as the repository has it, is not kept here. What is said of it.
    #[error("{0}")]
    NoText(String),
    /// The node is there, but cannot be used for this.
    #[error("The node '{}' is not in a state for this operation", .0.display())]
    UnexpectedStatus(PathBuf),
    /// A format that has to be upgraded, or one from the future.
    #[error("'{}': format {format} is not supported", path.display())]
    Format {
        /// The working copy.
        path: PathBuf,
        /// The number.
        format: i64,
    },
    /// Another client has the working copy, or this one left it locked.
    #[error("'{}' is already locked.", .0.display())]
    Locked(PathBuf),
    /// The work queue holds work that a killed client left.
    #[error("Previous operation has not finished; run 'cleanup' if it was interrupted")]
    CleanupRequired(PathBuf),
    /// A value of the database that the format does not allow.
    #[error("Corrupt working copy '{}': {what}", path.display())]
    Corrupt {
        /// The working copy or the node.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// The caller asked to stop.
    #[error("Caught signal")]
    Cancelled,
}

impl Error {
    /// A failed file operation on a path, in the reference's form (`Can't open file '/x'`).
    #[must_use]
    pub fn io(error: io::Error, what: impl Display, path: &Path) -> Self {
        Self::Io { what: format!("{what} '{}'", path.display()), error }
    }

    /// A name in a directory that is not UTF-8: it is shown with its bytes, and with its directory, else it is not
    /// found in a large tree.
    #[must_use]
    pub fn not_utf8(dir: &Path, name: &[u8]) -> Self {
        let shown = name.escape_ascii();
        let message = format!("Can't convert string from native encoding to 'UTF-8': {shown}");
        let dir = dir.components().as_path().display();
        let place = format!("Error converting entry in directory '{dir}' to UTF-8");
        Self::Svn(SvnError::new(ErrorCode::EINVAL, message).wrap(ErrorCode::EINVAL, place))
    }

    /// An error in its final form.
    #[must_use]
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self::Svn(SvnError::new(code, message))
    }
}

impl From<sapwood_core::paths::NotCanonical> for Error {
    fn from(error: sapwood_core::paths::NotCanonical) -> Self {
        Self::Svn(error.into())
    }
}

impl From<Error> for SvnError {
    fn from(error: Error) -> Self {
        let message = error.to_string();
        match error {
            Error::Svn(inner) => inner,
            Error::Io { what, error } => Self::io(&error, what),
            Error::Sqlite(e) => sqlite(&e),
            Error::NotWorkingCopy(_) => Self::new(ErrorCode::WC_NOT_WORKING_COPY, message),
            Error::NodeNotFound(_) => Self::new(ErrorCode::WC_PATH_NOT_FOUND, message),
            Error::AlreadyVersioned(_) => Self::new(ErrorCode::ENTRY_EXISTS, message),
            Error::NoText(_) => Self::new(ErrorCode::WC_PRISTINE_DEHYDRATED, message),
            Error::UnexpectedStatus(_) => Self::new(ErrorCode::WC_PATH_UNEXPECTED_STATUS, message),
            Error::Format { path, format } => unsupported(&path, format),
            Error::Locked(path) => {
                let shown = path.display();
                Self::new(ErrorCode::WC_LOCKED, message)
                    .wrap(ErrorCode::WC_LOCKED, format!("Working copy '{shown}' locked."))
            }
            Error::CleanupRequired(_) => Self::new(ErrorCode::WC_CLEANUP_REQUIRED, message),
            Error::Corrupt { .. } => Self::new(ErrorCode::WC_CORRUPT, message),
            Error::Cancelled => Self::new(ErrorCode::CANCELLED, message),
        }
    }
}

/// The sentences about formats that this program does not work on.
fn unsupported(path: &Path, format: i64) -> SvnError {
    let shown = path.display();
    if format > crate::format::FORMAT_OPTIONAL_PRISTINES {
        return SvnError::new(
            ErrorCode::WC_UNSUPPORTED_FORMAT,
            format!(
                "This client is too old to work with the working copy at\n'{shown}' (format {format}).\n\
                 You need to get a newer Subversion client. For more details, see\n  \
                 http://subversion.apache.org/faq.html#working-copy-format-change\n"
            ),
        );
    }
    SvnError::new(
        ErrorCode::WC_UPGRADE_REQUIRED,
        format!(
            "The working copy at '{shown}'\nis too old (format {format}) to work with client version \
             '1.14.2 (r1899510)' (expects format {}). You need to upgrade the working copy first.\n",
            crate::format::FORMAT
        ),
    )
}

/// An error of SQLite in the reference's form (`sqlite[S5]: database is locked`).
fn sqlite(error: &rusqlite::Error) -> SvnError {
    match error {
        rusqlite::Error::SqliteFailure(e, Some(text)) => {
            SvnError::sqlite(Some(e.extended_code), text)
        }
        rusqlite::Error::SqliteFailure(e, None) => SvnError::sqlite(Some(e.extended_code), error),
        other if is_wrong_value(other) => SvnError::new(
            ErrorCode::WC_CORRUPT,
            format!("Encountered an invalid value in the working copy database: {other}"),
        ),
        other => SvnError::sqlite(None, other),
    }
}

/// Whether a row has a value of a kind, or with a meaning, that its column does not have.
const fn is_wrong_value(error: &rusqlite::Error) -> bool {
    matches!(
        error,
        rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::Utf8Error(..)
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failure is a failed test")]

    use super::*;

    #[test]
    fn wrong_values_of_the_database_are_damage() {
        let connection = rusqlite::Connection::open_in_memory().unwrap();
        let text: rusqlite::Result<Vec<u8>> = connection.query_row("SELECT 'a'", [], |r| r.get(0));
        let error = SvnError::from(Error::from(text.unwrap_err()));
        assert_eq!(error.code(), ErrorCode::WC_CORRUPT);
        let none: rusqlite::Result<i64> =
            connection.query_row("SELECT 1 WHERE 0", [], |r| r.get(0));
        let error = SvnError::from(Error::from(none.unwrap_err()));
        assert_eq!(error.code(), ErrorCode::SQLITE_ERROR);
    }
}
