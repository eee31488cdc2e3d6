//! The repository's locks that this working copy holds the tokens of.

use sapwood_core::paths::{RelPath, RelPathBuf};

use crate::db::{Db, LockRow, NodeRow};
use crate::error::{Error, Result};
use crate::queue::run::sync_flags;
use crate::root::Disk;

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

fn place_of_lock(db: &Db, disk: &Disk, relpath: &RelPath) -> Result<(i64, RelPathBuf)> {
    let base = db.base(relpath)?;
    let place = base.as_ref().and_then(|row: &NodeRow| row.repos_id.zip(row.repos_path.clone()));
    place.ok_or_else(|| Error::NodeNotFound(disk.abspath(relpath)))
}

/// As [`WorkingCopy::add_repository_locks`](crate::WorkingCopy::add_repository_locks).
pub(crate) fn add_repository_locks(
    db: &Db,
    disk: &Disk,
    locks: &[(&RelPath, &RepositoryLock)],
) -> Result<()> {
    db.write(|db| {
        locks.iter().try_for_each(|(relpath, lock)| {
            let (repos_id, repos_relpath) = place_of_lock(db, disk, relpath)?;
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
    sync_those_there(db, disk, &relpaths)
}

/// As [`WorkingCopy::remove_repository_locks`](crate::WorkingCopy::remove_repository_locks).
pub(crate) fn remove_repository_locks(db: &Db, disk: &Disk, relpaths: &[&RelPath]) -> Result<()> {
    db.write(|db| {
        relpaths.iter().try_for_each(|relpath| {
            let (repos_id, repos_relpath) = place_of_lock(db, disk, relpath)?;
            db.remove_lock(repos_id, &repos_relpath).map(drop)
        })
    })?;
    sync_those_there(db, disk, relpaths)
}

fn sync_those_there(db: &Db, disk: &Disk, relpaths: &[&RelPath]) -> Result<()> {
    db.questions(|| relpaths.iter().try_for_each(|relpath| sync_if_there(db, disk, relpath)))
}

fn sync_if_there(db: &Db, disk: &Disk, relpath: &RelPath) -> Result<()> {
    if crate::view::stat_file(&disk.abspath(relpath))?.is_some_and(|stat| stat.file) {
        sync_flags(db, disk, relpath)?;
    }
    Ok(())
}
