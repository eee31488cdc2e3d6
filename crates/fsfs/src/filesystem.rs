//! One opened filesystem: format, `current`, revision properties, transactions.

use std::any::Any;
use std::cmp::Reverse;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use parking_lot::Mutex;
use sapwood_core::{ErrorCode, Md5, Revnum};
use sapwood_delta::Version;
use sapwood_fsfs_format::since;
use sapwood_fsfs_format::{Directory, Layout};

use crate::config::{RevpropPackConfig, WriteConfig};
use crate::error::{Error, Result};
use crate::read_counters::Work;
use crate::revision_store::{LogRevisions, Object, RevisionStore};
use crate::revprop_shards::RevpropShards;
use sapwood_fs_common::changes::ChangedPaths;
use sapwood_store::Caches;
use sapwood_store::ReloadedFile;
use sapwood_store::handles::KeepsHandles;
use sapwood_store::{Stamp, WriteStorage};

/// How to open a filesystem.
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    /// Where all files are, for reading, writing and administration alike; `None` is the local file system.
    pub storage: Option<Arc<dyn WriteStorage>>,
    /// The most bytes that are read at a time, a power of two; `None` is what `fsfs.conf` says.
    /// Small blocks are better for one request by a program of its own on files that the system
    /// has in memory.
    pub largest_block: Option<usize>,
}

/// What the `format` file says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FormatInfo {
    /// The format number, 1 to 8.
    pub number: u32,
    /// Revisions a shard, `None` for the linear layout.
    pub shard_size: Option<u64>,
    /// Whether items are addressed logically, through the indexes.
    pub logical_addressing: bool,
}

/// One opened `db` folder. Clones share everything.
#[derive(Clone, Debug)]
pub struct Filesystem {
    pub(crate) fs: Arc<Fs>,
}

/// What a [`Filesystem`] is: the shared state of one `db` folder, and the caches to use.
#[derive(Debug)]
pub(crate) struct Fs {
    pub(crate) shared: Arc<SharedState>,
    pub(crate) caches: Arc<Caches>,
    /// The youngest revision that a bulk writer to this opening has prepared: it may be read here
    /// before it is there for others. 0 when there is none.
    pub(crate) prepared: AtomicU64,
    /// What was read and made by way of this opening.
    pub(crate) work: Work,
    /// Whether this is one of [`SharedState::openings`].
    in_use: bool,
}

/// What all openings of one `db` folder in this process share.
#[derive(Debug)]
pub(crate) struct SharedState {
    /// The number under which its items are cached.
    pub(crate) id: u32,
    pub(crate) path: PathBuf,
    /// Where all of its files are.
    pub(crate) storage: Arc<dyn WriteStorage>,
    /// Where its revisions and their properties are: above `storage`.
    pub(crate) revisions: Arc<dyn RevisionStore>,
    /// Whether these were given by the caller, and do not belong to `storage`.
    pub(crate) revisions_are_given: bool,
    /// Whether that was given by the caller, and is shared with no other opening.
    pub(crate) storage_is_given: bool,
    pub(crate) layout: Layout,
    pub(crate) uuid: String,
    /// Bytes of a raw block; a power of two.
    pub(crate) block_size: usize,
    /// Stamps of the files that the above was read from, to notice another filesystem in the
    /// same place.
    pub(crate) identity: [Option<Stamp>; 4],
    /// The first revision that is not packed, as last seen; only ever grows.
    pub(crate) min_unpacked: AtomicU64,
    pub(crate) min_unpacked_file: Mutex<ReloadedFile<()>>,
    /// When the filesystem was opened, and in which second since then, counted from 1, the above
    /// was last looked at by the way.
    pub(crate) opened: Instant,
    pub(crate) min_unpacked_glance: AtomicU64,
    /// The youngest revision as last seen; only ever grows.
    pub(crate) youngest: AtomicU64,
    pub(crate) current_file: Mutex<ReloadedFile<()>>,
    pub(crate) revprop_shards: Mutex<RevpropShards>,
    /// The folder of the folders of revision properties when it was last looked at, if a change
    /// after that is certain to show.
    pub(crate) revprop_top: Mutex<Option<Stamp>>,
    /// Numbers of transactions that this process took from `txn-current` and has not used: the
    /// next, and the end.
    pub(crate) txn_numbers: Mutex<(u64, u64)>,
    /// The options of `fsfs.conf` for writers, once one needed them.
    pub(crate) write_config: OnceLock<(WriteConfig, RevpropPackConfig)>,
    /// How many openings are in use; those [at rest](Filesystem::at_rest) are not.
    pub(crate) openings: AtomicUsize,
    /// What writers keep for all openings: see [`SharedState::extension`].
    pub(crate) attached: OnceLock<Arc<dyn Extension>>,
    /// Whether syncing the whole file system took long when that was last done.
    pub(crate) whole_syncs_are_slow: Arc<AtomicBool>,
    /// Revisions that a commit has prepared and not published: numbers, and where they are.
    pub(crate) unpublished: Mutex<Vec<(Revnum, UnpublishedFile)>>,
}

