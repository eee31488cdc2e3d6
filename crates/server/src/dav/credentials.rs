//! Who a request says its user is, and with what proof; and the files and the directory that know.

use std::sync::Arc;
use std::time::Duration;

use hyper::header::{AUTHORIZATION, HeaderMap};
use sapwood_accounts::is_token;
use sapwood_core::config::Config;
use sapwood_core::{SvnError, SvnResult, base64};
use sapwood_ldap::{Directory, Login};
use sha2::{Digest as _, Sha256};

use crate::common::accounts::OpenAccounts;
use crate::common::config::AccessConfig;
use crate::common::htdigest::Htdigest;
use crate::common::htpasswd::Htpasswd;
use crate::common::operation_log::Subject;
use crate::common::principal::Principal;
use crate::common::state::ServerState;

/// The result of checking a name and password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// This user is authenticated.
    Right(Principal),
    /// The password is wrong, or there is no such user.
    Wrong,
    /// Too many attempts are in progress.
    TooMany,
    /// The directory that knows does not answer.
    Unavailable,
}

/// What is to be checked.
#[derive(Debug)]
pub struct Claim {
    pub(super) user: String,
    pub(super) evidence: Evidence,
    /// The first delay at the location; zero for none.
    pub(super) delay: Duration,
}

/// How the name is verified.
#[derive(Debug)]
pub enum Evidence {
    /// By Digest authentication, which was checked already.
    Digest(bool),
    /// By a password, in these files or this directory.
    Password(String, Users),
}

impl Evidence {
    pub(super) const fn mechanism(&self) -> &'static str {
        match self {
            Self::Digest(_) => "Digest",
            Self::Password(..) => "Basic",
        }
    }
}

/// The password files and the directory of a location.
#[derive(Clone, Debug, Default)]
pub struct Users {
    plain: Option<Arc<Config>>,
    htpasswd: Option<Arc<Htpasswd>>,
    pub(super) htdigest: Option<Arc<Htdigest>>,
    accounts: Option<Arc<OpenAccounts>>,
    directory: Option<Directory>,
}

impl Users {
    /// Those that the configuration names. `plain` is that of svn://.
    ///
    /// # Errors
    /// E215004 when httpd's cannot be read.
    pub(super) fn of(
        server: &ServerState,
        access: &AccessConfig,
        plain: Option<Arc<Config>>,
    ) -> SvnResult<Self> {
        let htpasswd = access.htpasswd.as_deref().map(|path| server.files.htpasswd(path));
        let htdigest = access.htdigest.as_deref().map(|path| server.files.htdigest(path));
        let accounts = access.accounts.as_deref().map(|path| server.files.accounts(path));
        Ok(Self {
            plain,
            htpasswd: htpasswd.transpose()?,
            htdigest: htdigest.transpose()?,
            accounts: accounts.transpose()?,
            directory: access.directory.clone(),
        })
    }

    pub(super) fn are_some(&self) -> bool {
        self.plain.is_some()
            || self.htpasswd.is_some()
            || self.htdigest.is_some()
            || self.accounts.is_some()
            || self.directory.is_some()
    }

    /// Whether there are files that know passwords.
    pub(super) const fn have_files(&self) -> bool {
        self.plain.is_some() || self.htpasswd.is_some() || self.accounts.is_some()
    }

    /// The user, if a file knows this password or token. May take long, and takes as long for an unknown user.
    pub(super) fn in_files(
        &self,
        server: &ServerState,
        user: &str,
        password: &str,
    ) -> Option<Principal> {
        let proved = &server.proved;
        self.first(
            (user, password),
            |htpasswd| htpasswd.verify(user, password, proved),
            |accounts| accounts.know(proved, user, password),
        )
    }

    /// The verdict of the directory on a user whom the files found, or did not find. Holds no thread while it waits.
    pub(super) async fn in_directory(
        &self,
        server: &ServerState,
        found: Option<Principal>,
        (user, password): (&str, &str),
    ) -> Verdict {
        let Some(directory) = &self.directory else {
            return found.map_or(Verdict::Wrong, Verdict::Right);
        };
        let answer = match &found {
            Some(principal) if self.is_of_directory(principal) => directory.find(user).await,
            Some(principal) => return Verdict::Right(principal.clone()),
            // A token is ours; no directory needs to see it.
            None if is_token(password) => return Verdict::Wrong,
            None => directory.log_in(user, password).await,
        };
        match answer {
            Login::Accepted(member) => Verdict::Right(match found {
                Some(principal) => principal.known_to(&member),
                None => Principal::of_directory(&member),
            }),
            Login::Refused => Verdict::Wrong,
            Login::Unavailable { error, is_news } => {
                if let Some(log) = server.log.as_ref().filter(|_| is_news) {
                    let name = directory.name();
                    let error = SvnError::from(error).context(format!("Directory '{name}':"));
                    log.error(Subject::default(), &error, false);
                }
                Verdict::Unavailable
            }
        }
    }

    /// Whether the directory has to know a user whom the accounts found: one who used a token and has no password of
    /// the accounts' own. A user who has left the directory then has no use of the tokens.
    fn is_of_directory(&self, principal: &Principal) -> bool {
        let has_password = |open: &OpenAccounts| open.has_password(principal.name());
        principal.has_token() && !self.accounts.as_deref().is_some_and(has_password)
    }

    /// The user, if this password is in the cache of verified ones, or this token has been used a short time ago.
    pub(super) fn have_proved(
        &self,
        server: &ServerState,
        user: &str,
        password: &str,
    ) -> Option<Principal> {
        let proved = &server.proved;
        let found = self.first(
            (user, password),
            |htpasswd| htpasswd.has_proved(user, password, proved),
            |accounts| accounts.has_proved(proved, user, password),
        );
        let Some(directory) = &self.directory else { return found };
        match found {
            Some(principal) if self.is_of_directory(&principal) => {
                directory.has_found(user).map(|member| principal.known_to(&member))
            }
            Some(principal) => Some(principal),
            None => {
                directory.has_proved(user, password).map(|member| Principal::of_directory(&member))
            }
        }
    }

    /// The user of the first file that knows the password.
    fn first(
        &self,
        (user, password): (&str, &str),
        in_htpasswd: impl FnOnce(&Htpasswd) -> bool,
        in_accounts: impl FnOnce(&OpenAccounts) -> Option<Principal>,
    ) -> Option<Principal> {
        if self.is_plain(user, password) || self.htpasswd.as_deref().is_some_and(in_htpasswd) {
            return Some(Principal::named(user.to_owned()));
        }
        self.accounts.as_deref().and_then(in_accounts)
    }

    fn is_plain(&self, user: &str, password: &str) -> bool {
        let plain = self.plain.as_ref().and_then(|p| p.get_bytes("users", user));
        plain.is_some_and(|known| same(&known, password.as_bytes()))
    }
}

/// The name and password of Basic authentication.
pub(super) fn credentials(headers: &HeaderMap) -> Option<(String, String)> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, rest) = value.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let decoded = String::from_utf8(base64::decode(rest.trim().as_bytes())?).ok()?;
    let (user, password) = decoded.split_once(':')?;
    Some((user.to_owned(), password.to_owned()))
}

/// Compares in a time that does not depend on where two passwords differ.
fn same(a: &[u8], b: &[u8]) -> bool {
    let (a, b) = (Sha256::digest(a), Sha256::digest(b));
    a.iter().zip(b.iter()).fold(0u8, |difference, (x, y)| difference | (x ^ y)) == 0
}
