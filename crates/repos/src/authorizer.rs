//! Who may read what.

use sapwood_core::SvnResult;

/// What is known about reading a path and everything that can ever be below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubtreeAccess {
    /// All of it is readable.
    Readable,
    /// None of it is readable.
    Unreadable,
    /// Some of it may be: ask path by path.
    Mixed,
}

/// Decides which paths a user may read. Rules speak about paths, not about revisions, as in the
/// reference's authz files.
pub trait PathAuthorizer {
    /// Whether `path` (a canonical fspath) itself may be read.
    ///
    /// # Errors
    /// Whatever looking up the rules meets.
    fn readable(&self, path: &str) -> SvnResult<bool>;

    /// Whether every path may be read, so that nobody needs to ask. Must be cheap.
    fn everything_readable(&self) -> bool {
        false
    }

    /// What is known about `path` and everything below it. [`SubtreeAccess::Mixed`] is always a
    /// correct answer.
    ///
    /// # Errors
    /// Whatever looking up the rules meets.
    fn subtree(&self, path: &str) -> SvnResult<SubtreeAccess> {
        let _ = path;
        Ok(if self.everything_readable() { SubtreeAccess::Readable } else { SubtreeAccess::Mixed })
    }
}

/// The authorizer that lets everything be read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Everything;

impl PathAuthorizer for Everything {
    fn readable(&self, _path: &str) -> SvnResult<bool> {
        Ok(true)
    }

    fn everything_readable(&self) -> bool {
        true
    }
}
