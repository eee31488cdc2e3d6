//! What a message is about: one commit.

use std::path::Path;

use sapwood_core::paths::FsPathBuf;
use sapwood_core::{FsPath, Revnum, SvnResult};

/// The most paths that a commit in a message has.
pub const MOST_PATHS: usize = 1000;
/// The most bytes of a log message in a message.
pub const MOST_MESSAGE: usize = 64 << 10;

/// What happened to a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Added.
    Add,
    /// Deleted.
    Delete,
    /// Deleted and added again.
    Replace,
    /// Changed.
    Modify,
}

impl Action {
    /// The letter of `svn log -v`.
    #[must_use]
    pub const fn letter(self) -> &'static str {
        match self {
            Self::Add => "A",
            Self::Delete => "D",
            Self::Replace => "R",
            Self::Modify => "M",
        }
    }
}

/// A path that a commit changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedPath {
    /// The path in the repository.
    pub path: FsPathBuf,
    /// What happened to it.
    pub action: Action,
    /// What it was copied from.
    pub copied_from: Option<(FsPathBuf, Revnum)>,
}

/// A commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// The repository's name, as authz files have it.
    pub repository: String,
    /// The repository's UUID.
    pub uuid: String,
    /// The new revision.
    pub revision: Revnum,
    /// Who made it.
    pub author: Option<String>,
    /// When it was made, as the repository has it.
    pub date: Option<String>,
    /// The log message, at most [`MOST_MESSAGE`] bytes of it.
    pub message: String,
    /// The paths that it changed, at most [`MOST_PATHS`] of them.
    pub paths: Vec<ChangedPath>,
    /// How many more there are.
    pub more_paths: usize,
}

impl Commit {
    /// What identifies the commit everywhere: a message that is sent twice has the same one.
    #[must_use]
    pub fn id(&self) -> String {
        format!("{}:{}", self.uuid, self.revision)
    }
}

/// Where commits are read from.
pub trait Source: Send + Sync + 'static {
    /// The youngest revision of the repository in a folder.
    ///
    /// # Errors
    /// When there is no repository, or it cannot be read.
    fn youngest(&self, repository: &Path) -> SvnResult<Revnum>;

    /// A commit, if one of its paths concerns the target.
    ///
    /// # Errors
    /// When it cannot be read.
    fn commit(
        &self,
        repository: &Path,
        name: &str,
        revision: Revnum,
        concerns: &dyn Fn(&FsPath) -> bool,
    ) -> SvnResult<Option<Commit>>;
}
