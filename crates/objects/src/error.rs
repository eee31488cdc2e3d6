//! Why a store does not do what it is asked. Each error about an object names the store and the key.

use std::fmt::Display;

use sapwood_core::{ErrorCode, SvnError};

/// The result of this crate's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What a store, or the library that speaks with it, says.
pub type Reason = Box<dyn std::error::Error + Send + Sync>;

/// Why a store does not do what it is asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A text that is no key.
    #[error("'{0}' can't be the name of an object in a store")]
    BadKey(String),
    /// A text that is no address of a store.
    #[error(
        "'{0}' is no address of a store: s3://BUCKET/PREFIX, az://CONTAINER/PREFIX, gs://BUCKET/PREFIX, file:///FOLDER and postgres://HOST/DATABASE+ADDRESS are"
    )]
    NoAddress(Box<str>),
    /// A store that cannot be opened: why, with its address.
    #[error("{}", .0.message())]
    Open(SvnError),
    /// A request failed.
    #[error("Can't {what} '{key}' in the store '{store}': {reason}")]
    Failed {
        /// What was tried: `read`, `write`.
        what: &'static str,
        /// The store's address.
        store: Box<str>,
        /// The object.
        key: Box<str>,
        /// What the store says.
        reason: Reason,
    },
    /// An object that must be there is not.
    #[error("The store '{store}' has no '{key}'")]
    Missing {
        /// The store's address.
        store: Box<str>,
        /// The object.
        key: Box<str>,
    },
    /// It is not known whether an entry was created, and the store does not say: it may be there, or come to be.
    #[error(
        "The store '{store}' does not answer whether '{key}' was written; it may have been: {reason}"
    )]
    InDoubt {
        /// The store's address.
        store: Box<str>,
        /// The entry.
        key: Box<str>,
        /// What it said last.
        reason: Reason,
    },
    /// A store that lets more than one writer create an object.
    #[error(
        "The store '{store}' can't keep repositories: {winners} of {writers} writers were allowed to create '{key}', \
         and only one may be"
    )]
    Cheats {
        /// The store's address.
        store: Box<str>,
        /// The object that was raced for.
        key: Box<str>,
        /// How many the store said had created it.
        winners: usize,
        /// How many tried.
        writers: usize,
    },
    /// A store that gives back something else than was created.
    #[error("The store '{store}' can't keep repositories: '{key}' is not what was written there")]
    Forgets {
        /// The store's address.
        store: Box<str>,
        /// The object.
        key: Box<str>,
    },
    /// The system has no random bytes.
    #[error("No random bytes: {0}")]
    Random(String),
}

impl Error {
    /// The error of a request about an object.
    pub fn failed(
        what: &'static str,
        store: &str,
        key: &dyn Display,
        reason: impl Into<Reason>,
    ) -> Self {
        Self::Failed {
            what,
            store: store.into(),
            key: key.to_string().into(),
            reason: reason.into(),
        }
    }

    /// The error for an object that must be there.
    #[must_use]
    pub fn missing(store: &str, key: &dyn Display) -> Self {
        Self::Missing { store: store.into(), key: key.to_string().into() }
    }
}

impl From<Error> for SvnError {
    fn from(error: Error) -> Self {
        let code = match &error {
            Error::BadKey(_) | Error::NoAddress(_) => ErrorCode::INCORRECT_PARAMS,
            Error::Failed { reason, .. } => {
                let io = reason.downcast_ref::<std::io::Error>();
                let number = io.and_then(std::io::Error::raw_os_error);
                match number.and_then(|number| u32::try_from(number).ok()) {
                    Some(number) => ErrorCode(number),
                    None => ErrorCode::IO_WRITE_ERROR,
                }
            }
            Error::InDoubt { .. } => ErrorCode::IO_WRITE_ERROR,
            Error::Missing { .. } => ErrorCode::FS_CORRUPT,
            Error::Cheats { .. } | Error::Forgets { .. } => ErrorCode::UNSUPPORTED_FEATURE,
            Error::Open(error) => error.code(),
            Error::Random(_) => ErrorCode(0),
        };
        Self::new(code, error.to_string())
    }
}