/// What a module that stands above this one keeps for all openings of a filesystem.
pub(crate) trait Extension: Any + Send + Sync + std::fmt::Debug {
    /// The last opening in this process was closed.
    fn last_closed(&self);

    /// Closes cached file handles that are not in use, because handles are scarce. Returns whether there were any.
    fn close_idle(&self) -> bool;
}

/// The path of the file of an unpublished revision.
#[derive(Clone, Debug)]
pub(crate) enum UnpublishedFile {
    /// In a file that is yet to be moved.
    File(PathBuf),
    /// In memory.
    Memory(Arc<Vec<u8>>),
}

impl KeepsHandles for SharedState {
    fn close_all(&self) -> bool {
        self.attached.get().is_some_and(|attached| attached.close_idle())
    }
}

impl Fs {
    pub(crate) fn new(shared: Arc<SharedState>, caches: Arc<Caches>) -> Self {
        shared.openings.fetch_add(1, Ordering::AcqRel);
        Self { shared, caches, prepared: AtomicU64::new(0), work: Work::default(), in_use: true }
    }

    /// The youngest revision that can be read here, as far as is known without looking.
    pub(crate) fn youngest_known(&self) -> Revnum {
        let youngest = self.youngest.load(Ordering::Acquire);
        Revnum(youngest.max(self.prepared.load(Ordering::Acquire)))
    }

    /// E160006 when there is no such revision (yet).
    pub(crate) fn ensure_exists(&self, revision: Revnum) -> Result<()> {
        if revision <= self.youngest_known() || revision <= self.refresh_youngest()? {
            return Ok(());
        }
        Err(Error::NoSuchRevision(revision))
    }
}

/// The minor version of Subversion that made a format.
const fn minor_of_format(number: u32) -> u32 {
    match number {
        0 | 1 => 1,
        2 => 4,
        since::LAYOUT => 5,
        since::PACKING => 6,
        5 | since::REVPROP_PACKING => 8,
        since::LOGICAL => 9,
        _ => 10,
    }
}

impl Drop for Fs {
    fn drop(&mut self) {
        if self.in_use
            && self.shared.openings.fetch_sub(1, Ordering::AcqRel) == 1
            && let Some(attached) = self.shared.attached.get()
        {
            attached.last_closed();
        }
    }
}

impl std::ops::Deref for Fs {
    type Target = SharedState;
    fn deref(&self) -> &SharedState {
        &self.shared
    }
}

#[allow(clippy::missing_errors_doc, reason = "all: `Error` says what its variants mean")]
impl Filesystem {
    /// The same filesystem, to be kept for later: while no other opening is in use, no file of it is
    /// open for writing. It is not to be used itself, but by [`Self::opened_again`].
    #[must_use]
    pub fn at_rest(&self) -> Self {
        let (shared, caches) = (Arc::clone(&self.fs.shared), Arc::clone(&self.fs.caches));
        let (prepared, work) = (AtomicU64::new(0), Work::default());
        let fs = Fs { shared, caches, prepared, work, in_use: false };
        Self { fs: Arc::new(fs) }
    }

    /// A new handle of the same filesystem, without reading the disk.
    #[must_use]
    pub fn opened_again(&self) -> Self {
        Self { fs: Arc::new(Fs::new(Arc::clone(&self.fs.shared), Arc::clone(&self.fs.caches))) }
    }

    /// An opening for a thread that reads ahead for this one, and sees what this one sees: what it has to
    /// read does not count as read by this one ([`ColdReads`](crate::read_ahead::ColdReads)).
    #[must_use]
    pub fn for_helper(&self) -> Self {
        let fs = Fs::new(Arc::clone(&self.fs.shared), Arc::clone(&self.fs.caches));
        fs.prepared.store(self.fs.prepared.load(Ordering::Acquire), Ordering::Release);
        Self { fs: Arc::new(fs) }
    }

    /// The newest svndiff that a text was last asked for by way of this opening
    /// ([`TextDelta::encoded`](sapwood_delta::TextDelta::encoded)): a thread that reads ahead for the
    /// same receiver makes the same.
    #[must_use]
    pub fn svndiff_asked_for(&self) -> Option<Version> {
        self.fs.work.svndiff()
    }

    /// The path of its files, as it was given when it was opened.
    #[must_use]
    pub fn storage(&self) -> &dyn WriteStorage {
        &*self.fs.storage
    }

