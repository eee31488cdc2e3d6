//! Revisions in a store of objects: a repository's log says where each is, and a commit is a claim on its next entry.
//!
//! The folder of such a repository has what belongs to one machine (transactions, lock files), and copies of
//! the repository's other files, which follow the log ([`mirror`]). Its `fs-type` says where the store is ([`marker`]). It may
//! be made anew from the store at any time.
//!
//! - reading: [`places`] says which bytes of which object an object of the filesystem is;
//! - following: [`tail`] asks the store for new entries, once for all threads that want to know at the same time;
//! - writing: [`claims`] gathers what a commit brings, and claims an entry for it;
//! - starting: the state that was [`saved`] last, else a checkpoint of the store, then the entries that follow;
//! - looking after: [`upkeep`] puts small objects together, in a thread that nothing waits for;
//! - [`reps`]: texts that revisions have, so that those made here may share them;
//! - [`push`]: what people changed in the folder goes to the store;
//! - [`overlay`]: changes of files beside revisions (locks on paths), which become an entry, too.
//!
//! Invariants: what is added follows from the state of the entry before it, or is [`Error::Overtaken`]; while a commit goes on
//! ([`LogRevisions::flight`]), no entry of another server is applied, because revisions of the same numbers are prepared then, and
//! caches know them.

mod claims;
pub(crate) mod marker;
mod mirror;
mod overlay;
mod packed_props;
mod places;
mod push;
mod reps;
mod saved;
mod tail;
pub(crate) mod upkeep;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, ThreadId};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard, RwLock};
use sapwood_block_cache::BlockCache;
use sapwood_core::{Exact as _, Revnum};
use sapwood_fsfs_format::Layout;
use sapwood_fsfs_format::current::Current;
use sapwood_objects::Store;
use sapwood_repo_log::{RepositoryLog, State};
use sapwood_store::{Stamp, StoredFile, WriteStorage};

use self::claims::ClaimBatch;
use self::marker::Marker;
use self::mirror::Mirror;
pub(crate) use self::overlay::FileChanges;
use self::packed_props::Containers;
use self::reps::Tables;
use self::tail::Tail;
use self::upkeep::Upkeep;
use super::{
    Announcement, ChangeProps, Like, NewRevision, Object, PropsWriting, RevisionStore,
    StagedRevision,
};
use crate::error::{Error, Result};

/// A store of objects.
#[derive(Debug)]
pub(crate) struct LogRevisions {
    layout: Layout,
    storage: Arc<dyn WriteStorage>,
    db: PathBuf,
    store: Arc<dyn Store>,
    /// Blocks of its objects on this machine.
    cache: Option<Arc<BlockCache>>,
    log: Arc<RwLock<RepositoryLog>>,
    tail: Tail,
    /// Held while a commit goes on, and by whom.
    in_flight: Mutex<()>,
    holder: Mutex<Option<ThreadId>>,
    pending: Mutex<ClaimBatch>,
    containers: Containers,
    mirror: Mirror,
    tables: Tables,
    upkeep: Arc<Upkeep>,
    /// For how long a store is asked again that does not answer a claim.
    patience: Duration,
    /// Whether the last entry is this server's, and no claim was lost since.
    alone: AtomicBool,
    /// One more than the slot that is being claimed; 0 for none.
    claimed: AtomicU64,
}

/// A commit that goes on, until it is dropped.
#[derive(Debug)]
pub(crate) struct Flight<'a> {
    holder: &'a Mutex<Option<ThreadId>>,
    _in_flight: MutexGuard<'a, ()>,
}

impl Drop for Flight<'_> {
    fn drop(&mut self) {
        *self.holder.lock() = None;
    }
}

impl LogRevisions {
    /// Opens the store that the `fs-type` of the folder `db` names, and brings the folder's files up to date.
    pub(crate) fn open(
        db: &Path,
        layout: Layout,
        storage: Arc<dyn WriteStorage>,
        marker: &Marker,
    ) -> Result<Self> {
        let store = sapwood_objects::addresses::open(&marker.address)?;
        let saved = saved::read(&*storage, db)?;
        let log = RepositoryLog::open_from(Arc::clone(&store), saved.as_deref())?;
        let log = log.ok_or_else(|| {
            sapwood_repo_log::Error::NotThere(marker.address.clone().into_boxed_str())
        })?;
        marker.check(&log.state().repository, db)?;
        let is_folder = marker.address.starts_with("file://");
        let log = Arc::new(RwLock::new(log));
        let opened = Self {
            upkeep: Upkeep::new(&log, &store, &storage, db),
            layout,
            mirror: Mirror::new(db),
            storage,
            db: db.to_owned(),
            store,
            // A folder is on a disk already.
            cache: (!is_folder).then(sapwood_block_cache::shared).flatten(),
            log,
            tail: Tail::default(),
            in_flight: Mutex::default(),
            holder: Mutex::default(),
            pending: Mutex::default(),
            containers: Containers::default(),
            tables: Tables::default(),
            patience: claims::PATIENCE,
            alone: AtomicBool::new(false),
            claimed: AtomicU64::new(0),
        };
        opened.bring_files(&[])?;
        if opened.is_far_from(saved.as_deref()) {
            opened.save()?;
        }
        Ok(opened)
    }

    /// The store's address.
    pub(crate) fn address(&self) -> &str {
        sapwood_objects::Blobs::address(&*self.store)
    }

