//! Errors of the repository layer, and their E-codes.

use sapwood_core::SvnError;

/// Shorthand for results of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// An error of the repository layer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An error that already has its final form.
    #[error(transparent)]
    Svn(#[from] SvnError),
    /// An error of the filesystem.
    #[error(transparent)]
    Fs(#[from] sapwood_fs::Error),
}

impl From<Error> for SvnError {
    fn from(error: Error) -> Self {
        match error {
            Error::Svn(e) => e,
            Error::Fs(e) => e.into(),
        }
    }
}
