//! Group commit: transactions that wait for the write lock in this process become revisions one
//! after the other, but share what takes long: one hold of the lock, one sync of each folder, one
//! new `current`.
//!
//! The first that comes leads. The leader takes the lock, then all that came meanwhile, and
//!
//! 1. reads `current`;
//! 2. makes of each transaction, in the order they came, the files of the next revision
//!    ([`Txn::prepare`]): its prototype is complete, its properties are in their place. One that is in
//!    conflict with those before drops out here, and the number goes to the next one. What is to
//!    be the new `current` is written beside the old one;
//! 3. syncs all these files;
//! 4. moves the prototypes to their names among the revisions, and syncs that folder. If
//!    `fsfs.conf` says so, the tree is read back and checked;
//! 5. moves the new `current` over the old one, and syncs its folder. Before this no reader looks at
//!    the new files, after it all do, and all waiting threads are notified;
//! 6. drops the lock, lets the next one lead, and enters in `rep-cache.db` what later revisions can
//!    share.
//!
//! A crash before 5 leaves the old revision, and files that the next commit replaces; from then on
//! all revisions of the group are there. A file among the revisions is whole, whatever happens:
//! `recover` may take the last one for the youngest. When something from 3 on fails, it
//! fails for the whole group. Later members of a group are merged with what earlier ones have
//! prepared, which is in the caches then, so these forget the filesystem after such a failure.
//!
//! What is read in 1, written in 2, and done in 3 to 5 are verbs of a
//! [`RevisionStore`](crate::revision_store::RevisionStore).

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use sapwood_core::{Exact as _, PropList, Revnum, SvnError};
use sapwood_fs_common::TxnEdit as _;
use sapwood_fsfs_format::current::Current;
use sapwood_fsfs_format::layout::names;

use super::prepared::PreparedRevision;
use super::{Txn, Writer};
use crate::error::{Error, Result};
use crate::revision_store::{LogRevisions, StagedRevision};

/// Transactions that one leader takes at most, so that the first need not wait for a crowd.
const AT_ONCE: usize = 64;

/// How many microseconds a group waits at most that was overtaken for the first time, halved, and how often that doubles.
const FIRST_PAUSE: u64 = 2500;
const DOUBLED: u32 = 6;

/// A revision that was made.
#[derive(Debug)]
pub struct NewRevision {
    /// Its number.
    pub revision: Revnum,
    /// Its properties.
    pub props: PropList,
}

/// The transactions that wait to be committed to one filesystem.
#[derive(Debug, Default)]
pub(crate) struct Queue(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// Whether a thread leads, or is about to.
    led: bool,
    waiting: VecDeque<Member>,
}

/// A transaction that waits, and its thread's place.
#[derive(Debug)]
struct Member {
    txn: Txn,
    waiter: Arc<Waiter>,
}

/// Where a thread waits.
#[derive(Debug, Default)]
struct Waiter {
    turn: Mutex<Turn>,
    changed: Condvar,
}

#[derive(Debug, Default)]
enum Turn {
    #[default]
    Wait,
    /// This thread is the first of those that wait, and leads.
    Lead,
    Done(Result<NewRevision>),
}

impl Waiter {
    fn set(&self, turn: Turn) {
        *self.turn.lock() = turn;
        self.changed.notify_one();
    }

    fn wait(&self) -> Turn {
        let mut turn = self.turn.lock();
        while matches!(*turn, Turn::Wait) {
            self.changed.wait(&mut turn);
        }
        std::mem::take(&mut *turn)
    }
}

impl Txn {
    /// Makes a revision of the transaction: its number.
    ///
    /// # Errors
    /// E160024 when a later revision changed the same thing; E160034, E160037 and E160039 when
    /// something is locked; corruption and system errors. There is no new revision then.
    pub fn commit(self) -> Result<Revnum> {
        self.commit_for_props().map(|committed| committed.revision)
    }

    /// The same, with the new revision's properties as well.
    ///
    /// # Errors
    /// Those of [`Self::commit`].
    pub fn commit_for_props(mut self) -> Result<NewRevision> {
        let writer = Arc::clone(&self.writer);
        if self.needs_proto_lock() {
            self.lock = Some(writer.lock_proto(&self.tree.txn())?);
        }
        // What can be done before the lock is: others do not wait for it.
        let youngest = Revnum(writer.fs.fs.youngest.load(Ordering::Acquire));
        if youngest > self.tree.base {
            self.tree.merge_to(youngest)?;
        }
        if writer.flush {
            self.proto.sync_what_is_on_disk()?;
        }
        let committed = commit(self)?;
        if writer.config.pack_after_commit {
            writer.pack();
        }
        Ok(committed)
    }
}

/// Leads; lets another one lead when it is dropped.
struct Leader<'a> {
    queue: &'a Queue,
}

impl Drop for Leader<'_> {
    fn drop(&mut self) {
        let mut state = self.queue.0.lock();
        match state.waiting.front() {
            Some(next) => next.waiter.set(Turn::Lead),
            None => state.led = false,
        }
    }
}

