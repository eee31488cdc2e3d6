//! Credentials of the user: from the command line, from the user's `auth` folder,
//! and, at a terminal, from questions.
//!
//! The order is the reference's: what worked before in this process, then given or stored
//! credentials (once), then questions (three times). What worked is stored, as far as the
//! configuration allows.

mod certificate;
mod client_certificate;
mod gpg_agent;
#[cfg(feature = "secret-service")]
mod secret_service;
pub mod store;
pub mod trust;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use sapwood_core::config::Config;
use sapwood_core::exact::Exact;
use sapwood_core::{SvnResult, glob};

pub use certificate::Description;
pub use client_certificate::{ClientIdentity, KeyFile, Passphrase};
pub use gpg_agent::GpgAgent;
#[cfg(feature = "secret-service")]
pub use secret_service::SecretService;
pub use store::{CredentialKind, file_of, read, write};
pub use trust::{Certificate, Decision, Failures};

/// A user name with a password.
#[derive(Clone, PartialEq, Eq)]
pub struct Simple {
    /// The name.
    pub username: String,
    /// The password.
    pub password: String,
    /// Whether they may be stored on disk.
    pub may_save: bool,
}

impl std::fmt::Debug for Simple {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Simple").field("username", &self.username).finish_non_exhaustive()
    }
}

/// Questions to the user at the terminal.
pub trait Prompter: Send + Sync {
    /// Asks for a user name (when `username` is `None`) and a password. `may_save` says whether the
    /// answer may be stored.
    ///
    /// # Errors
    /// When there is no person to ask, or the person gives up.
    fn simple(&self, realm: &str, username: Option<&str>, may_save: bool) -> SvnResult<Simple>;

    /// Asks whether a password may be stored unencrypted in `file`.
    ///
    /// # Errors
    /// As above.
    fn store_plaintext(&self, realm: &str, file: &Path) -> SvnResult<bool>;

    /// Asks whether to trust a server's certificate although something is wrong with it. `may_save` says
    /// whether the answer may be stored.
    ///
    /// # Errors
    /// As above.
    fn server_trust(
        &self,
        realm: &str,
        failures: Failures,
        certificate: &Certificate,
        may_save: bool,
    ) -> SvnResult<Decision>;

    /// Asks for the name of the file with the client certificate for a server.
    ///
    /// # Errors
    /// As above.
    fn client_certificate(&self, realm: &str) -> SvnResult<String>;

    /// Asks for the passphrase of a certificate's file.
    ///
    /// # Errors
    /// As above.
    fn passphrase(&self, certificate: &str) -> SvnResult<String>;

    /// Asks whether the passphrase of a certificate's file may be stored unencrypted in `file`.
    ///
    /// # Errors
    /// As above.
    fn store_plaintext_passphrase(&self, certificate: &str, file: &Path) -> SvnResult<bool>;
}

/// A store of passwords, such as a keyring. The `auth` folder then only says that
/// it has one.
pub trait PasswordStore: std::fmt::Debug + Send + Sync {
    /// Its name in the `auth` folder.
    fn passtype(&self) -> &'static str;

    /// The password of a user, if it is there. The store may ask the user itself whether to return it, if the user
    /// `can_be_asked`.
    fn password(&self, realm: &str, user: &str, can_be_asked: bool) -> Option<String>;

    /// Stores a password; returns whether it was stored.
    fn keep(&self, realm: &str, user: &str, password: &str, can_be_asked: bool) -> bool;
}

/// The settings from outside.
#[derive(Clone, Debug, Default)]
pub struct AuthOptions {
    /// `--username`.
    pub username: Option<String>,
    /// `--password`.
    pub password: Option<String>,
    /// The folder with the `auth` folder in which credentials are stored.
    pub config_dir: Option<PathBuf>,
    /// Store nothing.
    pub no_auth_cache: bool,
    /// Whether the configuration allows storing passwords at all.
    pub store_passwords: bool,
    /// The user cannot be asked.
    pub non_interactive: bool,
    /// The system's name of the user.
    pub system_user: Option<String>,
    /// The faults of servers' certificates that are accepted.
    pub trust: Failures,
    /// gpg-agent, if passwords may be stored there.
    pub gpg_agent: Option<GpgAgent>,
    /// Another store of passwords, if they may be stored there.
    pub password_store: Option<Arc<dyn PasswordStore>>,
    /// Whether new passwords go to gpg-agent rather than to that store.
    pub agent_first: bool,
    /// Whether the user is asked for the file of a client certificate.
    pub asks_for_certificate: bool,
}

