//! Questions about what differs: status, summaries, whether a file or a tree is modified. The functions: `status`,
//! `summary`, `text_check`.

use sapwood_core::CancelToken;
use sapwood_core::paths::{RelPath, RelPathBuf};

use crate::conflict::Conflict;
use crate::error::Result;
use crate::root::WorkingCopy;
use crate::status::{IncomingChanges, Options, Status, Visit, against, clean_tree};
use crate::summary::Summary;
use crate::view::View;
use crate::{local_mods, status, summary, text_check};

impl WorkingCopy {
    /// Whether there are local changes at or below a path; missing files are such, what is not
    /// versioned is not.
    ///
    /// # Errors
    /// That files cannot be read; SQLite's.
    pub fn has_local_changes(&self, relpath: &RelPath) -> Result<bool> {
        local_mods::has_local_changes(self, relpath)
    }

    /// Whether a recorded conflict is one still: a user who removes the files that it left has
    /// resolved it. Tree conflicts are not asked about here.
    #[must_use]
    pub fn is_still_conflicted(&self, conflict: &Conflict) -> bool {
        local_mods::is_still_conflicted(self.disk(), conflict)
    }

    /// Walks a path and what is below it, and joins the result with what the repository has.
    /// `target` is a name in `anchor`, or empty for the directory itself, as in the report.
    ///
    /// # Errors
    /// As [`WorkingCopy::status`].
    pub fn status_against(
        &self,
        anchor: &RelPath,
        target: &RelPath,
        options: &Options,
        incoming: &IncomingChanges,
        visit: &mut Visit<'_>,
    ) -> Result<()> {
        against::status_against(self, anchor, target, options, incoming, visit)
    }

    /// The directories at and below one whose depth is files or empty, if everything else there is clean:
    /// nodes are in BASE alone, complete, at the path that follows from the root's, and with their names on
    /// disk. `None` if a node is not clean, or the path is not a directory.
    ///
    /// # Errors
    /// SQLite's; E200015.
    pub fn shallow_if_ordinary(
        &self,
        top: &RelPath,
        cancel: &CancelToken,
    ) -> Result<Option<Vec<RelPathBuf>>> {
        clean_tree::shallow_if_ordinary(self.db(), self.disk(), top, cancel)
    }

    /// The status of one path, even if it has no changes.
    ///
    /// # Errors
    /// Those of the database and of the disk; E155010 when the parent is not versioned either.
    pub fn status_of(&self, relpath: &RelPath) -> Result<Status> {
        status::status_of(self, relpath)
    }

    /// Walks a path and what is below it.
    ///
    /// # Errors
    /// Those of the database, of the disk and of `visit`; E155010 when neither the path nor its
    /// parent is versioned.
    pub fn status(
        &self,
        relpath: &RelPath,
        options: &Options,
        visit: &mut Visit<'_>,
    ) -> Result<()> {
        status::status(self, relpath, options, visit)
    }

    /// Looks over a path and what is below it. `trail` is the end that its URL should have;
    /// `committed` asks for the revisions of last changes.
    ///
    /// # Errors
    /// E155010 for what is not known; those of the database and of the disk.
    pub fn summary(
        &self,
        relpath: &RelPath,
        trail: Option<&str>,
        committed: bool,
        cancel: &CancelToken,
    ) -> Result<Summary> {
        summary::summary(self, relpath, trail, committed, cancel)
    }

    /// Whether something below a path is switched, or its URL does not end in `trail`.
    ///
    /// # Errors
    /// Those of the database.
    pub fn has_switched(&self, relpath: &RelPath, trail: Option<&str>) -> Result<bool> {
        summary::has_switched(self.db(), relpath, trail)
    }

    /// Whether a working file differs from its pristine text; `false` when there is no file. Recorded
    /// size and time decide where they can; when a file turns out to be equal under a lock that this
    /// process holds, they are recorded anew.
    ///
    /// # Errors
    /// That files cannot be read; SQLite's.
    pub fn file_modified(&self, view: &View) -> Result<bool> {
        text_check::file_modified(self, view)
    }
}
