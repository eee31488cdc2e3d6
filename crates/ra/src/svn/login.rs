//! Proving who one is: ANONYMOUS, EXTERNAL and CRAM-MD5, as the server offers them.

use hmac::{Hmac, KeyInit as _, Mac as _};
use md5::Md5;
use sapwood_core::{ErrorCode, SvnError, SvnResult};
use sapwood_wire_svn::{Encode as _, Item};

use super::connection::Connection;
use crate::auth::Authenticator;

/// What a login needs to know.
#[derive(Clone, Copy, Debug)]
pub struct Login<'a> {
    /// Where credentials come from.
    pub auth: &'a Authenticator,
    /// `<svn://host:port>`, what the server's realm is prefixed with.
    pub realm_prefix: &'a str,
    /// The host, for the `servers` file.
    pub host: &'a str,
    /// Whether the way to the server says who the user is.
    pub is_tunneled: bool,
}

/// The mechanisms that a server offered.
#[derive(Clone, Copy, Debug, Default)]
struct Offered {
    any: bool,
    anonymous: bool,
    external: bool,
    cram_md5: bool,
}

fn not_authorized(message: impl Into<String>) -> SvnError {
    SvnError::new(ErrorCode::RA_NOT_AUTHORIZED, message)
}

/// Reads the server's request for authentication, which precedes the answer to every command, and
/// does what it wants. Mostly it wants nothing.
///
/// # Errors
/// The server's failure; E170001 when no credentials are accepted; E210007 when no mechanism is
/// known.
pub fn answer_request(conn: &mut Connection, login: &Login<'_>) -> SvnResult<()> {
    let wanted = conn.reply(|mut params| {
        let mut offered = Offered::default();
        for mechanism in params.list()? {
            offered.any = true;
            if let Item::Word(word) = mechanism {
                match word {
                    "ANONYMOUS" => offered.anonymous = true,
                    "EXTERNAL" => offered.external = true,
                    "CRAM-MD5" => offered.cram_md5 = true,
                    _ => {}
                }
            }
        }
        let realm = params.text()?;
        Ok(offered.any.then(|| (offered, realm.to_owned())))
    })?;
    let Some((offered, realm)) = wanted else { return Ok(()) };
    if login.is_tunneled && offered.external {
        choose(conn, "EXTERNAL", true);
        return accepted(conn);
    }
    if offered.anonymous {
        choose(conn, "ANONYMOUS", true);
        return accepted(conn);
    }
    if offered.cram_md5 {
        return cram_md5(conn, login, &format!("{} {realm}", login.realm_prefix));
    }
    Err(SvnError::new(ErrorCode::RA_SVN_NO_MECHANISMS, ""))
}

fn choose(conn: &mut Connection, mechanism: &str, with_token: bool) {
    let out = conn.out();
    out.open();
    out.word(mechanism);
    out.bracketed_text(with_token.then_some(""));
    out.close();
}

/// One step of an exchange: its status, and what it says.
fn step(conn: &mut Connection) -> SvnResult<(String, Option<String>)> {
    conn.receive_tuple(|mut answer| {
        let status = answer.word()?.to_owned();
        Ok((status, answer.bracketed_text()?.map(str::to_owned)))
    })
}

fn unexpected() -> SvnError {
    not_authorized("Unexpected server response to authentication")
}

fn accepted(conn: &mut Connection) -> SvnResult<()> {
    match step(conn)? {
        (status, None) if status == "success" => Ok(()),
        (status, Some(why)) if status == "failure" => {
            Err(not_authorized(format!("Authentication error from server: {why}")))
        }
        _ => Err(unexpected()),
    }
}

/// CRAM-MD5 (RFC 2195) with one credential after the other.
fn cram_md5(conn: &mut Connection, login: &Login<'_>, realm: &str) -> SvnResult<()> {
    let mut attempts = login.auth.attempts(realm, login.host)?;
    let mut refused = None;
    while let Some(simple) = attempts.next_credentials()? {
        choose(conn, "CRAM-MD5", false);
        match try_cram_md5(conn, &simple.username, &simple.password)? {
            None => return attempts.save(),
            Some(why) => refused = Some(why),
        }
    }
    Err(match refused {
        None => not_authorized("Can't get username or password"),
        Some(why) => not_authorized(format!("Authentication error from server: {why}")),
    })
}

/// `None` when the server is content, else why it is not.
fn try_cram_md5(conn: &mut Connection, user: &str, password: &str) -> SvnResult<Option<String>> {
    let challenge = match step(conn)? {
        (status, Some(challenge)) if status == "step" => challenge,
        (status, Some(why)) if status == "failure" => return Ok(Some(why)),
        _ => return Err(unexpected()),
    };
    let Ok(mut mac) = Hmac::<Md5>::new_from_slice(password.as_bytes()) else {
        return Err(unexpected());
    };
    mac.update(challenge.as_bytes());
    let mut answer = format!("{user} ");
    for byte in mac.finalize().into_bytes() {
        answer.push_str(&format!("{byte:02x}"));
    }
    conn.out().text(&answer);
    match step(conn)? {
        (status, None) if status == "success" => Ok(None),
        (status, Some(why)) if status == "failure" => Ok(Some(why)),
        _ => Err(unexpected()),
    }
}
