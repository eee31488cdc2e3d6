//! Operations of merges: what a merge changes in one node. The functions: `merge`.

use sapwood_core::paths::RelPath;
use sapwood_core::{CancelToken, Md5};

use crate::conflict::{PropState, TextOutcome};
use crate::error::Result;
use crate::merge::node::{FileMerge, FileMerged, PropsMerge};
use crate::merge::obstruction::{NodeOnDisk, Obstruction};
use crate::merge::plain::Pristine;
use crate::merge::{node, obstruction, plain};
use crate::root::WorkingCopy;
use crate::view::View;

impl WorkingCopy {
    /// Merges a change of properties. Needs a lock.
    ///
    /// # Errors
    /// E155010 and E155035 for what has no properties, or is in conflict.
    pub fn merge_node_props(
        &self,
        merge: &PropsMerge<'_>,
        cancel: &CancelToken,
    ) -> Result<PropState> {
        node::merge_node_props(self, merge, cancel)
    }

    /// Merges a change of a text and of properties. Needs a lock on the parent.
    ///
    /// # Errors
    /// E155035 for what is in conflict; that files cannot be read or written.
    pub fn merge_file(&self, merge: &FileMerge<'_>, cancel: &CancelToken) -> Result<FileMerged> {
        node::merge_file(self, merge, cancel)
    }

    /// Compares a path on disk with the database. What is merged into may itself be the root of a
    /// working copy.
    ///
    /// # Errors
    /// Errors of the file system; SQLite's.
    pub fn obstruction(
        &self,
        relpath: &RelPath,
        is_target: bool,
    ) -> Result<(Obstruction, Option<NodeOnDisk>)> {
        obstruction::obstruction(self.db(), self.disk(), relpath, is_target)
    }

    /// The text base of a node, if it has this checksum and is in the store: read, if it is no longer
    /// than `limit`.
    ///
    /// # Errors
    /// SQLite's; that it cannot be read.
    pub fn pristine_like(&self, view: &View, sum: &Md5, limit: u64) -> Result<Option<Pristine>> {
        plain::pristine_like(self.db(), self.disk(), view, sum, limit)
    }

    /// Merges the change from `old`, which is the node's text base, to `new` into its file, if this simple
    /// way is possible; `None` when it is not, and nothing was changed. A dry run changes nothing either
    /// way.
    ///
    /// # Errors
    /// That the file cannot be read or written.
    pub fn merge_plain(
        &self,
        seen: &NodeOnDisk,
        old: &[u8],
        new: &[u8],
        dry_run: bool,
    ) -> Result<Option<TextOutcome>> {
        plain::merge_plain(self.disk(), seen, old, new, dry_run)
    }
}
