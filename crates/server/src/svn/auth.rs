//! Authenticating a user: ANONYMOUS, EXTERNAL and CRAM-MD5. The mechanisms of `use-sasl` are in
//! `sasl`.

use hmac::{Hmac, KeyInit as _, Mac as _};
use std::time::Instant;

use md5::Md5;
use sapwood_core::FsPath;
use sapwood_core::{ErrorCode, SvnError, SvnResult};
use sapwood_wire_svn::Encode as _;

use crate::common::access::{Action, Decision};
use crate::common::config::Blanket;
use crate::common::login_delay::{Attempt, LoginDelay};
use crate::common::operation_log::Operation;
use crate::svn::connection::{Connection, Wait};
use crate::svn::sasl;
use crate::svn::session::Session;

/// Appends the challenge that says that no authentication is needed.
pub(crate) fn trivial_auth(conn: &mut Connection) {
    conn.out().raw(b"( success ( ( ) 0: ) ) ");
}

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

/// The mechanisms that can lead to the required access.
#[derive(Clone, Copy)]
struct Mechanisms {
    anonymous: bool,
    external: bool,
    cram_md5: bool,
}

impl Mechanisms {
    fn of(session: &Session<'_>, required: Blanket, needs_username: bool) -> Self {
        let config = session.access.config();
        let authenticated = config.auth_access >= required;
        Self {
            anonymous: !needs_username && config.anon_access >= required,
            external: authenticated && session.tunnel_user().is_some(),
            cram_md5: authenticated && session.passwords.is_some(),
        }
    }
}

/// Asks the client to authenticate. The client may decline, so access has to be checked again
/// afterwards.
///
/// # Errors
/// Errors of the connection.
pub(crate) fn request_auth(
    session: &mut Session<'_>,
    required: Blanket,
    needs_username: bool,
) -> SvnResult<()> {
    if session.access.config().sasl.is_some() {
        return sasl::request_auth(session, required, needs_username);
    }
    let offered = Mechanisms::of(session, required, needs_username);
    let realm = session.realm.clone();
    let out = session.conn.out();
    out.raw(b"( success ( ( ");
    for (on, word) in [
        (offered.anonymous, "ANONYMOUS"),
        (offered.external, "EXTERNAL"),
        (offered.cram_md5, "CRAM-MD5"),
    ] {
        if on {
            out.word(word);
        }
    }
    out.close();
    out.text(&realm);
    out.raw(b") ) ");
    loop {
        let answer = session.conn.receive_with(Wait::Login, |mut answer| {
            // Only an empty mechanism, which is not a valid word in the protocol, declines.
            let mechanism = answer.word()?.to_owned();
            let token = answer.bracketed_text()?.map(str::to_owned);
            Ok((mechanism, token))
        });
        let (mechanism, token) = answer?;
        if try_mechanism(session, offered, &mechanism, token.as_deref())? {
            return Ok(());
        }
    }
}

/// Reports to the client that an attempt failed; it may try again.
pub(crate) fn refuse(conn: &mut Connection, why: &str) {
    let out = conn.out();
    out.raw(b"( failure ( ");
    out.text(why);
    out.raw(b") ) ");
}

fn try_mechanism(
    session: &mut Session<'_>,
    offered: Mechanisms,
    mechanism: &str,
    token: Option<&str>,
) -> SvnResult<bool> {
    match mechanism {
        "EXTERNAL" if offered.external => {
            let user = session.tunnel_user().map(str::to_owned);
            if token.is_some_and(|t| !t.is_empty() && Some(t) != user.as_deref()) {
                refuse(&mut session.conn, "Requested username does not match");
                return Ok(false);
            }
            session.access.set_user(user);
            session.conn.success();
            Ok(true)
        }
        "ANONYMOUS" if offered.anonymous => {
            session.conn.success();
            Ok(true)
        }
        "CRAM-MD5" if offered.cram_md5 => {
            let Some(passwords) = session.passwords.clone() else { return Ok(false) };
            let password =
                |user: &str| passwords.get_bytes("users", user).map(std::borrow::Cow::into_owned);
            match cram_md5(&mut session.conn, &password)? {
                CramMd5::Proven(user) => {
                    password_proved(session, &user)?;
                    session.access.set_user(Some(user));
                    session.conn.success();
                    Ok(true)
                }
                CramMd5::Wrong(user, why) => {
                    password_failed(session, mechanism, Some(&user))?;
                    refuse(&mut session.conn, why);
                    Ok(false)
                }
                CramMd5::Malformed(why) => {
                    refuse(&mut session.conn, why);
                    Ok(false)
                }
                CramMd5::Anew => Ok(false),
            }
        }
        _ => {
            refuse(&mut session.conn, "Must authenticate with listed mechanism");
            Ok(false)
        }
    }
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
    let got = rustix::rand::getrandom(&mut nonce, rustix::rand::GetRandomFlags::empty()).ok()?;
    if got != nonce.len() {
        return None;
    }
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).ok()?;
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname");
    let host = host.as_deref().map(str::trim).ok().filter(|host| !host.is_empty());
    let host = host.unwrap_or("localhost");
    Some(format!("<{}.{}@{host}>", u64::from_le_bytes(nonce), now.as_micros()))
}

/// Checks that the user may do what is required at `path`, asking them to authenticate when that
/// can help. Sends one challenge to the client unless it fails.
///
/// # Errors
/// E170001 when the user may not do it; errors of the connection.
pub(crate) fn must_have_access(
    session: &mut Session<'_>,
    required: Action,
    path: Option<&FsPath>,
    needs_username: bool,
) -> SvnResult<()> {
    let can_authenticate = session.tunnel_user().is_some()
        || session.passwords.is_some()
        || session.access.config().sasl.is_some();
    match session.access.decide(required, path, needs_username, can_authenticate) {
        Decision::Allow => {
            trivial_auth(&mut session.conn);
            return Ok(());
        }
        Decision::AskWho => request_auth(session, required.blanket(), true)?,
        Decision::Deny => {}
    }
    if session.access.may(required, path, needs_username) {
        return Ok(());
    }
    let error = SvnError::new(sapwood_core::ErrorCode::RA_NOT_AUTHORIZED, "");
    session.log_error(&error);
    Err(error)
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
