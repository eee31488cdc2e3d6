//! Why a sign-in fails, and what can be wrong with the settings.

use sapwood_core::{ErrorCode, SvnError};

/// The result of a question to a provider.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a sign-in fails.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The provider cannot be reached, does not answer in time, or failed a short time ago.
    #[error("OpenID provider '{url}': {why}")]
    Unreachable {
        /// What was asked.
        url: String,
        /// What went wrong.
        why: String,
    },
    /// The provider answers with something else than was asked for.
    #[error("OpenID provider: the answer to the question for {what}: {why}")]
    Answer {
        /// What was asked for.
        what: &'static str,
        /// What is wrong.
        why: String,
    },
    /// The ID token does not prove who its user is.
    #[error("OpenID provider: the ID token is refused: {0}")]
    Token(&'static str),
    /// The user is known, and may not sign in here.
    #[error("User '{subject}' of the OpenID provider may not sign in: {why}")]
    NotAllowed {
        /// The claim `sub`.
        subject: String,
        /// Why not.
        why: String,
    },
    /// There were no random bytes.
    #[error("Can't make a secret: {0}")]
    Random(String),
}

impl Error {
    pub(crate) fn answer(what: &'static str, why: impl ToString) -> Self {
        Self::Answer { what, why: why.to_string() }
    }
}

impl From<Error> for SvnError {
    fn from(error: Error) -> Self {
        Self::new(ErrorCode::AUTHN_FAILED, error.to_string())
    }
}
