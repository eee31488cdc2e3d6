//! Bringing an index nearer to the newest revision, in small transactions.
//!
//! First the tree of one revision, path by path, then each revision: its message, what it changed in the tree, and the lines that it
//! changed; `history` adds those of older revisions. Invariant: each transaction leaves an index that says how far it goes, so that a process that was killed loses one transaction.

use std::path::Path;

use sapwood_core::exact::Exact as _;
use sapwood_core::{CancelToken, FsPath, NodeKind, Revnum};
use sapwood_fs::{ChangeKind, ChangedPath, Node, Root};
use sapwood_repos::Repository;

use crate::error::{Error, Result};
use crate::index::{Index, State};
use crate::scope::Scope;
use crate::walk::Walk;

/// Nodes, revisions and bytes of text after which a transaction ends.
const NODES: usize = 1_000;
const REVISIONS: u64 = 500;
const BYTES: usize = 8 << 20;

/// How far an index is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It has everything up to this revision.
    Complete(Revnum),
    /// There is more to do.
    More,
}

impl Index {
    /// The index of a repository in a folder of caches, made or brought to the newest revision; older ones may have changed lines
    /// that it has not yet ([`Index::older`]).
    ///
    /// # Errors
    /// Of the database, the disk and the repository; cancellation. What was done by then is kept.
    pub fn up_to_date(
        folder: &Path,
        repository: &Repository,
        scope: &Scope,
        cancel: &CancelToken,
    ) -> Result<Self> {
        let file = Self::file(folder, repository.path());
        let mut index = Self::create(&file, &repository.fs().uuid()?, scope)?;
        while index.advance(repository, scope, cancel)? == Progress::More {
            cancel.check()?;
        }
        Ok(index)
    }

    /// Does one transaction's work.
    ///
    /// # Errors
    /// Of the database and the repository; cancellation.
    pub fn advance(
        &mut self,
        repository: &Repository,
        scope: &Scope,
        cancel: &CancelToken,
    ) -> Result<Progress> {
        let youngest = repository.fs().youngest()?;
        let known = [self.revision(State::Messages)?, self.revision(State::Tree)?];
        if known.iter().flatten().any(|revision| *revision > youngest) {
            // The repository was taken back to an older state.
            return self.transaction(|index| index.forget().map(|()| Progress::More));
        }
        if known == [Some(youngest); 2] && self.text(State::Cursor)?.is_none() {
            return Ok(Progress::Complete(youngest));
        }
        self.transaction(|index| Step { index, repository, scope, cancel }.run(youngest))
    }

    /// Reads the log message of a revision again, after it was edited.
    ///
    /// # Errors
    /// Of the database and the repository.
    pub fn message_changed(&self, repository: &Repository, revision: Revnum) -> Result<()> {
        if self.revision(State::Messages)?.is_some_and(|known| revision <= known) {
            self.put_message(revision, &*repository.fs().revprops(revision)?)?;
        }
        Ok(())
    }

    fn forget(&self) -> Result<()> {
        [State::Messages, State::Tree, State::History, State::Cursor]
            .into_iter()
            .try_for_each(|s| self.unset(s))?;
        self.run(|connection| {
            connection.execute_batch(
                "DELETE FROM path; DELETE FROM path_grams; DELETE FROM text_grams; \
                 DELETE FROM message_grams; DELETE FROM prop_grams; DELETE FROM change_grams;",
            )
        })
    }
}

/// The work of one transaction.
struct Step<'a> {
    index: &'a Index,
    repository: &'a Repository,
    scope: &'a Scope,
    cancel: &'a CancelToken,
}

