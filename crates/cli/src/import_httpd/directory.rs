//! Users of a directory in httpd's configuration (mod_authnz_ldap), and their conversion to a `[[directory]]` of ours.
//!
//! Invariant: no user is found who is not found by httpd: what has no equal here ([`LdapDirectives::doubts`]) leaves the
//! directory out.

use super::parse::Directive;
use super::words::quoted;

/// The file in which the password of the account that searches is to be put: it is not printed.
const PASSWORD_FILE: &str = "directory-password";

/// The directives of mod_authnz_ldap in the sections of an address, the inner ones' last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct LdapDirectives {
    url: Option<Url>,
    start_tls: bool,
    bind_dn: Option<String>,
    remote_user: Option<String>,
    group_attributes: Vec<String>,
    members_are_names: bool,
    /// Directives that change who is found, and have no equal here.
    doubts: Vec<String>,
}

/// `AuthLDAPURL`: `ldap://host:port[ host:port]/base?attribute?scope?filter`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Url {
    servers: Vec<String>,
    base: String,
    attribute: String,
    filter: String,
}

/// Which `[[directory]]` a location needs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct TomlDirectory {
    /// Its settings but the name, as lines of TOML.
    pub(super) lines: Vec<String>,
    /// What is left to do by hand.
    pub(super) notes: Vec<String>,
}

impl LdapDirectives {
    /// Takes a directive, whose name begins with `authldap`.
    ///
    /// # Errors
    /// Why it has no equal here.
    pub(super) fn take(&mut self, directive: &Directive) -> Result<(), &'static str> {
        let first = directive.args.first().map_or("", String::as_str);
        let is_off = first.eq_ignore_ascii_case("off");
        match directive.name.as_str() {
            "authldapurl" => {
                let mode = directive.args.get(1).map_or("", String::as_str);
                self.start_tls = matches!(&*mode.to_ascii_uppercase(), "TLS" | "STARTTLS");
                self.url = Url::parse(first, mode.eq_ignore_ascii_case("ssl"));
                if self.url.is_none() {
                    return Err("it is no URL of the form that is there: \
                        ldap://HOST/BASE?ATTRIBUTE?sub?(FILTER)");
                }
            }
            "authldapbinddn" => self.bind_dn = Some(first.to_owned()),
            "authldapremoteuserattribute" => self.remote_user = Some(first.to_owned()),
            "authldapgroupattribute" => self.group_attributes.push(first.to_owned()),
            "authldapgroupattributeisdn" => self.members_are_names = is_off,
            // The password is not printed. The others change nothing for users who are found here: aliases, and groups of
            // groups, are not followed.
            "authldapbindpassword"
            | "authldapmaxsubgroupdepth"
            | "authldapsubgroupattribute"
            | "authldapsubgroupclass"
            | "authldapauthorizeprefix"
            | "authldapbindauthoritative"
            | "authldapdereferencealiases"
            | "authldapcharsetconfig" => {}
            "authldapremoteuserisdn"
            | "authldapinitialbindasuser"
            | "authldapcompareasuser"
            | "authldapsearchasuser"
            | "authldapcomparednonserver"
                if is_off => {}
            "authldapcomparednonserver" => {}
            _ => {
                self.doubts.push(directive.shown.clone());
                return Err("the directory is asked in another way here");
            }
        }
        Ok(())
    }

    /// The directory, if it can be converted. `groups` are the entries of the groups that are asked for, with their names.
    pub(super) fn written(&self, groups: &[(String, String)]) -> Option<TomlDirectory> {
        let url = self.url.as_ref().filter(|_| self.doubts.is_empty())?;
        let mut notes = Vec::new();
        let servers: Vec<String> = url.servers.iter().map(|server| quoted(server)).collect();
        let mut lines = vec![format!("servers = [{}]", servers.join(", "))];
        if self.start_tls {
            lines.push("start-tls = true".to_owned());
        } else if url.servers.iter().any(|server| server.starts_with("ldap:")) {
            lines.push("plain = true".to_owned());
            notes.push("passwords go to the directory without encryption, as before".to_owned());
        }
        lines.push(format!("base = {}", quoted(&url.base)));
        if let Some(dn) = &self.bind_dn {
            lines.push(format!("bind-dn = {}", quoted(dn)));
            lines.push(format!("bind-password-file = {}", quoted(PASSWORD_FILE)));
            notes.push(format!(
                "put the password of AuthLDAPBindPassword into the file '{PASSWORD_FILE}' beside the configuration"
            ));
        }
        let filter = format!("(&{}({}={{user}}))", url.filter, url.attribute);
        lines.push(format!("user-filter = {}", quoted(&filter)));
        let name = self.remote_user.as_ref().unwrap_or(&url.attribute);
        lines.push(format!("user-name = {}", quoted(name)));
        lines.push(format!("group-filter = {}", quoted(&self.group_filter())));
        // httpd looks into groups of groups only where it is asked to, and not without end.
        lines.push("nested-groups = false".to_owned());
        if !groups.is_empty() {
            let named: Vec<String> = groups
                .iter()
                .map(|(name, entry)| format!("{} = {}", quoted(name), quoted(entry)))
                .collect();
            lines.push(format!("groups = {{ {} }}", named.join(", ")));
        }
        Some(TomlDirectory { lines, notes })
    }

    /// Whether there is a URL.
    pub(super) const fn is_some(&self) -> bool {
        self.url.is_some()
    }

    fn group_filter(&self) -> String {
        let usual = ["member".to_owned(), "uniqueMember".to_owned()];
        let attributes = match self.group_attributes.as_slice() {
            [] => &usual[..],
            own => own,
        };
        let word = if self.members_are_names { "user" } else { "dn" };
        let each: String = attributes.iter().map(|name| format!("({name}={{{word}}})")).collect();
        format!("(|{each})")
    }
}

