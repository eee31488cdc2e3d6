//! Locks on paths: `db/locks`, as they are read. They are changed in [`crate::lock_paths`].

use std::io::ErrorKind;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use sapwood_core::FsPath;
use sapwood_core::path::skip_ancestor;
use sapwood_core::{Depth, Lock, Md5, SvnError, SvnResult as Result};
use sapwood_fsfs_format::Layout;
use sapwood_fsfs_format::layout::names;
use sapwood_fsfs_format::lockfile::{self, DigestFile, StoredLock};
use sapwood_store::Storage;

/// A lock as it is stored.
pub(crate) fn from_stored(lock: StoredLock) -> Lock {
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

pub(crate) fn is_expired(lock: &Lock, now: i64) -> bool {
    lock.expires.is_some_and(|end| now > end)
}

/// The longest digest file that is read: that of the root names every locked path in 33 bytes.
const DIGEST_FILE_LEN: usize = 1 << 30;

pub(crate) fn now() -> i64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .ok()
        .and_then(|d| i64::try_from(d.as_micros()).ok())
        .unwrap_or(0)
}

/// The locks of a filesystem.
#[derive(Clone, Copy, Debug)]
pub struct LockFiles<'a> {
    /// Where its files are.
    pub storage: &'a dyn Storage,
    /// Its folder.
    pub db: &'a Path,
}

#[allow(clippy::missing_errors_doc, reason = "all: `Error` says what its variants mean")]
impl LockFiles<'_> {
    /// The lock on `path`, if there is one that has not expired.
    pub fn lock(&self, path: &FsPath) -> Result<Option<Lock>> {
        let lock = self.digest_file(lockfile::digest_of(path))?.lock.map(from_stored);
        let now = now();
        Ok(lock.filter(|lock| !is_expired(lock, now)))
    }

    /// All locks at and below `path`, as deep as `depth` says, in no particular order. Those that
    /// have expired are left out.
    pub fn locks(&self, path: &FsPath, depth: Depth) -> Result<Vec<Lock>> {
        let now = now();
        let wanted = |lock: &Lock| {
            let below = skip_ancestor(path, &lock.path);
            !is_expired(lock, now)
                && match (below, depth) {
                    (None, _) => false,
                    (Some(""), _) | (_, Depth::Infinity) => true,
                    (Some(below), Depth::Files | Depth::Immediates) => !below.contains('/'),
                    _ => false,
                }
        };
        let top = self.digest_file(lockfile::digest_of(path))?;
        let mut all: Vec<Lock> = top.lock.into_iter().map(from_stored).collect();
        if depth > Depth::Empty {
            // Every path above a locked one lists it: there is no need to go deeper.
            for child in top.children {
                all.extend(self.digest_file(child)?.lock.map(from_stored));
            }
        }
        all.retain(wanted);
        Ok(all)
    }

    /// Whether there may be any locks: `false` is certain, and cheap to find out.
    pub fn may_have_locks(&self) -> Result<bool> {
        let folder = self.db.join(names::LOCKS);
        match self.storage.list(&folder) {
            Ok(files) => Ok(!files.is_empty()),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(false),
            Err(e) => Err(SvnError::io(
                &e,
                format_args!("{} '{}'", "Can't read directory", folder.display()),
            )),
        }
    }

    pub(crate) fn digest_file(&self, digest: Md5) -> Result<DigestFile> {
        let path = self.db.join(Layout::lock_file(&digest));
        match self.storage.read(&path, DIGEST_FILE_LEN) {
            Ok(bytes) => {
                let (path, db) = (path.display().to_string(), self.db.display().to_string());
                DigestFile::parse(&bytes, &path, &db).map_err(|e| {
                    let no_hash = matches!(e, sapwood_fsfs_format::Error::MalformedHash(_));
                    let error = SvnError::from(e);
                    match no_hash {
                        true => {
                            error.context(format!("Can't parse lock/entries hashfile '{path}'"))
                        }
                        false => error,
                    }
                })
            }
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(DigestFile::default()),
            Err(e) => {
                Err(SvnError::io(&e, format_args!("{} '{}'", "Can't open file", path.display())))
            }
        }
    }
}
