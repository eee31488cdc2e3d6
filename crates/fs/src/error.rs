//! What can go wrong in a filesystem, and its E-codes.

use sapwood_core::{ErrorCode, Revnum, SvnError};

/// Shorthand for results of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// An error of the filesystem.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Anything that already has its final form.
    #[error(transparent)]
    Svn(#[from] SvnError),
    /// There is no such revision.
    #[error("No such revision {0}")]
    NoSuchRevision(Revnum),
    /// A path leads nowhere. `place` is `revision 3` or `transaction '2-2'`.
    #[error("File not found: {place}, path '{path}'")]
    NotFound {
        /// The root.
        place: String,
        /// The fspath.
        path: String,
    },
    /// What only an engine knows about.
    #[error(transparent)]
    Engine(EngineError),
}

/// An error that its engine describes.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct EngineError(Box<sapwood_fsfs::Error>);

impl Error {
    /// Whether this says that the data on disk are damaged.
    #[must_use]
    pub fn is_corruption(&self) -> bool {
        match self {
            Self::Svn(error) => error.code() == ErrorCode::FS_CORRUPT,
            Self::NoSuchRevision(_) | Self::NotFound { .. } => false,
            Self::Engine(EngineError(error)) => error.is_corruption(),
        }
    }
}

impl From<sapwood_fsfs::Error> for Error {
    fn from(error: sapwood_fsfs::Error) -> Self {
        use sapwood_fsfs::Error as Fsfs;
        match error {
            Fsfs::Svn(error) => Self::Svn(error),
            Fsfs::NoSuchRevision(revision) => Self::NoSuchRevision(revision),
            Fsfs::NotFound { place, path } => Self::NotFound { place, path },
            other => Self::Engine(EngineError(Box::new(other))),
        }
    }
}

impl From<sapwood_fsx::Error> for Error {
    fn from(error: sapwood_fsx::Error) -> Self {
        use sapwood_fsx::Error as Fsx;
        match error {
            Fsx::NoSuchRevision(revision) => Self::NoSuchRevision(revision),
            Fsx::NotFound { revision, path } => {
                Self::NotFound { place: format!("revision {revision}"), path }
            }
            other => Self::Svn(other.into()),
        }
    }
}

/// What a callback of the caller reported goes through the engine, and comes out as it was.
impl From<Error> for sapwood_fsfs::Error {
    fn from(error: Error) -> Self {
        match error {
            Error::Svn(error) => Self::Svn(error),
            Error::NoSuchRevision(revision) => Self::NoSuchRevision(revision),
            Error::NotFound { place, path } => Self::NotFound { place, path },
            Error::Engine(EngineError(error)) => *error,
        }
    }
}

impl From<Error> for sapwood_fsx::Error {
    fn from(error: Error) -> Self {
        Self::Svn(error.into())
    }
}

impl From<Error> for SvnError {
    fn from(error: Error) -> Self {
        match error {
            Error::Svn(error) => error,
            other => sapwood_fsfs::Error::from(other).into(),
        }
    }
}
