//! One opened filesystem, whatever engine keeps it.
//!
//! What only FSFS has is in [`crate::fsfs`].

use std::path::Path;
use std::sync::Arc;

use sapwood_core::{CancelToken, Depth, ErrorCode, FsPath, Lock, PropList, Revnum, SvnError};
use sapwood_delta::Version;
use sapwood_fs_common::leftovers::Leftovers;
use sapwood_store::{Caches, LocalStorage, Storage, WriteStorage};

use crate::backend::Backend;
use crate::directory::Directory;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::of::{Of, both, each, of};
use crate::{ChangedPaths, FormatInfo, Leftover, OpenOptions};

/// One opened `db` folder. Clones share everything.
#[derive(Clone, Debug)]
pub struct Filesystem(pub(crate) of!(Itself));

/// E235000: things of two filesystems met.
pub(crate) fn other_engine() -> Error {
    Error::Svn(SvnError::internal("a node of a filesystem of another engine"))
}

#[allow(clippy::missing_errors_doc, reason = "each fails as its engine does: `Error` says how")]
impl Filesystem {
    /// Opens the `db` folder of a repository. What other engine than FSFS it needs is only looked for when it is not FSFS:
    /// opening one that is known reads nothing.
    pub fn open(db: &Path, caches: &Arc<Caches>, options: &OpenOptions) -> Result<Self> {
        let opened = sapwood_fsfs::Filesystem::open(db, caches, options).map_err(Error::from);
        match opened {
            Err(Error::Svn(error)) if error.code() == ErrorCode::FS_UNKNOWN_FS_TYPE => {
                match Engine::of(db) {
                    Ok(Engine::Fsx) => {
                        let storage = options.storage.clone();
                        let storage = storage.unwrap_or_else(|| Arc::new(LocalStorage));
                        let opened = sapwood_fsx::Filesystem::open_with(db, storage, caches)?;
                        Ok(Self(Of::Fsx(opened)))
                    }
                    _ => Err(Error::Svn(error)),
                }
            }
            opened => Ok(Self(Of::Fsfs(opened?))),
        }
    }

    /// An empty filesystem in memory, for tests.
    #[cfg(feature = "memory")]
    #[must_use]
    pub fn in_memory(caches: &Arc<Caches>) -> Self {
        Self(Of::Memory(crate::memory::Filesystem::new(caches)))
    }

    /// Whether this process may read the filesystem in the folder `db`: the system's error when not. Nothing of it is kept.
    pub fn check_readable(db: &Path) -> Result<()> {
        let path = db.join("current");
        match LocalStorage.read(&path, 1 << 20) {
            Ok(_) => Ok(()),
            Err(error) => {
                let what = format_args!("Can't open file '{}'", path.display());
                Err(Error::Svn(SvnError::io(&error, what)))
            }
        }
    }

    /// The engine that keeps it.
    #[must_use]
    pub const fn engine(&self) -> Engine {
        match &self.0 {
            Of::Fsfs(_) => Engine::Fsfs,
            Of::Fsx(_) => Engine::Fsx,
            #[cfg(feature = "memory")]
            Of::Memory(_) => Engine::Memory,
        }
    }

    /// The path of its configuration file.
    #[must_use]
    pub fn config_path(&self) -> std::path::PathBuf {
        self.path().join(self.engine().config_name())
    }

    /// The address of the store of objects that its revisions are in, if they are not in the folder.
    #[must_use]
    pub fn store_address(&self) -> Option<&str> {
        self.fsfs().and_then(sapwood_fsfs::Filesystem::store_address)
    }

    /// About how many bytes of memory it takes as long as it is kept, beside caches.
    #[must_use]
    pub fn state_bytes(&self) -> u64 {
        self.fsfs().map_or(0, sapwood_fsfs::Filesystem::state_bytes)
    }

    /// The FSFS filesystem that it is.
    pub(crate) const fn fsfs(&self) -> Option<&sapwood_fsfs::Filesystem> {
        match &self.0 {
            Of::Fsfs(fs) => Some(fs),
            _ => None,
        }
    }

    /// The same filesystem, to be kept for later: while no other opening is in use, no file of it is
    /// open for writing. It is not to be used itself, but by [`Self::opened_again`].
    #[must_use]
    pub fn at_rest(&self) -> Self {
        Self(each!(&self.0, fs, wrap => wrap(Backend::at_rest(fs))))
    }

    /// A new handle of the same filesystem, without reading the disk.
    #[must_use]
    pub fn opened_again(&self) -> Self {
        Self(each!(&self.0, fs, wrap => wrap(Backend::opened_again(fs))))
    }

    /// The newest svndiff that a text was last asked for by way of this opening
    /// ([`TextDelta::encoded`](sapwood_delta::TextDelta::encoded)): a thread that reads ahead for the
    /// same receiver makes the same.
    #[must_use]
    pub fn svndiff_asked_for(&self) -> Option<Version> {
        each!(&self.0, fs => Backend::svndiff_asked_for(fs))
    }