/// The members that the leader took. A member without another result gets the result that it failed.
#[derive(Default)]
struct Group(Vec<(Txn, Arc<Waiter>, Option<PreparedRevision>)>);

impl Drop for Group {
    fn drop(&mut self) {
        for (_, waiter, _) in self.0.drain(..) {
            waiter.set(Turn::Done(Err(Error::internal("a commit was given up"))));
        }
    }
}

/// Makes a revision of a transaction, together with others that want the same.
pub(super) fn commit(txn: Txn) -> Result<NewRevision> {
    let writer = Arc::clone(&txn.writer);
    let queue = &writer.common.commits;
    let waiter = Arc::new(Waiter::default());
    let leads = {
        let mut state = queue.0.lock();
        state.waiting.push_back(Member { txn, waiter: Arc::clone(&waiter) });
        !std::mem::replace(&mut state.led, true)
    };
    if !leads && let Turn::Done(done) = waiter.wait() {
        return done;
    }
    lead(&writer, queue);
    match waiter.wait() {
        Turn::Done(done) => done,
        Turn::Wait | Turn::Lead => Err(Error::internal("a commit was given up")),
    }
}

/// Commits what waits, of which the first is one's own.
fn lead(writer: &Arc<Writer>, queue: &Queue) {
    let leader = Leader { queue };
    let locked = writer.lock(names::WRITE_LOCK);
    let count = match &locked {
        Err(_) => 1,
        // Reading back fails for one revision, not for those before.
        Ok(_) if writer.config.verify_before_commit => 1,
        Ok(_) => AT_ONCE,
    };
    let mut group = Group::default();
    {
        let mut state = queue.0.lock();
        let count = count.min(state.waiting.len());
        group
            .0
            .extend(state.waiting.drain(..count).map(|member| (member.txn, member.waiter, None)));
    }
    let (lock, done) = match locked {
        Ok(lock) => (Some(lock), commit_group(writer, &mut group)),
        Err(error) => (None, Err(error)),
    };
    drop(lock);
    drop(leader);
    let failed = done.err().map(SvnError::from);
    if failed.is_none() {
        add_to_cache(&group);
    }
    for (mut txn, waiter, prepared) in group.0.drain(..) {
        let done = match (&failed, prepared) {
            (Some(error), _) => Err(Error::Svn(error.clone())),
            (None, Some(prepared)) => {
                txn.leave = false;
                Ok(NewRevision { revision: prepared.revision, props: prepared.props })
            }
            // It was notified already.
            (None, None) => continue,
        };
        drop(txn);
        waiter.set(Turn::Done(done));
    }
}

/// Enters a group's texts in `rep-cache.db`. Those of a store's repository are in the entry.
fn add_to_cache(group: &Group) {
    let mut rows = Vec::new();
    for (txn, _, prepared) in &group.0 {
        if let Some(PreparedRevision { reps, .. }) = prepared {
            if txn.writer.fs.fs.revisions.as_log().is_some() {
                return;
            }
            if txn.writer.batch_reps {
                txn.writer.keep_reps(reps);
            } else {
                rows.extend_from_slice(reps);
            }
        }
    }
    let Some((first, _, _)) = group.0.first().filter(|_| !rows.is_empty()) else { return };
    if let Err(error) = first.writer.write_rows(&rows) {
        let error = SvnError::from(error);
        for (txn, _, _) in &group.0 {
            txn.writer.fail_after_commit(error.clone());
        }
    }
}

/// What goes on under the lock: again from the start when another server was quicker, where that can be.
///
/// A store that only this server has added to of late is not asked what is new before the claim, which shows it anyway.
fn commit_group(writer: &Arc<Writer>, group: &mut Group) -> Result<()> {
    let fs = Arc::clone(&writer.fs.fs);
    let Some(log) = fs.revisions.as_log() else { return commit_once(writer, group, None) };
    let mut trusted = log.is_alone().then_some(log);
    let mut losses = 0;
    loop {
        group.0.iter_mut().for_each(|(txn, ..)| txn.save());
        match commit_once(writer, group, trusted) {
            Err(Error::Overtaken) => {
                for (txn, _, prepared) in &mut group.0 {
                    txn.restore(prepared.take())?;
                }
                if trusted.take().is_none() {
                    losses = losses.plus(1);
                    back_off(losses);
                }
            }
            done => return done,
        }
    }
}

/// Waits for a time by chance, longer after more losses: of several servers that lose to each other, one must be alone
/// for as long as a commit takes.
fn back_off(losses: u32) {
    let most = FIRST_PAUSE.times(1 << losses.min(DOUBLED));
    let chance = sapwood_objects::Token::new().map_or(most, |token| token.number() % most);
    std::thread::sleep(Duration::from_micros(chance));
}

