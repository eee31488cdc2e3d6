//! Bulk commit: one writer makes many revisions, one after the other, and does not wait for each.
//!
//! [`Bulk::commit`] makes a revision in memory ([`Txn::prepare`]) and hands it to a thread, which
//! writes its files, and publishes what has gathered as one group, by the steps of
//! [`super::group`]. Meanwhile the next revisions are made, based on those that are prepared: this
//! opening of the filesystem reads them from memory, no other reader sees them. Nothing may be reported of
//! a revision before [`Bulk::published`] has reached it.
//!
//! `write-lock` is held from the first prepared revision until all are published, because their
//! numbers must not be given to others. Others get their turn at least every [`HOLD`]: then, when
//! a new transaction begins, everything is published and the lock is dropped. `txn-current-lock`
//! comes before `write-lock` in the order of locks, so numbers of transactions are only taken while
//! the latter is not held.
//!
//! When writing or publishing fails, it fails for all revisions that are under way: they are not
//! there, and each later call reports that error.

use sapwood_core::Exact;
use sapwood_fs_common::TxnEdit as _;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, MutexGuard};
use sapwood_core::{Revnum, SvnError};
use sapwood_fsfs_format::current::Current;
use sapwood_fsfs_format::layout::names;

use super::group;
use super::prepared::PreparedRevision;
use super::{Txn, Writer};
use crate::error::{Error, Result};
use crate::revision_store::Like;
use sapwood_store::write::HeldLock;

/// Revisions that are published at once, at most.
const AT_ONCE: usize = 64;
/// Revisions under way at most, and bytes of them.
const UNDER_WAY: usize = 128;
const BYTES_UNDER_WAY: usize = 32 << 20;
/// Revisions that are written at once: to wake a thread for each costs more than it gains.
const WRITTEN_AT_ONCE: usize = 16;
/// How long a revision waits for others to be published with.
const LINGER: Duration = Duration::from_millis(10);
/// How long `write-lock` is held before others get their turn, about.
const HOLD: Duration = Duration::from_millis(500);
/// How long it is held when nothing is under way.
const IDLE: Duration = Duration::from_millis(10);

/// Commits revisions of one filesystem in bulk. Dropping it publishes pending revisions.
#[derive(Debug)]
pub struct Bulk {
    writer: Arc<Writer>,
    pipeline: Arc<Pipeline>,
    thread: Option<JoinHandle<()>>,
}

/// What both sides share.
#[derive(Debug, Default)]
struct Pipeline {
    state: Mutex<State>,
    changed: Condvar,
    published: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<Ready>,
    /// When the first of them came.
    since: Option<Instant>,
    /// Whether the other side sleeps until a transaction comes.
    asleep: bool,
    /// Revisions that are prepared and not published, and their bytes.
    count: usize,
    bytes: usize,
    held: Option<LockedState>,
    /// Whether the lock is needed although nothing is under way.
    preparing: bool,
    /// A thread waits for everything to be published.
    hurry: bool,
    failed: Option<SvnError>,
    closed: bool,
}

impl State {
    /// Whether so much is under way that it must become less first.
    const fn is_full(&self) -> bool {
        self.count > UNDER_WAY || self.bytes > BYTES_UNDER_WAY && self.count > 1
    }
}

/// The lock, and what was read under it.
#[derive(Debug)]
struct LockedState {
    _lock: Box<dyn HeldLock>,
    since: Instant,
    /// What `current` is to be after all that is prepared.
    current: Current,
    /// What revisions take from those before.
    like: Like,
    /// Whether any path may be locked.
    locks: bool,
}

/// A prepared revision.
#[derive(Debug)]
struct Ready {
    txn: Txn,
    prepared: PreparedRevision,
    like: Like,
    len: usize,
}

impl Bulk {
    /// Bulk commits through `writer`; `None` where revisions must be committed one by one: when
    /// `fsfs.conf` wants each verified or packed at once, and in stores that other servers add to.
    ///
    /// # Errors
    /// When there cannot be another thread.
    pub fn new(writer: &Arc<Writer>) -> Result<Option<Self>> {
        let is_elsewhere = writer.fs.fs.revisions.as_log().is_some();
        if writer.config.verify_before_commit || writer.config.pack_after_commit || is_elsewhere {
            return Ok(None);
        }
        let pipeline = Arc::new(Pipeline::default());
        let committer = Committer { writer: Arc::clone(writer), pipeline: Arc::clone(&pipeline) };
        let thread = std::thread::Builder::new()
            .name("committer".to_owned())
            .spawn(move || committer.run())
            .map_err(|e| Error::Svn(SvnError::io(&e, "Can't start a thread")))?;
        Ok(Some(Self { writer: Arc::clone(writer), pipeline, thread: Some(thread) }))
    }

