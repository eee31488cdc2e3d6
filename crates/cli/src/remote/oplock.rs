//! Locks that programs put into a property of revision 0, so that only one of them works on a
//! mirror at a time (`svn:sync-lock`, `svn:rdump-lock`).

use std::time::Duration;

use sapwood_core::{ErrorCode, Revnum, SvnError, SvnResult};
use sapwood_ra::{Capability, RevpropChange, Session};

/// How often the lock is tried.
const TRIES: u32 = 10;

/// A lock that is held.
pub(crate) struct OperationalLock<'s> {
    session: &'s dyn Session,
    property: &'static str,
    token: String,
    atomic: bool,
    _held: crate::signals::Held,
}

/// What is told of a lock that somebody else has, or had.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Told<'a> {
    HeldBy(&'a str),
    StolenFrom(&'a str),
}

impl<'s> OperationalLock<'s> {
    /// Takes the lock, waiting some seconds for it.
    pub(crate) fn take(
        session: &'s dyn Session,
        property: &'static str,
        steal: bool,
        tell: &mut dyn FnMut(Told<'_>) -> SvnResult<()>,
    ) -> SvnResult<Self> {
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let mut noise = [0u8; 16];
        for piece in noise.chunks_mut(8) {
            let _ = rustix::rand::getrandom(piece, rustix::rand::GetRandomFlags::empty());
        }
        let token = format!("{host}:{}", uuid_of(noise));
        let atomic = session.has_capability(Capability::AtomicRevprops)?;
        let lock = Self { session, property, token, atomic, _held: crate::signals::Held::begin() };
        let mut stolen: Option<Vec<u8>> = None;
        for attempt in 1..=TRIES {
            if let Err(error) = crate::signals::check() {
                let _ = lock.release();
                return Err(error);
            }
            let held = session.rev_prop(Revnum::ZERO, property)?;
            match &held {
                Some(holder) if holder == lock.token.as_bytes() => {
                    if let Some(old) = stolen {
                        tell(Told::StolenFrom(&String::from_utf8_lossy(&old)))?;
                    }
                    return Ok(lock);
                }
                Some(holder) if !steal => {
                    tell(Told::HeldBy(&String::from_utf8_lossy(holder)))?;
                    std::thread::sleep(Duration::from_secs(1));
                    continue;
                }
                Some(holder) => stolen = Some(holder.clone()),
                None => {}
            }
            // The last look only makes sure that nobody has overwritten the lock.
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
                Err(e) if atomic && e.has_code(ErrorCode::FS_PROP_BASEVALUE_MISMATCH) => {}
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
            if self.atomic && error.has_code(ErrorCode::FS_PROP_BASEVALUE_MISMATCH) {
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

/// Random bytes in the form of a UUID.
fn uuid_of(noise: [u8; 16]) -> String {
    let mut text = String::with_capacity(36);
    for (at, byte) in noise.into_iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        let byte = match at {
            6 => (byte & 0x0f) | 0x40,
            8 => (byte & 0x3f) | 0x80,
            _ => byte,
        };
        text.push_str(&format!("{byte:02x}"));
    }
    text
}
