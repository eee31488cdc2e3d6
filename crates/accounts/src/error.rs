//! What can go wrong with accounts.

use std::path::PathBuf;

use sapwood_core::{ErrorCode, SvnError};

/// The result of this crate's functions.
pub type Result<T> = std::result::Result<T, Error>;

/// What can go wrong with accounts.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be read or written.
    #[error("Can't {what} '{path}'")]
    Io {
        /// What was tried.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The file is not what it should be.
    #[error("'{path}': {why}")]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The line and what is wrong in it.
        why: String,
    },
    /// The file was written by a newer version.
    #[error("'{path}' has format {format}, and this version knows formats up to {known}")]
    Newer {
        /// The file.
        path: PathBuf,
        /// The format that the file names.
        format: u32,
        /// The newest that is known.
        known: u32,
    },
    /// A name that no user, group or token can have.
    #[error("'{name}' can't be the name of a {what}: {why}")]
    Name {
        /// `user`, `group` or `token`.
        what: &'static str,
        /// The name.
        name: String,
        /// Why not.
        why: &'static str,
    },
    /// There is no such user.
    #[error("There is no user '{0}'")]
    NoUser(String),
    /// There is such a user already.
    #[error("There is a user '{0}' already")]
    UserExists(String),
    /// A provider of identities gave the name of a user to another person.
    #[error("User '{0}' is another person: 'sapwood user remove' makes the name free")]
    AnotherPerson(String),
    /// The user has more tokens than a page makes.
    #[error("User '{0}' has too many tokens")]
    TooManyTokens(String),
    /// How long a token is to count is no number of days.
    #[error("A token of a page counts from 1 to 366 days")]
    Days,
    /// The user has no such token.
    #[error("User '{0}' has no token '{1}'")]
    NoToken(String, String),
    /// The user has such a token already.
    #[error("User '{0}' has a token '{1}' already")]
    TokenExists(String, String),
    /// An empty password: each client that knows the name could log in.
    #[error("The password is empty")]
    EmptyPassword,
    /// A password hash could not be computed, or random bytes not be had.
    #[error("Can't make a secret: {0}")]
    Secret(String),
}

impl From<Error> for SvnError {
    fn from(error: Error) -> Self {
        let message = error.to_string();
        match error {
            Error::Io { source, .. } => Self::io(&source, message),
            Error::Malformed { .. } | Error::Newer { .. } => {
                Self::new(ErrorCode::MALFORMED_FILE, message)
            }
            Error::Name { .. } | Error::EmptyPassword | Error::Days => {
                Self::new(ErrorCode::INCORRECT_PARAMS, message)
            }
            Error::NoUser(_) | Error::NoToken(..) => Self::new(ErrorCode::ENTRY_NOT_FOUND, message),
            Error::UserExists(_)
            | Error::TokenExists(..)
            | Error::AnotherPerson(_)
            | Error::TooManyTokens(_) => Self::new(ErrorCode::ENTRY_EXISTS, message),
            Error::Secret(_) => Self::new(ErrorCode::AUTHN_CREDS_UNAVAILABLE, message),
        }
    }
}
