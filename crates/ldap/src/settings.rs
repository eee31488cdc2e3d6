//! How a directory is asked: its servers, the account that searches, and where users and groups are.
//!
//! `docs/serve.md` describes the settings, by the names that they have in the configuration file.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use crate::address::Address;
use crate::filter::Template;
use sapwood_core::WrongSetting;

/// What kind of directory it is: the defaults of filters and names differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// OpenLDAP and the like: users have a `uid`, groups list their members.
    #[default]
    Ldap,
    /// Active Directory: users have a `sAMAccountName`; a user also has a primary group, which does not list its members;
    /// the server itself looks into groups of groups.
    ActiveDirectory,
}

/// The settings of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Its name in the configuration.
    pub name: String,
    /// What kind it is.
    pub kind: Kind,
    /// URLs of its servers (`ldaps://HOST[:PORT]`, `ldap://HOST[:PORT]`), in the order in which they are tried.
    pub servers: Vec<String>,
    /// Whether connections to `ldap://` servers are encrypted before anything else is sent (RFC 4511, section 4.14).
    pub start_tls: bool,
    /// Whether passwords may be sent without encryption to a server on another machine.
    pub plain: bool,
    /// A file with the certificates (PEM) of the authorities that vouch for the servers; those of the system without one.
    pub authorities: Option<PathBuf>,
    /// The account that searches; searches are anonymous without one.
    pub bind_dn: Option<String>,
    /// The file with its password; the last end of line is no part of it.
    pub bind_password: Option<PathBuf>,
    /// Below which entry users are.
    pub base: String,
    /// How a user is found. `{user}` is the name that the client gave.
    pub user_filter: Option<String>,
    /// The attribute with the user's name, as log messages and rules have it.
    pub user_name: Option<String>,
    /// Below which entry groups are; `base` without one.
    pub group_base: Option<String>,
    /// How the groups of a user are found. `{dn}` is the user's entry, `{user}` the user's name, and another word in braces
    /// the value of an attribute of the user.
    pub group_filter: Option<String>,
    /// The attribute with the name of a group.
    pub group_name: Option<String>,
    /// The names of groups by their entries. If there are any, other groups have no name.
    pub groups: BTreeMap<String, String>,
    /// Whether a member of a group is a member of the groups that this one is in.
    pub nested: bool,
    /// How long a server may take for a login.
    pub timeout: Duration,
    /// How long a login is accepted without asking a server again.
    pub cache: Duration,
    /// How long a login is accepted while no server answers.
    pub keep: Duration,
    /// The limit of logins that are checked at a time.
    pub connections: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            name: String::new(),
            kind: Kind::default(),
            servers: Vec::new(),
            start_tls: false,
            plain: false,
            authorities: None,
            bind_dn: None,
            bind_password: None,
            base: String::new(),
            user_filter: None,
            user_name: None,
            group_base: None,
            group_filter: None,
            group_name: None,
            groups: BTreeMap::new(),
            nested: true,
            timeout: Duration::from_secs(5),
            cache: Duration::from_secs(60),
            keep: Duration::from_secs(3600),
            connections: 16,
        }
    }
}

/// Settings that have been checked, with the defaults of the kind.
#[derive(Debug)]
pub(crate) struct CheckedSettings {
    pub(crate) settings: Settings,
    pub(crate) addresses: Vec<Address>,
    pub(crate) user_filter: Template,
    pub(crate) user_name: String,
    pub(crate) group_base: String,
    pub(crate) group_filter: Template,
    pub(crate) group_name: String,
}

const USER_OF_AD: &str = "(&(objectCategory=person)(objectClass=user)\
    (!(userAccountControl:1.2.840.113556.1.4.803:=2))\
    (|(sAMAccountName={user})(userPrincipalName={user})))";
const GROUPS_OF_AD: &str = "(&(objectClass=group)(member={dn}))";
/// `LDAP_MATCHING_RULE_IN_CHAIN`: the server follows groups of groups.
const ALL_GROUPS_OF_AD: &str = "(&(objectClass=group)(member:1.2.840.113556.1.4.1941:={dn}))";
const GROUPS_OF_LDAP: &str =
    "(|(member={dn})(uniqueMember={dn})(&(objectClass=posixGroup)(memberUid={user})))";

