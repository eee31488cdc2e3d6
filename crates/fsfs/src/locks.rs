//! Path locks: `db/locks`. Who changes them is in `write`.

mod write;

use std::io::ErrorKind;
use std::time::{SystemTime, UNIX_EPOCH};

use sapwood_core::path::skip_ancestor;
use sapwood_core::{Depth, Md5, SvnError};
use sapwood_fsfs_format::Layout;
use sapwood_fsfs_format::layout::names;
use sapwood_fsfs_format::lockfile::{self, DigestFile, StoredLock};

use crate::error::{Error, Result};
use crate::filesystem::Filesystem;

pub use self::write::{LockOptions, LockOutcome, LockTarget, UnlockTarget};

/// A lock on a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lock {
    /// The locked fspath.
    pub path: String,
    /// `opaquelocktoken:` and a UUID.
    pub token: String,
    /// Who holds it.
    pub owner: String,
    /// Why; `None` when nothing was said, which tools show differently from an empty text.
    pub comment: Option<String>,
    /// Whether the comment came from a DAV client's XML.
    pub is_dav_comment: bool,
    /// Microseconds since 1970.
    pub created: i64,
    /// Microseconds since 1970, `None` for a lock that does not end by itself.
    pub expires: Option<i64>,
}

impl Lock {
    fn from_stored(lock: StoredLock) -> Self {
        Self {
            path: lock.path,
            token: lock.token,
            owner: lock.owner,
            comment: lock.comment,
            is_dav_comment: lock.is_dav_comment,
            created: lock.created.0,
            expires: lock.expires.map(|t| t.0),
        }
    }

    fn is_expired(&self, now: i64) -> bool {
        self.expires.is_some_and(|end| now > end)
    }
}

/// The longest digest file that is read: that of the root names every locked path in 33 bytes.
const DIGEST_FILE_LEN: usize = 1 << 30;

fn now() -> i64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .ok()
        .and_then(|d| i64::try_from(d.as_micros()).ok())
        .unwrap_or(0)
}

#[allow(clippy::missing_errors_doc)]
impl Filesystem {
    /// The lock on `path`, if there is one that has not expired.
    pub fn lock(&self, path: &str) -> Result<Option<Lock>> {
        let lock = self.digest_file(lockfile::digest_of(path))?.lock.map(Lock::from_stored);
        let now = now();
        Ok(lock.filter(|lock| !lock.is_expired(now)))
    }

    /// All locks at and below `path`, as deep as `depth` says, in no particular order. Those that
    /// have expired are left out.
    pub fn locks(&self, path: &str, depth: Depth) -> Result<Vec<Lock>> {
        let now = now();
        let wanted = |lock: &Lock| {
            let below = skip_ancestor(path, &lock.path);
            !lock.is_expired(now)
                && match (below, depth) {
                    (None, _) => false,
                    (Some(""), _) | (_, Depth::Infinity) => true,
                    (Some(below), Depth::Files | Depth::Immediates) => !below.contains('/'),
                    _ => false,
                }
        };
        let top = self.digest_file(lockfile::digest_of(path))?;
        let mut all: Vec<Lock> = top.lock.into_iter().map(Lock::from_stored).collect();
        if depth > Depth::Empty {
            // Every path above a locked one lists it: there is no need to go deeper.
            for child in top.children {
                all.extend(self.digest_file(child)?.lock.map(Lock::from_stored));
            }
        }
        all.retain(wanted);
        Ok(all)
    }

    /// Whether there may be any locks: `false` is certain, and cheap to find out.
    pub fn may_have_locks(&self) -> Result<bool> {
        let folder = self.fs.file(names::LOCKS);
        match self.fs.storage.list(&folder) {
            Ok(files) => Ok(!files.is_empty()),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(false),
            Err(e) => Err(Error::io(e, "Can't read directory", &folder)),
        }
    }

    fn digest_file(&self, digest: Md5) -> Result<DigestFile> {
        let path = self.fs.file(&Layout::lock_file(&digest));
        match self.fs.storage.read(&path, DIGEST_FILE_LEN) {
            Ok(bytes) => {
                let (path, db) = (path.display().to_string(), self.path().display().to_string());
                DigestFile::parse(&bytes, &path, &db).map_err(|e| {
                    let no_hash = matches!(e, sapwood_fsfs_format::Error::MalformedHash(_));
                    let error = SvnError::from(e);
                    Error::Svn(match no_hash {
                        true => {
                            error.context(format!("Can't parse lock/entries hashfile '{path}'"))
                        }
                        false => error,
                    })
                })
            }
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(DigestFile::default()),
            Err(e) => Err(Error::io(e, "Can't open file", &path)),
        }
    }
}
