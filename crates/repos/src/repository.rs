//! One repository folder: `format`, `conf`, `hooks`, `locks`, `db`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sapwood_fsfs::{Caches, Filesystem, OpenOptions};

use crate::error::Result;

/// One opened repository. Clones share everything.
#[derive(Clone, Debug)]
pub struct Repository {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    format: u32,
    fs: Filesystem,
}

impl Repository {
    /// Opens the repository whose folder is `path`. Folders that are none and unknown formats
    /// are refused in the reference's words (E165005 and kin).
    ///
    /// # Errors
    /// As said, and whatever opening the filesystem meets.
    #[allow(unused_variables)]
    pub fn open(path: &Path, caches: &Arc<Caches>, options: &OpenOptions) -> Result<Self> {
        todo!()
    }

    /// The folder of the repository that `path` is in or at: the nearest folder upwards that
    /// looks like a repository. `path` itself need not exist.
    #[must_use]
    #[allow(unused_variables)]
    pub fn find_root(path: &Path) -> Option<PathBuf> {
        todo!()
    }

    /// The folder, as it was given.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// The number in the repository's own `format` file (3 or 5), not the filesystem's.
    #[must_use]
    pub fn format(&self) -> u32 {
        self.inner.format
    }

    /// The filesystem.
    #[must_use]
    pub fn fs(&self) -> &Filesystem {
        &self.inner.fs
    }

    /// The `conf` folder.
    #[must_use]
    pub fn conf_dir(&self) -> PathBuf {
        self.inner.path.join("conf")
    }

    /// The `hooks` folder.
    #[must_use]
    pub fn hooks_dir(&self) -> PathBuf {
        self.inner.path.join("hooks")
    }

    /// The `locks` folder (locks of processes, not of paths).
    #[must_use]
    pub fn locks_dir(&self) -> PathBuf {
        self.inner.path.join("locks")
    }

    /// The `db` folder.
    #[must_use]
    pub fn db_dir(&self) -> PathBuf {
        self.inner.path.join("db")
    }
}