impl Step<'_> {
    fn run(&self, youngest: Revnum) -> Result<Progress> {
        let tree = match self.index.revision(State::Tree)? {
            Some(tree) => tree,
            None => {
                self.index.set(State::Tree, &youngest.to_string())?;
                self.index.set(State::History, &youngest.next().to_string())?;
                self.index.set(State::Cursor, "/")?;
                youngest
            }
        };
        match self.index.text(State::Cursor)? {
            Some(cursor) => self.first_tree(tree, &cursor),
            None => self.revisions(tree, youngest),
        }
    }

    /// Adds more of the tree of a revision.
    fn first_tree(&self, revision: Revnum, cursor: &str) -> Result<Progress> {
        let root = self.repository.fs().revision_root(revision)?;
        let mut walk = Walk::after(&root, FsPath::trusted(cursor), self.scope)?;
        let (mut last, mut bytes) = (None, 0usize);
        if cursor == FsPath::ROOT.as_str() {
            bytes = bytes.plus(self.top(&root.node(FsPath::ROOT)?)?);
        }
        for _ in 0..NODES {
            self.cancel.check()?;
            let Some((path, node)) = walk.next()? else {
                self.index.unset(State::Cursor)?;
                return Ok(Progress::More);
            };
            bytes = bytes.plus(self.index.put(&path, &node)?);
            last = Some(path);
            if bytes > BYTES {
                break;
            }
        }
        if let Some(last) = last {
            self.index.set(State::Cursor, last.as_str())?;
        }
        Ok(Progress::More)
    }

    /// Adds the properties of the root, which has no name to be found by.
    fn top(&self, root: &Node) -> Result<usize> {
        if root.has_props()? { self.index.put(FsPath::ROOT, root) } else { Ok(0) }
    }

    /// Adds revisions.
    fn revisions(&self, mut tree: Revnum, youngest: Revnum) -> Result<Progress> {
        let first = self.index.revision(State::Messages)?.map_or(0, |known| known.0.plus(1));
        let last = youngest.0.min(first.plus(REVISIONS));
        let (mut bytes, mut done) = (0usize, first);
        for revision in (first..=last).map(Revnum) {
            self.cancel.check()?;
            let fs = self.repository.fs();
            self.index.put_message(revision, &*fs.revprops(revision)?)?;
            if revision > tree {
                bytes = bytes.plus(self.changes(revision)?);
                let (repository, scope) = (self.repository, self.scope);
                self.index.put_new_changes(repository, scope, revision, self.cancel)?;
                tree = revision;
            }
            done = revision.0;
            if bytes > BYTES {
                break;
            }
        }
        self.index.set(State::Messages, &done.to_string())?;
        self.index.set(State::Tree, &tree.to_string())?;
        Ok(match done == youngest.0 {
            true => Progress::Complete(youngest),
            false => Progress::More,
        })
    }

    /// Applies what a revision changed in the tree.
    fn changes(&self, revision: Revnum) -> Result<usize> {
        let fs = self.repository.fs();
        let (root, changed) = (fs.revision_root(revision)?, fs.changed_paths(revision)?);
        let mut bytes = 0usize;
        for change in changed.iter() {
            self.cancel.check()?;
            if self.scope.has(change.path) {
                bytes = bytes.plus(self.change(&root, &change)?);
            }
        }
        Ok(bytes)
    }

    fn change(&self, root: &Root, change: &ChangedPath<'_>) -> Result<usize> {
        let path = change.path;
        let is_new = matches!(change.kind, ChangeKind::Add | ChangeKind::Replace);
        let Some(node) = root.find(path)? else {
            self.index.remove_tree(path)?;
            return Ok(0);
        };
        let is_known_dir = node.kind() == NodeKind::Dir && !is_new;
        if is_known_dir && !change.prop_mod {
            return Ok(0);
        }
        if is_new {
            self.index.remove_tree(path)?;
        }
        let mut bytes = self.index.put(path, &node)?;
        if node.kind() == NodeKind::Dir && is_new {
            let mut walk = Walk::below(node, path, self.scope)?;
            while let Some((path, node)) = walk.next()? {
                self.cancel.check()?;
                bytes = bytes.plus(self.index.put(&path, &node)?);
            }
        }
        Ok(bytes)
    }
}

impl From<sapwood_repos::Error> for Error {
    fn from(error: sapwood_repos::Error) -> Self {
        Self::Repository(error.into())
    }
}
