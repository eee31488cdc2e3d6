//! The repository's locks that this working copy holds the tokens of.

use crate::db::{LockRow, NodeRow};
use crate::error::{Error, Result};
use crate::root::WorkingCopy;
use sapwood_core::paths::{RelPath, RelPathBuf};

/// A lock as the repository reported it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepositoryLock {
    /// The token.
    pub token: String,
    /// The user that has it.
    pub owner: String,
    /// Why.
    pub comment: Option<String>,
    /// When, in microseconds since 1970.
    pub created: i64,
}

impl WorkingCopy {
    fn place_of_lock(&self, relpath: &RelPath) -> Result<(i64, RelPathBuf)> {
        let base = self.db().base(relpath)?;
        let place =
            base.as_ref().and_then(|row: &NodeRow| row.repos_id.zip(row.repos_path.clone()));
        place.ok_or_else(|| Error::NodeNotFound(self.abspath(relpath)))
    }

    /// Records locks on files, which then become writable.
    ///
    /// # Errors
    /// `E155010` when BASE has no such node, and then none is recorded; SQLite's; those of the files.
    pub fn add_repository_locks(&self, locks: &[(&RelPath, &RepositoryLock)]) -> Result<()> {
        self.db().write(|db| {
            locks.iter().try_for_each(|(relpath, lock)| {
                let (repos_id, repos_relpath) = self.place_of_lock(relpath)?;
                db.put_lock(&LockRow {
                    repos_id,
                    repos_relpath,
                    token: lock.token.clone(),
                    owner: Some(lock.owner.clone()),
                    comment: lock.comment.clone(),
                    date: Some(sapwood_core::date::Timestamp(lock.created)),
                })
            })
        })?;
        let relpaths: Vec<&RelPath> = locks.iter().map(|(relpath, _)| *relpath).collect();
        self.sync_those_there(&relpaths)
    }

    /// Forgets the locks on files, which are read-only then if their properties say so.
    ///
    /// # Errors
    /// As [`WorkingCopy::add_repository_locks`].
    pub fn remove_repository_locks(&self, relpaths: &[&RelPath]) -> Result<()> {
        self.db().write(|db| {
            relpaths.iter().try_for_each(|relpath| {
                let (repos_id, repos_relpath) = self.place_of_lock(relpath)?;
                db.remove_lock(repos_id, &repos_relpath).map(drop)
            })
        })?;
        self.sync_those_there(relpaths)
    }

    fn sync_those_there(&self, relpaths: &[&RelPath]) -> Result<()> {
        self.db().questions(|| relpaths.iter().try_for_each(|relpath| self.sync_if_there(relpath)))
    }

    fn sync_if_there(&self, relpath: &RelPath) -> Result<()> {
        if crate::view::stat_file(&self.abspath(relpath))?.is_some_and(|stat| stat.file) {
            self.sync_flags(relpath)?;
        }
        Ok(())
    }
}
