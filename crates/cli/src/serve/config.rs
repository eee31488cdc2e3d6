//! The configuration file of `sapwood serve`, in TOML. `docs/serve.md` describes it, with the
//! directives of httpd that its settings stand for.
//!
//! What is not known is an error, with its line: a setting that is misspelt must not leave a
//! repository open.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use sapwood_core::{ErrorCode, SvnError, SvnResult};
use sapwood_server::common::config::{AccessConfig, Blanket, CertificateName, Login, UsernameCase};
use sapwood_server::dav::{ClientAuthorities, Master};
use sapwood_server::settings::{BulkUpdates, HttpSettings, Location, Network, Redirect, Settings};
use serde::Deserialize;

/// Most seconds that changes of DAV programs wait for the rest of a save.
const MOST_WAIT: u64 = 60;

/// The file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(super) struct File {
    pub(super) path: Option<PathBuf>,
    pub(super) listen: Option<String>,
    pub(super) svn_port: Option<u16>,
    pub(super) http_port: Option<u16>,
    pub(super) https_port: Option<u16>,
    pub(super) tls_certificate: Option<PathBuf>,
    pub(super) tls_key: Option<PathBuf>,
    tls_client_ca: Option<PathBuf>,
    tls_client_crl: Option<PathBuf>,
    require_certificate: bool,
    pub(super) log_file: Option<PathBuf>,
    access_log: Option<PathBuf>,
    access_log_form: LogForm,
    pub(super) svnserve_conf: Option<PathBuf>,
    read_only: bool,
    cache_megabytes: Option<usize>,
    compression: Option<u8>,
    bulk_updates: Option<Bulk>,
    http_v2: Option<bool>,
    gzip: bool,
    autoversioning: bool,
    autoversioning_wait: Option<u64>,
    trusted_proxies: Vec<String>,
    location: Vec<Place>,
    redirect: Vec<Moved>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