/// Finds, tries and stores credentials.
pub struct Authenticator {
    options: AuthOptions,
    servers: Arc<Config>,
    prompter: Option<Box<dyn Prompter>>,
    /// What worked in this process, by realm.
    worked: Mutex<HashMap<String, Simple>>,
    /// The answers about storing passwords and passphrases unencrypted, by realm and file.
    answers: Mutex<HashMap<String, bool>>,
    /// Certificates that were trusted in this process, by realm.
    trusted: Mutex<HashMap<String, Vec<u8>>>,
    /// The files of client certificates that were used in this process, by realm.
    certificates: Mutex<HashMap<String, String>>,
    /// The passphrases that worked in this process, by file.
    passphrases: Mutex<HashMap<String, String>>,
}

impl std::fmt::Debug for Authenticator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Authenticator").finish_non_exhaustive()
    }
}

/// How often the user is asked again after the first time.
const RETRIES: u32 = 2;
/// The type of a password that is stored unencrypted.
const PLAINTEXT: &str = "simple";
/// The type of a password that gpg-agent has.
const GPG_AGENT: &str = "gpg-agent";
/// How often gpg-agent is asked for one password.
const AGENT_TRIES: u32 = 4;

impl Authenticator {
    /// An authenticator. Without `prompter`, the user is never asked.
    #[must_use]
    pub fn new(
        options: AuthOptions,
        servers: Arc<Config>,
        prompter: Option<Box<dyn Prompter>>,
    ) -> Self {
        let prompter = prompter.filter(|_| !options.non_interactive);
        Self {
            options,
            servers,
            prompter,
            worked: Mutex::new(HashMap::new()),
            answers: Mutex::new(HashMap::new()),
            trusted: Mutex::new(HashMap::new()),
            certificates: Mutex::new(HashMap::new()),
            passphrases: Mutex::new(HashMap::new()),
        }
    }

    /// Credentials to try one after the other for `realm` on `host`.
    ///
    /// # Errors
    /// As [`Authenticator::policy`].
    pub fn attempts<'a>(&'a self, realm: &'a str, host: &str) -> SvnResult<Attempts<'a>> {
        let policy = self.policy(host)?;
        Ok(Attempts { auth: self, realm, policy, stage: Stage::Memory, tried: None })
    }

    /// What the configuration says about storing the credentials of a host.
    ///
    /// # Errors
    /// E125009 for words that mean neither yes nor no.
    pub fn policy(&self, host: &str) -> SvnResult<Policy> {
        let mut policy = Policy {
            group: server_group(&self.servers, host),
            keep: !self.options.no_auth_cache,
            passwords: self.options.store_passwords,
            plaintext: None,
        };
        let group = policy.group.clone();
        for section in [Some("global"), group.as_deref()].into_iter().flatten() {
            let servers = &self.servers;
            policy.passwords = servers.get_bool(section, "store-passwords", policy.passwords)?;
            policy.plaintext = servers.get_tristate(
                section,
                "store-plaintext-passwords",
                "ask",
                policy.plaintext,
            )?;
            policy.keep = servers.get_bool(section, "store-auth-creds", policy.keep)?;
        }
        policy.keep &= !self.options.no_auth_cache;
        Ok(policy)
    }

    /// The user name for operations without a password.
    #[must_use]
    pub fn username(&self, realm: &str) -> Option<String> {
        let dir = self.options.config_dir.as_deref();
        if let Some(name) = &self.options.username {
            let mut kept = sapwood_core::PropList::new();
            kept.set(store::USERNAME, name);
            if let Some(dir) = dir {
                // As with passwords: a failure to store it is no error.
                let _ = store::write(dir, CredentialKind::Username, realm, &mut kept);
            }
            return Some(name.clone());
        }
        let kept = dir.and_then(|dir| store::read(dir, CredentialKind::Username, realm));
        kept.and_then(|kept| kept.get_str(store::USERNAME).map(str::to_owned))
            .or_else(|| self.options.system_user.clone())
    }
}

