//! Why a change is refused.

use sapwood_core::{ErrorCode, SvnError};

/// Why a change is refused. Engines make their own errors of these.
#[derive(Debug)]
pub enum Error {
    /// An error that has its E-code.
    Svn(SvnError),
    /// E160013: a path leads nowhere.
    NotFound {
        /// `transaction '2-2'`.
        place: String,
        /// The path.
        path: String,
    },
    /// E160016: a parent of a path is a file.
    NotDirectory {
        /// `transaction '2-2'`.
        place: String,
        /// The parent that is a file.
        path: String,
        /// The filesystem's UUID.
        fs: String,
    },
    /// E160004: what is committed, or the transaction, contradicts itself.
    Corrupt(String),
}

impl Error {
    pub(crate) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self::Svn(SvnError::new(code, message.into()))
    }
}
