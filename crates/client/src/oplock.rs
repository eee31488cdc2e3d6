//! Locks that programs put into a property of revision 0, so that only one of them works on a
//! mirror at a time (`svn:sync-lock`, `svn:rdump-lock`).

use std::any::Any;
use std::time::Duration;

use sapwood_core::{CancelToken, ErrorCode, Revnum, SvnError, SvnResult};
use sapwood_ra::{Capability, RevpropChange, Session};

use crate::context::check_cancel;

/// How often the lock is tried.
const TRIES: u32 = 10;

/// How a lock is taken.
pub struct LockAttempt {
    /// What marks the lock as this process's: the machine's name and a UUID.
    pub token: String,
    /// Whether an existing lock is taken away from its holder.
    pub steal: bool,
    /// Makes something that lives as long as the lock may be there: by it the caller knows that ending the
    /// process would leave the lock behind.
    pub guard: fn() -> Box<dyn Any>,
}

impl std::fmt::Debug for LockAttempt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LockAttempt").field("token", &self.token).finish_non_exhaustive()
    }
}

/// A lock that is held.
pub(crate) struct OperationalLock<'s> {
    session: &'s dyn Session,
    property: &'static str,
    token: &'s str,
    atomic: bool,
    _guard: Box<dyn Any>,
}

/// What is reported of a lock that another process has, or had.
#[derive(Clone, Copy, Debug)]
pub enum LockNotice<'a> {
    /// It is waited for; this is its token.
    HeldBy(&'a str),
    /// It was taken away.
    StolenFrom(&'a str),
}

impl<'s> OperationalLock<'s> {
    /// Takes the lock, waiting some seconds for it.
    pub(crate) fn take(
        session: &'s dyn Session,
        property: &'static str,
        locking: &'s LockAttempt,
        cancel: &CancelToken,
        notify: &mut dyn FnMut(LockNotice<'_>) -> SvnResult<()>,
    ) -> SvnResult<Self> {
        let atomic = session.has_capability(Capability::AtomicRevprops)?;
        let (token, guard) = (locking.token.as_str(), (locking.guard)());
        let lock = Self { session, property, token, atomic, _guard: guard };
        let mut stolen: Option<Vec<u8>> = None;
        for attempt in 1..=TRIES {
            if let Err(error) = check_cancel(cancel) {
                let _ = lock.release();
                return Err(error);
            }
            let held = session.rev_prop(Revnum::ZERO, property)?;
            match &held {
                Some(holder) if holder == lock.token.as_bytes() => {
                    if let Some(old) = stolen {
                        notify(LockNotice::StolenFrom(&String::from_utf8_lossy(&old)))?;
                    }
                    return Ok(lock);
                }
                Some(holder) if !locking.steal => {
                    notify(LockNotice::HeldBy(&String::from_utf8_lossy(holder)))?;
                    std::thread::sleep(Duration::from_secs(1));
                    continue;
                }
                Some(holder) => stolen = Some(holder.clone()),
                None => {}
            }
            // The last look only makes sure that the lock was not overwritten.
            if attempt == TRIES {
                break;
            }
            let done = session.change_rev_prop(&RevpropChange {
                revision: Revnum::ZERO,
                name: property,
                expected: atomic.then_some(held.as_deref()),
                value: Some(lock.token.as_bytes()),
            });
            match done {
                Err(e) if atomic && e.any(SvnError::is_other_value) => {}
                other => other?,
            }
        }
        Err(SvnError::new(
            ErrorCode::EINVAL,
            format!("Couldn't get lock on destination repos after {TRIES} attempts"),
        ))
    }

    /// Gives the lock up.
    pub(crate) fn release(&self) -> SvnResult<()> {
        let done = self.session.change_rev_prop(&RevpropChange {
            revision: Revnum::ZERO,
            name: self.property,
            expected: self.atomic.then_some(Some(self.token.as_bytes())),
            value: None,
        });
        done.map_err(|error| {
            if self.atomic && error.any(SvnError::is_other_value) {
                let code = error.code();
                return error.wrap(
                    code,
                    format!("Lock was stolen by '{}'; unable to remove it", self.token),
                );
            }
            error
        })
    }

    /// Does some work with the lock held, and gives it up whatever comes of the work.
    pub(crate) fn hold(self, work: impl FnOnce() -> SvnResult<()>) -> SvnResult<()> {
        let done = work();
        match (done, self.release()) {
            (Err(error), Err(other)) => Err(error.with_cause(other)),
            (done, released) => done.and(released),
        }
    }
}
