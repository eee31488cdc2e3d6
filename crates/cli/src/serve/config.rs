//! The configuration file of `sapwood serve`, in TOML. `docs/serve.md` describes it, with the
//! directives of httpd that its settings stand for.
//!
//! What is not known is an error, with its line: a setting that is misspelt must not leave a
//! repository open. What is wrong with known settings `check` and `disk` say.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use sapwood_core::{ErrorCode, SvnError, SvnResult};
use sapwood_ldap::Directory;
use sapwood_notify::Target;
use sapwood_peers::Servers;
use sapwood_server::common::config::{AccessConfig, Blanket, CertificateName, Login, UsernameCase};
use sapwood_server::dav::settings::{BulkUpdates, HttpSettings, Location, Redirect};
use sapwood_server::dav::{AccessForm, ClientAuthorities, Master};
use sapwood_server::operation_log;
use sapwood_server::settings::{Network, RootUsers, Settings};
use serde::Deserialize;

use super::acme::AcmeConfig;
use super::directories::{self, Directories, DirectoryConfig};
use super::lines::{Lines, malformed};
use super::notifications::{self, MailConfig, WebhookConfig};
use super::servers::ServersConfig;
use super::sign_in::SignInConfig;
use super::status::StatusConfig;

/// Most seconds that changes of DAV programs wait for the rest of a save.
pub(super) const MOST_WAIT: u64 = 60;
/// Most seconds that the seventh wrong password waits.
pub(super) const MOST_DELAY: u64 = 60;

