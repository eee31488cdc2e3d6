//! Authentication with `use-sasl = true`: the protocol of Cyrus SASL, as its clients expect it.
//!
//! Mechanisms: EXTERNAL, ANONYMOUS, SCRAM (SHA-512, SHA-256, SHA-1), GSSAPI, DIGEST-MD5, CRAM-MD5, LOGIN and PLAIN. Data
//! is sent as base64, except for CRAM-MD5. DIGEST-MD5 is weak, so it is offered only where `mech_list` names it; so is GSSAPI (Kerberos, in programs built with it), which needs a key. Passwords are those of `password-db`; with
//! `pwcheck_method: saslauthd` in Cyrus SASL's own `svn.conf`, `saslauthd` is asked (LDAP, PAM). Users of the server's
//! accounts and directories log in by LOGIN and PLAIN, also without `use-sasl`.
//!
//! Invariants: a mechanism is offered only when it can succeed, and can protect the connection as `min-encryption` and
//! `max-encryption` say. Only DIGEST-MD5 and GSSAPI can protect it at all.

mod digest_md5;
mod gssapi;
mod options;
mod saslauthd;

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Instant;

use sapwood_core::config::Config;
use sapwood_core::{ErrorCode, SvnError, SvnResult, base64};
use sapwood_wire_svn::Encode as _;
use sapwood_wire_svn::digest_md5::Protection;
use sapwood_wire_svn::scram::{Hash, ScramError, ScramServer, is_same};
use sapwood_wire_svn::security_layer::Layer;

use self::options::SaslOptions;
use crate::common::config::Blanket;
use crate::common::fair::Caller;
use crate::common::principal::Principal;
use crate::common::users::{Users, Verdict};
use crate::svn::connection::{Connection, Wait};
use crate::svn::mechanisms::{
    CramMd5, attempt_failed, begin_attempt, cram_md5, password_failed, password_proved, refuse,
};
use crate::svn::session::Session;

/// The name of this service in SASL.
const SERVICE: &str = "svn";

const FAILED: &str = "SASL(-13): authentication failure: Password verification failed";
const UNAVAILABLE: &str =
    "SASL(-1): generic failure: The directory of users does not answer; try again later";
const BAD_PROTOCOL: &str = "SASL(-5): bad protocol / cancel: malformed message";
const NO_RANDOM: &str = "SASL(-1): generic failure: no random numbers";
const NO_MECHANISM: &str = "SASL(-4): no mechanism available: Couldn't find mech";

/// A way to authenticate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mechanism {
    External,
    Gssapi,
    Anonymous,
    Scram(Hash),
    DigestMd5,
    CramMd5,
    Login,
    Plain,
}

/// All mechanisms, the better ones first.
const MECHANISMS: [(&str, Mechanism); 10] = [
    ("EXTERNAL", Mechanism::External),
    ("GSSAPI", Mechanism::Gssapi),
    ("SCRAM-SHA-512", Mechanism::Scram(Hash::Sha512)),
    ("SCRAM-SHA-256", Mechanism::Scram(Hash::Sha256)),
    ("SCRAM-SHA-1", Mechanism::Scram(Hash::Sha1)),
    ("DIGEST-MD5", Mechanism::DigestMd5),
    ("CRAM-MD5", Mechanism::CramMd5),
    ("LOGIN", Mechanism::Login),
    ("PLAIN", Mechanism::Plain),
    ("ANONYMOUS", Mechanism::Anonymous),
];

/// The ways in which a user can authenticate to this server.
struct Verifier {
    options: SaslOptions,
    /// User names and passwords, unless only another service is used.
    passwords: Option<Arc<Config>>,
    realm: String,
    tunnel_user: Option<String>,
    /// The users of accounts and a directory, if they may log in here.
    users: Option<Users>,
    anonymous: bool,
    /// Whether users may authenticate at all.
    authenticated: bool,
    /// How strong the protection of the connection may be.
    strengths: RangeInclusive<u32>,
}

/// The end of a login.
#[derive(Default)]
struct Success {
    /// The user; `None` for an anonymous one.
    user: Option<String>,
    /// The server's last message.
    last: Option<Vec<u8>>,
    /// What protects the connection from now on.
    layer: Option<Layer>,
}

/// The result of an attempt.
enum Outcome {
    /// The user is authenticated, or anonymous.
    Success(Success),
    /// A name and a password that are to be checked by accounts and directories.
    Claimed { user: String, password: String },
    /// The reason of a failure. The client may try again.
    Refused(String),
    /// The password of this user (`None`: the client sent no valid name) is wrong.
    NotProven(Option<String>),
    /// The client sent something unexpected, and starts again.
    Anew,
}

