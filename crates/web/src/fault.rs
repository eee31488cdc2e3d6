//! Why there is no page.

use sapwood_core::{ErrorCode, SvnError};

/// Why there is no page.
#[derive(Debug)]
pub enum Fault {
    /// There is nothing at the address, or this user may not read it.
    Missing,
    /// The address has a number or name that means nothing.
    Bad(&'static str),
    /// It takes too long for a page.
    TooLong,
    /// It is more than this server makes.
    TooMuch(&'static str),
    /// Corruption, or an error of the system.
    Failed(SvnError),
}

/// The result of making a page.
pub type Result<T> = std::result::Result<T, Fault>;

impl From<SvnError> for Fault {
    fn from(error: SvnError) -> Self {
        if error.is_cancelled() {
            return Self::TooLong;
        }
        let is_missing = error.is_no_path()
            || matches!(
                error.code(),
                ErrorCode::AUTHZ_UNREADABLE
                    | ErrorCode::FS_NO_SUCH_REVISION
                    | ErrorCode::FS_NOT_FILE
                    | ErrorCode::FS_NOT_DIRECTORY
            );
        if is_missing { Self::Missing } else { Self::Failed(error) }
    }
}

impl From<sapwood_repos::Error> for Fault {
    fn from(error: sapwood_repos::Error) -> Self {
        SvnError::from(error).into()
    }
}

impl From<sapwood_search::Error> for Fault {
    fn from(error: sapwood_search::Error) -> Self {
        match error {
            sapwood_search::Error::Query(why) => Self::Bad(why),
            other => SvnError::from(other).into(),
        }
    }
}

impl From<sapwood_fs::Error> for Fault {
    fn from(error: sapwood_fs::Error) -> Self {
        SvnError::from(error).into()
    }
}
