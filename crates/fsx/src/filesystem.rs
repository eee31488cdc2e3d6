//! An opened `db` folder: what kind of filesystem it is, its youngest revision, and revision properties.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sapwood_core::{ErrorCode, PropList, Revnum, SvnError};
use sapwood_fsx_format::format_file::FormatFile;
use sapwood_fsx_format::layout::{Layout, names};
use sapwood_fsx_format::revprops::{self, ManifestEntry, RevpropPack};
use sapwood_store::{Caches, LocalStorage, Storage, WriteStorage, uuid};

use crate::cached::FsCaches;
use crate::error::{Error, Result};
use crate::recent::Recent;
use crate::revfile::{FileKey, RevFile};

/// The longest small file that is read.
const SMALL: usize = 1 << 20;
/// The longest file of revision properties that is read.
const PROPS: usize = 1 << 28;
/// Revision and pack files that are kept open, with their indexes.
const FILES: usize = 16;
/// Packs of revision properties that are kept.
const REVPROP_PACKS: usize = 8;
/// Bytes of the caches of one that is opened without any.
const OWN_CACHES: usize = 16 << 20;

/// An opened FSX filesystem.
#[derive(Clone, Debug)]
pub struct Filesystem(pub(crate) Arc<Fs>);

/// What all clones share.
#[derive(Debug)]
pub(crate) struct Fs {
    pub(crate) db: PathBuf,
    pub(crate) storage: Arc<dyn WriteStorage>,
    pub(crate) layout: Layout,
    pub(crate) uuid: String,
    /// The first revision that is not packed, as last seen.
    min_unpacked: AtomicU64,
    /// The youngest revision, as last seen: it does not go back.
    pub(crate) youngest: AtomicU64,
    pub(crate) files: Recent<FileKey, RevFile>,
    revprop_packs: Recent<String, RevpropPack>,
    /// What all openings of the process share.
    pub(crate) cached: FsCaches,
}

impl Filesystem {
    /// Opens the `db` folder of a repository.
    ///
    /// # Errors
    /// E160033 for another kind of filesystem, E160043 for another format; errors of the system.
    pub fn open(db: &Path) -> Result<Self> {
        Self::open_in(db, Arc::new(LocalStorage))
    }

    /// The same, of files in `storage`.
    ///
    /// # Errors
    /// As [`Filesystem::open`].
    pub fn open_in(db: &Path, storage: Arc<dyn WriteStorage>) -> Result<Self> {
        Self::open_with(db, storage, &Caches::for_one_task(OWN_CACHES))
    }

    /// The same with the caches of the process.
    ///
    /// # Errors
    /// As [`Filesystem::open`].
    pub fn open_with(
        db: &Path,
        storage: Arc<dyn WriteStorage>,
        caches: &Arc<Caches>,
    ) -> Result<Self> {
        let small = |name: &str| read(&*storage, &db.join(name), SMALL);
        let kind = small(names::FS_TYPE)?;
        if kind.trim_ascii() != b"fsx" {
            let kind = kind.trim_ascii().escape_ascii();
            let message = format!("Unsupported FS type '{kind}': expected 'fsx'");
            return Err(SvnError::new(ErrorCode::FS_UNKNOWN_FS_TYPE, message).into());
        }
        let format = FormatFile::parse(&small(names::FORMAT)?);
        let format = format.map_err(|error| Error::Svn(error.into()))?;
        let uuid = sapwood_store::uuid::of_file(&small(names::UUID)?).ok_or_else(|| {
            let path = db.join(names::UUID);
            Error::Corrupt(format!("Can't read length line in file '{}'", path.display()))
        })?;
        let fs = Fs {
            db: db.to_owned(),
            storage: Arc::clone(&storage),
            layout: Layout(format),
            uuid,
            min_unpacked: AtomicU64::new(0),
            youngest: AtomicU64::new(0),
            files: Recent::new(FILES),
            revprop_packs: Recent::new(REVPROP_PACKS),
            cached: FsCaches::new(caches, &*storage, db),
        };
        fs.refresh_min_unpacked()?;
        Ok(Self(Arc::new(fs)))
    }

    /// The repository's UUID.
    #[must_use]
    pub fn uuid(&self) -> &str {
        &self.0.uuid
    }

    /// The youngest revision now.
    ///
    /// # Errors
    /// When `current` cannot be read or understood.
    pub fn youngest(&self) -> Result<Revnum> {
        let now = self.0.number(names::CURRENT)?;
        self.0.youngest.fetch_max(now, Ordering::AcqRel);
        Ok(Revnum(now))
    }

    /// The properties of a revision now.
    ///
    /// # Errors
    /// E160006 for a revision that does not exist; corruption, and errors of the system.
    pub fn revprops(&self, revision: Revnum) -> Result<PropList> {
        self.ensure_exists(revision)?;
        self.0.while_packed(|| self.0.revprops(revision))
    }

    /// E160006 when there is no such revision (yet).
    ///
    /// # Errors
    /// That, and those of reading `current`.
    pub fn ensure_exists(&self, revision: Revnum) -> Result<()> {
        let is_known = revision.0 <= self.0.youngest.load(Ordering::Acquire);
        if is_known || revision <= self.youngest()? {
            Ok(())
        } else {
            Err(Error::NoSuchRevision(revision))
        }
    }
}

