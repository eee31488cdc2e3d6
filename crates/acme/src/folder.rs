//! The folder with the account's key, `NAME.pem` for each name (the key and the chain), and `NAME.failed` with why the last
//! order of a name failed.
//!
//! Invariants: a file is there whole or not at all, and only its owner may read it; who orders has the lock, so servers that
//! share the folder order one after the other.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::error::{Error, Result};

const ACCOUNT: &str = "account.json";
const LOCK: &str = "lock";

/// The folder.
#[derive(Clone, Debug)]
pub(crate) struct Folder(PathBuf);

/// The lock of a folder, until this is dropped.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

fn failed(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    move |source| Error::Io { what, path: path.to_owned(), source }
}

/// A file's bytes, if it is there.
fn read(path: &Path) -> Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        read => read.map(Some).map_err(failed("read", path)),
    }
}

impl Folder {
    /// The folder at a path; made if only its own name is missing.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        match DirBuilder::new().mode(0o700).create(path) {
            Err(e) if e.kind() != io::ErrorKind::AlreadyExists => {
                Err(failed("create folder", path)(e))
            }
            _ => Ok(Self(path.to_owned())),
        }
    }

    /// Does something with the files in a thread that may block.
    pub(crate) async fn with<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (own, path) = (self.clone(), self.0.clone());
        let done = tokio::task::spawn_blocking(move || work(&own)).await;
        done.unwrap_or_else(|e| Err(failed("use", &path)(io::Error::other(e))))
    }

    /// The lock, if no other server has it.
    pub(crate) fn lock(&self) -> Result<Option<Lock>> {
        let path = self.0.join(LOCK);
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true).mode(0o600);
        let file = options.open(&path).map_err(failed("open", &path))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Lock { _file: file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(e)) => Err(failed("lock", &path)(e)),
        }
    }

    /// Where the account is kept.
    pub(crate) fn account_path(&self) -> PathBuf {
        self.0.join(ACCOUNT)
    }

    /// Where the certificate of a name is kept.
    pub(crate) fn certificate_path(&self, name: &str) -> PathBuf {
        self.0.join(format!("{name}.pem"))
    }

    /// Where the last failure of a name is kept.
    pub(crate) fn failure_path(&self, name: &str) -> PathBuf {
        self.0.join(format!("{name}.failed"))
    }

    /// The account, if there is one.
    pub(crate) fn account(&self) -> Result<Option<Vec<u8>>> {
        read(&self.account_path())
    }

    /// The certificate of a name with its key, if there is one.
    pub(crate) fn certificate(&self, name: &str) -> Result<Option<Vec<u8>>> {
        read(&self.certificate_path(name))
    }

    /// When the certificate of a name was written.
    pub(crate) fn stamp(&self, name: &str) -> Option<SystemTime> {
        fs::metadata(self.certificate_path(name)).and_then(|meta| meta.modified()).ok()
    }

    /// When the last order of a name failed, if it did.
    pub(crate) fn failed_at(&self, name: &str) -> Option<SystemTime> {
        fs::metadata(self.failure_path(name)).and_then(|meta| meta.modified()).ok()
    }

    /// Keeps why an order failed.
    pub(crate) fn note_failure(&self, name: &str, why: &str) -> Result<()> {
        self.replace(&self.failure_path(name), format!("{why}\n").as_bytes())
    }

    /// No order of the name has failed since.
    pub(crate) fn forget_failure(&self, name: &str) -> Result<()> {
        let path = self.failure_path(name);
        match fs::remove_file(&path) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(failed("remove", &path)(e)),
            _ => Ok(()),
        }
    }

    /// Writes a file as a whole, for its owner only.
    pub(crate) fn replace(&self, path: &Path, bytes: &[u8]) -> Result<()> {
        let write = || {
            // Such files are made for their owner only.
            let mut file = tempfile::NamedTempFile::new_in(&self.0)?;
            file.write_all(bytes)?;
            file.as_file().sync_all()?;
            file.persist(path).map_err(|e| e.error)?;
            File::open(&self.0)?.sync_all()
        };
        write().map_err(failed("write", path))
    }
}

/// What a folder has of a name, for who looks after the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredCertificate {
    /// The file of the certificate and its key.
    pub certificate: PathBuf,
    /// Whether it is there.
    pub is_there: bool,
    /// Whether others than its owner may read the key.
    pub is_open: bool,
    /// Why the last order failed, if it did.
    pub failure: Option<String>,
}

/// What a folder has of a name. Nothing is written.
///
/// # Errors
/// A file that cannot be read.
pub fn stored(folder: &Path, name: &str) -> Result<StoredCertificate> {
    let folder = Folder(folder.to_owned());
    let certificate = folder.certificate_path(name);
    let mode = match fs::metadata(&certificate) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => None,
        meta => Some(meta.map_err(failed("read", &certificate))?.permissions().mode()),
    };
    let failure = read(&folder.failure_path(name))?;
    Ok(StoredCertificate {
        certificate,
        is_there: mode.is_some(),
        is_open: mode.is_some_and(|mode| mode & 0o077 != 0),
        failure: failure.map(|text| String::from_utf8_lossy(&text).trim().to_owned()),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn files_are_for_their_owner_and_one_orders_at_a_time() {
        let base = tempfile::tempdir().unwrap();
        let path = base.path().join("acme");
        let folder = Folder::open(&path).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&path), 0o700);
        assert_eq!(folder.certificate("a.example").unwrap(), None);
        folder.replace(&folder.certificate_path("a.example"), b"pem").unwrap();
        assert_eq!(folder.certificate("a.example").unwrap().unwrap(), b"pem");
        assert_eq!(mode(&path.join("a.example.pem")), 0o600);
        folder.note_failure("a.example", "refused").unwrap();
        let found = stored(&path, "a.example").unwrap();
        assert_eq!((found.is_there, found.is_open), (true, false));
        assert_eq!(found.failure.as_deref(), Some("refused"));
        folder.forget_failure("a.example").unwrap();
        folder.forget_failure("a.example").unwrap();
        assert_eq!(folder.failed_at("a.example"), None);
        let other = Folder::open(&path).unwrap();
        let lock = folder.lock().unwrap();
        assert!(lock.is_some() && other.lock().unwrap().is_none());
        drop(lock);
        assert!(other.lock().unwrap().is_some());
        assert!(Folder::open(&base.path().join("none/acme")).is_err());
    }
}
