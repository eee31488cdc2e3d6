//! Operations on conflicts: what is recorded, and how it is resolved. The functions: `local::resolve` and its neighbours.

use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{CancelToken, PropList};

use crate::conflict::Conflict;
use crate::error::Result;
use crate::local::{
    Choice, Notifier, Part, add_incoming, move_conflict, move_incoming, resolve, resolve_tree,
};
use crate::locks::Lock;
use crate::merge::tree;
use crate::node::Origin;
use crate::root::WorkingCopy;
use crate::status::assemble;
use crate::status::assemble::OpenConflicts;

impl WorkingCopy {
    /// Merges a directory that was added here into the one that an update added. This resolves the tree
    /// conflict between the two, and is reported. Needs a lock.
    ///
    /// # Errors
    /// E155027 when BASE has no such directory; that files cannot be read or written.
    pub fn update_local_add(
        &self,
        relpath: &RelPath,
        cancel: &CancelToken,
        notify: &Notifier<'_>,
    ) -> Result<()> {
        add_incoming::update_local_add(self, relpath, cancel, notify)
    }

    /// Whether there is anything at or below a versioned path that is not versioned.
    ///
    /// # Errors
    /// SQLite's; that a directory cannot be read.
    pub fn has_unversioned(&self, relpath: &RelPath) -> Result<bool> {
        move_conflict::has_unversioned(self.db(), self.disk(), relpath)
    }

    /// Moves the local changes of a directory that is in conflict with an incoming deletion to the directory's
    /// new path, and reports them. Needs locks over both. Returns the nodes whose changes were not moved: each
    /// has a tree conflict instead.
    ///
    /// # Errors
    /// E155027 when there are local changes at the destination, or it has several revisions.
    pub fn update_incoming_move(
        &self,
        victim: &RelPath,
        target: &RelPath,
        cancel: &CancelToken,
        notify: &Notifier<'_>,
    ) -> Result<Vec<RelPathBuf>> {
        move_incoming::update_incoming_move(self, victim, target, cancel, notify)
    }

    /// Whether any node at or below a path is in conflict.
    ///
    /// # Errors
    /// SQLite's.
    pub fn has_conflicts(&self, relpath: &RelPath) -> Result<bool> {
        resolve::has_conflicts(self.db(), relpath)
    }

    /// Resolves the conflicts of a node, its text first, then its properties, then the tree, and
    /// reports each. Returns whether there was one. Takes the lock that it needs.
    ///
    /// # Errors
    /// E195024 when the choice is not one for this conflict; E155027 when what was chosen is not there.
    pub fn resolve(
        &self,
        relpath: &RelPath,
        choice: Choice,
        cancel: &CancelToken,
        notify: &Notifier<'_>,
    ) -> Result<bool> {
        resolve::resolve(self, relpath, choice, cancel, notify)
    }

    /// The same of some of the conflicts.
    ///
    /// # Errors
    /// As [`WorkingCopy::resolve`].
    pub fn resolve_part(
        &self,
        relpath: &RelPath,
        part: Part<'_>,
        choice: Choice,
        cancel: &CancelToken,
        notify: &Notifier<'_>,
    ) -> Result<bool> {
        resolve::resolve_part(self, relpath, part, choice, cancel, notify)
    }

    /// Locks what resolving the conflicts of a node may change, including the paths that it and its
    /// descendants were moved to.
    ///
    /// # Errors
    /// As [`WorkingCopy::lock`].
    pub fn lock_to_resolve(&self, relpath: &RelPath) -> Result<Lock> {
        resolve_tree::lock_to_resolve(self, relpath)
    }

    /// Records a tree conflict.
    ///
    /// # Errors
    /// E155035 when there is one already; SQLite's.
    pub fn add_tree_conflict(&self, relpath: &RelPath, conflict: &Conflict) -> Result<()> {
        tree::add_tree_conflict(self.db(), self.disk(), relpath, conflict)
    }

    /// Forgets a tree conflict; other conflicts of the node stay.
    ///
    /// # Errors
    /// SQLite's; a malformed record.
    pub fn remove_tree_conflict(&self, relpath: &RelPath) -> Result<()> {
        tree::remove_tree_conflict(self.db(), relpath)
    }

    /// Makes a directory on disk.
    ///
    /// # Errors
    /// That it cannot be made.
    pub fn make_dir(&self, relpath: &RelPath) -> Result<()> {
        tree::make_dir(self.disk(), relpath)
    }

    /// Adds a directory that is on disk as a copy of one of the repository, of which nothing is
    /// known yet; what is in it is added next, and [`WorkingCopy::complete_repos_dir`] ends it. Needs
    /// a lock on the parent.
    ///
    /// # Errors
    /// E150002 when there is a node; E155014 and the like when nothing can be added to the parent.
    pub fn add_repos_dir(&self, relpath: &RelPath, origin: &Origin) -> Result<()> {
        tree::add_repos_dir(self.db(), self.disk(), relpath, origin)
    }

    /// Gives a directory that was added in this way its properties, those of its last change among
    /// them.
    ///
    /// # Errors
    /// E155035 when it is no such directory.
    pub fn complete_repos_dir(&self, relpath: &RelPath, props: &PropList) -> Result<()> {
        tree::complete_repos_dir(self.db(), self.disk(), relpath, props)
    }

    /// Which of the conflicts in a record are still there.
    ///
    /// # Errors
    /// When the record is malformed.
    pub fn conflicted(&self, record: &[u8]) -> Result<OpenConflicts> {
        assemble::conflicted(self.disk(), record)
    }
}
