//! Proving a user's name, by the mechanisms that the server offers.
//!
//! ANONYMOUS, EXTERNAL and CRAM-MD5 are what every server knows. Servers with `use-sasl` may want
//! others, of which the strongest is taken: SCRAM, then DIGEST-MD5, then CRAM-MD5, then the password in the clear,
//! as the reference's client with Cyrus SASL does; Kerberos (GSSAPI) goes before them for users who have a ticket. It
//! and DIGEST-MD5 may sign or encrypt the rest of the connection.

use std::ops::RangeInclusive;

use hmac::{Hmac, KeyInit as _, Mac as _};
use md5::Md5;
use sapwood_core::{ErrorCode, SvnError, SvnResult, base64};
use sapwood_kerberos::KerberosError;
use sapwood_kerberos::sasl::{self as gssapi, Exchange, Turn};
use sapwood_wire_svn::digest_md5::{self, DigestClient, DigestError, DigestLogin};
use sapwood_wire_svn::scram::{Hash, ScramClient};
use sapwood_wire_svn::{Encode as _, Item};

use super::connection::Connection;
use crate::auth::{Authenticator, Simple};

/// How strong the protection of a connection may be, as the reference's client has it: any.
const STRENGTHS: RangeInclusive<u32> = 0..=256;

/// What a login needs to know.
#[derive(Clone, Copy, Debug)]
pub struct Login<'a> {
    /// Where credentials come from.
    pub auth: &'a Authenticator,
    /// `<svn://host:port>`, what the server's realm is prefixed with.
    pub realm_prefix: &'a str,
    /// The host, for the `servers` file.
    pub host: &'a str,
    /// Whether the transport (a tunnel) authenticates the user.
    pub is_tunneled: bool,
}

/// The mechanisms that a server offered.
#[derive(Clone, Copy, Debug, Default)]
struct OfferedMechanisms {
    any: bool,
    anonymous: bool,
    external: bool,
    /// Kerberos.
    gssapi: bool,
    /// The strongest of those that take a password.
    password: Option<Mechanism>,
}

/// A way to prove that one knows a password, the weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Mechanism {
    /// The password itself, after a question for the name.
    Login,
    /// The password itself.
    Plain,
    CramMd5,
    DigestMd5,
    ScramSha1,
    ScramSha256,
    ScramSha512,
}

impl Mechanism {
    fn of(word: &str) -> Option<Self> {
        Some(match word {
            "LOGIN" => Self::Login,
            "PLAIN" => Self::Plain,
            "CRAM-MD5" => Self::CramMd5,
            "DIGEST-MD5" => Self::DigestMd5,
            "SCRAM-SHA-1" => Self::ScramSha1,
            "SCRAM-SHA-256" => Self::ScramSha256,
            "SCRAM-SHA-512" => Self::ScramSha512,
            _ => return None,
        })
    }
}

fn not_authorized(message: impl Into<String>) -> SvnError {
    SvnError::new(ErrorCode::RA_NOT_AUTHORIZED, message)
}

/// Reads the server's request for authentication, which precedes the answer to every command, and
/// does what it wants. Mostly it wants nothing. Returns whether the server now knows the user's name.
///
/// # Errors
/// The server's failure; E170001 when no credentials are accepted; E210007 when no mechanism is
/// known.
pub(crate) fn answer_request(conn: &mut Connection, login: &Login<'_>) -> SvnResult<bool> {
    let wanted = conn.reply(|mut params| {
        let mut offered = OfferedMechanisms::default();
        for mechanism in params.list()? {
            offered.any = true;
            if let Item::Word(word) = mechanism {
                match word {
                    "ANONYMOUS" => offered.anonymous = true,
                    "EXTERNAL" => offered.external = true,
                    gssapi::MECHANISM => offered.gssapi = true,
                    _ => offered.password = offered.password.max(Mechanism::of(word)),
                }
            }
        }
        let realm = params.text()?;
        Ok(offered.any.then(|| (offered, realm.to_owned())))
    })?;
    let Some((offered, realm)) = wanted else { return Ok(false) };
    if login.is_tunneled && offered.external {
        choose(conn, "EXTERNAL", Some(""));
        return accepted(conn).map(|()| true);
    }
    if offered.anonymous {
        choose(conn, "ANONYMOUS", Some(""));
        return accepted(conn).map(|()| false);
    }
    // Users without a ticket have passwords, perhaps.
    if offered.gssapi
        && let Ok((exchange, first)) = Exchange::client(login.host, STRENGTHS)
    {
        return prove_by_ticket(conn, exchange, &first).map(|()| true);
    }
    if let Some(mechanism) = offered.password {
        return prove(conn, login, &realm, mechanism).map(|()| true);
    }
    Err(SvnError::new(ErrorCode::RA_SVN_NO_MECHANISMS, ""))
}