    /// About how many bytes of memory the state takes.
    pub(crate) fn state_bytes(&self) -> u64 {
        self.with_state(State::memory).plus(self.tables.memory())
    }

    /// Begins a commit.
    pub(crate) fn flight(&self) -> Flight<'_> {
        let in_flight = self.in_flight.lock();
        *self.holder.lock() = Some(thread::current().id());
        Flight { holder: &self.holder, _in_flight: in_flight }
    }

    /// Whether this thread commits.
    fn commits_here(&self) -> bool {
        *self.holder.lock() == Some(thread::current().id())
    }

    /// Applies what other servers have added, as of now: what is there for readers is what was applied last. A thread that commits sees
    /// what it began with. It may wait for a commit of this process, so the caller holds no lock.
    pub(crate) fn refresh(&self) -> Result<()> {
        if self.commits_here() {
            return Ok(());
        }
        self.tail.ask(|| self.catch_up())
    }

    /// Applies all entries that are new.
    fn catch_up(&self) -> Result<()> {
        let holds = self.commits_here();
        // While this process claims an entry, what comes behind that is asked for at the same time.
        let mut looks_behind = !holds;
        loop {
            let known = self.log.read().entries();
            let behind = looks_behind && self.claimed.load(Ordering::Acquire) == known.plus(1);
            let first = if behind { known.plus(1) } else { known };
            let (page, is_last) = sapwood_repo_log::page(&*self.store, first)?;
            if !page.is_empty() {
                self.apply(first, &page, holds)?;
            }
            if behind && self.log.read().entries() < first {
                // The claim is not decided, or lost: the entry itself is asked for.
                looks_behind = false;
                continue;
            }
            if is_last {
                break;
            }
        }
        self.bring_files(&[])
    }

    /// Applies entries that were read from `first` on, but for those that this process has added meanwhile.
    fn apply(&self, first: u64, page: &[Vec<u8>], holds: bool) -> Result<()> {
        let _wait = (!holds).then(|| self.in_flight.lock());
        let mut log = self.log.write();
        let before = log.entries();
        log.fold_page(first, page, &mut |_, _| {})?;
        if log.entries() > before {
            self.alone.store(false, Ordering::Release);
        }
        Ok(())
    }

    /// Whether only this server has added to the log of late: then a commit need not ask before it claims. It is a hint.
    pub(crate) fn is_alone(&self) -> bool {
        self.alone.load(Ordering::Acquire)
    }

    /// Whether the log has entries that are not known here. Nothing is applied.
    pub(crate) fn has_more(&self) -> Result<bool> {
        let first = self.log.read().entries();
        Ok(!sapwood_repo_log::page(&*self.store, first)?.0.is_empty())
    }

    /// Begins a commit on top of what is known.
    pub(crate) fn youngest_known(&self) -> Result<Current> {
        let (slot, revisions) = {
            let log = self.log.read();
            (log.entries(), log.state().revisions)
        };
        self.pending.lock().begin(slot);
        let youngest = revisions.checked_sub(1).map(Revnum);
        let youngest = youngest.ok_or_else(|| Error::Corrupt("has no revision".to_owned()))?;
        Ok(Current { youngest, next_ids: None })
    }

    /// Looks something up in the present state.
    fn with_state<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        look(self.log.read().state())
    }
}

impl RevisionStore for LogRevisions {
    fn as_log(&self) -> Option<&LogRevisions> {
        Some(self)
    }

    fn place(&self, object: Object<'_>) -> PathBuf {
        Path::new(self.address()).join(&*object.name(&self.layout))
    }

    fn open(&self, object: Object<'_>) -> io::Result<Arc<dyn StoredFile>> {
        self.open_object(object)
    }

    fn version(&self, object: Object<'_>) -> io::Result<Stamp> {
        let number = self.version_of(object).ok_or(io::ErrorKind::NotFound)?;
        // A version of such a store is never met again: as if it were old.
        Ok(Stamp { inode: number, len: 0, modified: 0, changed: 0 })
    }

    fn list(&self, object: Object<'_>) -> io::Result<Vec<OsString>> {
        self.names_in(object)
    }

    fn youngest(&self) -> Result<Current> {
        self.catch_up()?;
        self.youngest_known()
    }

    fn like(&self, _: Revnum) -> Result<Like> {
        Ok(Like::default())
    }

    fn stage(&self, new: &mut NewRevision, _: Like, _: bool) -> Result<StagedRevision> {
        self.gather(new)
    }

    fn put(
        &self,
        revisions: &mut [&mut StagedRevision],
        _: Current,
        _: bool,
    ) -> Result<Announcement> {
        self.announce(revisions)
    }

    fn swap_youngest(&self, _: &Announcement) -> Result<()> {
        self.claim_announced()
    }

    fn withdraw(&self, _: &Announcement) {
        self.pending.lock().clear();
    }

    fn sync(&self, _: Revnum) -> Result<()> {
        Ok(())
    }

    fn discard(&self, revision: &StagedRevision) {
        self.pending.lock().forget(revision.revision());
    }

    fn put_revprops_if_unchanged(
        &self,
        revision: Revnum,
        change: &mut ChangeProps<'_>,
        how: &PropsWriting,
    ) -> Result<()> {
        self.change_revprops(revision, change, how)
    }
}

#[cfg(test)]
mod tests;