impl From<&str> for Outcome {
    fn from(why: &str) -> Self {
        Self::Refused(why.to_owned())
    }
}

/// Asks the client to authenticate by SASL.
///
/// # Errors
/// E170001 when there is no mechanism that can lead to the required access; errors of the
/// connection.
pub(crate) fn request_auth(
    session: &mut Session<'_>,
    required: Blanket,
    needs_username: bool,
) -> SvnResult<()> {
    let verifier = Verifier::new(session, required, needs_username)?;
    let offered: Vec<(&str, Mechanism)> =
        MECHANISMS.into_iter().filter(|(name, m)| verifier.offers(name, *m)).collect();
    if offered.is_empty() {
        let message = "Could not obtain the list of SASL mechanisms";
        let error = SvnError::new(ErrorCode::RA_NOT_AUTHORIZED, message);
        session.log_error(&error);
        return Err(error);
    }
    let out = session.conn.out();
    out.raw(b"( success ( ( ");
    for (name, _) in &offered {
        out.word(name);
    }
    out.close();
    out.text(&verifier.realm);
    out.raw(b") ) ");
    loop {
        let (name, token) = session.conn.receive_with(Wait::Login, |mut answer| {
            let name = answer.word()?.to_owned();
            Ok((name, answer.bracketed_bytes()?.map(<[u8]>::to_vec)))
        })?;
        let outcome = match offered.iter().find(|(offered, _)| *offered == name) {
            Some((_, Mechanism::Gssapi)) => verifier.gssapi(session, token.as_deref())?,
            Some((_, mechanism)) => {
                verifier.exchange(&mut session.conn, *mechanism, token.as_deref())?
            }
            None => Outcome::Refused(format!("{NO_MECHANISM} {name}")),
        };
        match outcome {
            Outcome::Success(success) => return succeed(session, &name, success),
            Outcome::Claimed { user, password } => {
                if let Some(principal) = verifier.verify(session, &name, user, password)? {
                    session.access.set_user(Some(principal));
                    session.conn.out().raw(b"( success ( ) ) ");
                    return Ok(());
                }
            }
            Outcome::Refused(why) => refuse(&mut session.conn, &why),
            Outcome::NotProven(user) => {
                password_failed(session, &name, user.as_deref())?;
                refuse(&mut session.conn, FAILED);
            }
            Outcome::Anew => {}
        }
    }
}

/// Lets a user in: after waiting for their turn, if they gave a proof.
fn succeed(session: &mut Session<'_>, mechanism: &str, success: Success) -> SvnResult<()> {
    let Success { user, last, layer } = success;
    if let Some(user) = user {
        if mechanism != "EXTERNAL" {
            password_proved(session, &user)?;
        }
        session.access.set_user(Some(Principal::named(user)));
    }
    let out = session.conn.out();
    out.raw(b"( success ( ");
    if let Some(last) = last {
        out.text(&base64::encode(&last));
    }
    out.raw(b") ) ");
    layer.map_or(Ok(()), |layer| session.conn.protect(layer))
}

impl Verifier {
    fn new(session: &Session<'_>, required: Blanket, needs_username: bool) -> SvnResult<Self> {
        let config = session.access.config();
        let options = match config.sasl {
            Some(_) => SaslOptions::read(&session.shared.settings.sasl_config),
            None => SaslOptions::default(),
        };
        let users = config.has_plain_users();
        let users = users.then(|| Users::of(&session.shared.files, config, None)).transpose()?;
        Ok(Self {
            users,
            passwords: session.passwords.clone().filter(|_| options.auxprop),
            options,
            realm: session.realm.clone(),
            tunnel_user: session.tunnel_user().map(str::to_owned),
            anonymous: !needs_username && config.anon_access >= required,
            authenticated: config.auth_access >= required,
            strengths: config.sasl.map_or(0..=0, |strength| strength.min..=strength.max),
        })
    }

