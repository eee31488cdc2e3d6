//! Locks on paths where the repository is in a store of objects: a change is prepared in memory, and is there when the log has it.
//!
//! Invariant: no lock is in the folder before it is in the log; a change that another server was quicker than is made again, on
//! what is there then.

use sapwood_core::{FsPath, NodeKind, Revnum};
use sapwood_fs_common::lock_paths::{self, LockHost};
use sapwood_fs_common::locks::LockFiles;
use sapwood_fsfs_format::layout::names;
use sapwood_store::{HeldLock, WriteStorage};

use crate::error::{Error, Result};
use crate::revision_store::{FileChanges, LogRevisions};
use crate::root::Root;
use crate::txn::Writer;

/// What became of several paths.
type LockOutcome<T> = lock_paths::LockOutcome<T, Error>;

/// What locking sees and changes: the files in memory.
#[derive(Debug)]
pub(crate) struct StoredLocks<'a> {
    writer: &'a Writer,
    files: &'a FileChanges,
}

/// The right to change locks, which the caller has already.
#[derive(Debug)]
struct HeldByCaller;

impl HeldLock for HeldByCaller {}

/// Changes locks by `change`, until no other server is quicker.
pub(crate) fn change<T>(
    writer: &Writer,
    log: &LogRevisions,
    change: &dyn Fn(&StoredLocks<'_>) -> LockOutcome<T>,
) -> LockOutcome<T> {
    let failed = |failure| LockOutcome { each: Vec::new(), failure: Some(failure) };
    // Not needed between servers; on this one it keeps a commit from being overtaken.
    let _lock = match writer.lock(names::WRITE_LOCK) {
        Ok(lock) => lock,
        Err(error) => return failed(error),
    };
    loop {
        let files = match log.begin_files() {
            Ok(files) => files,
            Err(error) => return failed(error),
        };
        let outcome = change(&StoredLocks { writer, files: &files });
        match log.publish_files(&files) {
            Ok(()) => return outcome,
            Err(Error::Overtaken) => {}
            Err(error) => return failed(error),
        }
    }
}

impl LockHost for StoredLocks<'_> {
    type Error = Error;
    type Head = Root;

    fn storage(&self) -> &dyn WriteStorage {
        self.files
    }

    fn files(&self) -> LockFiles<'_> {
        LockFiles { storage: self.files, db: self.writer.fs.path() }
    }

    fn uuid(&self) -> &str {
        self.writer.uuid()
    }

    fn is_synced(&self) -> bool {
        false
    }

    fn write_lock(&self) -> Result<Box<dyn HeldLock>> {
        Ok(Box::new(HeldByCaller))
    }

    fn head(&self) -> Result<(Revnum, Root)> {
        self.writer.head()
    }

    fn node(&self, head: &Root, path: &FsPath) -> Result<Option<(NodeKind, Option<Revnum>)>> {
        self.writer.node(head, path)
    }

    fn no_such_revision(revision: Revnum) -> Error {
        Error::NoSuchRevision(revision)
    }

    fn permissions(&self) -> Result<u32> {
        self.writer.permissions()
    }
}