impl Url {
    fn parse(text: &str, is_ssl: bool) -> Option<Self> {
        let (scheme, rest) = text.split_once("://")?;
        let scheme = match &*scheme.to_ascii_lowercase() {
            "ldaps" => "ldaps",
            "ldap" if is_ssl => "ldaps",
            "ldap" => "ldap",
            _ => return None,
        };
        let (hosts, rest) = rest.split_once('/')?;
        let mut parts = rest.split('?');
        let base = sapwood_core::uri::decode_utf8(parts.next()?)?;
        let or = |part: Option<&str>, usual: &str| match part {
            None | Some("") => usual.to_owned(),
            Some(part) => part.to_owned(),
        };
        let attribute = or(parts.next(), "uid");
        let scope = or(parts.next(), "sub");
        let filter = sapwood_core::uri::decode_utf8(&or(parts.next(), "(objectClass=*)"))?;
        let filter = if filter.starts_with('(') { filter } else { format!("({filter})") };
        // Of several attributes the first counts.
        let attribute = attribute.split(',').next()?.to_owned();
        let is_word = attribute.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
        let fits = scope.eq_ignore_ascii_case("sub") && is_word && !filter.contains(['{', '}']);
        let servers: Vec<String> =
            hosts.split_whitespace().map(|host| format!("{scheme}://{host}")).collect();
        let is_whole = !servers.is_empty() && !base.trim().is_empty() && parts.next().is_none();
        (fits && is_whole).then_some(Self { servers, base, attribute, filter })
    }
}

/// A name for the group with this entry: the value of the first part of its name, with a number where others have it.
pub(super) fn group_name(entry: &str, taken: &[(String, String)]) -> String {
    let first = entry.split(',').next().unwrap_or(entry);
    let value = first.split_once('=').map_or(first, |(_, value)| value).trim();
    let usual = if sapwood_accounts::can_be_named(value) { value } else { "group" };
    let is_free = |name: &str| taken.iter().all(|(known, _)| known != name);
    let numbered = || (2usize..).map(|number| format!("{usual}-{number}")).find(|n| is_free(n));
    if is_free(usual) { usual.to_owned() } else { numbered().unwrap_or(usual.to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_that_mean_something_else_are_refused() {
        let parse = |text: &str| Url::parse(text, false);
        let url =
            parse("ldap://a:389 b/ou=People,o=My%20Org?sAMAccountName,cn?sub?(objectClass=user)");
        let url = url.unwrap();
        assert_eq!(url.servers, ["ldap://a:389", "ldap://b"]);
        assert_eq!((&*url.base, &*url.attribute), ("ou=People,o=My Org", "sAMAccountName"));
        assert_eq!(parse("ldaps://a/o=x").unwrap().filter, "(objectClass=*)");
        assert_eq!(parse("ldap://a/o=x??sub?uid=*").unwrap().filter, "(uid=*)");
        assert_eq!(Url::parse("ldap://a/o=x", true).unwrap().servers, ["ldaps://a"]);
        for bad in [
            "ldap://a",
            "ldap://a/",
            "ldap:///o=x",
            "ldapi://a/o=x",
            "ldap://a/o=x?uid?one",
            "ldap://a/o=x?u)(x",
            "ldap://a/o=x?uid?sub?(a={user})",
            "ldap://a/o=x?uid?sub?(a=b)?more",
        ] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn groups_get_names() {
        let taken = [("devs".to_owned(), "cn=devs,o=a".to_owned())];
        assert_eq!(group_name("cn=qa,o=b", &taken), "qa");
        assert_eq!(group_name("CN = devs, o=b", &taken), "devs-2");
        assert_eq!(group_name("cn=a=b,o=b", &taken), "group");
    }
}
