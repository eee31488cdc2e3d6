//! Bulk commit: one writer makes many revisions, one after the other, and does not wait for each to be durable.
//!
//! [`Bulk::commit`] completes a revision and writes its files to their names, where no reader looks at them before `current` says so.
//! This opening of the filesystem reads them there, since the next revisions are based on them. When many have gathered, [`Bulk::sync`]
//! makes all of them durable at once, replaces `current`, and adds their texts to `rep-cache.db`: nothing may be
//! reported of a revision before [`Bulk::published`] has reached it.
//!
//! The write lock is held from the first revision until all are published, because their numbers must not be given to others.
//! Others get their turn at least every [`HOLD`].
//!
//! A crash leaves the revisions that were published, and files that later commits replace. When something fails, it fails for
//! all revisions that are not published: they are not there, and each later call reports that error.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use sapwood_core::{Exact, Revnum, SvnError};
use sapwood_fs_common::TxnEdit as _;
use sapwood_fs_common::rep_cache::Row;
use sapwood_fsx_format::layout::names;
use sapwood_fsx_format::revprops;
use sapwood_store::HeldLock;

use super::{Txn, Writer};
use crate::error::{Error, Result};

/// Revisions that are published at once, at most, and bytes of them.
const AT_ONCE: u64 = 512;
const BYTES_AT_ONCE: u64 = 64 << 20;
/// How long the write lock is held before others get their turn, about.
const HOLD: Duration = Duration::from_millis(500);

/// Commits revisions of one filesystem in bulk. Dropping it publishes pending revisions.
#[derive(Debug)]
pub struct Bulk {
    writer: Arc<Writer>,
    state: Mutex<State>,
    published: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    held: Option<LockedState>,
    failed: Option<SvnError>,
}

/// The write lock, and what was made under it.
#[derive(Debug)]
struct LockedState {
    _lock: Box<dyn HeldLock>,
    since: Instant,
    /// The youngest revision, made or in the making.
    youngest: Revnum,
    /// The one that `current` names.
    published: Revnum,
    /// Bytes of what is not published.
    bytes: u64,
    /// Whether any path may be locked.
    locks: bool,
    /// The permissions of files of revisions.
    mode: u32,
}

impl Bulk {
    /// Bulk commits through `writer`; `None` where `fsx.conf` wants revisions packed at once.
    #[must_use]
    pub fn new(writer: &Arc<Writer>) -> Option<Self> {
        if writer.config.pack_after_commit {
            return None;
        }
        if writer.fs.youngest().is_ok_and(|youngest| youngest == Revnum::ZERO) {
            writer.begin_without_rows();
        }
        Some(Self {
            writer: Arc::clone(writer),
            state: Mutex::default(),
            published: AtomicU64::new(0),
        })
    }

    /// Begins a transaction based on the last revision that was committed here, or by others.
    ///
    /// # Errors
    /// Those of [`Writer::begin`], and errors of earlier revisions.
    pub fn begin(&self) -> Result<Txn> {
        let held = {
            let state = self.state.lock();
            fail_as(&state)?;
            state.held.as_ref().map(|held| held.since)
        };
        if held.is_some_and(|since| since.elapsed() > HOLD || !self.writer.has_number()) {
            self.sync()?;
        }
        let base = self.youngest()?;
        self.writer.begin(base)
    }

    /// What went wrong with a revision that was committed here.
    #[must_use]
    pub fn failure(&self) -> Option<Error> {
        fail_as(&self.state.lock()).err()
    }

    /// The last revision that was committed here or by others.
    ///
    /// # Errors
    /// System errors.
    pub fn youngest(&self) -> Result<Revnum> {
        let held = self.state.lock().held.as_ref().map(|held| held.youngest);
        held.map_or_else(|| self.writer.fs.youngest(), Ok)
    }

    /// Makes a revision of a transaction: its number. It is not there before
    /// [`Self::published`] says so.
    ///
    /// # Errors
    /// Those of [`Txn::commit`]; errors of earlier revisions.
    pub fn commit(&self, mut txn: Txn) -> Result<Revnum> {
        if txn.is_on_disk && txn.lock.is_none() {
            txn.lock = Some(self.writer.lock_proto(txn.tree.txn())?);
        }
        let mut state = self.state.lock();
        fail_as(&state)?;
        if state.held.is_none() {
            state.held = Some(self.take()?);
        }
        let Some(held) = &mut state.held else {
            return Err(Error::internal("the write lock was lost"));
        };
        let made = self.make(&mut txn, held);
        match made {
            Ok(revision) => {
                let many = revision.0.minus(held.published.0) >= AT_ONCE;
                if many || held.bytes >= BYTES_AT_ONCE {
                    self.publish(&mut state)?;
                }
                Ok(revision)
            }
            // Nothing of it is there that a later one does not replace: those before stand.
            Err(error) => Err(error),
        }
    }

