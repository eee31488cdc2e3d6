//! Opening a `db` folder: what kind of filesystem it is, and whether it is one we know already.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use sapwood_core::ErrorCode;
use sapwood_core::config::{Case, Config};
use sapwood_fsfs_format::layout::names;
use sapwood_fsfs_format::since;
use sapwood_fsfs_format::{FormatFile, Layout};

use crate::config::{RevpropPackConfig, WriteConfig};
use crate::error::{Error, Result};
use crate::filesystem::{Filesystem, Fs, OpenOptions, SharedState};
use crate::revision_store::marker::{self, Marker};
use crate::revision_store::{LocalRevisions, LogRevisions, RevisionStore};
use sapwood_store::Caches;
use sapwood_store::handles::KeepsHandles;
use sapwood_store::{LocalStorage, Stamp, Storage, WriteStorage};

/// The longest small file that is read.
const LIMIT: usize = 1 << 20;
/// The longest `fs-type`.
const FS_TYPE_LEN: usize = 1024;
/// Bytes of a raw block where `fsfs.conf` does not say.
const BLOCK_SIZE: usize = 64 << 10;
/// Blocks are not made larger than this, whatever `fsfs.conf` says.
const MAX_BLOCK_SIZE: usize = 1 << 20;

#[allow(clippy::missing_errors_doc, reason = "all: `Error` says what its variants mean")]
impl Filesystem {
    /// Opens `db` (the `db` folder of a repository).
    pub fn open(db: &Path, caches: &Arc<Caches>, options: &OpenOptions) -> Result<Self> {
        open(db, caches, options, None)
    }

    /// Opens the same folder with other caches, on the same storage and store of revisions.
    pub(crate) fn opened_anew(&self, caches: &Arc<Caches>) -> Result<Self> {
        let shared = &self.fs.shared;
        let keep = shared.revisions_are_given || shared.revisions.as_log().is_some();
        let revisions = keep.then(|| Arc::clone(&shared.revisions));
        open(&shared.path, caches, &shared.same_storage(), revisions)
    }

    /// Opens `db` with another store of revisions than local files.
    #[cfg(test)]
    pub(crate) fn open_with(
        db: &Path,
        caches: &Arc<Caches>,
        revisions: Arc<dyn RevisionStore>,
    ) -> Result<Self> {
        open(db, caches, &OpenOptions::default(), Some(revisions))
    }
}

/// Opens `db`. When it was opened before with the same caches and none of its describing files
/// changed, this checks four file stamps and reads nothing.
fn open(
    db: &Path,
    caches: &Arc<Caches>,
    options: &OpenOptions,
    revisions: Option<Arc<dyn RevisionStore>>,
) -> Result<Filesystem> {
    let storage: Arc<dyn WriteStorage> =
        options.storage.clone().unwrap_or_else(|| Arc::new(LocalStorage));
    let identity = identity(&*storage, db);
    let share = options.storage.is_none() && revisions.is_none();
    let known = if share { caches.shared_state::<SharedState>(db) } else { None };
    let shared = match known.filter(|known| known.identity == identity) {
        Some(shared) => shared,
        None => {
            let place = Location { storage, is_given: options.storage.is_some(), revisions };
            let shared = Arc::new(read(db, caches, place, identity, options.largest_block)?);
            let keeper: Arc<dyn KeepsHandles> = Arc::<SharedState>::clone(&shared);
            sapwood_store::handles::register(&keeper);
            if share {
                caches.keep_shared_state(db, &shared);
            }
            shared
        }
    };
    Ok(Filesystem { fs: Arc::new(Fs::new(shared, Arc::clone(caches))) })
}

fn identity(storage: &dyn Storage, db: &Path) -> [Option<Stamp>; 4] {
    [names::FORMAT, names::UUID, names::FS_TYPE, names::CONFIG]
        .map(|name| storage.stamp(&db.join(name)).ok())
}

/// Where a filesystem is.
struct Location {
    storage: Arc<dyn WriteStorage>,
    /// Whether the caller set it.
    is_given: bool,
    /// Where its revisions are, if not in `storage`.
    revisions: Option<Arc<dyn RevisionStore>>,
}