/// What the configuration says about the credentials of one host.
#[derive(Clone, Debug)]
pub struct Policy {
    /// The group of servers that the host belongs to.
    group: Option<String>,
    /// Whether anything is stored.
    keep: bool,
    /// Whether passwords are stored.
    passwords: bool,
    /// Whether passwords are stored unencrypted; `None` to ask the user.
    plaintext: Option<bool>,
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    Memory,
    Kept,
    /// How many times gpg-agent was asked.
    Agent(u32),
    /// How many questions the user was asked.
    Asked(u32),
    Exhausted,
}

/// Credentials for one realm, one after the other.
#[derive(Debug)]
pub struct Attempts<'a> {
    auth: &'a Authenticator,
    realm: &'a str,
    policy: Policy,
    stage: Stage,
    tried: Option<Simple>,
}

impl Attempts<'_> {
    /// The next to try, `None` when there are no more.
    ///
    /// # Errors
    /// Errors of the prompt.
    pub(crate) fn next_credentials(&mut self) -> SvnResult<Option<Simple>> {
        loop {
            let found = match self.stage {
                Stage::Memory => {
                    self.stage = Stage::Kept;
                    self.auth.worked.lock().get(self.realm).cloned()
                }
                Stage::Kept => {
                    self.stage = Stage::Agent(0);
                    self.given_or_stored()
                }
                Stage::Agent(times) => {
                    self.stage = Stage::Agent(times.plus(1));
                    let found = self.agents_password(times);
                    if found.is_none() {
                        self.stage = Stage::Asked(0);
                    }
                    found
                }
                Stage::Asked(times) => match &self.auth.prompter {
                    Some(prompter) if times <= RETRIES => {
                        self.stage = Stage::Asked(times.plus(1));
                        Some(self.ask(prompter.as_ref(), times == 0)?)
                    }
                    _ => {
                        self.stage = Stage::Exhausted;
                        None
                    }
                },
                Stage::Exhausted => return Ok(None),
            };
            if found.is_some() {
                self.tried.clone_from(&found);
                return Ok(found);
            }
        }
    }

    fn setting(&self, option: &str) -> Option<String> {
        server_setting(&self.auth.servers, self.policy.group.as_deref(), option)
    }

    fn given_or_stored(&self) -> Option<Simple> {
        let options = &self.auth.options;
        let kept = options
            .config_dir
            .as_deref()
            .and_then(|dir| store::read(dir, CredentialKind::Simple, self.realm));
        let (mut username, mut password) = (options.username.clone(), options.password.clone());
        let mut may_save = kept.is_none();
        if let Some(kept) = &kept {
            let kept_name = kept.get_str(store::USERNAME);
            let passtype = kept.get_str(store::PASSTYPE);
            let elsewhere =
                options.password_store.as_ref().filter(|store| passtype == Some(store.passtype()));
            let readable = passtype == Some(PLAINTEXT) || elsewhere.is_some();
            let kept_password = |name: &str| match elsewhere {
                _ if kept_name != Some(name) => None,
                Some(store) => store.password(self.realm, name, !options.non_interactive),
                None => kept.get_str(store::PASSWORD).filter(|_| readable).map(str::to_owned),
            };
            if let Some(name) = &username {
                may_save |= kept_name != Some(name);
                if let Some(given) = &password {
                    may_save |= readable && kept_password(name).as_ref() != Some(given);
                }
            }
            if username.is_none() {
                username = kept_name.map(str::to_owned);
            }
            if let (Some(name), None) = (&username, &password) {
                password = kept_password(name);
            }
        }
        let username = username
            .or_else(|| self.setting("username"))
            .or_else(|| password.as_ref().and(options.system_user.clone()));
        Some(Simple { username: username?, password: password?, may_save })
    }

    /// The password that gpg-agent has, if the `auth` folder says so. After a wrong one it is asked
    /// again, if the user can be asked.
    fn agents_password(&self, times: u32) -> Option<Simple> {
        let options = &self.auth.options;
        let agent = options.gpg_agent.as_ref()?;
        let kept = store::read(options.config_dir.as_deref()?, CredentialKind::Simple, self.realm)?;
        let kept_name = kept.get_str(store::USERNAME)?;
        let wanted = options.username.as_deref().unwrap_or(kept_name);
        let here = kept.get_str(store::PASSTYPE) == Some(GPG_AGENT) && wanted == kept_name;
        let asks = !options.non_interactive;
        if !here || options.password.is_some() || (times > 0 && (!asks || times >= AGENT_TRIES)) {
            return None;
        }
        if times > 0 {
            agent.forget(self.realm);
        }
        let password = agent.password(self.realm, kept_name, times > 0, asks)?;
        Some(Simple { username: kept_name.to_owned(), password, may_save: false })
    }

    fn ask(&self, prompter: &dyn Prompter, first: bool) -> SvnResult<Simple> {
        let options = &self.auth.options;
        let may_save = self.policy.keep;
        let mut default = None;
        if first {
            let kept = || {
                let dir = options.config_dir.as_deref()?;
                let kept = store::read(dir, CredentialKind::Simple, self.realm)?;
                kept.get_str(store::USERNAME).map(str::to_owned)
            };
            default = options
                .username
                .clone()
                .or_else(kept)
                .or_else(|| self.setting("username"))
                .or_else(|| options.system_user.clone());
        }
        prompter.simple(self.realm, default.as_deref(), may_save)
    }

    /// The credentials that were tried last have worked: stores them.
    ///
    /// # Errors
    /// Errors of the prompt. A file that cannot be written is no error.
    pub fn save(&self) -> SvnResult<()> {
        let Some(simple) = &self.tried else { return Ok(()) };
        self.auth.worked.lock().insert(self.realm.to_owned(), simple.clone());
        let options = &self.auth.options;
        let Some(dir) = &options.config_dir else { return Ok(()) };
        if !self.policy.keep || !simple.may_save {
            return Ok(());
        }
        let mut kept = sapwood_core::PropList::new();
        kept.set(store::USERNAME, &simple.username);
        let agent = options.gpg_agent.as_ref().filter(|_| self.policy.passwords);
        let agent = || agent.is_some_and(GpgAgent::is_there);
        let is_agents = options.agent_first && agent();
        let store = options.password_store.as_ref();
        let store = store.filter(|_| self.policy.passwords && !is_agents).filter(|store| {
            let can_be_asked = !options.non_interactive;
            store.keep(self.realm, &simple.username, &simple.password, can_be_asked)
        });
        if let Some(store) = store {
            kept.set(store::PASSTYPE, store.passtype());
        } else if is_agents || agent() {
            // The agent stores the password when it asks for it itself, the next time.
            kept.set(store::PASSTYPE, GPG_AGENT);
        } else if self.policy.passwords && self.plaintext(dir)? {
            kept.set(store::PASSWORD, &simple.password);
            kept.set(store::PASSTYPE, PLAINTEXT);
        }
        // If the folder cannot be written, the user is asked again next time.
        let _ = store::write(dir, CredentialKind::Simple, self.realm, &mut kept);
        Ok(())
    }

    /// Whether the password may be stored unencrypted.
    fn plaintext(&self, dir: &Path) -> SvnResult<bool> {
        if let Some(answer) = self.policy.plaintext {
            return Ok(answer);
        }
        let Some(prompter) = &self.auth.prompter else { return Ok(false) };
        if let Some(answer) = self.auth.answers.lock().get(self.realm) {
            return Ok(*answer);
        }
        let answer = prompter.store_plaintext(self.realm, &dir.join("servers"))?;
        self.auth.answers.lock().insert(self.realm.to_owned(), answer);
        Ok(answer)
    }
}

/// The group of the `servers` file that a host belongs to.
pub(crate) fn server_group(servers: &Config, host: &str) -> Option<String> {
    let belongs = |patterns: &str| {
        patterns
            .split(',')
            .map(str::trim)
            .any(|p| !p.is_empty() && glob::matches(p.as_bytes(), host.as_bytes()))
    };
    servers
        .options("groups")
        .find(|(_, patterns)| std::str::from_utf8(patterns).is_ok_and(belongs))
        .map(|(name, _)| name.to_owned())
}

/// An option of a host's group, else of `[global]`.
pub(crate) fn server_setting(
    servers: &Config,
    group: Option<&str>,
    option: &str,
) -> Option<String> {
    group
        .and_then(|group| servers.get(group, option))
        .or_else(|| servers.get("global", option))
        .map(std::borrow::Cow::into_owned)
}

#[cfg(test)]
mod tests;
