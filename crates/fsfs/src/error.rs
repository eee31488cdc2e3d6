//! What can go wrong in the filesystem, and its E-codes.

use sapwood_core::SvnError;

/// Shorthand for results of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// An error of the filesystem.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Anything that already has its final form.
    #[error(transparent)]
    Svn(#[from] SvnError),
}

impl From<Error> for SvnError {
    fn from(error: Error) -> Self {
        match error {
            Error::Svn(e) => e,
        }
    }
}
