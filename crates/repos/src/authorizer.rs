//! Read access by path.

use sapwood_core::Exact;
use sapwood_core::FsPath;
use std::sync::atomic::{AtomicU32, Ordering};

use sapwood_core::SvnResult;

/// A number for a set of rules. Authorizers with the same number give the same answers for every
/// path, for ever: a reply made for one may be cached, and sent to the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RulesId(u32);

impl RulesId {
    /// Numbers are below this, so that they can be a part of cache keys.
    const END: u32 = 1 << 30;

    /// A number that no other rules in this process have; `None` when there are no more.
    #[must_use]
    pub fn fresh() -> Option<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        let more = |next: u32| (next < Self::END).then(|| next.plus(1));
        NEXT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok().map(Self)
    }

    /// The number; never 0.
    #[must_use]
    pub(crate) const fn number(self) -> u32 {
        self.0
    }
}

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
    /// Errors of looking up the rules.
    fn readable(&self, path: &FsPath) -> SvnResult<bool>;

    /// Whether every path may be read, so that there is no need to ask. Must be cheap.
    fn everything_readable(&self) -> bool {
        false
    }

    /// What is known about `path` and everything below it. [`SubtreeAccess::Mixed`] is always a
    /// correct answer.
    ///
    /// # Errors
    /// Errors of looking up the rules.
    fn subtree(&self, path: &FsPath) -> SvnResult<SubtreeAccess> {
        let _ = path;
        Ok(if self.everything_readable() { SubtreeAccess::Readable } else { SubtreeAccess::Mixed })
    }

    /// The number of the rules by which this authorizer answers; `None` when nothing may be cached
    /// that was made with its answers.
    fn rules(&self) -> Option<RulesId> {
        None
    }

    /// Whether [`PathAuthorizer::refused`] is to be called again for each path that was refused when a
    /// reply was made, each time that the reply is sent out of a cache.
    fn notes_refusals(&self) -> bool {
        false
    }

    /// Called for a path that was refused when the cached reply was made. ([`PathAuthorizer::readable`]
    /// itself knows the paths that it refuses.)
    fn refused(&self, path: &FsPath) {
        let _ = path;
    }
}

/// The authorizer that allows reading everything.
#[derive(Clone, Copy, Debug, Default)]
pub struct Everything;

impl PathAuthorizer for Everything {
    fn readable(&self, _path: &FsPath) -> SvnResult<bool> {
        Ok(true)
    }

    fn everything_readable(&self) -> bool {
        true
    }
}