/// The file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(super) struct File {
    pub(super) path: Option<PathBuf>,
    pub(super) listen: Option<String>,
    pub(super) svn_port: Option<u16>,
    pub(super) http_port: Option<u16>,
    pub(super) https_port: Option<u16>,
    pub(super) redirect_to_https: bool,
    pub(super) tls_certificate: Option<PathBuf>,
    pub(super) tls_key: Option<PathBuf>,
    pub(super) tls_client_ca: Option<PathBuf>,
    pub(super) tls_client_crl: Option<PathBuf>,
    pub(super) require_certificate: bool,
    pub(super) metrics_listen: Option<String>,
    pub(super) log_file: Option<PathBuf>,
    pub(super) access_log: Option<PathBuf>,
    pub(super) access_log_form: Option<LogForm>,
    pub(super) log_format: Option<LogFormat>,
    pub(super) svnserve_conf: Option<PathBuf>,
    pub(super) rules: Option<PathBuf>,
    pub(super) backups: Option<PathBuf>,
    pub(super) read_only: bool,
    pub(super) cache_megabytes: Option<usize>,
    pub(super) compression: Option<u8>,
    pub(super) bulk_updates: Option<Bulk>,
    http_v2: Option<bool>,
    pub(super) gzip: bool,
    pub(super) autoversioning: bool,
    pub(super) autoversioning_wait: Option<u64>,
    pub(super) trusted_proxies: Vec<String>,
    pub(super) security_contact: Vec<String>,
    pub(super) location: Vec<LocationConfig>,
    pub(super) redirect: Vec<RedirectConfig>,
    pub(super) directory: Vec<DirectoryConfig>,
    pub(super) users: Option<UsersConfig>,
    pub(super) acme: Option<AcmeConfig>,
    pub(super) oidc: Option<SignInConfig>,
    pub(super) status: Option<StatusConfig>,
    pub(super) servers: Option<ServersConfig>,
    pub(super) queue_folder: Option<PathBuf>,
    pub(super) search_folder: Option<PathBuf>,
    pub(super) search_skip: Option<Vec<String>>,
    pub(super) webhook: Vec<WebhookConfig>,
    pub(super) mail: Vec<MailConfig>,
    /// Where the settings stand.
    #[serde(skip)]
    pub(super) lines: Lines,
    /// Its own name.
    #[serde(skip)]
    pub(super) name: PathBuf,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub(super) enum LogForm {
    Common,
    #[default]
    Combined,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub(super) enum LogFormat {
    Text,
    Json,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Bulk {
    On,
    Off,
    Prefer,
}

/// Users of the repositories that `svnserve.conf` files configure.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct UsersConfig {
    pub(super) accounts: Option<PathBuf>,
    pub(super) directory: Option<String>,
    #[serde(default)]
    members: Vec<String>,
    #[serde(default)]
    pub(super) plain_over_svn: bool,
    #[serde(default)]
    pub(super) oidc: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct RedirectConfig {
    pub(super) from: String,
    pub(super) to: String,
    #[serde(default)]
    permanent: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct LocationConfig {
    pub(super) url: String,
    pub(super) folder: Option<PathBuf>,
    pub(super) repository: Option<PathBuf>,
    pub(super) list: Option<bool>,
    #[serde(default)]
    pub(super) flat: bool,
    pub(super) name: Option<String>,
    #[serde(default)]
    pub(super) plain_pages: bool,
    pub(super) web: Option<bool>,
    #[serde(default)]
    pub(super) autoversioning: bool,
    #[serde(default)]
    pub(super) trusted: bool,
    pub(super) login: Option<LoginWord>,
    pub(super) users: Option<PathBuf>,
    pub(super) digest_users: Option<PathBuf>,
    pub(super) svnserve_users: Option<PathBuf>,
    pub(super) accounts: Option<PathBuf>,
    pub(super) directory: Option<String>,
    #[serde(default)]
    pub(super) kerberos: bool,
    #[serde(default)]
    pub(super) oidc: bool,
    #[serde(default)]
    pub(super) members: Vec<String>,
    pub(super) user_header: Option<String>,
    #[serde(default)]
    pub(super) require_certificate: bool,
    pub(super) certificate_user: Option<String>,
    pub(super) realm: Option<String>,
    pub(super) anonymous: Option<Rights>,
    pub(super) authenticated: Option<Rights>,
    pub(super) authz: Option<String>,
    pub(super) authz_in_conf: Option<String>,
    pub(super) groups: Option<String>,
    pub(super) username_case: Option<CaseWord>,
    pub(super) path_authz: Option<PathAuthz>,
    pub(super) rules: Option<PathBuf>,
    pub(super) hooks_env: Option<PathBuf>,
    pub(super) password_delay: Option<u64>,
    pub(super) master: Option<String>,
    pub(super) master_version: Option<String>,
    pub(super) master_ca: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub(super) enum LoginWord {
    Never,
    Optional,
    Lenient,
    Required,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Rights {
    None,
    Read,
    Write,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub(super) enum CaseWord {
    Upper,
    Lower,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub(super) enum PathAuthz {
    On,
    Off,
    ShortCircuit,
}

fn wrong(path: &Path, why: impl std::fmt::Display) -> SvnError {
    SvnError::new(ErrorCode::BAD_CONFIG_VALUE, format!("{}: {why}", path.display()))
}

impl File {
    /// Reads a file. Relative paths in it are relative to its folder.
    ///
    /// # Errors
    /// The problem, with its line.
    pub(super) fn read(path: &Path) -> SvnResult<Self> {
        let bytes = crate::input::contents(&path.to_string_lossy())?;
        let text = String::from_utf8(bytes).map_err(|_| wrong(path, "it is not UTF-8"))?;
        let mut file: Self = toml::from_str(&text).map_err(|e| malformed(path, &text, &e))?;
        file.lines = Lines::of_text(&text);
        path.clone_into(&mut file.name);
        let base = std::path::absolute(path)
            .map_err(|e| SvnError::io(&e, format_args!("Can't find '{}'", path.display())))?;
        file.make_absolute(base.parent().unwrap_or(Path::new("/")));
        Ok(file)
    }

    fn make_absolute(&mut self, base: &Path) {
        let own = [
            &mut self.path,
            &mut self.tls_certificate,
            &mut self.tls_key,
            &mut self.tls_client_ca,
            &mut self.tls_client_crl,
            &mut self.log_file,
            &mut self.access_log,
            &mut self.svnserve_conf,
            &mut self.rules,
            &mut self.backups,
            &mut self.queue_folder,
            &mut self.search_folder,
        ];
        let places = self.location.iter_mut().flat_map(|place| {
            let LocationConfig {
                folder,
                repository,
                users,
                digest_users,
                svnserve_users,
                accounts,
                rules,
                master_ca,
                ..
            } = place;
            [folder, repository, users, digest_users, svnserve_users, accounts, rules, master_ca]
        });
        let users = self.users.iter_mut().map(|users| &mut users.accounts);
        for path in own.into_iter().chain(places).chain(users).flatten() {
            *path = base.join(&*path);
        }
        self.acme.iter_mut().for_each(|acme| acme.make_absolute(base));
        self.directory.iter_mut().for_each(|directory| directory.make_absolute(base));
        self.webhook.iter_mut().for_each(|webhook| webhook.make_absolute(base));
        self.mail.iter_mut().for_each(|mail| mail.make_absolute(base));
        self.oidc.iter_mut().for_each(|oidc| oidc.make_absolute(base));
        self.status.iter_mut().for_each(|status| status.make_absolute(base));
        self.servers.iter_mut().for_each(|servers| servers.make_absolute(base));
        for place in &mut self.location {
            for rules in [&mut place.authz, &mut place.groups].into_iter().flatten() {
                if !rules.starts_with("^/") && !sapwood_core::uri::is_url(rules) {
                    *rules = base.join(&*rules).to_string_lossy().into_owned();
                }
            }
        }
    }

    /// The trust anchors for client certificates.
    pub(super) fn clients(&self) -> Option<ClientAuthorities> {
        Some(ClientAuthorities {
            file: self.tls_client_ca.clone()?,
            revoked: self.tls_client_crl.clone(),
            required: self.require_certificate,
        })
    }

    /// Puts what the file says into the settings of http.
    ///
    /// # Errors
    /// E125009 for masters' files, and for a provider of OpenID Connect, that cannot be used.
    pub(super) fn http(
        &self,
        settings: &mut HttpSettings,
        directories: &Directories,
    ) -> SvnResult<()> {
        let tokens = self.oidc.as_ref().and_then(|oidc| oidc.accounts.as_deref());
        for place in &self.location {
            settings.locations.push(place.location(directories, tokens)?);
        }
        settings.token_access = token_access(&settings.locations, tokens);
        let status = self.status.as_ref().map(|status| status.access(directories).map(Arc::new));
        settings.status_access = status.transpose()?;
        settings.sign_in = self.oidc.as_ref().map(SignInConfig::sign_in).transpose()?;
        settings.redirects = self
            .redirect
            .iter()
            .map(|moved| Redirect {
                from: moved.from.clone(),
                to: moved.to.clone(),
                permanent: moved.permanent,
            })
            .collect();
        settings.trusted_proxies =
            self.trusted_proxies.iter().filter_map(|text| Network::parse(text)).collect();
        settings.security_contacts.clone_from(&self.security_contact);
        settings.access_log.clone_from(&self.access_log);
        settings.access_form = match (self.log_format, self.access_log_form) {
            (Some(LogFormat::Json), _) => AccessForm::Json,
            (_, Some(LogForm::Common)) => AccessForm::Common,
            _ => AccessForm::Combined,
        };
        if let Some(bulk) = self.bulk_updates {
            settings.bulk_updates = match bulk {
                Bulk::On => BulkUpdates::On,
                Bulk::Off => BulkUpdates::Off,
                Bulk::Prefer => BulkUpdates::Prefer,
            };
        }
        settings.v2 = self.http_v2.unwrap_or(settings.v2);
        settings.gzip = self.gzip;
        settings.requires_certificate = self.require_certificate;
        settings.autoversioning |= self.autoversioning;
        if let Some(seconds) = self.autoversioning_wait {
            settings.autoversioning_wait = Duration::from_secs(seconds.min(MOST_WAIT));
        }
        Ok(())
    }

    /// How the lines of the operation log are written.
    pub(super) fn operation_form(&self) -> operation_log::LogForm {
        match self.log_format {
            Some(LogFormat::Json) => operation_log::LogForm::Json,
            _ => operation_log::LogForm::Text,
        }
    }

    /// The users of repositories that `svnserve.conf` files configure.
    ///
    /// # Errors
    /// E125009 for the name of a directory that there is not.
    pub(super) fn root_users(&self, directories: &Directories) -> SvnResult<RootUsers> {
        let Some(users) = &self.users else { return Ok(RootUsers::default()) };
        let directory = users.directory.as_deref();
        Ok(RootUsers {
            accounts: users.accounts.clone(),
            directory: directory.map(|name| directories::named(directories, name)).transpose()?,
            members: users.members.clone(),
            plain_over_svn: users.plain_over_svn,
            sign_in: users.oidc,
        })
    }

    /// The folder of the queue and the targets of messages after commits, if there are any.
    ///
    /// # Errors
    /// E125009 for one that cannot be used.
    pub(super) fn targets(&self) -> SvnResult<Option<(PathBuf, Vec<Target>)>> {
        notifications::targets(self.queue_folder.as_deref(), &self.webhook, &self.mail)
    }

    /// Puts what the file says into the other settings.
    ///
    /// # Errors
    /// E125009 for other servers' names, their secret and files of TLS that cannot be used.
    pub(super) fn others(&self, settings: &mut Settings) -> SvnResult<()> {
        settings.read_only = self.read_only;
        settings.rules.clone_from(&self.rules);
        settings.backups.clone_from(&self.backups);
        settings.search_folder.clone_from(&self.search_folder);
        if let Some(names) = &self.search_skip {
            settings.search_skip.clone_from(names);
        }
        settings.compression = self.compression.unwrap_or(settings.compression);
        if let Some(megabytes) = self.cache_megabytes {
            settings.cache_bytes = megabytes.saturating_mul(1 << 20);
        }
        let servers = self.servers.as_ref().map(ServersConfig::servers).transpose()?;
        settings.servers = servers.map(Servers::new).transpose()?.map(Arc::new);
        Ok(())
    }
}

/// How users log in to the page of their tokens: as at the first location with the accounts that are named for that, or
/// with the only accounts that there are.
fn token_access(locations: &[Location], tokens: Option<&Path>) -> Option<Arc<AccessConfig>> {
    let mut all = locations.iter().filter_map(|location| location.access.as_ref());
    let file = |access: &Arc<AccessConfig>| access.accounts.clone();
    let wanted = match tokens {
        Some(file) => file.to_owned(),
        None => {
            let mut files: Vec<PathBuf> = all.clone().filter_map(file).collect();
            files.dedup();
            files.pop().filter(|_| files.is_empty())?
        }
    };
    let access = all.find(|access| access.accounts.as_ref() == Some(&wanted))?;
    let login = if access.login == Login::Never { Login::Never } else { Login::Required };
    // A certificate or a proxy has no part in it: its users have no accounts.
    let page = AccessConfig {
        login,
        user_header: None,
        certificate_name: None,
        members: Vec::new(),
        ..AccessConfig::clone(access)
    };
    Some(Arc::new(page))
}

/// The first two numbers of a release.
pub(super) fn version(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.split('.').map(|number| number.parse::<u32>().ok());
    let found = (numbers.next()??, numbers.next()??);
    numbers.all(|number| number.is_some()).then_some(found)
}

impl LocationConfig {
    /// Whether any access is configured. If not, the repositories' own files decide.
    pub(super) fn has_access(&self) -> bool {
        self.login.is_some()
            || self.users.is_some()
            || self.digest_users.is_some()
            || self.svnserve_users.is_some()
            || self.accounts.is_some()
            || self.directory.is_some()
            || self.kerberos
            || self.oidc
            || !self.members.is_empty()
            || self.user_header.is_some()
            || self.require_certificate
            || self.certificate_user.is_some()
            || self.anonymous.is_some()
            || self.authenticated.is_some()
            || self.has_authz()
    }

    /// Whether there is a way to prove one's name.
    pub(super) const fn can_login(&self) -> bool {
        self.users.is_some()
            || self.digest_users.is_some()
            || self.svnserve_users.is_some()
            || self.accounts.is_some()
            || self.directory.is_some()
            || self.kerberos
            || self.oidc
            || self.user_header.is_some()
            || self.certificate_user.is_some()
    }

    /// Whether only certificates identify users, and need not be shown.
    const fn only_certificates(&self) -> bool {
        let others = self.users.is_some()
            || self.digest_users.is_some()
            || self.svnserve_users.is_some()
            || self.accounts.is_some()
            || self.directory.is_some()
            || self.kerberos
            || self.oidc
            || self.user_header.is_some();
        self.certificate_user.is_some() && !others && !self.require_certificate
    }

    pub(super) const fn has_authz(&self) -> bool {
        self.authz.is_some() || self.authz_in_conf.is_some()
    }

    /// The place, whose users' tokens are in the accounts that it names, or else, where they sign in, in `tokens`.
    fn location(&self, directories: &Directories, tokens: Option<&Path>) -> SvnResult<Location> {
        let root = self.folder.clone().or_else(|| self.repository.clone()).unwrap_or_default();
        let url = self.url.trim_matches('/');
        let prefix = sapwood_core::uri::decode_utf8(url).unwrap_or_else(|| url.to_owned());
        let version = self.master_version.as_deref().and_then(version);
        let master = self
            .master
            .as_deref()
            .map(|url| Master::new(url, version, self.master_ca.as_deref()).map(Arc::new));
        let directory = self.directory.as_deref();
        let directory = directory.map(|name| directories::named(directories, name)).transpose()?;
        Ok(Location {
            access: self.has_access().then(|| Arc::new(self.access(directory, tokens))),
            levels: match (&self.repository, self.flat) {
                (Some(_), _) => Some(0),
                (None, flat) => flat.then_some(1),
            },
            list: self.list.unwrap_or(false),
            name: self.name.clone(),
            plain_pages: self.plain_pages,
            web: self.web.unwrap_or(true),
            autoversioning: self.autoversioning,
            trusted: self.trusted,
            master: master.transpose()?,
            ..Location::new(&prefix, root)
        })
    }

    /// Whether all users have to log in.
    pub(super) fn is_login_required(&self) -> bool {
        self.login() == Login::Required
    }

    fn login(&self) -> Login {
        match self.login {
            Some(LoginWord::Never) => Login::Never,
            Some(LoginWord::Optional) => Login::Optional,
            Some(LoginWord::Lenient) => Login::Lenient,
            Some(LoginWord::Required) => Login::Required,
            // Without a certificate there is no way to log in: others have no name.
            None if self.only_certificates() => Login::Optional,
            None if self.can_login() => Login::Required,
            None => Login::Never,
        }
    }

    fn access(&self, directory: Option<Directory>, tokens: Option<&Path>) -> AccessConfig {
        let tokens = tokens.filter(|_| self.oidc).map(Path::to_owned);
        let login = self.login();
        let blanket = |rights: Rights| match rights {
            Rights::None => Blanket::None,
            Rights::Read => Blanket::Read,
            Rights::Write => Blanket::Write,
        };
        // Where there are rules for paths, they say what each user may do.
        let usual = if self.has_authz() { Blanket::Write } else { Blanket::Read };
        let anonymous = self.anonymous.map_or(usual, blanket);
        AccessConfig {
            login,
            htpasswd: self.users.clone(),
            htdigest: self.digest_users.clone(),
            accounts: self.accounts.clone().or(tokens),
            directory,
            negotiate: self.kerberos,
            sign_in: self.oidc,
            members: self.members.clone(),
            plain_over_svn: false,
            user_header: self.user_header.as_ref().map(|name| name.to_ascii_lowercase()),
            requires_certificate: self.require_certificate,
            certificate_name: self.certificate_user.as_deref().and_then(CertificateName::of),
            each_path: self.path_authz != Some(PathAuthz::Off),
            is_relative_to_conf: self.authz_in_conf.is_some(),
            anon_access: if login == Login::Required { Blanket::None } else { anonymous },
            auth_access: self.authenticated.map_or(Blanket::Write, blanket),
            password_db: self.svnserve_users.clone(),
            authz_db: self.authz.clone().or_else(|| self.authz_in_conf.clone()),
            groups_db: self.groups.clone(),
            realm: self.realm.clone(),
            username_case: match self.username_case {
                None => UsernameCase::AsIs,
                Some(CaseWord::Upper) => UsernameCase::Upper,
                Some(CaseWord::Lower) => UsernameCase::Lower,
            },
            rules: self.rules.clone(),
            hooks_env: self.hooks_env.clone(),
            sasl: None,
            hook_time_limit: None,
            password_delay: Duration::from_secs(self.password_delay.unwrap_or(1).min(MOST_DELAY)),
            base: PathBuf::from("/"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<File, String> {
        let file: File = toml::from_str(text).map_err(|e| e.to_string())?;
        Ok(file)
    }

    #[test]
    fn who_may_do_what() {
        let access = |text: &str| {
            let file = read(&format!("[[location]]\nurl = '/a%20b/'\nfolder = '/x'\n{text}"));
            let location = file.unwrap().location[0].location(&Directories::new(), None).unwrap();
            assert_eq!(location.prefix, "a b");
            location.access
        };
        assert!(access("").is_none());
        let open = access("anonymous = 'read'").unwrap();
        assert_eq!((open.login, open.anon_access), (Login::Never, Blanket::Read));
        let closed = access("users = '/u'").unwrap();
        assert_eq!((closed.login, closed.anon_access), (Login::Required, Blanket::None));
        let mixed = access("users = '/u'\nlogin = 'optional'\nauthz = '/z'").unwrap();
        assert_eq!((mixed.login, mixed.anon_access), (Login::Optional, Blanket::Write));
        assert!(mixed.each_path);
        assert!(!access("authz = '/z'\npath-authz = 'off'").unwrap().each_path);
    }

    #[test]
    fn certificates_that_say_who_it_is() {
        let access = |text: &str| {
            let place = "[[location]]\nurl = '/a'\nfolder = '/x'\ncertificate-user = 'CN'";
            let file = read(&format!("tls-client-ca = '/c'\n{place}\n{text}")).unwrap();
            let access =
                file.location[0].location(&Directories::new(), None).unwrap().access.unwrap();
            assert_eq!(access.certificate_name, Some(CertificateName::Common));
            (access.login, access.anon_access, access.requires_certificate)
        };
        assert_eq!(access(""), (Login::Optional, Blanket::Read, false));
        let required = (Login::Required, Blanket::None, true);
        assert_eq!(access("require-certificate = true"), required);
        assert_eq!(access("users = '/u'"), (Login::Required, Blanket::None, false));
    }
}
