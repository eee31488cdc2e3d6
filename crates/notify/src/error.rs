//! Why a message does not go out, and what can be wrong with settings.

use std::path::PathBuf;

use sapwood_core::{ErrorCode, SvnError};

/// The result of this crate's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a message does not go out.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A target cannot be reached, or does not answer in time.
    #[error("'{target}' cannot be reached: {why}")]
    Unreachable {
        /// The target's name.
        target: String,
        /// What went wrong.
        why: String,
    },
    /// A target answers with an error: it may take the message later.
    #[error("'{target}' answers with {answer}")]
    Answer {
        /// The target's name.
        target: String,
        /// Its answer.
        answer: String,
    },
    /// A target answers that it will never take this message.
    #[error("'{target}' refuses r{revision} of '{repository}': {answer}")]
    Refused {
        /// The target's name.
        target: String,
        /// The repository's name.
        repository: String,
        /// The revision.
        revision: u64,
        /// The target's answer.
        answer: String,
    },
    /// A target's name leads into the network of this machine.
    #[error("'{target}' is at {address}, an internal address, and 'internal' does not allow that")]
    Internal {
        /// The target's name.
        target: String,
        /// The address.
        address: String,
    },
    /// A target was down for too long.
    #[error("'{target}' gets no messages of r{from} to r{to} of '{repository}': {why}")]
    GivenUp {
        /// The target's name.
        target: String,
        /// The repository's name.
        repository: String,
        /// The first revision.
        from: u64,
        /// The last one.
        to: u64,
        /// Why not.
        why: &'static str,
    },
    /// A file of the queue is not what it should be.
    #[error("'{}': {why}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong in it.
        why: String,
    },
    /// Another server uses the same queue.
    #[error("The queue '{}' is in use by another server", .0.display())]
    InUse(PathBuf),
    /// The disk.
    #[error("Can't {what} '{}': {source}", path.display())]
    Io {
        /// What was tried.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// Why it failed.
        source: std::io::Error,
    },
    /// The repository cannot be read.
    #[error(transparent)]
    Repository(#[from] SvnError),
}

impl Error {
    /// Whether the target is at fault, so that other messages to it would fail as well.
    pub(crate) const fn is_of_target(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::Answer { .. } | Self::Internal { .. })
    }
}

impl From<Error> for SvnError {
    fn from(error: Error) -> Self {
        let code = match &error {
            Error::Repository(error) => return error.clone(),
            Error::Unreachable { .. } => ErrorCode::RA_CANNOT_CREATE_SESSION,
            Error::Answer { .. } | Error::Refused { .. } | Error::GivenUp { .. } => {
                ErrorCode::REPOS_POST_COMMIT_HOOK_FAILED
            }
            Error::Internal { .. } | Error::Malformed { .. } | Error::InUse(_) => {
                ErrorCode::BAD_CONFIG_VALUE
            }
            Error::Io { what, path, source } => {
                return Self::io(source, format_args!("Can't {what} '{}'", path.display()));
            }
        };
        Self::new(code, error.to_string())
    }
}
