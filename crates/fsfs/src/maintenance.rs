//! What maintenance has in common: all locks of a filesystem, small files replaced, `fsfs.conf`.

use std::io::ErrorKind;
use std::path::Path;

use sapwood_core::config::{Case, Config};
use sapwood_fsfs_format::layout::names;
use sapwood_fsfs_format::since;

use crate::error::{Error, Result};
use crate::filesystem::{Filesystem, SharedState};
use sapwood_fs_common::rep_cache::{RepCache, RepCacheFile, Schema};
use sapwood_store::write::{HeldLock, WriteStorage, lock_or_create};

/// The longest `fsfs.conf` that is read, in bytes.
const CONFIG_LEN: usize = 1 << 20;

/// How maintenance writes.
#[derive(Clone, Debug)]
pub struct MaintenanceOptions {
    /// Whether what is written is made durable before it counts.
    pub flush_to_disk: bool,
}

impl Default for MaintenanceOptions {
    fn default() -> Self {
        Self { flush_to_disk: true }
    }
}

impl MaintenanceOptions {
    /// Replaces a small file; `like` gives the permissions.
    pub(crate) fn replace(
        &self,
        storage: &dyn WriteStorage,
        path: &Path,
        contents: &[u8],
        like: &Path,
    ) -> Result<()> {
        storage
            .replace(path, contents, Some(like), self.flush_to_disk)
            .map_err(|e| Error::replacing(e, path))
    }
}

/// A filesystem that cannot be changed until this is dropped.
#[derive(Debug)]
pub struct Frozen {
    _reps: Option<RepCache>,
    _locks: Vec<Box<dyn HeldLock>>,
}

impl Filesystem {
    /// Waits until no process changes the filesystem, and keeps it so. Readers go on.
    ///
    /// # Errors
    /// System errors, and what SQLite reports.
    pub fn freeze(&self) -> Result<Frozen> {
        self.require_local("freeze")?;
        let shared = &self.fs.shared;
        let mut locks = Vec::new();
        for (name, first) in [(names::PACK_LOCK, since::LOGICAL), (names::WRITE_LOCK, 1)] {
            if shared.layout.format.number >= first {
                locks.push(shared.lock_file(&*shared.storage, name)?);
            }
        }
        let path = shared.file(names::REP_CACHE);
        let reps = match shared.storage.stamp(&path) {
            Ok(_) if shared.layout.format.number >= since::PACKING => {
                let reps = shared.open_rep_cache(&*shared.storage)?;
                reps.hold()?;
                Some(reps)
            }
            _ => None,
        };
        Ok(Frozen { _reps: reps, _locks: locks })
    }
}

impl SharedState {
    /// Waits for one of the filesystem's locks.
    pub(crate) fn lock_file(
        &self,
        storage: &dyn WriteStorage,
        name: &str,
    ) -> Result<Box<dyn HeldLock>> {
        let path = self.file(name);
        // A copy of a repository may lack these files.
        lock_or_create(storage, &path).map_err(|e| Error::locking(e, &path))
    }

    /// Waits for all locks of the filesystem, in the reference's order.
    pub(crate) fn lock_all(&self, storage: &dyn WriteStorage) -> Result<Vec<Box<dyn HeldLock>>> {
        [
            (names::TXN_CURRENT_LOCK, since::LAYOUT),
            (names::PACK_LOCK, since::LOGICAL),
            (names::WRITE_LOCK, 1),
        ]
        .into_iter()
        .filter(|(_, first)| self.layout.format.number >= *first)
        .map(|(name, _)| self.lock_file(storage, name))
        .collect()
    }

    /// The content of `fsfs.conf`; empty when there is none.
    pub(crate) fn read_config(&self, storage: &dyn WriteStorage) -> Result<Config> {
        let path = self.file(names::CONFIG);
        match storage.read(&path, CONFIG_LEN) {
            Ok(bytes) => Ok(Config::parse_file(&path.to_string_lossy(), &bytes, Case::default())?),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(Config::new(Case::default())),
            Err(e) => Err(Error::io(e, "Can't open file", &path)),
        }
    }

    /// Opens the database of equal texts to change it; makes it when it is not there.
    pub(crate) fn open_rep_cache(&self, storage: &dyn WriteStorage) -> Result<RepCache> {
        Ok(self.rep_cache_file(storage).open()?)
    }

    /// Which database of equal texts it has.
    pub(crate) fn rep_cache_file<'a>(&'a self, storage: &'a dyn WriteStorage) -> RepCacheFile<'a> {
        RepCacheFile {
            db: &self.path,
            storage,
            schema: rep_cache_schema(self.layout.format.number),
        }
    }

    /// Keeps the UUID, and gives this copy of the repository a new identity: what is cached of
    /// the old one counts no more. `format` is the one to write for.
    pub(crate) fn renew_instance(&self, options: &MaintenanceOptions, format: u32) -> Result<()> {
        let path = self.file(names::UUID);
        let text = uuid_text(&self.uuid, format, &path)?;
        options.replace(&*self.storage, &path, text.as_bytes(), &self.file(names::CURRENT))
    }
}

/// The schema of the database of equal texts in filesystems of a format.
pub(crate) const fn rep_cache_schema(format: u32) -> Schema {
    if format >= since::SVNDIFF2 { Schema::V2 } else { Schema::V1 }
}

/// The contents of the file `path` that names a filesystem, with a new identity for this copy of
/// it in the formats that have one.
pub(crate) fn uuid_text(uuid: &str, format: u32, path: &Path) -> Result<String> {
    let mut text = format!("{uuid}\n");
    if format >= since::LOGICAL {
        let instance = crate::uuid::generate();
        text += &instance.map_err(|e| Error::io(e, "Can't write to file", path))?;
        text.push('\n');
    }
    Ok(text)
}