enum LogForm {
    Common,
    #[default]
    Combined,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
enum Bulk {
    On,
    Off,
    Prefer,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Moved {
    from: String,
    to: String,
    #[serde(default)]
    permanent: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Place {
    url: String,
    folder: Option<PathBuf>,
    repository: Option<PathBuf>,
    list: Option<bool>,
    name: Option<String>,
    #[serde(default)]
    plain_pages: bool,
    #[serde(default)]
    autoversioning: bool,
    login: Option<LoginWord>,
    users: Option<PathBuf>,
    digest_users: Option<PathBuf>,
    svnserve_users: Option<PathBuf>,
    user_header: Option<String>,
    #[serde(default)]
    require_certificate: bool,
    certificate_user: Option<String>,
    realm: Option<String>,
    anonymous: Option<Rights>,
    authenticated: Option<Rights>,
    authz: Option<String>,
    authz_in_conf: Option<String>,
    groups: Option<String>,
    username_case: Option<CaseWord>,
    path_authz: Option<PathAuthz>,
    hooks_env: Option<PathBuf>,
    password_delay: Option<u64>,
    master: Option<String>,
    master_version: Option<String>,
    master_ca: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
enum LoginWord {
    Never,
    Optional,
    Lenient,
    Required,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
enum Rights {
    None,
    Read,
    Write,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
enum CaseWord {
    Upper,
    Lower,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
enum PathAuthz {
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
    /// What is wrong with it, with the line.
    pub(super) fn read(path: &Path) -> SvnResult<Self> {
        let bytes = crate::input::contents(&path.to_string_lossy())?;
        let text = String::from_utf8(bytes).map_err(|_| wrong(path, "it is not UTF-8"))?;
        let mut file: Self = toml::from_str(&text).map_err(|e| wrong(path, e))?;
        let base = std::path::absolute(path)
            .map_err(|e| SvnError::io(&e, format_args!("Can't find '{}'", path.display())))?;
        file.settle(base.parent().unwrap_or(Path::new("/")));
        file.check().map_err(|why| wrong(path, why))?;
        Ok(file)
    }

    fn settle(&mut self, base: &Path) {
        let own = [
            &mut self.path,
            &mut self.tls_certificate,
            &mut self.tls_key,
            &mut self.tls_client_ca,
            &mut self.tls_client_crl,
            &mut self.log_file,
            &mut self.access_log,
            &mut self.svnserve_conf,
        ];
        let places = self.location.iter_mut().flat_map(|place| {
            let Place {
                folder, repository, users, digest_users, svnserve_users, master_ca, ..
            } = place;
            [folder, repository, users, digest_users, svnserve_users, master_ca]
        });
        for path in own.into_iter().chain(places).flatten() {
            *path = base.join(&*path);
        }
        for place in &mut self.location {
            for rules in [&mut place.authz, &mut place.groups].into_iter().flatten() {
                if !rules.starts_with("^/") && !sapwood_core::uri::is_url(rules) {
                    *rules = base.join(&*rules).to_string_lossy().into_owned();
                }
            }
        }
    }

    /// What can be said to be wrong without looking at anything else.
    fn check(&self) -> Result<(), String> {
        if let Some(bad) = self.trusted_proxies.iter().find(|text| Network::parse(text).is_none()) {
            return Err(format!(
                "trusted-proxies: '{bad}' is no address and no range of addresses"
            ));
        }
        if self.compression.is_some_and(|level| level > 9) {
            return Err("compression goes from 0 to 9".to_owned());
        }
        for moved in &self.redirect {
            if !moved.from.starts_with('/') {
                return Err(format!("redirect: '{}' does not begin with a slash", moved.from));
            }
        }
        self.check_certificates()?;
        self.location.iter().try_for_each(|place| {
            place.check().map_err(|why| format!("location '{}': {why}", place.url))
        })
    }

    /// Certificates of clients are looked at where the file says whose they are to be.
    fn check_certificates(&self) -> Result<(), String> {
        if self.tls_client_ca.is_some() {
            return Ok(());
        }
        let mut wants = [
            ("tls-client-crl", self.tls_client_crl.is_some()),
            ("require-certificate", self.require_certificate),
            ("require-certificate", self.location.iter().any(|place| place.require_certificate)),
            ("certificate-user", self.location.iter().any(|p| p.certificate_user.is_some())),
        ]
        .into_iter();
        match wants.find(|(_, is_set)| *is_set) {
            Some((name, _)) => Err(format!("'{name}' needs 'tls-client-ca'")),
            None => Ok(()),
        }
    }

    /// Whose certificates clients are asked for.
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
    /// E125009 for masters' files that cannot be used.
    pub(super) fn http(&self, settings: &mut HttpSettings) -> SvnResult<()> {
        for place in &self.location {
            settings.locations.push(place.location()?);
        }
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
        settings.access_log.clone_from(&self.access_log);
        settings.combined_log = self.access_log_form == LogForm::Combined;
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

    /// Puts what the file says into the other settings.
    pub(super) fn others(&self, settings: &mut Settings) {
        settings.read_only = self.read_only;
        settings.compression = self.compression.unwrap_or(settings.compression);
        if let Some(megabytes) = self.cache_megabytes {
            settings.cache_bytes = megabytes.saturating_mul(1 << 20);
        }
    }

    /// What the file names that is not there or cannot be used: for `--check`.
    pub(super) fn problems(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut need = |what: &str, path: Option<&PathBuf>, is_dir: bool| {
            let Some(path) = path else { return };
            let shown = path.display();
            match std::fs::metadata(path) {
                Err(e) => found.push(format!("{what}: '{shown}': {e}")),
                Ok(meta) if meta.is_dir() != is_dir => {
                    let kind = if is_dir { "folder" } else { "file" };
                    found.push(format!("{what}: '{shown}' is no {kind}"));
                }
                Ok(_) => {}
            }
        };
        need("path", self.path.as_ref(), true);
        need("tls-certificate", self.tls_certificate.as_ref(), false);
        need("tls-key", self.tls_key.as_ref(), false);
        need("tls-client-ca", self.tls_client_ca.as_ref(), false);
        need("tls-client-crl", self.tls_client_crl.as_ref(), false);
        need("svnserve-conf", self.svnserve_conf.as_ref(), false);
        for place in &self.location {
            let is_file = |rules: &String| !rules.starts_with("^/") && rules.starts_with('/');
            need(&place.url, place.folder.as_ref().or(place.repository.as_ref()), true);
            need(&place.url, place.users.as_ref(), false);
            need(&place.url, place.digest_users.as_ref(), false);
            need(&place.url, place.svnserve_users.as_ref(), false);
            need(&place.url, place.master_ca.as_ref(), false);
            for rules in [&place.authz, &place.groups].into_iter().flatten().filter(|r| is_file(r))
            {
                need(&place.url, Some(&PathBuf::from(rules)), false);
            }
        }
        found
    }

    /// The password files of httpd that the file names, each with its place.
    pub(super) fn htpasswd_files(&self) -> impl Iterator<Item = (&str, &Path)> {
        self.location.iter().filter_map(|place| Some((&*place.url, place.users.as_deref()?)))
    }
}

/// The first two numbers of a release.
fn version(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.split('.').map(|number| number.parse::<u32>().ok());
    let found = (numbers.next()??, numbers.next()??);
    numbers.all(|number| number.is_some()).then_some(found)
}

impl Place {
    /// Whether anything is said of who may do what. If not, the repositories' own files say it.
    fn has_access(&self) -> bool {
        self.login.is_some()
            || self.users.is_some()
            || self.digest_users.is_some()
            || self.svnserve_users.is_some()
            || self.user_header.is_some()
            || self.require_certificate
            || self.certificate_user.is_some()
            || self.anonymous.is_some()
            || self.authenticated.is_some()
            || self.has_authz()
    }

    /// Whether there is a way to prove one's name.
    const fn can_login(&self) -> bool {
        self.users.is_some()
            || self.digest_users.is_some()
            || self.svnserve_users.is_some()
            || self.user_header.is_some()
            || self.certificate_user.is_some()
    }

    /// Whether only certificates say who users are, and need not be shown.
    const fn only_certificates(&self) -> bool {
        let others = self.users.is_some()
            || self.digest_users.is_some()
            || self.svnserve_users.is_some()
            || self.user_header.is_some();
        self.certificate_user.is_some() && !others && !self.require_certificate
    }

    const fn has_authz(&self) -> bool {
        self.authz.is_some() || self.authz_in_conf.is_some()
    }

    fn check(&self) -> Result<(), String> {
        if self.folder.is_some() == self.repository.is_some() {
            return Err("either 'folder' or 'repository' is needed".to_owned());
        }
        if self.authz.is_some() && self.authz_in_conf.is_some() {
            return Err("either 'authz' or 'authz-in-conf', not both".to_owned());
        }
        if !self.has_access() {
            let alone = [
                ("realm", self.realm.is_some()),
                ("groups", self.groups.is_some()),
                ("username-case", self.username_case.is_some()),
                ("path-authz", self.path_authz.is_some()),
                ("hooks-env", self.hooks_env.is_some()),
            ];
            if let Some((name, _)) = alone.iter().find(|(_, is_set)| *is_set) {
                return Err(format!(
                    "'{name}' without 'login', 'users', 'anonymous' or 'authz': the repositories' \
                     own files say who may do what here"
                ));
            }
        }
        let of_master = self.master_version.is_some() || self.master_ca.is_some();
        if of_master && self.master.is_none() {
            return Err("'master-version' and 'master-ca' need 'master'".to_owned());
        }
        if let Some(text) = self.master_version.as_deref().filter(|v| version(v).is_none()) {
            return Err(format!("master-version: '{text}' is no release, as 1.14 is"));
        }
        if let Some(url) = &self.master {
            Master::new(url, None, None).map_err(|e| format!("master: {}", e.message()))?;
        }
        let words = CertificateName::WORDS.map(|(word, _)| word);
        if let Some(word) = self.certificate_user.as_deref().filter(|word| !words.contains(word)) {
            let words = words.join(", ");
            return Err(format!("'certificate-user' is one of {words}, not '{word}'"));
        }
        let can_login = self.can_login();
        if self.digest_users.is_some() && self.realm.is_none() {
            return Err(
                "'digest-users' needs 'realm': the file says whose users they are".to_owned()
            );
        }
        match self.login {
            Some(LoginWord::Never) if can_login => {
                Err("users are named, but 'login' is 'never'".to_owned())
            }
            Some(LoginWord::Never) | None => Ok(()),
            Some(_) if can_login => Ok(()),
            Some(_) => {
                Err("'login' needs 'users', 'digest-users', 'svnserve-users', 'user-header' or \
                     'certificate-user'"
                    .to_owned())
            }
        }
    }

    fn location(&self) -> SvnResult<Location> {
        let root = self.folder.clone().or_else(|| self.repository.clone()).unwrap_or_default();
        let url = self.url.trim_matches('/');
        let prefix = sapwood_core::uri::decode_utf8(url).unwrap_or_else(|| url.to_owned());
        let version = self.master_version.as_deref().and_then(version);
        let master = self
            .master
            .as_deref()
            .map(|url| Master::new(url, version, self.master_ca.as_deref()).map(Arc::new));
        Ok(Location {
            access: self.has_access().then(|| Arc::new(self.access())),
            list: self.list.unwrap_or(false),
            name: self.name.clone(),
            plain_pages: self.plain_pages,
            autoversioning: self.autoversioning,
            master: master.transpose()?,
            ..Location::new(&prefix, root)
        })
    }

    fn access(&self) -> AccessConfig {
        let can_login = self.can_login();
        let login = match self.login {
            Some(LoginWord::Never) => Login::Never,
            Some(LoginWord::Optional) => Login::Optional,
            Some(LoginWord::Lenient) => Login::Lenient,
            Some(LoginWord::Required) => Login::Required,
            // Without a certificate there is no way to log in: others have no name.
            None if self.only_certificates() => Login::Optional,
            None if can_login => Login::Required,
            None => Login::Never,
        };
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
            hooks_env: self.hooks_env.clone(),
            sasl: None,
            hook_time_limit: None,
            password_delay: Duration::from_secs(self.password_delay.unwrap_or(1).min(60)),
            base: PathBuf::from("/"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<File, String> {
        let file: File = toml::from_str(text).map_err(|e| e.to_string())?;
        file.check()?;
        Ok(file)
    }

    #[test]
    fn what_makes_no_sense() {
        for (text, why) in [
            ("prot = 1", "unknown field `prot`"),
            ("[[location]]\nurl = '/a'", "either 'folder' or 'repository'"),
            ("[[location]]\nurl = '/a'\nfolder = '/x'\nanonymus = 'read'", "unknown field"),
            ("[[location]]\nurl = '/a'\nfolder = '/x'\nlogin = 'required'", "'login' needs"),
            ("[[location]]\nurl = '/a'\nfolder = '/x'\nrealm = 'R'", "'realm' without"),
            ("trusted-proxies = ['proxy']", "no address"),
            ("[[redirect]]\nfrom = 'a'\nto = '/b'", "slash"),
            ("compression = 10", "0 to 9"),
            ("[[location]]\nurl = '/a'\nfolder = '/x'\nmaster = 'svn://h/x'", "no URL of a master"),
            ("[[location]]\nurl = '/a'\nfolder = '/x'\nmaster-version = '1.8'", "need 'master'"),
            (
                "[[location]]\nurl = '/a'\nfolder = '/x'\nmaster = 'http://h'\nmaster-version = '8'",
                "no release",
            ),
            ("require-certificate = true", "'require-certificate' needs 'tls-client-ca'"),
            (
                "tls-client-ca = '/c'\n[[location]]\nurl = '/a'\nfolder = '/x'\n\
                 certificate-user = 'DN'",
                "one of CN, O, OU",
            ),
        ] {
            let told = read(text).unwrap_err();
            assert!(told.contains(why), "{text}: {told}");
        }
    }

    #[test]
    fn who_may_do_what() {
        let access = |text: &str| {
            let file = read(&format!("[[location]]\nurl = '/a%20b/'\nfolder = '/x'\n{text}"));
            let location = file.unwrap().location[0].location().unwrap();
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
            let access = file.location[0].location().unwrap().access.unwrap();
            assert_eq!(access.certificate_name, Some(CertificateName::Common));
            (access.login, access.anon_access, access.requires_certificate)
        };
        assert_eq!(access(""), (Login::Optional, Blanket::Read, false));
        let required = (Login::Required, Blanket::None, true);
        assert_eq!(access("require-certificate = true"), required);
        assert_eq!(access("users = '/u'"), (Login::Required, Blanket::None, false));
    }
}
