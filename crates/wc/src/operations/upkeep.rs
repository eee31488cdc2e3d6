//! Operations on the working copy as a whole: locks, cleanup, relocation, its shape, what it reports to a server, and
//! what it records after a commit. The functions: modules of these names.

use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{CancelToken, Depth};
use sapwood_delta::report::Report;

use crate::cleanup::Cleanup;
use crate::commit::process;
use crate::commit::process::{CommittedNode, Revision};
use crate::error::{Error, Result};
use crate::gather::{GatheredChanges, Notifier};
use crate::locks::Lock;
use crate::relocate::Validate;
use crate::report::Crawl;
use crate::repos_lock::RepositoryLock;
use crate::root::WorkingCopy;
use crate::{cleanup, crop, gather, locks, relocate, report, repos_lock};

impl WorkingCopy {
    /// Cleans a directory of the working copy up. What a killed program had locked above it is
    /// cleaned up with it.
    ///
    /// # Errors
    /// E155004 when another program has a lock that is not to be broken; E155009 when an item of the
    /// queue cannot be done; SQLite's.
    pub fn cleanup(&self, relpath: &RelPath, how: &Cleanup, cancel: &CancelToken) -> Result<()> {
        cleanup::cleanup(self, relpath, how, cancel)
    }

    /// Makes the committed nodes BASE. The caller holds the locks that the commit took.
    ///
    /// # Errors
    /// SQLite's, those of files; `E155005` without a lock.
    pub fn process_committed(
        &self,
        committed: Vec<CommittedNode>,
        revision: &Revision,
        cancel: &CancelToken,
    ) -> Result<()> {
        process::process_committed(self, committed, revision, cancel)
    }

    /// Whether BASE has a node from another place in the repository than its parent's.
    ///
    /// # Errors
    /// SQLite's.
    pub fn is_switched(&self, relpath: &RelPath) -> Result<bool> {
        crop::is_switched(self.db(), relpath)
    }

    /// The nodes below a path that are left out, by the user or by the server, by path.
    ///
    /// # Errors
    /// SQLite's.
    pub fn excluded_below(&self, relpath: &RelPath) -> Result<Vec<RelPathBuf>> {
        crop::excluded_below(self.db(), relpath)
    }

    /// Removes a node from the working copy; its parent records that it is excluded. Nodes with
    /// local changes stay.
    ///
    /// # Errors
    /// E200007 for roots, switched and locally added or deleted nodes.
    pub fn exclude(
        &self,
        relpath: &RelPath,
        notify: crate::crop::Notifier<'_>,
        cancel: &CancelToken,
    ) -> Result<()> {
        crop::exclude(self, relpath, notify, cancel)
    }

    /// Makes a directory shallower.
    ///
    /// # Errors
    /// E200007 for locally added or deleted directories.
    pub fn crop(
        &self,
        relpath: &RelPath,
        depth: Depth,
        notify: crate::crop::Notifier<'_>,
        cancel: &CancelToken,
    ) -> Result<()> {
        crop::crop(self, relpath, depth, notify, cancel)
    }

    /// Runs `work`, whose changes are made together, a thousand at a time. What was done before an error stays.
    ///
    /// # Errors
    /// Those of `work`, of commits and of the queue.
    pub fn gather<T, E: From<Error>>(
        &self,
        cancel: &CancelToken,
        notify: &Notifier<'_>,
        work: impl FnOnce(&GatheredChanges<'_>) -> std::result::Result<T, E>,
    ) -> std::result::Result<T, E> {
        gather::gather(self, cancel, notify, work)
    }

    /// Locks a directory and `levels` levels below it (-1 for all). A lock that this process holds
    /// already is taken as it is.
    ///
    /// # Errors
    /// E155004 when another program has it; E155037 when the queue is not empty; E155010 when there
    /// is no such node.
    pub fn lock(&self, relpath: &RelPath, levels: i64) -> Result<Lock> {
        locks::lock(self, relpath, levels)
    }

    /// Replaces the beginning `from` of the working copy's URL by `to`, after `validate` has agreed
    /// (UUID, new URL, new root).
    ///
    /// # Errors
    /// E155024 when `from` does not fit, or `to` does not lead to the same place.
    pub fn relocate(&self, from: &str, to: &str, validate: Validate<'_>) -> Result<()> {
        relocate::relocate(self.db(), self.disk(), from, to, validate)
    }

    /// Reports BASE. The report is not finished.
    ///
    /// # Errors
    /// Those of the report; SQLite's; that missing files cannot be written.
    pub fn report(&self, how: &Crawl<'_>, report: &mut dyn Report) -> Result<()> {
        report::report(self, how, report)
    }

    /// Records locks on files, which then become writable.
    ///
    /// # Errors
    /// `E155010` when BASE has no such node, and then none is recorded; SQLite's; those of the files.
    pub fn add_repository_locks(&self, locks: &[(&RelPath, &RepositoryLock)]) -> Result<()> {
        repos_lock::add_repository_locks(self.db(), self.disk(), locks)
    }

    /// Forgets the locks on files, which are read-only then if their properties say so.
    ///
    /// # Errors
    /// As [`WorkingCopy::add_repository_locks`].
    pub fn remove_repository_locks(&self, relpaths: &[&RelPath]) -> Result<()> {
        repos_lock::remove_repository_locks(self.db(), self.disk(), relpaths)
    }
}