    /// The user, if accounts or a directory know this password. Otherwise the client has been answered.
    fn verify(
        &self,
        session: &mut Session<'_>,
        mechanism: &str,
        user: String,
        password: String,
    ) -> SvnResult<Option<Principal>> {
        let Some(users) = &self.users else { return Err(SvnError::internal("no users")) };
        let attempt = begin_attempt(session, &user)?;
        let shared = session.shared;
        let verdict = match users.have_proved(&shared.proved, &user, &password) {
            Some(principal) => Verdict::Right(principal),
            None => {
                let caller = Caller::new(session.conn.remote_address(), Some(&user));
                let (check, users, user) = (shared.password_check(), users.clone(), user.clone());
                let task = async move { check.check(&users, caller, &user, &password).await };
                let cancel = session.cancel.clone();
                session.conn.wait_for(&shared.tasks, &cancel, task)?
            }
        };
        match verdict {
            Verdict::Right(principal) => {
                attempt.succeeded(Instant::now());
                return Ok(Some(principal));
            }
            Verdict::Wrong => {
                attempt_failed(session, attempt, mechanism, Some(&user))?;
                refuse(&mut session.conn, FAILED);
            }
            // They say nothing about the password.
            Verdict::TooMany | Verdict::Unavailable => refuse(&mut session.conn, UNAVAILABLE),
        }
        Ok(None)
    }

    fn offers(&self, name: &str, mechanism: Mechanism) -> bool {
        let is_strong_enough = match mechanism {
            Mechanism::DigestMd5 => Protection::within(&self.strengths).next().is_some(),
            Mechanism::Gssapi => {
                sapwood_kerberos::sasl::Protection::within(&self.strengths).next().is_some()
            }
            _ => self.strengths.contains(&0),
        };
        self.options.allows(name)
            && is_strong_enough
            && match mechanism {
                Mechanism::Anonymous => self.anonymous,
                Mechanism::External => self.authenticated && self.tunnel_user.is_some(),
                // It needs a key, which not every server has: so it has to be named.
                Mechanism::Gssapi => {
                    sapwood_kerberos::IS_BUILT_IN && self.authenticated && self.options.names(name)
                }
                // These need the password itself.
                Mechanism::Scram(_) | Mechanism::CramMd5 => {
                    // A client takes the strongest mechanism for all users, and accounts and directories do not
                    // know the passwords of theirs.
                    self.authenticated && self.passwords.is_some() && self.users.is_none()
                }
                Mechanism::DigestMd5 => {
                    self.options.names(name)
                        && self.authenticated
                        && self.passwords.is_some()
                        && self.users.is_none()
                }
                Mechanism::Login | Mechanism::Plain => {
                    self.authenticated
                        && (self.passwords.is_some()
                            || self.options.saslauthd.is_some()
                            || self.users.is_some())
                }
            }
    }

    fn exchange(
        &self,
        conn: &mut Connection,
        mechanism: Mechanism,
        token: Option<&[u8]>,
    ) -> SvnResult<Outcome> {
        let token = match token.map(base64::decode) {
            None => None,
            Some(Some(token)) => Some(token),
            Some(None) => return Ok(BAD_PROTOCOL.into()),
        };
        match mechanism {
            // That one needs more than the connection.
            Mechanism::Gssapi => Err(SvnError::internal("GSSAPI is done elsewhere")),
            Mechanism::Anonymous => Ok(Outcome::Success(Success::default())),
            Mechanism::External => Ok(self.external(token.as_deref())),
            Mechanism::DigestMd5 => self.digest_md5(conn),
            Mechanism::CramMd5 => {
                let password = |user: &str| self.password(user);
                Ok(match cram_md5(conn, &password)? {
                    CramMd5::Proven(user) => self.proven(&user, None),
                    CramMd5::Wrong(user, _) => Outcome::NotProven(Some(user)),
                    CramMd5::Malformed(_) => FAILED.into(),
                    CramMd5::Anew => Outcome::Anew,
                })
            }
            Mechanism::Scram(hash) => self.scram(conn, hash, token),
            Mechanism::Login => {
                let Some(user) = token_or_step(conn, token, b"Username:")? else {
                    return Ok(Outcome::Anew);
                };
                let Some(password) = step(conn, b"Password:")? else { return Ok(Outcome::Anew) };
                Ok(self.plain(b"", &user, &password))
            }
            Mechanism::Plain => {
                let Some(token) = token_or_step(conn, token, b"")? else {
                    return Ok(Outcome::Anew);
                };
                let mut parts = token.split(|b| *b == 0);
                let parts = (parts.next(), parts.next(), parts.next(), parts.next());
                let (Some(act_as), Some(user), Some(password), None) = parts else {
                    return Ok(BAD_PROTOCOL.into());
                };
                Ok(self.plain(act_as, user, password))
            }
        }
    }