    /// Begins a transaction based on the last revision that was committed here, or by others.
    ///
    /// # Errors
    /// Those of [`Writer::begin`], and errors of earlier revisions.
    pub fn begin(&self) -> Result<Txn> {
        let held = {
            let state = self.pipeline.state.lock();
            fail_as(&state)?;
            state.held.as_ref().map(|held| held.since)
        };
        if held.is_some_and(|since| since.elapsed() > HOLD || !self.writer.has_number()) {
            self.sync()?;
        }
        let begun = self.youngest().and_then(|base| self.writer.begin(base));
        begun.map_err(|error| self.failure().unwrap_or(error))
    }

    /// What went wrong with a revision that was committed here: the error to report before all
    /// others, because later ones may only follow from it.
    #[must_use]
    pub fn failure(&self) -> Option<Error> {
        fail_as(&self.pipeline.state.lock()).err()
    }

    /// The last revision that was committed here or by others.
    ///
    /// # Errors
    /// System errors.
    pub fn youngest(&self) -> Result<Revnum> {
        let held = self.pipeline.state.lock().held.as_ref().map(|held| held.current.youngest);
        held.map_or_else(|| self.writer.fs.fs.refresh_youngest(), Ok)
    }

    /// Makes a revision of a transaction: its number. It is not there before
    /// [`Self::published`] says so.
    ///
    /// # Errors
    /// Those of [`Txn::commit`]; errors of earlier revisions.
    pub fn commit(&self, mut txn: Txn) -> Result<Revnum> {
        if txn.needs_proto_lock() {
            txn.lock = Some(self.writer.lock_proto(&txn.tree.txn())?);
        }
        if txn.proto.is_on_disk() {
            // No other revision should wait for this with us.
            self.sync()?;
            if self.writer.flush {
                txn.proto.sync_what_is_on_disk()?;
            }
        }
        let (current, like, locks) = self.hold()?;
        let checked = if locks { txn.check_locks() } else { Ok(()) };
        let prepared = checked.and_then(|()| txn.prepare(current));
        let mut state = self.pipeline.state.lock();
        state.preparing = false;
        // What went wrong with earlier revisions comes first: that this one could not be made may
        // be because they are gone.
        fail_as(&state)?;
        let mut prepared = prepared?;
        let (revision, fs) = (prepared.revision, &self.writer.fs.fs);
        // From here on it can be read here.
        fs.unpublished.lock().push((revision, prepared.unpublished()));
        fs.prepared.store(revision.0, Ordering::Release);
        txn.share_written(&mut prepared);
        self.writer.keep_early_reps(&prepared.reps);
        let len = prepared.new.bytes.len().plus(prepared.new.props.len());
        if let Some(held) = &mut state.held {
            held.current = prepared.current;
        }
        state.waiting.push_back(Ready { txn, prepared, like, len });
        state.since.get_or_insert_with(Instant::now);
        state.count += 1;
        state.bytes = state.bytes.plus(len);
        // Otherwise the other side looks in time.
        if state.asleep || state.waiting.len() == WRITTEN_AT_ONCE || state.is_full() {
            self.pipeline.changed.notify_all();
        }
        while state.failed.is_none() && state.is_full() {
            self.pipeline.changed.wait(&mut state);
        }
        fail_as(&state)?;
        Ok(revision)
    }

    /// Holds the lock: what is to be `current` then, what revisions take from those before, and whether
    /// there may be locks on paths.
    fn hold(&self) -> Result<(Current, Like, bool)> {
        let mut state = self.pipeline.state.lock();
        fail_as(&state)?;
        state.preparing = true;
        if state.held.is_none() {
            drop(state);
            let taken = self.take();
            state = self.pipeline.state.lock();
            match taken {
                Ok(held) => state.held = Some(held),
                Err(error) => {
                    state.preparing = false;
                    return Err(error);
                }
            }
        }
        match &state.held {
            Some(held) => Ok((held.current, held.like, held.locks)),
            None => Err(Error::internal("the write lock was lost")),
        }
    }

    fn take(&self) -> Result<LockedState> {
        let lock = self.writer.lock(names::WRITE_LOCK)?;
        let revisions = &self.writer.fs.fs.revisions;
        let current = revisions.youngest()?;
        Ok(LockedState {
            _lock: lock,
            since: Instant::now(),
            current,
            like: revisions.like(current.youngest)?,
            locks: self.writer.fs.lock_files().may_have_locks()?,
        })
    }

    /// The youngest revision that was committed here and is there now, for all readers; 0 when there
    /// is none.
    #[must_use]
    pub fn published(&self) -> Revnum {
        Revnum(self.pipeline.published.load(Ordering::Acquire))
    }