fn read(
    db: &Path,
    caches: &Arc<Caches>,
    place: Location,
    identity: [Option<Stamp>; 4],
    largest_block: Option<usize>,
) -> Result<SharedState> {
    let Location { storage, is_given: storage_is_given, revisions } = place;
    let marker = check_type(&*storage, db)?;
    let path = db.join(names::FORMAT);
    let format = match storage.read(&path, LIMIT) {
        Ok(bytes) => {
            FormatFile::parse(&bytes, &path.to_string_lossy()).map_err(|e| Error::Svn(e.into()))?
        }
        Err(e) if e.kind() == ErrorKind::NotFound => FormatFile::MISSING,
        Err(e) => return Err(Error::io(e, "Can't open file", &path)),
    };
    let uuid = read_uuid(&*storage, db)?;
    let options = read_options(&*storage, db, format.number)?;
    let most = largest_block.filter(|size| size.is_power_of_two()).unwrap_or(usize::MAX);
    let layout = Layout::new(format);
    let (slow, revisions_are_given) = (Arc::new(AtomicBool::new(false)), revisions.is_some());
    let revisions: Arc<dyn RevisionStore> = match (revisions, marker) {
        (Some(revisions), _) => revisions,
        (None, Some(marker)) => {
            Arc::new(LogRevisions::open(db, layout, Arc::clone(&storage), &marker)?)
        }
        (None, None) => {
            let (storage, slow) = (Arc::clone(&storage), Arc::clone(&slow));
            Arc::new(LocalRevisions::new(db.to_owned(), layout, storage, slow))
        }
    };
    let shared = SharedState {
        id: caches.new_id(),
        path: db.to_owned(),
        storage,
        storage_is_given,
        revisions,
        revisions_are_given,
        layout,
        uuid,
        block_size: options.block_size.min(most),
        identity,
        min_unpacked: AtomicU64::new(0),
        min_unpacked_file: Mutex::default(),
        opened: std::time::Instant::now(),
        min_unpacked_glance: AtomicU64::new(0),
        youngest: AtomicU64::new(0),
        current_file: Mutex::default(),
        revprop_shards: Mutex::default(),
        revprop_top: Mutex::default(),
        txn_numbers: Mutex::default(),
        write_config: options.write.map_or_else(OnceLock::new, OnceLock::from),
        openings: AtomicUsize::new(0),
        attached: OnceLock::new(),
        whole_syncs_are_slow: slow,
        unpublished: Mutex::default(),
    };
    shared.refresh_min_unpacked()?;
    Ok(shared)
}

/// Refuses filesystems that are not FSFS; where its revisions are, if not in the folder. A missing file is an ancient FSFS, or
/// Berkeley DB.
fn check_type(storage: &dyn Storage, db: &Path) -> Result<Option<Marker>> {
    let path = db.join(names::FS_TYPE);
    let text = match storage.read(&path, FS_TYPE_LEN) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(e) if e.kind() == ErrorKind::NotFound && storage.list(db).is_ok() => "bdb".to_owned(),
        Err(e) => return Err(Error::io(e, "Can't open file", &path)),
    };
    let (kind, rest) = text.split_once('\n').unwrap_or((&text, ""));
    match kind {
        "fsfs" => Ok(None),
        marker::KIND => Marker::parse(rest, &path).map(Some),
        "bdb" | "fsx" => Err(Error::new(
            ErrorCode::FS_UNKNOWN_FS_TYPE,
            format!("Failed to load module for FS type '{kind}'"),
        )),
        _ => Err(Error::new(ErrorCode::FS_UNKNOWN_FS_TYPE, format!("Unknown FS type '{kind}'"))),
    }
}

/// The first line of the file. The second, from format 7 on, is the instance id: it says to caches
/// beyond a process that a copy is another repository, and ours are not that.
fn read_uuid(storage: &dyn Storage, db: &Path) -> Result<String> {
    let path = db.join(names::UUID);
    let bytes = storage.read(&path, 4096).map_err(|e| Error::io(e, "Can't open file", &path))?;
    sapwood_store::uuid::of_file(&bytes).ok_or_else(|| {
        Error::Corrupt(format!("Can't read length line in file '{}'", path.display()))
    })
}

/// The options of `fsfs.conf`, of which readers need only the block size. An invalid option is
/// reported when the filesystem is opened, as the reference does.
struct Options {
    /// Bytes of a block.
    block_size: usize,
    /// `None` for formats that have no such file: writers look themselves.
    write: Option<(WriteConfig, RevpropPackConfig)>,
}

fn read_options(storage: &dyn Storage, db: &Path, format: u32) -> Result<Options> {
    if format < since::PACKING {
        return Ok(Options { block_size: BLOCK_SIZE, write: None });
    }
    let path = db.join(names::CONFIG);
    let config = match storage.read(&path, LIMIT) {
        Ok(bytes) => Config::parse_file(&path.to_string_lossy(), &bytes, Case::default())?,
        Err(e) if e.kind() == ErrorKind::NotFound => Config::new(Case::default()),
        Err(e) => return Err(Error::io(e, "Can't open file", &path)),
    };
    let write = (WriteConfig::new(&config, format)?, RevpropPackConfig::new(&config, format)?);
    let block_size = if format < since::LOGICAL { BLOCK_SIZE } else { block_size(&config)? };
    crate::memcached::check(&config)?;
    // There is no cache that could fail.
    config.get_bool("caches", "fail-stop", false)?;
    Ok(Options { block_size, write: Some(write) })
}

/// Bytes of a block: `block-size` is in KiB.
fn block_size(config: &Config) -> Result<usize> {
    let kib = config.get_i64("io", "block-size", 64)?;
    let size = usize::try_from(kib).ok().and_then(|k| k.checked_mul(1024));
    let problem = match size {
        Some(0) | None => "is too small for fsfs.conf setting 'block-size'.",
        Some(size) if !size.is_power_of_two() => {
            "is invalid for fsfs.conf setting 'block-size' because it is not a power of 2."
        }
        Some(size) => return Ok(size.min(MAX_BLOCK_SIZE)),
    };
    Err(Error::new(ErrorCode::BAD_CONFIG_VALUE, format!("{kib} {problem}")))
}