    /// Where its files are.
    #[must_use]
    pub fn storage(&self) -> &dyn WriteStorage {
        each!(&self.0, fs => Backend::storage(fs))
    }

    /// The caches, and the number of the filesystem in them.
    pub(crate) fn caches(&self) -> (&Arc<Caches>, u32) {
        each!(&self.0, fs => Backend::caches(fs))
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        each!(&self.0, fs => Backend::path(fs))
    }

    /// What the `format` file says.
    #[must_use]
    pub fn format(&self) -> FormatInfo {
        each!(&self.0, fs => Backend::format(fs))
    }

    /// The oldest minor version of Subversion 1 that can use it.
    #[must_use]
    pub fn oldest_minor_version(&self) -> u32 {
        each!(&self.0, fs => Backend::oldest_minor_version(fs))
    }

    /// Whether revisions record where mergeinfo is, so that it can be searched.
    #[must_use]
    pub fn records_mergeinfo(&self) -> bool {
        each!(&self.0, fs => Backend::records_mergeinfo(fs))
    }

    /// E200007 where mergeinfo is not recorded.
    pub fn require_mergeinfo(&self) -> Result<()> {
        each!(&self.0, fs => Backend::require_mergeinfo(fs))
    }

    /// The order in which a directory's entries are sent, as their places: `None` for that of their
    /// names.
    #[must_use]
    pub fn sending_order(&self, entries: &Directory) -> Option<Vec<u32>> {
        both!(&self.0, &entries.0, (fs, entries) => Backend::sending_order(fs, entries), else None)
    }

    /// The repository's UUID.
    pub fn uuid(&self) -> Result<String> {
        each!(&self.0, fs => Backend::uuid(fs))
    }

    /// What names this copy of the repository: its UUID and, in formats that have one, the identity of the copy, each with a
    /// line end. Read anew.
    pub fn instance(&self) -> Result<Vec<u8>> {
        let path = self.path().join("uuid");
        self.storage().read(&path, 1 << 10).map_err(|error| {
            let what = format_args!("Can't open file '{}'", path.display());
            Error::Svn(SvnError::io(&error, what))
        })
    }

    /// The youngest revision now. Looks at `current`, and reads it when it changed.
    pub fn youngest(&self) -> Result<Revnum> {
        each!(&self.0, fs => Backend::youngest(fs))
    }

    /// The first revision that is not packed.
    pub fn min_unpacked_rev(&self) -> Result<Revnum> {
        each!(&self.0, fs => Backend::min_unpacked_rev(fs))
    }

    /// The paths a revision changed, folded: one entry a path.
    pub fn changed_paths(&self, revision: Revnum) -> Result<Arc<ChangedPaths>> {
        each!(&self.0, fs => Backend::changed_paths(fs, revision))
    }

    /// The lock on `path`, if there is one that has not expired.
    pub fn lock(&self, path: &FsPath) -> Result<Option<Lock>> {
        each!(&self.0, fs => Backend::lock(fs, path))
    }

    /// All locks at and below `path`, as deep as `depth` says, in no particular order. Those that
    /// have expired are left out.
    pub fn locks(&self, path: &FsPath, depth: Depth) -> Result<Vec<Lock>> {
        each!(&self.0, fs => Backend::locks(fs, path, depth))
    }

    /// Whether there may be any locks: `false` is certain, and cheap to find out.
    pub fn may_have_locks(&self) -> Result<bool> {
        each!(&self.0, fs => Backend::may_have_locks(fs))
    }

    /// The names of the transactions, sorted.
    pub fn transactions(&self) -> Result<Vec<String>> {
        each!(&self.0, fs => Backend::transactions(fs))
    }

    /// The properties of a transaction; E160007 when there is none of that name.
    pub fn txn_props(&self, name: &str) -> Result<PropList> {
        each!(&self.0, fs => Backend::txn_props(fs, name))
    }

    /// Checks what one revision consists of.
    pub fn verify_revision(&self, revision: Revnum, cancel: &CancelToken) -> Result<()> {
        each!(&self.0, fs => Backend::verify_revision(fs, revision, cancel))
    }

    /// Checks what does not belong to one revision alone, of revisions `start` to `end`: indexes, checksums of items and
    /// the like. `threads` may be used; `progress` is called with what was checked.
    pub fn verify_metadata(
        &self,
        start: Option<Revnum>,
        end: Option<Revnum>,
        threads: usize,
        cancel: &CancelToken,
        progress: &mut dyn FnMut(Option<Revnum>),
    ) -> Result<()> {
        each!(&self.0, fs => Backend::verify_metadata(fs, (start, end), threads, cancel, progress))
    }

    /// The files that writers left behind, sorted. One of a commit that is under way may be among them.
    pub fn leftovers(&self) -> Result<Vec<Leftover>> {
        let (storage, db, txns) = (self.storage(), self.path(), &*self.transactions()?);
        Ok(Leftovers { storage, db, txns }.list()?)
    }
}
