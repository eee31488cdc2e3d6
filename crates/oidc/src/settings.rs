//! The settings of a provider, and whether they can be used.
//!
//! Invariant: an address is https, or on this machine.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;

use sapwood_core::uri::Parts;

use sapwood_core::WrongSetting;

/// What is asked of whom, and who may sign in.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// The URL that names the provider.
    pub issuer: String,
    /// The name of this server at the provider.
    pub client_id: String,
    /// Its password there, if it has one.
    pub client_secret: Option<String>,
    /// The URL of this server: scheme, host and port.
    pub url: String,
    /// What is asked for besides `openid`.
    pub scopes: Vec<String>,
    /// The claim with the user's name.
    pub name_claim: String,
    /// What the names of users end with: no user that this server knows itself has such a name.
    pub name_suffix: Option<String>,
    /// The claim with the user's groups.
    pub groups_claim: Option<String>,
    /// Names for groups, by what the claim calls them; without any, the claim's own names count.
    pub groups: BTreeMap<String, String>,
    /// Only members of one of these groups may sign in, if there are any. Names are those of authz files.
    pub allowed_groups: Vec<String>,
    /// Only users with a verified mail address at one of these domains may sign in, if there are any.
    pub allowed_domains: Vec<String>,
    /// Authorities for the provider's certificate, in place of the system's: a file in PEM form.
    pub authorities: Option<PathBuf>,
}

impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Settings").field("issuer", &self.issuer).finish_non_exhaustive()
    }
}

/// Whether a URL may be asked, or a browser be sent to: https, or http on this machine.
pub(crate) fn is_safe(url: &str) -> bool {
    let is_plain = url.bytes().all(|b| b.is_ascii_graphic() && !b"\\\"<>#".contains(&b));
    let Some(parts) = Parts::of(url).filter(|_| is_plain) else { return false };
    let has_no_user = parts.user.is_none() && !parts.host.is_empty();
    has_no_user
        && match (parts.scheme, parts.tunnel) {
            ("https", None) => true,
            ("http", None) => is_this_machine(parts.host),
            _ => false,
        }
}

fn is_this_machine(host: &str) -> bool {
    host == "localhost" || host.parse().is_ok_and(|address: IpAddr| address.is_loopback())
}

impl Settings {
    /// Whether this server is called by https.
    #[must_use]
    pub fn is_secure(&self) -> bool {
        self.url.starts_with("https:")
    }

    /// What the names of users end with: what is set, or `@` and the host of the provider.
    #[must_use]
    pub fn suffix(&self) -> String {
        match (&self.name_suffix, Parts::of(&self.issuer)) {
            (Some(suffix), _) => suffix.clone(),
            (None, Some(parts)) => format!("@{}", parts.host),
            (None, None) => "@".to_owned(),
        }
    }

    /// Checks what does not need the network.
    ///
    /// # Errors
    /// The first setting that cannot be used.
    pub fn check(&self) -> Result<(), WrongSetting> {
        let wrong = |setting, why: &str| Err(WrongSetting::new(setting, why));
        if !is_safe(&self.issuer) || self.issuer.contains('?') {
            return wrong("issuer", "it is no URL of https (or of http on this machine)");
        }
        let has_path = Parts::of(&self.url).is_none_or(|parts| !parts.path.is_empty());
        if !is_safe(&self.url) || has_path {
            return wrong("url", "it is not 'https://HOST' or 'https://HOST:PORT'");
        }
        if self.client_id.is_empty() {
            return wrong("client-id", "it is empty");
        }
        if self.name_claim.is_empty() {
            return wrong("name-claim", "it is empty");
        }
        let is_scope = |scope: &String| {
            !scope.is_empty()
                && scope.bytes().all(|b| b.is_ascii_graphic() && b != b'"' && b != b'\\')
        };
        if !self.scopes.iter().all(is_scope) {
            return wrong("scopes", "one has characters that no scope has");
        }
        let is_odd = |c: char| c.is_control() || ":,=".contains(c);
        if self.suffix().contains(is_odd) {
            return wrong("name-suffix", "it has a character that no name of a user has");
        }
        let needs_groups = !self.allowed_groups.is_empty() || !self.groups.is_empty();
        if needs_groups && self.groups_claim.is_none() {
            return wrong("groups-claim", "it is needed where groups are named");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(crate) fn good() -> Settings {
        Settings {
            issuer: "https://login.example.com/realm".to_owned(),
            client_id: "svn".to_owned(),
            url: "https://svn.example.com".to_owned(),
            name_claim: "preferred_username".to_owned(),
            ..Settings::default()
        }
    }

    #[test]
    fn addresses_are_encrypted_or_on_this_machine() {
        for safe in [
            "https://h",
            "https://h:1/x?y=1",
            "http://127.0.0.1:8/",
            "http://localhost/",
            "http://[::1]:9/",
        ] {
            assert!(is_safe(safe), "{safe}");
        }
        for unsafe_one in [
            "http://h/",
            "http://127.0.0.1.example.com/",
            "ftp://h/",
            "https://",
            "https://u@h/",
            "https://h/#x",
            "https://h/\r\nx",
            "javascript:alert(1)",
            "https+ssh://h/",
            "",
            "http://localhost.example.com/",
        ] {
            assert!(!is_safe(unsafe_one), "{unsafe_one}");
        }
    }

    #[test]
    fn settings_that_cannot_be_used_are_named() {
        assert_eq!(good().check(), Ok(()));
        assert_eq!(good().suffix(), "@login.example.com");
        type Change = fn(&mut Settings);
        let cases: [(&str, Change); 9] = [
            ("issuer", |s| s.issuer = "http://login.example.com".to_owned()),
            ("issuer", |s| s.issuer = "https://h/?x".to_owned()),
            ("url", |s| s.url = "https://svn.example.com/".to_owned()),
            ("url", |s| s.url = "http://svn.example.com".to_owned()),
            ("client-id", |s| s.client_id.clear()),
            ("name-claim", |s| s.name_claim.clear()),
            ("scopes", |s| s.scopes = vec!["a b".to_owned()]),
            ("name-suffix", |s| s.name_suffix = Some(":x".to_owned())),
            ("groups-claim", |s| s.allowed_groups = vec!["devs".to_owned()]),
        ];
        for (setting, change) in cases {
            let mut settings = good();
            change(&mut settings);
            assert_eq!(settings.check().unwrap_err().setting, setting);
        }
        assert!(
            !format!("{:?}", Settings { client_secret: Some("hush".to_owned()), ..good() })
                .contains("hush")
        );
    }
}
