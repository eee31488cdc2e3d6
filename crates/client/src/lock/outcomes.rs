//! What became of each file that was to be locked or unlocked: recorded in the working copies, then reported.
//!
//! Outcomes that come quickly one after the other are recorded in one transaction, where the repository makes all locks
//! before it reports the first one. Over http each lock is made, and recorded, by itself: what a kill could lose is the
//! one outcome that is on its way. Invariant: no transaction is open while the next outcome is waited for.

use std::time::{Duration, Instant};

use sapwood_core::notify::{Action, LockState, Notify};
use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{ErrorCode, NodeKind, SvnError, SvnResult};
use sapwood_ra::Lock;
use sapwood_wc::WorkingCopy;
use sapwood_wc::repos_lock::RepositoryLock;

use super::{Local, Targets};
use crate::context::Context;

/// How many outcomes are recorded together.
const MOST: usize = 1000;
/// An outcome that comes later than this after the one before is recorded at once: more may be lost by a kill else.
const PATIENCE: Duration = Duration::from_millis(20);

/// What became of one file.
#[derive(Debug)]
pub(super) enum Outcome {
    Lock(SvnResult<Lock>),
    Unlock(SvnResult<()>),
}

/// The outcomes of one command.
pub(super) struct Outcomes<'o> {
    ctx: &'o Context,
    targets: &'o Targets,
    waiting: Vec<(RelPathBuf, Outcome)>,
    last: Instant,
    /// How many are recorded together.
    most: usize,
}

/// The change of a working copy that an outcome makes.
enum Record<'r> {
    Add(&'r RelPath, RepositoryLock),
    Remove(&'r RelPath),
}

impl<'o> Outcomes<'o> {
    pub(super) fn new(ctx: &'o Context, targets: &'o Targets) -> Self {
        let most = if targets.common.starts_with("http") { 1 } else { MOST };
        Self { ctx, targets, waiting: Vec::new(), last: Instant::now(), most }
    }

    /// Takes the outcome of a path below the common URL.
    ///
    /// # Errors
    /// Those of working copies.
    pub(super) fn add(&mut self, relpath: &RelPath, outcome: Outcome) -> SvnResult<()> {
        let slow = std::mem::replace(&mut self.last, Instant::now()).elapsed() > PATIENCE;
        self.waiting.push((relpath.to_owned(), outcome));
        if slow || self.waiting.len() >= self.most { self.record() } else { Ok(()) }
    }

    /// Records and reports the outcomes so far.
    ///
    /// # Errors
    /// Those of working copies.
    pub(super) fn record(&mut self) -> SvnResult<()> {
        let waiting = std::mem::take(&mut self.waiting);
        let mut left = waiting.as_slice();
        while let Some((first, _)) = left.first() {
            let wc = self.targets.local(first).map(|local| &local.wc);
            let same = |(relpath, _): &&(RelPathBuf, Outcome)| {
                self.targets.local(relpath).map(|local| local.wc.root())
                    == wc.map(WorkingCopy::root)
            };
            let (now, later) = left.split_at(left.iter().take_while(same).count());
            if let Some(wc) = wc {
                self.record_in(wc, now)?;
            }
            now.iter().for_each(|(relpath, outcome)| self.report(relpath, outcome));
            left = later;
        }
        Ok(())
    }

    fn record_in(&self, wc: &WorkingCopy, outcomes: &[(RelPathBuf, Outcome)]) -> SvnResult<()> {
        let records = outcomes.iter().filter_map(|(relpath, outcome)| {
            let Local { relpath, .. } = self.targets.local(relpath)?;
            match outcome {
                Outcome::Lock(Ok(lock)) => Some(Record::Add(relpath, recorded(lock))),
                Outcome::Unlock(result) if forgets(result) => Some(Record::Remove(relpath)),
                _ => None,
            }
        });
        let records: Vec<Record<'_>> = records.collect();
        let added = records.iter().filter_map(|record| match record {
            Record::Add(relpath, lock) => Some((*relpath, lock)),
            Record::Remove(_) => None,
        });
        let added: Vec<_> = added.collect();
        if !added.is_empty() {
            wc.add_repository_locks(&added)?;
        }
        let removed = records.iter().filter_map(|record| match record {
            Record::Remove(relpath) => Some(*relpath),
            Record::Add(..) => None,
        });
        let removed: Vec<_> = removed.collect();
        if !removed.is_empty() {
            wc.remove_repository_locks(&removed)?;
        }
        Ok(())
    }

    fn report(&self, relpath: &RelPath, outcome: &Outcome) {
        let local = self.targets.local(relpath);
        let shown = local.map(|l| l.wc.abspath(&l.relpath).display().to_string());
        let url = self.targets.common.join(relpath);
        let here = local.is_some();
        let (action, lock, owner, error) = match outcome {
            Outcome::Lock(Ok(lock)) => {
                let state = if here { LockState::Locked } else { LockState::Inapplicable };
                (Action::Locked, state, Some(lock.owner.as_str()), None)
            }
            Outcome::Lock(Err(e)) => (Action::FailedLock, LockState::Unchanged, None, Some(e)),
            Outcome::Unlock(result) => {
                let forgotten = here && forgets(result);
                let state = if forgotten { LockState::Unlocked } else { LockState::Unchanged };
                let failed = result.as_ref().err();
                let action = if failed.is_none() { Action::Unlocked } else { Action::FailedUnlock };
                (action, state, None, failed)
            }
        };
        let plain = match &shown {
            Some(shown) => Notify::new(action, shown),
            None => Notify { url: Some(&url), ..Notify::new(action, relpath) },
        };
        let prefix = self.targets.prefix.as_ref().map(|p| p.display().to_string());
        let path_prefix = prefix.as_deref().filter(|_| here);
        let kind = Some(NodeKind::File);
        self.ctx.notify(&Notify { path_prefix, lock, kind, owner, error, ..plain });
    }
}

fn recorded(lock: &Lock) -> RepositoryLock {
    RepositoryLock {
        token: lock.token.clone(),
        owner: lock.owner.clone(),
        comment: lock.comment.clone(),
        created: lock.created,
    }
}

/// Whether a token is forgotten: one that is of no use any more is, one that only could not be used is not.
fn forgets(result: &SvnResult<()>) -> bool {
    let keeps = |error: &SvnError| {
        [ErrorCode::FS_LOCK_OWNER_MISMATCH, ErrorCode::REPOS_HOOK_FAILURE].contains(&error.code())
    };
    !result.as_ref().is_err_and(keeps)
}
