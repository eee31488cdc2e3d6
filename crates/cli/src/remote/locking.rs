//! How programs of ours take locks in properties of a repository: by which token, and what keeps signals from
//! ending the process while it has one.

use sapwood_client::oplock::LockAttempt;
use sapwood_core::{ErrorCode, SvnError, SvnResult};

use crate::signals::CleanupHold;

/// The mark of this process's locks.
///
/// # Errors
/// When the system has no random numbers: two processes with the same mark would take each other's locks.
pub(crate) fn locking(steal: bool) -> SvnResult<LockAttempt> {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let mut noise = [0u8; 16];
    getrandom::fill(&mut noise)
        .map_err(|e| SvnError::new(ErrorCode::BASE, format!("No random numbers: {e}")))?;
    let token = format!("{host}:{}", uuid_of(noise));
    Ok(LockAttempt { token, steal, guard: || Box::new(CleanupHold::begin()) })
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
