//! Questions about nodes: their layers, where they come from, where they are in the repository. The functions: `view`,
//! `node`, `local::find`.

use std::fs::File;

use sapwood_core::paths::{RelPath, RelPathBuf, UrlBuf};
use sapwood_core::{NodeKind, PropList};

use crate::db::{LockRow, NodeRow};
use crate::error::Result;
use crate::local::find;
use crate::node::Origin;
use crate::root::WorkingCopy;
use crate::translate::Translation;
use crate::view::{Addition, View};
use crate::{node, view};

impl WorkingCopy {
    /// Nodes of a kind that are there and have this name.
    ///
    /// # Errors
    /// SQLite's.
    pub fn nodes_named(&self, name: &str, kind: Option<NodeKind>) -> Result<Vec<RelPathBuf>> {
        find::nodes_named(self.db(), name, kind)
    }

    /// Nodes of a kind that are there and come from a path of the repository.
    ///
    /// # Errors
    /// SQLite's.
    pub fn copies_of(
        &self,
        repos_path: &RelPath,
        kind: Option<NodeKind>,
    ) -> Result<Vec<RelPathBuf>> {
        find::copies_of(self.db(), repos_path, kind)
    }

    /// All nodes whose highest layer comes from a path of the repository.
    ///
    /// # Errors
    /// SQLite's.
    pub fn nodes_from(&self, repos_path: &RelPath) -> Result<Vec<RelPathBuf>> {
        find::nodes_from(self.db(), repos_path)
    }

    /// Writes a working file in normal form.
    ///
    /// # Errors
    /// E155010 for what is not known; that files cannot be read or written.
    pub fn copy_in_normal_form(&self, relpath: &RelPath, to: &mut File) -> Result<()> {
        find::copy_in_normal_form(self, relpath, to)
    }

    /// A node that must be known.
    ///
    /// # Errors
    /// E155010 when it is not; those of the database.
    pub fn require_view(&self, relpath: &RelPath) -> Result<View> {
        node::require_view(self.db(), self.disk(), relpath)
    }

    /// The children of a directory that wc.db knows, with all their layers, by name.
    ///
    /// # Errors
    /// Those of the database.
    pub fn children(&self, relpath: &RelPath) -> Result<Vec<View>> {
        self.db().children(relpath)
    }

    /// Where an addition was copied or moved from; `None` for a plain addition.
    ///
    /// # Errors
    /// Those of the database.
    pub fn origin(&self, node: &View) -> Result<Option<Origin>> {
        node.origin(self.db())
    }

    /// Where a node that was moved here was moved from: itself, and the root of the move.
    ///
    /// # Errors
    /// Those of the database.
    pub fn moved_from(&self, node: &View) -> Result<Option<(RelPathBuf, RelPathBuf)>> {
        node.moved_from(self.db())
    }

    /// Where a deleted node was moved to: itself, and the root of the move.
    ///
    /// # Errors
    /// Those of the database.
    pub fn moved_to(&self, node: &View) -> Result<Option<(RelPathBuf, RelPathBuf)>> {
        node.moved_to(self.db())
    }

    /// The layers of a path; `None` when the database has none.
    ///
    /// # Errors
    /// SQLite's.
    pub fn view(&self, relpath: &RelPath) -> Result<Option<View>> {
        self.db().view(relpath)
    }

    /// How an added node came to be.
    ///
    /// # Errors
    /// SQLite's; that the root of the operation is missing.
    pub fn addition(&self, row: &NodeRow) -> Result<Addition> {
        view::addition(self.db(), self.disk(), row)
    }

    /// Where a node is, or will be after a commit, in its repository: number of the repository and
    /// path below its root.
    ///
    /// # Errors
    /// SQLite's; that no parent is known.
    pub fn repos_location(&self, relpath: &RelPath) -> Result<(i64, RelPathBuf)> {
        view::repos_location(self.db(), self.disk(), relpath)
    }

    /// The URL of a node.
    ///
    /// # Errors
    /// As [`WorkingCopy::repos_location`].
    pub fn url(&self, relpath: &RelPath) -> Result<UrlBuf> {
        view::url(self.db(), self.disk(), relpath)
    }

    /// What the given properties ask for in a file's working form.
    ///
    /// # Errors
    /// SQLite's.
    pub fn translation(&self, relpath: &RelPath, props: &PropList) -> Result<Translation> {
        view::translation(self, relpath, props)
    }

    /// The repository's lock on a BASE node whose token this working copy holds.
    ///
    /// # Errors
    /// SQLite's.
    pub fn lock_of(&self, base: &NodeRow) -> Result<Option<LockRow>> {
        self.db().lock_of(base)
    }
}