    /// The caches, and the number of the filesystem in them. Kinds of values with numbers from 200 on are not this crate's.
    #[must_use]
    pub fn caches(&self) -> (&Arc<Caches>, u32) {
        (&self.fs.caches, self.fs.id)
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.fs.path
    }

    /// What the `format` file says.
    #[must_use]
    pub fn format(&self) -> FormatInfo {
        let format = self.fs.layout.format;
        FormatInfo {
            number: format.number,
            shard_size: format.shard_size,
            logical_addressing: self.fs.layout.is_logical(),
        }
    }

    /// The oldest minor version of Subversion 1 that can use it.
    #[must_use]
    pub fn oldest_minor_version(&self) -> u32 {
        minor_of_format(self.fs.layout.format.number)
    }

    /// Whether revisions record where mergeinfo is, so that it can be searched.
    #[must_use]
    pub fn records_mergeinfo(&self) -> bool {
        self.fs.layout.format.number >= since::LAYOUT
    }

    /// E200007 where mergeinfo is not recorded.
    pub fn require_mergeinfo(&self) -> Result<()> {
        if self.records_mergeinfo() {
            return Ok(());
        }
        Err(Error::new(
            ErrorCode::UNSUPPORTED_FEATURE,
            format!(
                "Querying mergeinfo requires version {} of the FSFS filesystem schema; \
                 filesystem '{}' uses only version {}",
                since::LAYOUT,
                self.path().display(),
                self.fs.layout.format.number
            ),
        ))
    }

    /// The order in which a directory's entries are sent, as their places: `None` for that of their
    /// names. With physical addressing it is that of their places on disk, youngest revision first.
    #[must_use]
    pub fn sending_order(&self, entries: &Directory) -> Option<Vec<u32>> {
        if self.fs.layout.is_logical() {
            return None;
        }
        let mut keyed: Vec<_> = (0u32..)
            .zip(entries.iter())
            .map(|(at, entry)| (Reverse(entry.id.revision()), entry.id.location, at))
            .collect();
        keyed.sort_unstable();
        Some(keyed.into_iter().map(|(_, _, at)| at).collect())
    }

    /// The address of the store that its revisions are in, if they are not in the folder.
    #[must_use]
    pub fn store_address(&self) -> Option<&str> {
        self.fs.revisions.as_log().map(LogRevisions::address)
    }

    /// About how many bytes of memory it takes as long as it is kept, beside caches: it grows with revisions that are not packed where
    /// these are in a store of objects, else it does not.
    #[must_use]
    pub fn state_bytes(&self) -> u64 {
        self.fs.revisions.as_log().map_or(0, LogRevisions::state_bytes)
    }

    /// Brings files beside revisions (hooks, configuration) that were changed in the folder to the store, and so to all servers: their
    /// paths.
    ///
    /// # Errors
    /// E200007 where the repository is in no store; those of the store and the system.
    pub fn push_files(&self) -> Result<Vec<String>> {
        match self.fs.revisions.as_log() {
            Some(log) => log.push_files(),
            None => Err(Error::new(
                ErrorCode::UNSUPPORTED_FEATURE,
                format!("'{}' belongs to no store", self.path().display()),
            )),
        }
    }

    /// Refuses what is done to the files of the folder itself. `what` is the subcommand that does it.
    ///
    /// # Errors
    /// E200007 where these are in a store of objects.
    pub(crate) fn require_local(&self, what: &str) -> Result<()> {
        let Some(address) = self.store_address() else { return Ok(()) };
        Err(Error::new(
            ErrorCode::UNSUPPORTED_FEATURE,
            format!(
                "'{what}' works on the files of a folder, and those of '{}' are in the store '{address}'; \
                 'sapwood store export' makes a folder of them",
                self.path().display()
            ),
        ))
    }

    /// The repository's UUID.
    pub fn uuid(&self) -> Result<String> {
        Ok(self.fs.uuid.clone())
    }

    /// The youngest revision now. Looks at `current`, and reads it when it changed.
    pub fn youngest(&self) -> Result<Revnum> {
        self.fs.refresh_youngest()
    }

    /// The first revision that is not packed. Looks at `min-unpacked-rev`, and reads it when it
    /// changed.
    pub fn min_unpacked_rev(&self) -> Result<Revnum> {
        self.fs.refresh_min_unpacked()
    }

    /// The paths a revision changed, folded: one entry a path.
    pub fn changed_paths(&self, revision: Revnum) -> Result<Arc<ChangedPaths>> {
        self.fs.changed_paths(revision)
    }

    /// Whether the text of a file with this MD5 is the empty text.
    #[must_use]
    pub(crate) fn is_empty_md5(md5: Md5) -> bool {
        md5.0 == *b"\xd4\x1d\x8c\xd9\x8f\x00\xb2\x04\xe9\x80\x09\x98\xec\xf8\x42\x7e"
    }
}

