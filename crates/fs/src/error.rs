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

#[cfg(test)]
mod tests {
    use super::*;

    /// What a callback reports passes through either engine.
    #[test]
    fn errors_of_callers_come_out_as_they_went_in() {
        let errors = || {
            [
                Error::NoSuchRevision(Revnum(7)),
                Error::NotFound { place: "revision 3".into(), path: "/a".into() },
                Error::Svn(SvnError::new(ErrorCode::CANCELLED, "stopped")),
                Error::from(sapwood_fsfs::Error::Corrupt("damaged".into())),
            ]
        };
        for (error, same) in errors().into_iter().zip(errors()) {
            let wanted = SvnError::from(same);
            let through = Error::from(sapwood_fsfs::Error::from(error));
            assert_eq!(through.is_corruption(), wanted.code() == ErrorCode::FS_CORRUPT);
            assert_eq!(SvnError::from(through).to_string(), wanted.to_string());
        }
        for (error, same) in errors().into_iter().zip(errors()) {
            let wanted = SvnError::from(same);
            let through = SvnError::from(Error::from(sapwood_fsx::Error::from(error)));
            assert_eq!((through.code(), through.to_string()), (wanted.code(), wanted.to_string()));
        }
    }

    #[test]
    fn missing_things_of_either_engine_are_the_same() {
        let (revision, path) = (Revnum(3), "/a".to_owned());
        let ours = Error::from(sapwood_fsx::Error::NotFound { revision, path: path.clone() });
        let place = "revision 3".to_owned();
        let theirs = Error::from(sapwood_fsfs::Error::NotFound { place, path });
        assert_eq!(ours.to_string(), theirs.to_string());
        assert!(matches!(
            Error::from(sapwood_fsx::Error::NoSuchRevision(revision)),
            Error::NoSuchRevision(Revnum(3))
        ));
    }
}
