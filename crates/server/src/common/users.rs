//! The users of a location, whichever protocol they come by: the files and the directory that know their passwords, and how a
//! password is checked.
//!
//! Invariants: a password that waits for its turn, or for a directory, holds no thread; no more hashes are computed at a time
//! than there are processors; after a fault of ours no user is let in.

use std::sync::Arc;

use sapwood_accounts::is_token;
use sapwood_core::config::Config;
use sapwood_core::{SvnError, SvnResult};
use sapwood_ldap::{Directory, Login};
use sha2::{Digest as _, Sha256};

use crate::common::accounts::OpenAccounts;
use crate::common::config::AccessConfig;
use crate::common::fair::{Caller, FairPermits};
use crate::common::files::ConfigFiles;
use crate::common::htdigest::Htdigest;
use crate::common::htpasswd::{Htpasswd, VerifiedPasswords};
use crate::common::operation_log::{OpLog, Subject};
use crate::common::principal::Principal;

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

/// The password files and the directory of a location.
#[derive(Clone, Debug, Default)]
pub struct Users {
    plain: Option<Arc<Config>>,
    htpasswd: Option<Arc<Htpasswd>>,
    pub(crate) htdigest: Option<Arc<Htdigest>>,
    accounts: Option<Arc<OpenAccounts>>,
    directory: Option<Directory>,
    /// Whether tickets of Kerberos count.
    negotiate: bool,
    /// Whether browsers sign in by OpenID Connect.
    sign_in: bool,
}

impl Users {
    /// Those that the configuration names. `plain` is that of svn://.
    ///
    /// # Errors
    /// E215004 when httpd's cannot be read.
    pub(crate) fn of(
        files: &ConfigFiles,
        access: &AccessConfig,
        plain: Option<Arc<Config>>,
    ) -> SvnResult<Self> {
        let htpasswd = access.htpasswd.as_deref().map(|path| files.htpasswd(path));
        let htdigest = access.htdigest.as_deref().map(|path| files.htdigest(path));
        let accounts = access.accounts.as_deref().map(|path| files.accounts(path));
        Ok(Self {
            plain,
            htpasswd: htpasswd.transpose()?,
            htdigest: htdigest.transpose()?,
            accounts: accounts.transpose()?,
            directory: access.directory.clone(),
            negotiate: access.negotiate,
            sign_in: access.sign_in,
        })
    }

    pub(crate) fn are_some(&self) -> bool {
        self.plain.is_some()
            || self.htpasswd.is_some()
            || self.htdigest.is_some()
            || self.accounts.is_some()
            || self.directory.is_some()
            || self.negotiate
            || self.sign_in
    }

    /// Whether there are files that know passwords.
    const fn have_files(&self) -> bool {
        self.plain.is_some() || self.htpasswd.is_some() || self.accounts.is_some()
    }

    /// The user, if a file knows this password or token. May take long, and takes as long for an unknown user.
    fn in_files(
        &self,
        proved: &VerifiedPasswords,
        user: &str,
        password: &str,
    ) -> Option<Principal> {
        self.first(
            (user, password),
            |htpasswd| htpasswd.verify(user, password, proved),
            |accounts| accounts.know(proved, user, password),
        )
    }

    /// Whether the directory has to know a user whom the accounts found: one who used a token and is not of the
    /// accounts alone. A user who has left the directory then has no use of the tokens.
    fn is_of_directory(&self, principal: &Principal) -> bool {
        let is_alone = |open: &OpenAccounts| open.is_alone(principal.name());
        principal.has_token() && !self.accounts.as_deref().is_some_and(is_alone)
    }

    /// The user, if this password is in the cache of verified ones, or this token has been used a short time ago.
    pub(crate) fn have_proved(
        &self,
        proved: &VerifiedPasswords,
        user: &str,
        password: &str,
    ) -> Option<Principal> {
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

/// Checks passwords, with what a server has for it.
#[derive(Clone, Debug)]
pub(crate) struct PasswordCheck {
    /// Passwords that were verified a short time ago.
    pub(crate) proved: Arc<VerifiedPasswords>,
    /// Password hashes that are being computed.
    pub(crate) hashes: Arc<FairPermits>,
    /// Where faults of directories are reported.
    pub(crate) log: Option<Arc<OpLog>>,
}

impl PasswordCheck {
    /// Checks a password in the files, whose hashes are computed by one of a few threads, and in the directory.
    pub(crate) async fn check(
        &self,
        users: &Users,
        caller: Caller,
        user: &str,
        password: &str,
    ) -> Verdict {
        let found = self.in_files(users, caller, user, password).await;
        self.in_directory(users, found, (user, password)).await
    }

    /// What the directory knows of a user who has proved the name by other means: the groups, or nothing. While it does not
    /// answer, its groups are not known, and the user is not let in.
    pub(crate) async fn of_name(&self, users: &Users, name: String) -> Verdict {
        let principal = Principal::named(name);
        let Some(directory) = &users.directory else { return Verdict::Right(principal) };
        match directory.find(principal.name()).await {
            Login::Accepted(member) => Verdict::Right(principal.known_to(&member)),
            Login::Refused => Verdict::Right(principal),
            Login::Unavailable { .. } => Verdict::Unavailable,
        }
    }

    async fn in_files(
        &self,
        users: &Users,
        caller: Caller,
        user: &str,
        password: &str,
    ) -> Option<Principal> {
        if !users.have_files() {
            return None;
        }
        let permit = self.hashes.acquire(caller).await;
        let (proved, users) = (Arc::clone(&self.proved), users.clone());
        let (user, password) = (user.to_owned(), password.to_owned());
        let known = tokio::task::spawn_blocking(move || {
            let known = users.in_files(&proved, &user, &password);
            drop(permit);
            known
        });
        // After a fault of ours no user is admitted.
        known.await.unwrap_or(None)
    }

    /// The verdict of the directory on a user whom the files found, or did not find.
    async fn in_directory(
        &self,
        users: &Users,
        found: Option<Principal>,
        (user, password): (&str, &str),
    ) -> Verdict {
        let Some(directory) = &users.directory else {
            return found.map_or(Verdict::Wrong, Verdict::Right);
        };
        let answer = match &found {
            Some(principal) if users.is_of_directory(principal) => directory.find(user).await,
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
                if let Some(log) = self.log.as_ref().filter(|_| is_news) {
                    let name = directory.name();
                    let error = SvnError::from(error).context(format!("Directory '{name}':"));
                    log.error(Subject::default(), &error, false);
                }
                Verdict::Unavailable
            }
        }
    }
}

/// Compares in a time that does not depend on where two passwords differ.
fn same(a: &[u8], b: &[u8]) -> bool {
    let (a, b) = (Sha256::digest(a), Sha256::digest(b));
    a.iter().zip(b.iter()).fold(0u8, |difference, (x, y)| difference | (x ^ y)) == 0
}