impl Fs {
    /// What a reader of revision properties looks at once a second: what is packed, and whether
    /// another folder was put in the place of one that we hold open (no program of
    /// Subversion's does).
    pub(crate) fn glance_at_revprops(&self) -> Result<()> {
        if self.glance_at_min_unpacked()? {
            let now = std::time::SystemTime::now();
            let stamp = self.revisions.version(Object::AllProps).ok();
            let stamp = stamp.filter(|stamp| stamp.is_stable(now));
            let mut known = self.revprop_top.lock();
            if stamp.is_none() || *known != stamp {
                *known = stamp;
                drop(known);
                self.caches.folders().close_all_of(self.id);
            }
        }
        Ok(())
    }
}

impl SharedState {
    /// What the one module that attaches something keeps for all openings; made when it is first
    /// asked for. So that module's types need not be known here.
    ///
    /// # Errors
    /// When something else is attached, which is a slip of ours.
    pub(crate) fn extension<T: Extension + Default>(&self) -> Result<Arc<T>> {
        let attached = self.attached.get_or_init(|| Arc::new(T::default()));
        let any: Arc<dyn Any + Send + Sync> = Arc::<dyn Extension>::clone(attached);
        any.downcast().map_err(|_| Error::internal("something else is attached"))
    }

    /// How to open another filesystem, or this one again, on the same storage.
    pub(crate) fn same_storage(&self) -> OpenOptions {
        let storage = self.storage_is_given.then(|| Arc::clone(&self.storage));
        OpenOptions { storage, ..OpenOptions::default() }
    }

    /// The first revision that is not packed, as last seen.
    pub(crate) fn min_unpacked(&self) -> Revnum {
        Revnum(self.min_unpacked.load(Ordering::Acquire))
    }

    /// The path of a file or folder of the layout.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// A small object, if it may have changed since it was last read.
    fn look(&self, watched: &mut ReloadedFile<()>, object: Object<'_>) -> Result<Option<Vec<u8>>> {
        let store = &self.revisions;
        watched
            .look(|| store.version(object), |limit| store.read(object, limit))
            .map_err(|e| Error::io(e, "Can't open file", &store.place(object)))
    }

    /// What is wrong with such an object.
    fn file_error(&self, object: Object<'_>, error: sapwood_fsfs_format::Error) -> Error {
        Error::File { path: self.revisions.place(object), error }
    }

    /// The youngest revision now.
    pub(crate) fn refresh_youngest(&self) -> Result<Revnum> {
        // Before the lock: it waits for a commit of this process, which needs the lock.
        if let Some(log) = self.revisions.as_log() {
            log.refresh()?;
        }
        let mut watched = self.current_file.lock();
        if let Some(bytes) = self.look(&mut watched, Object::Youngest)? {
            let current =
                sapwood_fsfs_format::current::Current::parse(&bytes, self.layout.format.number)
                    .map_err(|error| self.file_error(Object::Youngest, error))?;
            self.youngest.store(current.youngest.0, Ordering::Release);
            watched.accept(());
        }
        Ok(Revnum(self.youngest.load(Ordering::Acquire)))
    }

    /// The first revision that is not packed now.
    pub(crate) fn refresh_min_unpacked(&self) -> Result<Revnum> {
        if self.layout.format.number < since::PACKING {
            return Ok(Revnum::ZERO);
        }
        let mut watched = self.min_unpacked_file.lock();
        if let Some(bytes) = self.look(&mut watched, Object::MinUnpacked)? {
            let revision = sapwood_fsfs_format::current::parse_min_unpacked_rev(&bytes)
                .map_err(|error| self.file_error(Object::MinUnpacked, error))?;
            self.min_unpacked.fetch_max(revision.0, Ordering::AcqRel);
            watched.accept(());
        }
        Ok(self.min_unpacked())
    }

    /// As [`SharedState::refresh_min_unpacked`], but not more often than once a second. For revision
    /// properties: the packer of a shard takes its folder away under the same lock, and the reader
    /// that misses the folder looks again; only after a crash between the two steps would the old
    /// folder be there still. Whether this was the time to look.
    fn glance_at_min_unpacked(&self) -> Result<bool> {
        let now = self.opened.elapsed().as_secs().saturating_add(1);
        if self.min_unpacked_glance.swap(now, Ordering::Relaxed) != now {
            self.refresh_min_unpacked()?;
            return Ok(true);
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_that_made_formats() {
        let known: Vec<u32> = (1..=8).map(minor_of_format).collect();
        assert_eq!(known, [1, 4, 5, 6, 8, 8, 9, 10]);
    }
}
