//! Operations that schedule changes for the next commit, or take them back: add, copy, move, delete, revert. The
//! functions: `local`.

use std::collections::HashSet;

use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{CancelToken, Depth, PropList, Revnum};

use crate::error::Result;
use crate::gather::GatheredChanges;
use crate::local::add::AddOptions;
use crate::local::revert::RevertOptions;
use crate::local::{
    Notifier, add, add_repos, changelist, copy, delete, delete_versioned, moves, revert,
};
use crate::node::Origin;
use crate::pristine::PristineWriter;
use crate::root::WorkingCopy;

impl WorkingCopy {
    /// Adds a file, a link, or a directory with what is in it. Takes the lock that it needs.
    ///
    /// # Errors
    /// E150002 for what is versioned (unless `force`), E155010 for what is not there, E150000 below
    /// what is not versioned; what automatic properties do not allow.
    pub fn add(
        &self,
        relpath: &RelPath,
        options: &AddOptions,
        gathered: &GatheredChanges<'_>,
    ) -> Result<()> {
        add::add(self, relpath, options, gathered)
    }

    /// Adds one node that is on disk, with these properties. Needs a lock on the parent.
    ///
    /// # Errors
    /// As [`WorkingCopy::add`].
    pub fn add_one(
        &self,
        relpath: &RelPath,
        props: &PropList,
        notify: &Notifier<'_>,
    ) -> Result<()> {
        add::add_one(self, relpath, props, notify)
    }

    /// Adds a file with this text. With an origin (in this working copy's repository, by its number)
    /// it becomes a copy that has these properties; without, a new file that has none. Needs a lock
    /// on the parent.
    ///
    /// # Errors
    /// E150002 when there is a node; E155014 and the like when nothing can be added to the parent.
    pub fn add_repos_file(
        &self,
        relpath: &RelPath,
        text: PristineWriter,
        props: &PropList,
        origin: Option<&Origin>,
        cancel: &CancelToken,
    ) -> Result<()> {
        add_repos::add_repos_file(self, relpath, text, props, origin, cancel)
    }

    /// Adds a file of another repository: a new file with this text, in normal form, and these
    /// properties. Needs a lock on the parent.
    ///
    /// # Errors
    /// As [`WorkingCopy::add_repos_file`].
    pub fn add_foreign_file(
        &self,
        relpath: &RelPath,
        text: PristineWriter,
        props: &PropList,
        cancel: &CancelToken,
    ) -> Result<()> {
        add_repos::add_foreign_file(self, relpath, text, props, cancel)
    }

    /// Puts the files of a target on a changelist, or takes them off theirs. Only files on one of
    /// `filter` count, when there are some.
    ///
    /// # Errors
    /// E155010 for what is not known; those of the database.
    pub fn set_changelist(
        &self,
        relpath: &RelPath,
        name: Option<&str>,
        depth: Depth,
        filter: &HashSet<String>,
        gathered: &GatheredChanges<'_>,
    ) -> Result<()> {
        changelist::set_changelist(self, relpath, name, depth, filter, gathered)
    }

    /// Copies a node of `source`, this or another working copy of the same repository, to a path that
    /// is free. Needs a lock on the destination's parent.
    ///
    /// # Errors
    /// What is wrong with source or destination.
    pub fn copy(
        &self,
        source: &Self,
        from: &RelPath,
        to: &RelPath,
        metadata_only: bool,
        cancel: &CancelToken,
        notify: Option<&Notifier<'_>>,
    ) -> Result<()> {
        copy::copy(self, source, from, to, metadata_only, cancel, notify)
    }

    /// The lowest and highest revision of BASE at and below a path.
    ///
    /// # Errors
    /// Those of the database.
    pub fn revision_range(&self, relpath: &RelPath) -> Result<Option<(Revnum, Revnum)>> {
        copy::revision_range(self.db(), relpath)
    }

    /// Deletes nodes, and unversioned files and directories. Without `force` nothing may be lost by
    /// it: no local changes, nothing unversioned. With `keep_local` everything stays on disk.
    ///
    /// # Errors
    /// E195006 and kin where something would be lost; E155010 and E155035 for what cannot be deleted.
    pub fn delete(
        &self,
        targets: &[RelPathBuf],
        force: bool,
        keep_local: bool,
        cancel: &CancelToken,
        notify: &Notifier<'_>,
    ) -> Result<()> {
        delete::delete(self, targets, force, keep_local, cancel, notify)
    }

    /// Deletes without asking what is lost.
    ///
    /// # Errors
    /// As [`WorkingCopy::delete`].
    pub fn delete_unchecked(
        &self,
        targets: &[RelPathBuf],
        keep_local: bool,
        cancel: &CancelToken,
        notify: &Notifier<'_>,
    ) -> Result<()> {
        delete::delete_unchecked(self, targets, keep_local, cancel, notify)
    }

    /// Deletes a node, and all versioned files below it from disk, changed or not, but for what is at or below the
    /// paths in `stays`.
    ///
    /// # Errors
    /// As [`WorkingCopy::delete`].
    pub fn delete_versioned(
        &self,
        relpath: &RelPath,
        stays: &[RelPathBuf],
        cancel: &CancelToken,
        notify: &Notifier<'_>,
    ) -> Result<()> {
        delete_versioned::delete_versioned(self, relpath, stays, cancel, notify)
    }

    /// The nodes at and below a path that were added here, not as parts of copies.
    ///
    /// # Errors
    /// SQLite's.
    pub fn additions_below(&self, relpath: &RelPath) -> Result<Vec<RelPathBuf>> {
        delete_versioned::additions_below(self.db(), relpath)
    }

    /// Moves a node to a path of `dest` that is free: of this working copy, or of another one, where it
    /// becomes a copy and a deletion. Needs locks on both parents.
    ///
    /// # Errors
    /// What is wrong with source or destination; E155040 for directories of mixed revisions, unless
    /// they are allowed.
    #[expect(clippy::too_many_arguments, reason = "two places, two choices, two callbacks")]
    pub fn move_node(
        &self,
        from: &RelPath,
        dest: &Self,
        to: &RelPath,
        metadata_only: bool,
        allow_mixed: bool,
        cancel: &CancelToken,
        notify: &Notifier<'_>,
    ) -> Result<()> {
        moves::move_node(self, from, dest, to, metadata_only, allow_mixed, cancel, notify)
    }

    /// Reverts a path and, as deep as `depth` says, what is below. Takes the lock that it needs.
    ///
    /// # Errors
    /// E155010 for what is not known; E155038 where what is above or below must be reverted, too.
    pub fn revert(
        &self,
        relpath: &RelPath,
        depth: Depth,
        options: &RevertOptions,
        notify: &Notifier<'_>,
    ) -> Result<()> {
        revert::revert(self, relpath, depth, options, notify)
    }

    /// As [`WorkingCopy::revert`], among other changes.
    ///
    /// # Errors
    /// As there.
    pub fn revert_among(
        &self,
        relpath: &RelPath,
        depth: Depth,
        options: &RevertOptions,
        gathered: &GatheredChanges<'_>,
    ) -> Result<()> {
        revert::revert_among(self, relpath, depth, options, gathered)
    }
}
