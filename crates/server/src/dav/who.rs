//! Who makes a request: what the headers say, and whether it is true.

use std::sync::Arc;
use std::time::Instant;

use hyper::header::AUTHORIZATION;
use sapwood_core::config::Config;
use sapwood_core::{SvnResult, base64};
use sha2::{Digest as _, Sha256};

use super::exchange::Head;
use super::session::{DavResult, Fail};
use crate::common::config::{AccessConfig, Login};
use crate::common::htpasswd::Htpasswd;
use crate::common::shared::Shared;

/// The password files of a place.
#[derive(Clone, Debug, Default)]
pub(super) struct Users {
    plain: Option<Arc<Config>>,
    htpasswd: Option<Arc<Htpasswd>>,
}

impl Users {
    /// Those that the configuration names. `plain` is the one of svn://.
    ///
    /// # Errors
    /// E215004 when httpd's cannot be read.
    pub(super) fn of(
        shared: &Shared,
        access: &AccessConfig,
        plain: Option<Arc<Config>>,
    ) -> SvnResult<Self> {
        let htpasswd = access.htpasswd.as_deref().map(|path| shared.files.htpasswd(path));
        Ok(Self { plain, htpasswd: htpasswd.transpose()? })
    }

    fn are_some(&self) -> bool {
        self.plain.is_some() || self.htpasswd.is_some()
    }

    fn know(&self, shared: &Shared, user: &str, password: &str) -> bool {
        let plain = self.plain.as_ref().and_then(|p| p.get_bytes("users", user));
        plain.is_some_and(|known| same(&known, password.as_bytes()))
            || self.htpasswd.as_ref().is_some_and(|h| h.verify(user, password, &shared.proved))
    }
}

/// Whether there is a way to prove one's name.
pub(super) fn can_authenticate(access: &AccessConfig, users: &Users) -> bool {
    access.login != Login::Never && users.are_some()
}

/// The user that made a request; `None` is anybody.
///
/// # Errors
/// [`Fail::AskWho`] for wrong names and passwords, where they count.
pub(super) fn user(
    shared: &Shared,
    head: &Head,
    access: &AccessConfig,
    users: &Users,
) -> DavResult<Option<String>> {
    if access.login == Login::Never {
        return Ok(None);
    }
    if let (Some(header), true) = (&access.user_header, head.is_proxied) {
        let told = head.header(header).map(str::trim).filter(|user| !user.is_empty());
        if let Some(user) = told {
            return Ok(Some(user.to_owned()));
        }
    }
    let Some((user, password)) = credentials(head) else { return Ok(None) };
    let (address, first) = (Some(head.client), access.password_delay);
    let wait = shared.logins.before(address, first, Instant::now());
    if !wait.is_zero() {
        std::thread::sleep(wait);
    }
    if users.know(shared, &user, &password) {
        shared.logins.succeeded(&user);
        return Ok(Some(user));
    }
    let penalty = shared.logins.failed(address, Some(&user), first, Instant::now());
    std::thread::sleep(penalty.wait);
    if access.login == Login::Lenient { Ok(None) } else { Err(Fail::AskWho) }
}

/// The name and password of Basic authentication.
fn credentials(head: &Head) -> Option<(String, String)> {
    let value = head.headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, rest) = value.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let decoded = String::from_utf8(base64::decode(rest.trim().as_bytes())?).ok()?;
    let (user, password) = decoded.split_once(':')?;
    Some((user.to_owned(), password.to_owned()))
}

/// Compares in a time that does not tell where two passwords differ.
fn same(a: &[u8], b: &[u8]) -> bool {
    let (a, b) = (Sha256::digest(a), Sha256::digest(b));
    a.iter().zip(b.iter()).fold(0u8, |difference, (x, y)| difference | (x ^ y)) == 0
}
