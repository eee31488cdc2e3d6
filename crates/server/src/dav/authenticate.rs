//! Authenticates the user of a request by its headers.

use std::sync::Arc;
use std::time::Instant;

use sapwood_core::SvnResult;
use sapwood_core::config::Config;
use sha2::{Digest as _, Sha256};

use super::digest::Proof;
use super::head::Head;
use super::login::{Claim, Evidence, Verdict};
use super::session::{DavResult, Fail};
use super::state::HttpState;
use crate::common::config::{AccessConfig, Login};
use crate::common::htdigest::Htdigest;
use crate::common::htpasswd::Htpasswd;

/// The password files of a location.
#[derive(Clone, Debug, Default)]
pub struct Users {
    plain: Option<Arc<Config>>,
    htpasswd: Option<Arc<Htpasswd>>,
    htdigest: Option<Arc<Htdigest>>,
}

impl Users {
    /// Those that the configuration names. `plain` is that of svn://.
    ///
    /// # Errors
    /// E215004 when httpd's cannot be read.
    pub(super) fn of(
        shared: &HttpState,
        access: &AccessConfig,
        plain: Option<Arc<Config>>,
    ) -> SvnResult<Self> {
        let htpasswd = access.htpasswd.as_deref().map(|path| shared.server.files.htpasswd(path));
        let htdigest = access.htdigest.as_deref().map(|path| shared.server.files.htdigest(path));
        Ok(Self { plain, htpasswd: htpasswd.transpose()?, htdigest: htdigest.transpose()? })
    }

    fn are_some(&self) -> bool {
        self.plain.is_some() || self.htpasswd.is_some() || self.htdigest.is_some()
    }

    /// Whether this is the user's password. May take long, and takes as long for an unknown user.
    pub(super) fn know(&self, shared: &HttpState, user: &str, password: &str) -> bool {
        self.is_plain(user, password)
            || self
                .htpasswd
                .as_ref()
                .is_some_and(|h| h.verify(user, password, &shared.server.proved))
    }

    /// Whether this password of the user is in the cache of verified ones.
    fn have_proved(&self, shared: &HttpState, user: &str, password: &str) -> bool {
        self.is_plain(user, password)
            || self
                .htpasswd
                .as_ref()
                .is_some_and(|h| h.has_proved(user, password, &shared.server.proved))
    }

    fn is_plain(&self, user: &str, password: &str) -> bool {
        let plain = self.plain.as_ref().and_then(|p| p.get_bytes("users", user));
        plain.is_some_and(|known| same(&known, password.as_bytes()))
    }
}

/// Whether users can authenticate here.
pub(super) fn can_authenticate(access: &AccessConfig, users: &Users) -> bool {
    access.login != Login::Never && users.are_some()
}

/// The user that made a request; `None` is an anonymous one.
///
/// # Errors
/// [`Fail::AskWho`] for wrong names and passwords, where they count; [`Fail::Prove`] while they have not
/// been verified.
pub(super) fn user(
    shared: &HttpState,
    head: &Head,
    access: &AccessConfig,
    users: &Users,
) -> DavResult<Option<String>> {
    let shown = head.certificate.as_deref();
    if access.requires_certificate && shown.is_none() {
        return Err(Fail::Forbidden);
    }
    if access.login == Login::Never {
        return Ok(None);
    }
    if let (Some(header), true) = (&access.user_header, head.is_proxied) {
        let told = head.header(header).map(str::trim).filter(|user| !user.is_empty());
        if let Some(user) = told {
            return Ok(Some(user.to_owned()));
        }
    }
    let realm = access.realm.as_deref().unwrap_or("");
    if let (Some(which), Some(certificate)) = (access.certificate_name, shown) {
        match certificate.name(which) {
            Some(name) => return Ok(Some(name.to_owned())),
            // The certificate has to name the user, and does not.
            None if access.requires_certificate => return Err(Fail::Forbidden),
            None => {}
        }
    }
    match &head.verdict {
        Some(Verdict::Right(user)) => return Ok(Some(user.clone())),
        Some(Verdict::Wrong) if access.login == Login::Lenient => return Ok(None),
        Some(Verdict::Wrong) => return Err(Fail::AskWho),
        Some(Verdict::TooMany) => return Err(Fail::status(429, TOO_MANY)),
        None => {}
    }
    let digest = users.htdigest.as_deref().and_then(|file| shared.nonces.proof(head, file, realm));
    let (user, evidence) = match (digest, head.basic.clone()) {
        (Some(Proof::Old), _) => return Err(Fail::AskWho),
        (Some(Proof::Is(user)), _) => (user, Evidence::Digest(true)),
        (Some(Proof::Not(user)), _) => (user, Evidence::Digest(false)),
        // Where there are no password files, a password that a client sends without being asked is
        // ignored.
        (None, Some((user, word))) if users.are_some() => {
            (user, Evidence::Password(word, users.clone()))
        }
        (None, _) => return Ok(None),
    };
    let delay = access.password_delay;
    let is_right = match &evidence {
        Evidence::Digest(is_right) => *is_right,
        Evidence::Password(word, users) => users.have_proved(shared, &user, word),
    };
    if is_right
        && shared.server.logins.prove_at_once(Some(head.client), &user, delay, Instant::now())
    {
        return Ok(Some(user));
    }
    Err(Fail::Prove(Box::new(Claim { user, evidence, delay })))
}

/// The reply to a client that tries too many passwords at a time.
const TOO_MANY: &str = "Too many wrong passwords from this address; try again later";

/// The challenges of a location.
#[derive(Clone, Debug, Default)]
pub(super) struct Asks {
    realm: String,
    basic: bool,
    digest: bool,
}

impl Asks {
    /// As the location's configuration says; `realm` if that has none.
    pub(super) fn of(access: Option<&AccessConfig>, realm: &str) -> Self {
        let own = access.and_then(|access| access.realm.as_deref());
        // Characters that would end the quoted string are left out.
        let realm = own.unwrap_or(realm).chars().filter(|c| !matches!(c, '"' | '\\')).collect();
        let digest = access.is_some_and(|access| access.htdigest.is_some());
        let has_basic = |a: &AccessConfig| a.htpasswd.is_some() || a.password_db.is_some();
        Self { realm, basic: !digest || access.is_some_and(has_basic), digest }
    }

    /// The challenges, the strongest first.
    pub(super) fn challenges(&self, shared: &HttpState, head: &Head) -> Vec<String> {
        let digest = self.digest.then(|| shared.nonces.challenge(&self.realm, head));
        let basic = format!("Basic realm=\"{}\"", self.realm);
        digest.into_iter().chain(self.basic.then_some(basic)).collect()
    }
}

/// Compares in a time that does not depend on where two passwords differ.
fn same(a: &[u8], b: &[u8]) -> bool {
    let (a, b) = (Sha256::digest(a), Sha256::digest(b));
    a.iter().zip(b.iter()).fold(0u8, |difference, (x, y)| difference | (x ^ y)) == 0
}
