//! Why a directory gives no answer, and what can be wrong with its settings.

use sapwood_core::{ErrorCode, SvnError};

/// The result of a question to a directory.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a directory gives no answer. None of these says anything about a user's password.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A server cannot be reached, does not answer in time, or closed the connection.
    #[error("LDAP server '{server}': {why}")]
    Unreachable {
        /// Its URL.
        server: String,
        /// What went wrong.
        why: String,
    },
    /// Each server failed a short time ago, and is tried again later.
    #[error("No server of the directory answers")]
    AllDown,
    /// Too many logins are being checked.
    #[error("Too many logins wait for the directory")]
    Busy,
    /// A server answers a search, or the bind of the account that searches, with an error.
    #[error("LDAP server '{server}': {what} failed: {why}")]
    Answer {
        /// The server's URL.
        server: String,
        /// What was asked.
        what: &'static str,
        /// The result code and its text.
        why: String,
    },
    /// The server refers to another one.
    #[error("LDAP server '{server}' refers to '{to}'")]
    Referral {
        /// The server's URL.
        server: String,
        /// The other one's.
        to: String,
    },
    /// A server answers with something that is no LDAP.
    #[error("LDAP server '{server}': malformed answer: {why}")]
    Malformed {
        /// The server's URL.
        server: String,
        /// What is wrong.
        why: &'static str,
    },
    /// More than one entry matches a user's name.
    #[error("More than one entry of the directory matches user '{0}'")]
    Ambiguous(String),
    /// A user is in more groups than are looked at.
    #[error("User '{user}' is in more than {most} groups of the directory")]
    TooManyGroups {
        /// The user.
        user: String,
        /// The limit.
        most: usize,
    },
    /// The file with the password of the account that searches cannot be read.
    #[error("Can't read '{path}': {why}")]
    Secret {
        /// The file.
        path: String,
        /// The system's error.
        why: String,
    },
}

impl From<Error> for SvnError {
    fn from(error: Error) -> Self {
        Self::new(ErrorCode::AUTHN_CREDS_UNAVAILABLE, error.to_string())
    }
}