impl CheckedSettings {
    /// Checks settings.
    ///
    /// # Errors
    /// The first setting that cannot be used.
    pub(crate) fn of(settings: Settings) -> Result<Self, WrongSetting> {
        let is_ad = settings.kind == Kind::ActiveDirectory;
        let group_default = match (is_ad, settings.nested) {
            (true, true) => ALL_GROUPS_OF_AD,
            (true, false) => GROUPS_OF_AD,
            (false, _) => GROUPS_OF_LDAP,
        };
        let name = |own: &Option<String>, of_ad: &str, of_ldap: &str| {
            own.clone().unwrap_or_else(|| if is_ad { of_ad } else { of_ldap }.to_owned())
        };
        let addresses = addresses(&settings)?;
        of_account(&settings)?;
        if settings.base.trim().is_empty() {
            return Err(WrongSetting::new("base", "it is needed: the entry below which users are"));
        }
        if settings.connections == 0 {
            return Err(WrongSetting::new("connections", "it is at least 1"));
        }
        if settings.timeout.is_zero() {
            return Err(WrongSetting::new("timeout", "it is at least 1 second"));
        }
        let user_default = if is_ad { USER_OF_AD } else { "(uid={user})" };
        let user_filter =
            template("user-filter", settings.user_filter.as_deref().unwrap_or(user_default))?;
        if !user_filter.attributes().all(|word| word == "user") {
            return Err(WrongSetting::new("user-filter", "only '{user}' is known in it"));
        }
        if user_filter.attributes().next().is_none() {
            return Err(WrongSetting::new("user-filter", "it needs '{user}', or it is any user's"));
        }
        let group_filter =
            template("group-filter", settings.group_filter.as_deref().unwrap_or(group_default))?;
        if group_filter.attributes().next().is_none() {
            let why = "it needs '{dn}' or '{user}', or each user is in each group";
            return Err(WrongSetting::new("group-filter", why));
        }
        Ok(Self {
            addresses,
            user_filter,
            user_name: name(&settings.user_name, "sAMAccountName", "uid"),
            group_base: settings.group_base.clone().unwrap_or_else(|| settings.base.clone()),
            group_filter,
            group_name: name(&settings.group_name, "sAMAccountName", "cn"),
            settings,
        })
    }
}

fn template(setting: &'static str, text: &str) -> Result<Template, WrongSetting> {
    Template::parse(text).map_err(|why| WrongSetting::new(setting, why))
}

fn addresses(settings: &Settings) -> Result<Vec<Address>, WrongSetting> {
    if settings.servers.is_empty() {
        return Err(WrongSetting::new("servers", "a directory needs a server"));
    }
    let mut addresses = Vec::new();
    for url in &settings.servers {
        let address = Address::parse(url).ok_or_else(|| {
            let why = format!("'{url}' is no URL like ldaps://HOST or ldap://HOST:PORT");
            WrongSetting::new("servers", why)
        })?;
        let is_safe = address.is_encrypted() || settings.start_tls || address.is_this_machine();
        if !is_safe && !settings.plain {
            let why = format!(
                "'{url}' would get passwords without encryption: use ldaps, 'start-tls = true', \
                 or say 'plain = true'"
            );
            return Err(WrongSetting::new("servers", why));
        }
        addresses.push(address);
    }
    Ok(addresses)
}

fn of_account(settings: &Settings) -> Result<(), WrongSetting> {
    match (&settings.bind_dn, &settings.bind_password) {
        (Some(dn), _) if dn.trim().is_empty() => {
            Err(WrongSetting::new("bind-dn", "it is empty; leave it out for anonymous searches"))
        }
        (Some(_), None) => Err(WrongSetting::new("bind-dn", "it needs 'bind-password-file'")),
        (None, Some(_)) => Err(WrongSetting::new("bind-password-file", "it needs 'bind-dn'")),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good() -> Settings {
        Settings {
            servers: vec!["ldaps://dc.example.com".to_owned()],
            base: "dc=example".to_owned(),
            ..Settings::default()
        }
    }

    #[test]
    fn settings_that_would_open_more_are_refused() {
        assert!(CheckedSettings::of(good()).is_ok());
        let mut cases: Vec<(&str, Settings)> = Vec::new();
        let mut case = |setting, change: &dyn Fn(&mut Settings)| {
            let mut settings = good();
            change(&mut settings);
            cases.push((setting, settings));
        };
        case("servers", &|s| s.servers.clear());
        case("servers", &|s| s.servers = vec!["dc.example.com".to_owned()]);
        case("servers", &|s| s.servers = vec!["http://dc.example.com".to_owned()]);
        case("servers", &|s| s.servers.push("ldap://dc.example.com".to_owned()));
        case("base", &|s| s.base.clear());
        case("bind-dn", &|s| s.bind_dn = Some("cn=svn".to_owned()));
        case("bind-password-file", &|s| s.bind_password = Some("/x".into()));
        case("user-filter", &|s| s.user_filter = Some("(objectClass=person)".to_owned()));
        case("user-filter", &|s| s.user_filter = Some("(uid={user}".to_owned()));
        case("user-filter", &|s| s.user_filter = Some("(uid={name})".to_owned()));
        case("group-filter", &|s| s.group_filter = Some("(cn=*)".to_owned()));
        case("connections", &|s| s.connections = 0);
        case("timeout", &|s| s.timeout = Duration::ZERO);
        for (setting, settings) in cases {
            let wrong = CheckedSettings::of(settings.clone()).map(|_| ()).unwrap_err();
            assert_eq!(wrong.setting, setting, "{settings:?}: {wrong}");
        }
        let plain = |change: &dyn Fn(&mut Settings)| {
            let mut settings =
                Settings { servers: vec!["ldap://dc.example.com".to_owned()], ..good() };
            change(&mut settings);
            CheckedSettings::of(settings).is_ok()
        };
        assert!(plain(&|s| s.start_tls = true) && plain(&|s| s.plain = true));
        assert!(plain(&|s| s.servers = vec!["ldap://127.0.0.1:3389".to_owned()]));
    }

    #[test]
    fn each_kind_has_filters_of_its_own() {
        for kind in [Kind::Ldap, Kind::ActiveDirectory] {
            for nested in [false, true] {
                assert!(CheckedSettings::of(Settings { kind, nested, ..good() }).is_ok());
            }
        }
    }
}
