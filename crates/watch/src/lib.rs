//! The monitor of working copies: one process for each user, which learns from the kernel (inotify) where files
//! change, and which reports to `svn` the directories that changed since it last asked.
//!
//! - [`protocol`]: the questions and answers over the monitor's socket;
//! - [`ask`]: the side of `svn`. No answer, a late one, or one that says "unknown" means: walk;
//! - [`tree`]: one working copy as the kernel reports it; [`trees`]: all of them, which share one inotify instance;
//! - [`monitor`]: the process.
//!
//! Invariant: a directory that is not named in an answer has not changed since the token that came
//! with the question. Whatever endangers that (a queue that overflowed, a restart, a limit, another
//! file system below) gives the working copy a new name, after which no older token is known. The
//! kernel queues an event before the system call that caused it returns, and the monitor empties its
//! queue before it answers: changes before the question are in the answer.
//!
//! What the kernel does not report is not known here: changes through another link to a file (`svn` looks at files
//! that had several when it last looked), through a shared mapping, or on the server of a network file system (which are not watched).

pub mod ask;
pub mod monitor;
mod mounts;
pub mod protocol;
mod queue;
pub mod tree;
pub mod trees;

use std::path::PathBuf;

/// What can go wrong.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The system refused something.
    #[error("{what} '{}': {error}", path.display())]
    Io {
        /// The failed operation.
        what: &'static str,
        /// Where.
        path: PathBuf,
        /// The system's error.
        error: std::io::Error,
    },
    /// A directory cannot be watched.
    #[error("'{}' cannot be watched: {why}", path.display())]
    Unwatchable {
        /// The directory.
        path: PathBuf,
        /// Why not.
        why: &'static str,
    },
    /// The folder of the socket is not the user's own.
    #[error("'{}' does not belong to this user alone", .0.display())]
    NotOwn(PathBuf),
    /// Another monitor has the socket.
    #[error("A monitor runs already")]
    Running,
    /// No monitor answers.
    #[error("No monitor runs")]
    NotRunning,
    /// The monitor said no.
    #[error("{0}")]
    Refused(String),
}

impl Error {
    pub(crate) fn io(
        error: impl Into<std::io::Error>,
        what: &'static str,
        path: impl Into<PathBuf>,
    ) -> Self {
        Self::Io { what, path: path.into(), error: error.into() }
    }
}

/// Shorthand for results of this crate.
pub type Result<T> = std::result::Result<T, Error>;