fn read(storage: &dyn WriteStorage, path: &Path, limit: usize) -> Result<Vec<u8>> {
    storage.read(path, limit).map_err(|error| Error::io("Can't open file", path, error))
}

impl Fs {
    /// The file that has a revision, and the key that its containers are kept by.
    pub(crate) fn revision_file(&self, revision: Revnum) -> Result<(FileKey, Arc<RevFile>)> {
        let key = match self.is_packed(revision) {
            true => FileKey::Pack(self.layout.0.shard(revision)),
            false => FileKey::Revision(revision),
        };
        if let Some(found) = self.files.find(&key) {
            return Ok((key, found));
        }
        let FileKey::Revision(revision) = key else {
            return self.packed_file(revision, key);
        };
        if let Some(found) = self.cached.file(revision) {
            return Ok((key, found));
        }
        let opened = self.open_revfile(key)?;
        Ok((
            key,
            match opened.is_in_memory() {
                true => self.cached.keep_file(revision, opened),
                false => self.files.put(key, opened),
            },
        ))
    }

    pub(crate) fn open_revfile(&self, key: FileKey) -> Result<RevFile> {
        RevFile::open(&*self.storage, &self.db, self.layout, key)
    }

    /// A file below `db`.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.db.join(name)
    }

    pub(crate) fn number(&self, name: &str) -> Result<u64> {
        let path = self.file(name);
        let bytes = read(&*self.storage, &path, SMALL)?;
        let number = bytes.strip_suffix(b"\n").and_then(sapwood_core::revnum::parse_u64);
        number.ok_or_else(|| {
            Error::Corrupt(format!("'{}' does not hold a revision number", path.display()))
        })
    }

    pub(crate) fn refresh_min_unpacked(&self) -> Result<u64> {
        let now = self.number(names::MIN_UNPACKED)?;
        self.min_unpacked.fetch_max(now, Ordering::AcqRel);
        Ok(self.min_unpacked.load(Ordering::Acquire))
    }

    pub(crate) fn is_packed(&self, revision: Revnum) -> bool {
        revision.0 < self.min_unpacked.load(Ordering::Acquire)
    }

    /// Does something that reads files of revisions. When a file is missing because its shard was packed meanwhile, does it
    /// again.
    pub(crate) fn while_packed<T>(&self, mut step: impl FnMut() -> Result<T>) -> Result<T> {
        let before = self.min_unpacked.load(Ordering::Acquire);
        match step() {
            Err(error) if error.is_missing_file() => {
                if self.refresh_min_unpacked()? == before {
                    return Err(error);
                }
                step()
            }
            done => done,
        }
    }

    pub(crate) fn revprops(&self, revision: Revnum) -> Result<PropList> {
        let is_packed = self.is_packed(revision);
        if is_packed && revision != Revnum::ZERO {
            let own = || self.revprops_of_file(&self.layout.revprops(revision, false));
            return Self::from_pack(|| self.packed_revprops(revision), own);
        }
        self.revprops_of_file(&self.layout.revprops(revision, is_packed))
    }

    fn revprops_of_file(&self, name: &str) -> Result<PropList> {
        let parsed = revprops::parse_file(&self.props_file(name)?);
        parsed.map_err(|error| Error::Item { path: self.file(name), offset: 0, error })
    }

    /// A whole file with properties of revisions, or a manifest of such files.
    pub(crate) fn props_file(&self, name: &str) -> Result<Vec<u8>> {
        read(&*self.storage, &self.file(name), PROPS)
    }

    /// The manifest of a packed shard, and where it is.
    pub(crate) fn manifest(&self, shard: u64) -> Result<(PathBuf, Vec<ManifestEntry>)> {
        let name = self.layout.manifest(shard);
        let path = self.file(&name);
        match revprops::parse_manifest(&self.props_file(&name)?) {
            Ok(entries) => Ok((path, entries)),
            Err(error) => Err(Error::Item { path, offset: 0, error }),
        }
    }

    fn packed_revprops(&self, revision: Revnum) -> Result<PropList> {
        let shard = self.layout.0.shard(revision);
        let wrong = |path: PathBuf, error| Error::Item { path, offset: 0, error };
        let (path, entries) = self.manifest(shard)?;
        let Some((entry, at)) = revprops::find(&entries, revision) else {
            let error = sapwood_fsx_format::Error::IndexRevision(revision.0);
            return Err(wrong(path, error));
        };
        let name = self.layout.revprop_pack(shard, entry);
        let path = self.file(&name);
        // A change may write the same file anew: packs are kept only while they are those on disk.
        let stamp = Storage::stamp(&*self.storage, &path);
        let stamp = stamp.map_err(|error| Error::io("Can't stat", &path, error))?;
        let pack = self.revprop_packs.get_or(format!("{name} {stamp:?}"), || {
            RevpropPack::read(&self.props_file(&name)?).map_err(|error| wrong(path.clone(), error))
        })?;
        pack.get(at).map_err(|error| wrong(path.clone(), error))
    }
}

/// The contents of the file that names a filesystem, with a new identity for this copy of it.
pub(crate) fn uuid_text(uuid: &str) -> io::Result<String> {
    Ok(format!("{uuid}\n{}\n", uuid::generate()?))
}