fn choose(conn: &mut Connection, mechanism: &str, token: Option<&str>) {
    let out = conn.out();
    out.open();
    out.word(mechanism);
    out.bracketed_text(token);
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

/// GSSAPI (RFC 4752): tokens of Kerberos go back and forth, until the server has proved its name too.
fn prove_by_ticket(conn: &mut Connection, exchange: Exchange, first: &[u8]) -> SvnResult<()> {
    let wrong = |error: KerberosError| {
        not_authorized(format!("Authentication with the server failed: {error}"))
    };
    choose(conn, gssapi::MECHANISM, Some(&base64::encode(first)));
    let mut exchange = exchange;
    loop {
        let (status, said) = step(conn)?;
        let said = match &*status {
            "step" => said.and_then(|said| base64::decode(said.as_bytes())),
            "failure" => {
                let why = reason(said);
                return Err(not_authorized(format!("Authentication error from server: {why}")));
            }
            _ => None,
        };
        match exchange.answer(&said.ok_or_else(unexpected)?).map_err(wrong)? {
            (Some(next), Turn::Say(answer)) => {
                conn.out().text(&base64::encode(&answer));
                exchange = next;
            }
            (_, Turn::Done(done)) => {
                conn.out().text(&base64::encode(&done.last));
                if let Some(why) = last_word(conn)? {
                    return Err(not_authorized(format!("Authentication error from server: {why}")));
                }
                return done.layer.map_or(Ok(()), |layer| conn.protect(layer));
            }
            (None, Turn::Say(_)) => return Err(SvnError::internal("an exchange without end")),
        }
    }
}

/// Tries one credential after the other.
fn prove(
    conn: &mut Connection,
    login: &Login<'_>,
    realm: &str,
    mechanism: Mechanism,
) -> SvnResult<()> {
    let of_server = format!("{} {realm}", login.realm_prefix);
    let mut attempts = login.auth.attempts(&of_server, login.host)?;
    let mut refused = None;
    while let Some(simple) = attempts.next_credentials()? {
        let outcome = match mechanism {
            Mechanism::CramMd5 => {
                choose(conn, "CRAM-MD5", None);
                try_cram_md5(conn, &simple.username, &simple.password)?
            }
            Mechanism::DigestMd5 => try_digest_md5(conn, &simple, login.host, realm)?,
            Mechanism::Login => try_login(conn, &simple)?,
            Mechanism::Plain => {
                let token = format!("\0{}\0{}", simple.username, simple.password);
                choose(conn, "PLAIN", Some(&base64::encode(token.as_bytes())));
                last_word(conn)?
            }
            Mechanism::ScramSha1 => try_scram(conn, &simple, Hash::Sha1)?,
            Mechanism::ScramSha256 => try_scram(conn, &simple, Hash::Sha256)?,
            Mechanism::ScramSha512 => try_scram(conn, &simple, Hash::Sha512)?,
        };
        match outcome {
            None => return attempts.save(),
            Some(why) => refused = Some(why),
        }
    }
    Err(match refused {
        None => not_authorized("Can't get username or password"),
        Some(why) => not_authorized(format!("Authentication error from server: {why}")),
    })
}

/// What a server says of a failure; nothing, if it says nothing.
fn reason(said: Option<String>) -> String {
    said.unwrap_or_default()
}

/// The end of an exchange: `None` when the server is content, else why it is not.
fn last_word(conn: &mut Connection) -> SvnResult<Option<String>> {
    match step(conn)? {
        (status, None) if status == "success" => Ok(None),
        (status, why) if status == "failure" => Ok(Some(reason(why))),
        _ => Err(unexpected()),
    }
}

/// LOGIN: the server asks for the name, then for the password.
fn try_login(conn: &mut Connection, simple: &Simple) -> SvnResult<Option<String>> {
    choose(conn, "LOGIN", None);
    for answer in [&simple.username, &simple.password] {
        match step(conn)? {
            (status, Some(_)) if status == "step" => {}
            (status, why) if status == "failure" => return Ok(Some(reason(why))),
            _ => return Err(unexpected()),
        }
        conn.out().text(&base64::encode(answer.as_bytes()));
    }
    last_word(conn)
}

/// SCRAM: the server proves that it knows the password too, or is not believed.
fn try_scram(conn: &mut Connection, simple: &Simple, hash: Hash) -> SvnResult<Option<String>> {
    let password = simple.password.as_bytes();
    let mut client = ScramClient::new(hash, &simple.username, password, &random()?);
    choose(conn, hash.mechanism(), Some(&base64::encode(client.first().as_bytes())));
    loop {
        let (status, said) = step(conn)?;
        if status == "failure" {
            return Ok(Some(reason(said)));
        }
        let said = said.and_then(|said| base64::decode(said.as_bytes())).ok_or_else(unexpected)?;
        let wrong = |error: sapwood_wire_svn::scram::ScramError| {
            not_authorized(format!("Authentication with the server failed: {error}"))
        };
        match &*status {
            "step" if !client.has_answered() => {
                let answer = client.answer(&said).map_err(wrong)?;
                conn.out().text(&base64::encode(answer.as_bytes()));
            }
            "success" => return client.verify(&said).map(|()| None).map_err(wrong),
            // The proof may come before the end.
            "step" => {
                client.verify(&said).map_err(wrong)?;
                conn.out().text("");
                return last_word(conn);
            }
            _ => return Err(unexpected()),
        }
    }
}

/// DIGEST-MD5: the server proves that it knows the password too, or is not believed. What the two sides agree on protects
/// the connection from then on.
fn try_digest_md5(
    conn: &mut Connection,
    simple: &Simple,
    host: &str,
    realm: &str,
) -> SvnResult<Option<String>> {
    choose(conn, digest_md5::MECHANISM, None);
    let (status, said) = step(conn)?;
    if status == "failure" {
        return Ok(Some(reason(said)));
    }
    let decoded = |said: Option<String>| {
        said.and_then(|said| base64::decode(said.as_bytes())).ok_or_else(unexpected)
    };
    let challenge = decoded(said.filter(|_| status == "step"))?;
    let wrong = |error: DigestError| {
        not_authorized(format!("Authentication with the server failed: {error}"))
    };
    let login = DigestLogin {
        user: &simple.username,
        password: &simple.password,
        host,
        realm,
        strengths: &STRENGTHS,
    };
    let client = DigestClient::new(&challenge, &login, &random()?).map_err(wrong)?;
    conn.out().text(&base64::encode(client.answer().as_bytes()));
    let (status, said) = step(conn)?;
    match &*status {
        "failure" => return Ok(Some(reason(said))),
        "success" => client.verify(&decoded(said)?).map_err(wrong)?,
        // The proof may come before the end.
        "step" => {
            client.verify(&decoded(said)?).map_err(wrong)?;
            conn.out().text("");
            if let Some(why) = last_word(conn)? {
                return Ok(Some(why));
            }
        }
        _ => return Err(unexpected()),
    }
    client.into_layer().map_or(Ok(()), |layer| conn.protect(layer))?;
    Ok(None)
}

fn random<const LEN: usize>() -> SvnResult<[u8; LEN]> {
    let mut random = [0; LEN];
    getrandom::fill(&mut random).map_err(|_| not_authorized("No random numbers"))?;
    Ok(random)
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