/// The same once. `trusted` is the log of a store that is taken for known as it is: a member that fails then may fail only by what is
/// old, and is tried again unless the store has nothing new.
fn commit_once(
    writer: &Arc<Writer>,
    group: &mut Group,
    trusted: Option<&LogRevisions>,
) -> Result<()> {
    let fs = &writer.fs.fs;
    // Until the revisions are there, or were given up, other threads must not see others of the same numbers.
    let _flight = fs.revisions.as_log().map(LogRevisions::flight);
    let current = match trusted {
        Some(log) => log.youngest_known()?,
        None => fs.revisions.youngest()?,
    };
    let flush = group.0.iter().any(|(txn, _, _)| txn.writer.flush);
    let (current, failed) = prepare_group(writer, group, current, flush)?;
    if let Some(log) = trusted.filter(|_| !failed.is_empty())
        && log.has_more()?
    {
        give_up(writer);
        return Err(Error::Overtaken);
    }
    notify_failed(group, failed);
    if group.0.is_empty() {
        return Ok(());
    }
    let staged =
        group.0.iter_mut().filter_map(|(_, _, prepared)| prepared.as_mut()?.staged.as_mut());
    publish(writer, staged.collect(), current, flush)
}

/// Makes the revisions of the members on top of `current`: what the last one says, and those that failed by themselves.
fn prepare_group(
    writer: &Arc<Writer>,
    group: &mut Group,
    mut current: Current,
    flush: bool,
) -> Result<(Current, Vec<(usize, Error)>)> {
    let fs = &writer.fs.fs;
    let like = fs.revisions.like(current.youngest)?;
    let mut failed = Vec::new();
    for (at, (txn, _, prepared)) in group.0.iter_mut().enumerate() {
        let checked = txn.check_locks();
        let made = checked.and_then(|()| txn.prepare(current)).and_then(|mut files| {
            txn.stage(&mut files, like, flush)?;
            txn.share_written(&mut files);
            Ok(files)
        });
        match made {
            Ok(files) => {
                current = files.current;
                fs.unpublished.lock().push((files.revision, files.unpublished()));
                *prepared = Some(files);
            }
            Err(error) => failed.push((at, error)),
        }
    }
    Ok((current, failed))
}

/// Members that failed by themselves are notified here already: nothing but the lock has to be waited for.
fn notify_failed(group: &mut Group, mut failed: Vec<(usize, Error)>) {
    let mut ready = Vec::new();
    let mut ready_failures = Vec::new();
    for (at, member) in group.0.drain(..).enumerate() {
        match failed.first() {
            Some((first, _)) if *first == at => ready_failures.push((member, failed.remove(0).1)),
            _ => ready.push(member),
        }
    }
    group.0 = ready;
    for ((txn, waiter, _), error) in ready_failures {
        drop(txn);
        waiter.set(Turn::Done(Err(error)));
    }
}

/// Makes staged revisions durable with `flush`, and then visible: `current` is what the last one says.
///
/// # Errors
/// None of them is there after an error, but for one case, which the error names: `current` was
/// moved into place, and only that this outlasts a power failure could not be made sure of. Readers
/// see the revisions then, as they do with the reference, whose committer hears of a failure too.
pub(super) fn publish(
    writer: &Writer,
    mut staged: Vec<&mut StagedRevision>,
    current: Current,
    flush: bool,
) -> Result<()> {
    let fs = &writer.fs.fs;
    match put_and_swap(writer, &mut staged, current, flush) {
        Ok(()) => {
            let watched = fs.current_file.lock();
            fs.youngest.fetch_max(current.youngest.0, Ordering::AcqRel);
            drop(watched);
            if flush { fs.revisions.sync(current.youngest) } else { Ok(()) }
        }
        Err(error) => {
            give_up(writer);
            staged.iter().for_each(|staged| fs.revisions.discard(staged));
            Err(error)
        }
    }
}

/// Forgets what was read of revisions that are not to be.
pub(super) fn give_up(writer: &Writer) {
    let fs = &writer.fs.fs;
    fs.unpublished.lock().clear();
    fs.caches.forget(fs.id);
    writer.common.ancestry.clear();
}

/// Puts the data of revisions into the store, reads them back if `fsfs.conf` says so, and lets the youngest
/// be the last of them.
fn put_and_swap(
    writer: &Writer,
    staged: &mut [&mut StagedRevision],
    current: Current,
    flush: bool,
) -> Result<()> {
    let fs = &writer.fs.fs;
    let store = &fs.revisions;
    let next = store.put(staged, current, flush)?;
    // From here on they are read from where all will find them.
    fs.unpublished.lock().retain(|(r, _)| !staged.iter().any(|staged| staged.revision() == *r));
    let check = || match writer.config.verify_before_commit {
        true => staged.iter().try_for_each(|staged| writer.read_back(staged.revision())),
        false => Ok(()),
    };
    let done = check().and_then(|()| store.swap_youngest(&next));
    done.inspect_err(|_| store.withdraw(&next))
}
