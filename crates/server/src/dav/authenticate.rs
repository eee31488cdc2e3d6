//! Authenticates the user of a request by its headers.

use std::time::Instant;

use hyper::header::AUTHORIZATION;

use super::credentials::{self, Claim, Evidence};
use super::digest::Proof;
use super::fail::{DavResult, Fail};
use super::head::Head;
use super::own_form;
use super::state::HttpState;
use super::workers;
use crate::common::config::{AccessConfig, Blanket, Login};
use crate::common::principal::{Principal, granted};
use crate::common::users::{Users, Verdict};

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
) -> DavResult<Option<Principal>> {
    let shown = head.certificate.as_deref();
    if access.requires_certificate && shown.is_none() {
        return Err(Fail::Forbidden);
    }
    if access.login == Login::Never {
        return Ok(None);
    }
    if let Some(user) = named_by_proxy(head, access) {
        return Ok(Some(Principal::named(user.to_owned())));
    }
    let realm = access.realm.as_deref().unwrap_or("");
    if let (Some(which), Some(certificate)) = (access.certificate_name, shown) {
        match certificate.name(which) {
            Some(name) => return Ok(Some(Principal::named(name.to_owned()))),
            // The certificate has to name the user, and does not.
            None if access.requires_certificate => return Err(Fail::Forbidden),
            None => {}
        }
    }
    if let Some(verdict) = &head.verdict {
        return checked(verdict, access);
    }
    let delay = access.password_delay;
    if access.negotiate
        && let Some(token) = credentials::ticket(&head.headers)
    {
        // Who it is stands in the ticket.
        let (user, evidence) = (String::new(), Evidence::Ticket(token, users.clone()));
        return Err(Fail::Prove(Box::new(Claim { user, evidence, delay })));
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
        (None, _) => return Ok(signed_in(shared, head, access)),
    };
    let known = match &evidence {
        Evidence::Digest(is_right) => is_right.then(|| Principal::named(user.clone())),
        Evidence::Password(word, users) => users.have_proved(&shared.server.proved, &user, word),
        Evidence::Ticket(..) => None,
    };
    if known.is_some()
        && shared.server.logins.prove_at_once(Some(head.client), &user, delay, Instant::now())
    {
        return Ok(known);
    }
    Err(Fail::Prove(Box::new(Claim { user, evidence, delay })))
}

/// The user that a proxy names, of a request that came by one.
fn named_by_proxy<'h>(head: &'h Head, access: &AccessConfig) -> Option<&'h str> {
    let header = access.user_header.as_ref().filter(|_| head.is_proxied)?;
    head.header(header).map(str::trim).filter(|user| !user.is_empty())
}

/// The user of a browser that has signed in. Only for what looks, and for a form of our own; never for a client of Subversion.
fn signed_in(shared: &HttpState, head: &Head, access: &AccessConfig) -> Option<Principal> {
    if !access.sign_in || head.is_svn_client() {
        return None;
    }
    let is_form = |url: &str| own_form::is_of_locks(head) && own_form::is_ours(head, url);
    // Who sends other credentials wants to be known by them.
    let is_bare = !head.headers.contains_key(AUTHORIZATION);
    let sign_in = shared.sign_in.as_ref().filter(|_| is_bare)?;
    if !head.looks() && !is_form(sign_in.url()) {
        return None;
    }
    sign_in.session(&shared.server.files, &head.headers).map(|(_, user)| user)
}

/// The user of a request whose credentials were checked.
fn checked(verdict: &Verdict, access: &AccessConfig) -> DavResult<Option<Principal>> {
    match verdict {
        Verdict::Right(user) => Ok(Some(user.clone())),
        Verdict::Wrong if access.login == Login::Lenient => Ok(None),
        Verdict::Wrong => Err(Fail::AskWho),
        Verdict::TooMany => Err(Fail::status(429, TOO_MANY)),
        // Not 401: a client would forget the password that it keeps.
        Verdict::Unavailable => Err(Fail::status(503, UNAVAILABLE)),
    }
}

/// The user who looks at a folder that is no repository.
///
/// # Errors
/// [`Fail::AskWho`] for wrong names and passwords, and where a user has to say one; [`Fail::Forbidden`] where no user
/// may do such a thing.
pub(super) fn visitor(
    shared: &HttpState,
    head: &Head,
    access: &AccessConfig,
) -> DavResult<Option<Principal>> {
    let plain = match &access.password_db {
        Some(path) => shared.server.files.passwords(path)?,
        None => None,
    };
    let users = Users::of(&shared.server.files, access, plain)?;
    let user = user(shared, head, access, &users)?;
    let required = if workers::reads(&head.method) { Blanket::Read } else { Blanket::Write };
    if !may_come_in(access, user.as_ref(), required) {
        let is_nameless = user.is_none() && can_authenticate(access, &users);
        let may_ask = is_nameless && access.auth_access >= required;
        return Err(if may_ask { Fail::AskWho } else { Fail::Forbidden });
    }
    Ok(user)
}

/// Whether a user, or an anonymous visitor, may do this anywhere at a location.
pub(super) fn may_come_in(
    access: &AccessConfig,
    user: Option<&Principal>,
    required: Blanket,
) -> bool {
    granted(access, user) >= required && (user.is_some() || access.login != Login::Required)
}

/// The reply to a client that tries too many passwords at a time.
const TOO_MANY: &str = "Too many wrong passwords from this address; try again later";

/// The reply to a client whose password no server of the directory checks.
const UNAVAILABLE: &str = "The directory of users does not answer; try again later";

/// The challenges of a location.
#[derive(Clone, Debug, Default)]
pub(super) struct Asks {
    realm: String,
    basic: bool,
    digest: bool,
    negotiate: bool,
    sign_in: bool,
}

impl Asks {
    /// As the location's configuration says; `realm` if that has none.
    pub(super) fn of(access: Option<&AccessConfig>, realm: &str) -> Self {
        let own = access.and_then(|access| access.realm.as_deref());
        // Characters that would end the quoted string are left out.
        let realm = own.unwrap_or(realm).chars().filter(|c| !matches!(c, '"' | '\\')).collect();
        let digest = access.is_some_and(|access| access.htdigest.is_some());
        let has_basic = |a: &AccessConfig| {
            a.htpasswd.is_some()
                || a.password_db.is_some()
                || a.accounts.is_some()
                || a.directory.is_some()
        };
        let negotiate = access.is_some_and(|access| access.negotiate);
        let basic = (!digest && !negotiate) || access.is_some_and(has_basic);
        let sign_in = access.is_some_and(|access| access.sign_in);
        Self { realm, basic, digest, negotiate, sign_in }
    }

    /// Whether a browser is sent to the provider of OpenID Connect, instead of asking for a password.
    pub(super) fn lead_to_sign_in(&self, head: &Head) -> bool {
        self.sign_in && !head.headers.contains_key(AUTHORIZATION)
    }

    /// The challenges, the strongest first.
    pub(super) fn challenges(&self, shared: &HttpState, head: &Head) -> Vec<String> {
        let digest = self.digest.then(|| shared.nonces.challenge(&self.realm, head));
        let basic = format!("Basic realm=\"{}\"", self.realm);
        let negotiate = self.negotiate.then(|| "Negotiate".to_owned());
        negotiate.into_iter().chain(digest).chain(self.basic.then_some(basic)).collect()
    }
}