    /// Waits until everything that was committed is there, and lets others write.
    ///
    /// # Errors
    /// What went wrong.
    pub fn sync(&self) -> Result<()> {
        let mut state = self.pipeline.state.lock();
        state.hurry = true;
        self.pipeline.changed.notify_all();
        while state.count > 0 && state.failed.is_none() {
            self.pipeline.changed.wait(&mut state);
        }
        state.hurry = false;
        state.held = None;
        fail_as(&state)
    }
}

impl Drop for Bulk {
    fn drop(&mut self) {
        // Callers that want errors have called `sync` before.
        let _ = self.sync();
        self.pipeline.state.lock().closed = true;
        self.pipeline.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // It has reported its errors.
            let _ = thread.join();
        }
    }
}

fn fail_as(state: &State) -> Result<()> {
    state.failed.clone().map_or(Ok(()), |error| Err(Error::Svn(error)))
}

/// The thread that writes and publishes.
struct Committer {
    writer: Arc<Writer>,
    pipeline: Arc<Pipeline>,
}

impl Committer {
    fn run(&self) {
        let mut group: Vec<Ready> = Vec::new();
        loop {
            let (next, published) = {
                let mut state = self.pipeline.state.lock();
                self.wait(&mut state);
                if state.closed && state.waiting.is_empty() {
                    return;
                }
                let since = state.since.take();
                let late = since.is_some_and(|since| since.elapsed() >= LINGER);
                let many = group.len().plus(state.waiting.len()) >= AT_ONCE;
                let published = late || many || state.hurry || state.closed || state.is_full();
                if !published {
                    // These are not published yet, so their time goes on.
                    state.since = since;
                }
                (std::mem::take(&mut state.waiting), published)
            };
            for mut next in next {
                let staged = next.txn.stage(&mut next.prepared, next.like, self.writer.flush);
                group.push(next);
                if let Err(error) = staged {
                    return self.fail(error.into(), &group);
                }
            }
            if published && let Err(error) = self.publish(&mut group) {
                return self.fail(error.into(), &group);
            }
        }
    }

    /// Waits until there is enough to write, or a reason to publish the written revisions.
    fn wait(&self, state: &mut MutexGuard<'_, State>) {
        while !state.closed && state.waiting.len() < WRITTEN_AT_ONCE {
            match state.since {
                _ if state.count > 0 && (state.hurry || state.is_full()) => return,
                Some(since) => {
                    let deadline = since.checked_add(LINGER).unwrap_or(since);
                    if self.pipeline.changed.wait_until(state, deadline).timed_out() {
                        return;
                    }
                }
                None if state.held.is_some() && !state.preparing => {
                    state.asleep = true;
                    let idle = self.pipeline.changed.wait_for(state, IDLE).timed_out();
                    state.asleep = false;
                    if idle && state.count == 0 && !state.preparing {
                        state.held = None;
                    }
                }
                None => {
                    state.asleep = true;
                    self.pipeline.changed.wait(state);
                    state.asleep = false;
                }
            }
        }
    }

    /// Publishes the written revisions.
    fn publish(&self, group: &mut Vec<Ready>) -> Result<()> {
        let Some(last) = group.last() else { return Ok(()) };
        let current = last.prepared.current;
        let staged = group.iter_mut().filter_map(|ready| ready.prepared.staged.as_mut()).collect();
        group::publish(&self.writer, staged, current, self.writer.flush)?;
        let bytes = group.iter().map(|ready| ready.len).sum::<usize>();
        self.pipeline.published.store(current.youngest.0, Ordering::Release);
        {
            let mut state = self.pipeline.state.lock();
            state.count = state.count.minus(group.len());
            state.bytes = state.bytes.minus(bytes);
            self.pipeline.changed.notify_all();
        }
        for ready in group.drain(..) {
            let mut txn = ready.txn;
            txn.leave = false;
        }
        self.writer.flush_many_reps(current.youngest);
        Ok(())
    }

    /// Ends with an error, for all that is under way.
    fn fail(&self, error: SvnError, group: &[Ready]) {
        let fs = &self.writer.fs.fs;
        for staged in group.iter().filter_map(|ready| ready.prepared.staged.as_ref()) {
            fs.revisions.discard(staged);
        }
        let mut state = self.pipeline.state.lock();
        state.failed = Some(error);
        group::give_up(&self.writer);
        let published = Revnum(self.pipeline.published.load(Ordering::Acquire));
        fs.prepared.store(published.0, Ordering::Release);
        self.writer.drop_early_reps(published);
        state.waiting.clear();
        state.since = None;
        state.count = 0;
        self.pipeline.changed.notify_all();
    }
}