    fn take(&self) -> Result<LockedState> {
        let (writer, fs) = (&self.writer, &self.writer.fs);
        let lock = writer.lock(names::WRITE_LOCK)?;
        fs.0.refresh_min_unpacked()?;
        let youngest = fs.youngest()?;
        Ok(LockedState {
            _lock: lock,
            since: Instant::now(),
            youngest,
            published: youngest,
            bytes: 0,
            locks: fs.lock_files().may_have_locks()?,
            mode: writer.mode_of(youngest)?,
        })
    }

    /// Makes the next revision, whose files are written and not durable.
    fn make(&self, txn: &mut Txn, held: &mut LockedState) -> Result<Revnum> {
        let writer = &self.writer;
        let fs = &writer.fs.0;
        if txn.tree.base != held.youngest {
            txn.tree.merge_to(held.youngest)?;
        }
        if held.locks {
            txn.check_locks()?;
        }
        let revision = held.youngest.next();
        let written = txn.write_revision(revision)?;
        let props = txn.info.take_revision_props();
        writer.make_shard(revision, false)?;
        let path = fs.file(&fs.layout.revision(revision));
        let len = txn.proto.finish_as(revision, &writer.config, &path, held.mode)?;
        let path = fs.file(&fs.layout.revprops(revision, false));
        let text = revprops::write_file(&props);
        let write = || {
            let mut file = writer.storage.create_over(&path)?;
            file.append(&text)?;
            file.set_mode(held.mode)
        };
        write().map_err(|error| Error::io("Can't write to file", &path, error))?;
        held.youngest = revision;
        held.bytes = held.bytes.plus(len).plus(sapwood_core::len64(text.len()));
        // From here on it can be read here.
        fs.youngest.fetch_max(revision.0, Ordering::AcqRel);
        writer.keep_chains(revision, &txn.chains);
        for (node, entries) in written {
            writer.committed.keep(node, entries);
        }
        txn.keep_texts(revision);
        writer.keep_early_rows(&txn.rows);
        txn.leave = false;
        Ok(revision)
    }

    /// The youngest revision that was committed here and is there now, for all readers; 0 when there
    /// is none.
    #[must_use]
    pub fn published(&self) -> Revnum {
        Revnum(self.published.load(Ordering::Acquire))
    }

    /// Waits until everything that was committed is there, and lets others write.
    ///
    /// # Errors
    /// What went wrong.
    pub fn sync(&self) -> Result<()> {
        let mut state = self.state.lock();
        fail_as(&state)?;
        let done = self.publish(&mut state);
        state.held = None;
        done?;
        self.writer.flush_early_rows();
        Ok(())
    }

    /// Makes revisions durable, and lets readers see them.
    fn publish(&self, state: &mut State) -> Result<()> {
        let Some(held) = &mut state.held else { return Ok(()) };
        if held.youngest == held.published {
            return Ok(());
        }
        match self.writer.publish_many(held.youngest) {
            Ok(()) => {
                (held.published, held.bytes) = (held.youngest, 0);
                self.published.store(held.youngest.0, Ordering::Release);
                Ok(())
            }
            Err(error) => {
                self.writer.give_up(held.published);
                let error = SvnError::from(error);
                state.failed = Some(error.clone());
                state.held = None;
                Err(Error::Svn(error))
            }
        }
    }
}

impl Drop for Bulk {
    fn drop(&mut self) {
        // Callers that want errors have called `sync` before.
        let _ = self.sync();
    }
}

fn fail_as(state: &State) -> Result<()> {
    state.failed.clone().map_or(Ok(()), |error| Err(Error::Svn(error)))
}

impl Writer {
    /// Makes all that was written durable, and then `youngest` the youngest revision. The write lock is held.
    fn publish_many(&self, youngest: Revnum) -> Result<()> {
        let fs = &self.fs.0;
        if self.flush {
            let synced = self.storage.sync_all(&fs.db);
            synced.map_err(|error| Error::io("Can't flush file to disk", &fs.db, error))?;
        }
        let (next, current) = (fs.file(names::NEXT), fs.file(names::CURRENT));
        self.write_new(&next, format!("{youngest}\n").as_bytes(), &current)?;
        let renamed = self.storage.rename(&next, &current, self.flush);
        renamed.map_err(|error| Error::io("Can't write to file", &current, error))
    }

    /// Forgets all of the revisions after `youngest`, which are not to be.
    fn give_up(&self, youngest: Revnum) {
        let fs = &self.fs.0;
        fs.youngest.store(youngest.0, Ordering::Release);
        fs.cached.forget();
        fs.files.clear();
        self.committed.clear();
        self.chains.lock().clear();
        self.early_rows.lock().clear();
    }

    /// Lets later transactions of this writer find texts that are not in `rep-cache.db` yet.
    fn keep_early_rows(&self, rows: &[Row]) {
        self.note_rows(rows);
        self.early_rows.lock().extend(rows.iter().map(|row| (row.sha1, *row)));
    }

    /// Adds those texts to `rep-cache.db`. All of their revisions are published.
    fn flush_early_rows(&self) {
        let rows: Vec<Row> = self.early_rows.lock().drain().map(|(_, row)| row).collect();
        self.add_rows(&rows);
    }
}