    fn scram(
        &self,
        conn: &mut Connection,
        hash: Hash,
        token: Option<Vec<u8>>,
    ) -> SvnResult<Outcome> {
        let Some(first) = token_or_step(conn, token, b"")? else {
            return Ok(Outcome::Anew);
        };
        let (Some(nonce), Some(salt)) = (random(), random()) else {
            return Ok(NO_RANDOM.into());
        };
        let password = |user: &str| self.password(user);
        let mut scram = match ScramServer::new(hash, &first, &password, &nonce, &salt) {
            Ok(scram) => scram,
            Err(why) => return Ok(why.into()),
        };
        let reply = scram.server_first().to_owned();
        let Some(last) = step(conn, reply.as_bytes())? else { return Ok(Outcome::Anew) };
        Ok(match scram.finish(&last) {
            Ok((user, verifier)) => self.proven(&user, Some(verifier.into_bytes())),
            Err(ScramError::NotProven) => Outcome::NotProven(Some(scram.user().to_owned())),
            Err(why) => why.into(),
        })
    }

    fn external(&self, token: Option<&[u8]>) -> Outcome {
        match (&self.tunnel_user, token) {
            (Some(user), None | Some(b"")) => self.proven(user, None),
            (Some(user), Some(wanted)) if wanted == user.as_bytes() => self.proven(user, None),
            _ => FAILED.into(),
        }
    }

    /// A password in the clear.
    fn plain(&self, act_as: &[u8], user: &[u8], password: &[u8]) -> Outcome {
        let Ok(user) = std::str::from_utf8(user) else { return BAD_PROTOCOL.into() };
        if !act_as.is_empty() && act_as != user.as_bytes() {
            return "SASL(-14): authorization failure: not authorized".into();
        }
        let Some(name) = self.local_name(user) else {
            // A directory may know users by such names, as Active Directory does.
            return self.claim(user, password).unwrap_or(Outcome::NotProven(None));
        };
        let known = self.password(user).is_some_and(|right| is_same(&right, password));
        let asked = || {
            let path = self.options.saslauthd.as_deref();
            path.is_some_and(|path| saslauthd::accepts(path, name, password, SERVICE, &self.realm))
        };
        if known || asked() {
            self.proven(user, None)
        } else {
            self.claim(name, password).unwrap_or_else(|| Outcome::NotProven(Some(name.to_owned())))
        }
    }

    /// What accounts and directories are to check, where there are any.
    fn claim(&self, user: &str, password: &[u8]) -> Option<Outcome> {
        self.users.as_ref()?;
        let password = str::from_utf8(password).ok()?.to_owned();
        Some(Outcome::Claimed { user: user.to_owned(), password })
    }

    fn proven(&self, user: &str, last: Option<Vec<u8>>) -> Outcome {
        match self.local_name(user) {
            Some(user) => {
                let user = Some(user.to_owned());
                Outcome::Success(Success { user, last, layer: None })
            }
            None => BAD_PROTOCOL.into(),
        }
    }

    /// The name without a realm; only our own realm may be given.
    fn local_name<'u>(&self, user: &'u str) -> Option<&'u str> {
        let name = match user.split_once('@') {
            Some((name, realm)) if realm == self.realm => name,
            Some(_) => return None,
            None => user,
        };
        (!name.is_empty()).then_some(name)
    }

    fn password(&self, user: &str) -> Option<Vec<u8>> {
        let passwords = self.passwords.as_ref()?;
        passwords.get_bytes("users", self.local_name(user)?).map(std::borrow::Cow::into_owned)
    }
}

impl From<ScramError> for Outcome {
    fn from(why: ScramError) -> Self {
        match why {
            ScramError::Malformed => BAD_PROTOCOL.into(),
            ScramError::NotProven => FAILED.into(),
        }
    }
}

fn random<const LEN: usize>() -> Option<[u8; LEN]> {
    let mut bytes = [0; LEN];
    getrandom::fill(&mut bytes).ok()?;
    Some(bytes)
}

/// Sends a challenge and receives the answer; `None` when the client sends something else.
fn step(conn: &mut Connection, challenge: &[u8]) -> SvnResult<Option<Vec<u8>>> {
    let out = conn.out();
    out.raw(b"( step ( ");
    out.text(&base64::encode(challenge));
    out.raw(b") ) ");
    Ok(conn.receive_string(Wait::Login)?.and_then(|answer| base64::decode(&answer)))
}

