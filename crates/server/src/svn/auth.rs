//! Authenticating a user: ANONYMOUS, EXTERNAL and CRAM-MD5. The mechanisms of `use-sasl` are in
//! `sasl`.

use sapwood_core::FsPath;
use sapwood_core::{SvnError, SvnResult};
use sapwood_wire_svn::Encode as _;

use crate::common::access::{Action, Decision};
use crate::common::config::{AccessConfig, Blanket};
use crate::common::principal::Principal;
use crate::svn::connection::{Connection, Wait};
use crate::svn::mechanisms::{CramMd5, cram_md5, password_failed, password_proved, refuse};
use crate::svn::sasl;
use crate::svn::session::Session;

/// Appends the challenge that says that no authentication is needed.
pub(crate) fn trivial_auth(conn: &mut Connection) {
    conn.out().raw(b"( success ( ( ) 0: ) ) ");
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

/// Whether users log in by mechanisms of SASL: those of accounts and directories send their passwords, which the protocol's
/// own mechanism does not.
pub(crate) const fn asks_by_sasl(config: &AccessConfig) -> bool {
    config.sasl.is_some() || config.has_plain_users()
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
    if asks_by_sasl(session.access.config()) {
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
            session.access.set_user(user.map(Principal::named));
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
                    session.access.set_user(Some(Principal::named(user)));
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
        || asks_by_sasl(session.access.config());
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
