//! What all mechanisms share: attempts to log in and the delay after a wrong password; and CRAM-MD5, which is in the
//! protocol itself and in SASL.

use std::time::Instant;

use hmac::{Hmac, KeyInit as _, Mac as _};
use md5::Md5;
use sapwood_core::{ErrorCode, SvnError, SvnResult};
use sapwood_wire_svn::Encode as _;

use crate::common::login_delay::{Attempt, LoginDelay};
use crate::common::operation_log::Operation;
use crate::svn::connection::{Connection, Wait};
use crate::svn::session::Session;

/// Begins an attempt to log in; waits while too many are in progress.
///
/// # Errors
/// E210002 when the client has disconnected meanwhile, or would have to wait too long.
pub(crate) fn begin_attempt(session: &mut Session<'_>, user: &str) -> SvnResult<Attempt> {
    let first = session.access.config().password_delay;
    let address = session.conn.remote_address();
    let begun = Instant::now();
    loop {
        match session.shared.logins.begin(address, user, first, Instant::now()) {
            Ok(attempt) => return Ok(attempt),
            Err(_) if begun.elapsed() >= LoginDelay::patience(first) => {
                return Err(SvnError::new(ErrorCode::RA_SVN_CONNECTION_CLOSED, ""));
            }
            Err(wait) => session.conn.pause(wait, &session.cancel)?,
        }
    }
}

/// Counts and logs a failed login, and waits for the delay that follows from it. The log line is
/// made for programs that block addresses: see SECURITY.md.
///
/// # Errors
/// E210002 when the client has disconnected meanwhile.
pub(crate) fn password_failed(
    session: &mut Session<'_>,
    mechanism: &str,
    user: Option<&str>,
) -> SvnResult<()> {
    let attempt = begin_attempt(session, user.unwrap_or(""))?;
    attempt_failed(session, attempt, mechanism, user)
}

/// The same, of an attempt that has begun.
///
/// # Errors
/// As of [`password_failed`].
pub(crate) fn attempt_failed(
    session: &mut Session<'_>,
    attempt: Attempt,
    mechanism: &str,
    user: Option<&str>,
) -> SvnResult<()> {
    let penalty = attempt.failed(Instant::now());
    session.log_command(&Operation::WrongPassword { mechanism, user, failures: penalty.failures });
    session.conn.pause(penalty.wait, &session.cancel)
}

/// Notes that a user has authenticated, after waiting for their turn.
///
/// # Errors
/// As of [`begin_attempt`].
pub(crate) fn password_proved(session: &mut Session<'_>, user: &str) -> SvnResult<()> {
    begin_attempt(session, user)?.succeeded(Instant::now());
    Ok(())
}

/// Reports to the client that an attempt failed; it may try again.
pub(crate) fn refuse(conn: &mut Connection, why: &str) {
    let out = conn.out();
    out.raw(b"( failure ( ");
    out.text(why);
    out.raw(b") ) ");
}

/// How a CRAM-MD5 exchange ended.
pub(crate) enum CramMd5 {
    /// The user is authenticated.
    Proven(String),
    /// The user is unknown, or the password is wrong: the user's name, and the message for the
    /// client.
    Wrong(String, &'static str),
    /// The reply is malformed.
    Malformed(&'static str),
    /// The client sent something else.
    Anew,
}

/// A CRAM-MD5 exchange (RFC 2195). `password` looks up a user.
pub(crate) fn cram_md5(
    conn: &mut Connection,
    password: &dyn Fn(&str) -> Option<Vec<u8>>,
) -> SvnResult<CramMd5> {
    let Some(challenge) = make_challenge() else {
        return Ok(CramMd5::Malformed("Internal server error in authentication"));
    };
    let out = conn.out();
    out.raw(b"( step ( ");
    out.text(&challenge);
    out.raw(b") ) ");
    let Some(answer) = conn.receive_string(Wait::Login)? else { return Ok(CramMd5::Anew) };
    let parsed = std::str::from_utf8(&answer)
        .ok()
        .and_then(|text| text.rsplit_once(' '))
        .and_then(|(user, hex)| Some((user, sapwood_core::Md5::parse(hex.as_bytes())?)));
    let Some((user, digest)) = parsed else {
        return Ok(CramMd5::Malformed("Malformed client response in authentication"));
    };
    let user = user.to_owned();
    let Some(password) = password(&user) else {
        return Ok(CramMd5::Wrong(user, "Username not found"));
    };
    // The comparison takes the same time wherever the digests differ.
    let right = Hmac::<Md5>::new_from_slice(&password)
        .is_ok_and(|mac| mac.chain_update(challenge.as_bytes()).verify_slice(&digest.0).is_ok());
    Ok(if right { CramMd5::Proven(user) } else { CramMd5::Wrong(user, "Password incorrect") })
}

/// A challenge that was never sent before: random number, time and host name.
fn make_challenge() -> Option<String> {
    let mut nonce = [0u8; 8];
    getrandom::fill(&mut nonce).ok()?;
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).ok()?;
    let system = rustix::system::uname();
    let host = system.nodename().to_str().ok().filter(|host| !host.is_empty());
    let host = host.unwrap_or("localhost");
    Some(format!("<{}.{}@{host}>", u64::from_le_bytes(nonce), now.as_micros()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rfc_2195_example() {
        let mac = Hmac::<Md5>::new_from_slice(b"tanstaaftanstaaf").unwrap();
        let sum = mac.chain_update(b"<1896.697170952@postoffice.reston.mci.net>").finalize();
        let hex = sapwood_core::Md5(sum.into_bytes().into()).to_hex();
        assert_eq!(hex, "b913a602c7eda7a495b4e6e7334d3890");
    }

    #[test]
    fn challenges_differ() {
        assert_ne!(make_challenge().unwrap(), make_challenge().unwrap());
    }
}