/// The client's initial response, or its answer to an empty challenge.
fn token_or_step(
    conn: &mut Connection,
    token: Option<Vec<u8>>,
    challenge: &[u8],
) -> SvnResult<Option<Vec<u8>>> {
    match token {
        Some(token) => Ok(Some(token)),
        None => step(conn, challenge),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verifier() -> Verifier {
        let text = b"[users]\nada = secret\n";
        let config = Config::parse_file("passwd", text, sapwood_core::config::Case::SENSITIVE);
        Verifier {
            options: SaslOptions::default(),
            passwords: Some(Arc::new(config.unwrap())),
            realm: "A place".into(),
            tunnel_user: None,
            users: None,
            anonymous: false,
            authenticated: true,
            strengths: 0..=256,
        }
    }

    fn user(outcome: &Outcome) -> Option<&str> {
        match outcome {
            Outcome::Success(success) => success.user.as_deref(),
            _ => None,
        }
    }

    #[test]
    fn passwords_in_the_clear() {
        let verifier = verifier();
        for (act_as, name, password, want) in [
            ("", "ada", "secret", Some("ada")),
            ("ada", "ada", "secret", Some("ada")),
            ("", "ada@A place", "secret", Some("ada")),
            ("", "ada@elsewhere", "secret", None),
            ("bob", "ada", "secret", None),
            ("", "ada", "secre", None),
            ("", "ada", "secret2", None),
            ("", "ada", "", None),
            ("", "bob", "", None),
            ("", "", "", None),
            ("", "@A place", "secret", None),
        ] {
            let outcome = verifier.plain(act_as.as_bytes(), name.as_bytes(), password.as_bytes());
            assert_eq!(user(&outcome), want, "{act_as} {name} {password}");
        }
    }

    #[test]
    fn what_is_offered() {
        let mut verifier = verifier();
        let offered = |verifier: &Verifier| -> Vec<&str> {
            let on = MECHANISMS.into_iter().filter(|(name, m)| verifier.offers(name, *m));
            on.map(|(name, _)| name).collect()
        };
        let with_passwords =
            ["SCRAM-SHA-512", "SCRAM-SHA-256", "SCRAM-SHA-1", "CRAM-MD5", "LOGIN", "PLAIN"];
        assert_eq!(offered(&verifier), with_passwords);
        // What is weak has to be named, and what cannot protect the connection is not offered where it has to be.
        for (list, strengths, wanted) in [
            ("", 1..=256, ""),
            ("mech_list: digest-md5 scram-sha-256\n", 0..=256, "SCRAM-SHA-256 DIGEST-MD5"),
            ("mech_list: digest-md5 scram-sha-256\n", 1..=256, "DIGEST-MD5"),
            ("mech_list: digest-md5\n", 113..=127, ""),
            ("mech_list: digest-md5\n", 0..=0, "DIGEST-MD5"),
        ] {
            verifier.options = SaslOptions::parse(list);
            verifier.strengths = strengths;
            assert_eq!(offered(&verifier).join(" "), wanted, "{list} {:?}", verifier.strengths);
        }
        verifier.options = SaslOptions::default();
        verifier.strengths = 0..=256;
        verifier.passwords = None;
        assert_eq!(offered(&verifier), [""; 0]);
        verifier.options = SaslOptions::parse("pwcheck_method: saslauthd\n");
        assert_eq!(offered(&verifier), ["LOGIN", "PLAIN"]);
        verifier.options = SaslOptions::parse("pwcheck_method: saslauthd\nmech_list: plain\n");
        assert_eq!(offered(&verifier), ["PLAIN"]);
        verifier.passwords = Some(Arc::new(Config::default()));
        verifier.options = SaslOptions::default();
        verifier.users = Some(Users::default());
        assert_eq!(offered(&verifier), ["LOGIN", "PLAIN"]);
        (verifier.users, verifier.passwords) = (None, None);
        verifier.options = SaslOptions::parse("mech_list: plain\n");
        verifier.authenticated = false;
        verifier.tunnel_user = Some("ada".into());
        assert_eq!(offered(&verifier), [""; 0]);
        verifier.options = SaslOptions::default();
        (verifier.authenticated, verifier.anonymous) = (true, true);
        assert_eq!(offered(&verifier), ["EXTERNAL", "ANONYMOUS"]);
        assert_eq!(user(&verifier.external(None)), Some("ada"));
        assert_eq!(user(&verifier.external(Some(b"ada"))), Some("ada"));
        assert_eq!(user(&verifier.external(Some(b"bob"))), None);
    }
}
