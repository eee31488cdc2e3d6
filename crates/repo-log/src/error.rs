//! Why a repository in a store cannot be read or changed.

use sapwood_core::{ErrorCode, SvnError};

/// The result of this crate's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a repository in a store cannot be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The store.
    #[error(transparent)]
    Store(#[from] sapwood_objects::Error),
    /// An entry is not what it should be.
    #[error("The repository '{store}' is damaged: entry {slot} of its log {why}")]
    Damaged {
        /// The store's address.
        store: Box<str>,
        /// The number of the entry.
        slot: u64,
        /// What is wrong with it.
        why: String,
    },
    /// A checkpoint is not what the entries add up to.
    #[error(
        "The repository '{store}' has a wrong checkpoint: '{key}' {why}; its log is whole, and '{key}' may be removed"
    )]
    Checkpoint {
        /// The store's address.
        store: Box<str>,
        /// The object.
        key: Box<str>,
        /// What is wrong with it.
        why: String,
    },
    /// Data that an entry names are not what it says.
    #[error(
        "The repository '{store}' is damaged: '{key}' is not what entry {slot} of its log says"
    )]
    WrongData {
        /// The store's address.
        store: Box<str>,
        /// The object.
        key: Box<str>,
        /// The number of the entry.
        slot: u64,
    },
    /// Tables of representations are not what they were. All is there, but equal texts are stored again.
    #[error(
        "The repository '{store}' has damaged tables of representations, and {blocks} of their blocks were passed over"
    )]
    Tables {
        /// The store's address.
        store: Box<str>,
        /// How many blocks.
        blocks: u64,
    },
    /// There is none.
    #[error("There is no repository at '{0}'")]
    NotThere(Box<str>),
    /// What was to be added does not follow from what is there: a slip of ours.
    #[error("A change does not fit the repository '{store}': it {why}")]
    Unfit {
        /// The store's address.
        store: Box<str>,
        /// What does not fit.
        why: String,
    },
}

impl From<Error> for SvnError {
    fn from(error: Error) -> Self {
        let code = match &error {
            Error::Store(_) => {
                let Error::Store(error) = error else { return Self::internal("not a store's") };
                return error.into();
            }
            Error::Damaged { .. }
            | Error::Checkpoint { .. }
            | Error::WrongData { .. }
            | Error::Tables { .. } => ErrorCode::FS_CORRUPT,
            Error::NotThere(_) => ErrorCode::RA_LOCAL_REPOS_NOT_FOUND,
            Error::Unfit { .. } => ErrorCode::FS_GENERAL,
        };
        Self::new(code, error.to_string())
    }
}
