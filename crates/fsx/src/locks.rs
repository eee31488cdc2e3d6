//! Path locks: `db/locks`, in the form of FSFS.

use std::io::ErrorKind;
use std::time::{SystemTime, UNIX_EPOCH};

use sapwood_core::path::skip_ancestor;
use sapwood_core::{Depth, FsPath, Lock, Md5, SvnError};
use sapwood_fsfs_format::Layout;
use sapwood_fsfs_format::layout::names;
use sapwood_fsfs_format::lockfile::{self, DigestFile, StoredLock};

use crate::error::{Error, Result};
use crate::filesystem::Filesystem;

/// The longest digest file that is read: that of the root names every locked path in 33 bytes.
const DIGEST_FILE_LEN: usize = 1 << 30;

fn from_stored(lock: StoredLock) -> Lock {
    Lock {
        path: lock.path,
        token: lock.token,
        owner: lock.owner,
        comment: lock.comment,
        is_dav_comment: lock.is_dav_comment,
        created: lock.created.0,
        expires: lock.expires.map(|t| t.0),
    }
}

fn is_there(lock: &Lock) -> bool {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros());
    lock.expires.is_none_or(|end| i64::try_from(now).is_ok_and(|now| now <= end))
}

#[allow(clippy::missing_errors_doc)]
impl Filesystem {
    /// The lock on `path`, if there is one that has not expired.
    pub fn lock(&self, path: &FsPath) -> Result<Option<Lock>> {
        let lock = self.digest_file(lockfile::digest_of(path))?.lock.map(from_stored);
        Ok(lock.filter(is_there))
    }

    /// All locks at and below `path`, as deep as `depth` says, in no particular order. Those that
    /// have expired are left out.
    pub fn locks(&self, path: &FsPath, depth: Depth) -> Result<Vec<Lock>> {
        let is_wanted = |lock: &Lock| match (skip_ancestor(path, &lock.path), depth) {
            (None, _) => false,
            (Some(""), _) | (_, Depth::Infinity) => true,
            (Some(below), Depth::Files | Depth::Immediates) => !below.contains('/'),
            _ => false,
        };
        let top = self.digest_file(lockfile::digest_of(path))?;
        let mut all: Vec<Lock> = top.lock.into_iter().map(from_stored).collect();
        if depth > Depth::Empty {
            // Every path above a locked one lists it: there is no need to go deeper.
            for child in top.children {
                all.extend(self.digest_file(child)?.lock.map(from_stored));
            }
        }
        all.retain(|lock| is_there(lock) && is_wanted(lock));
        Ok(all)
    }

    /// Whether there may be any locks: `false` is certain, and cheap to find out.
    pub fn may_have_locks(&self) -> Result<bool> {
        let folder = self.0.file(names::LOCKS);
        match self.0.storage.list(&folder) {
            Ok(files) => Ok(!files.is_empty()),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(Error::io("Can't read directory", &folder, error)),
        }
    }

    fn digest_file(&self, digest: Md5) -> Result<DigestFile> {
        let path = self.0.file(&Layout::lock_file(&digest));
        match self.0.storage.read(&path, DIGEST_FILE_LEN) {
            Ok(bytes) => {
                let (path, db) = (path.display().to_string(), self.0.db.display().to_string());
                let parsed = DigestFile::parse(&bytes, &path, &db);
                parsed.map_err(|error| Error::Svn(SvnError::from(error)))
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(DigestFile::default()),
            Err(error) => Err(Error::io("Can't open file", &path, error)),
        }
    }
}
