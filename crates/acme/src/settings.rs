//! The settings of certificates by ACME.
//!
//! Invariant: a name that passed the check is a plain host name, so it can be the name of a file.

use std::path::PathBuf;
use std::sync::Arc;

use hyper::Uri;
use rustls::ClientConfig;

use sapwood_core::WrongSetting;

/// The directory of Let's Encrypt.
pub const LETS_ENCRYPT: &str = "https://acme-v02.api.letsencrypt.org/directory";

/// The most names that one server orders certificates for: authorities have limits by week.
const MOST_NAMES: usize = 100;

/// How the authority sees that a name belongs to this server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Challenge {
    /// It asks for a page, by http at port 80.
    Http01,
    /// It opens a connection of TLS to port 443 and asks for a protocol of its own.
    TlsAlpn01,
}

/// All settings. Paths are absolute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The URL of the authority's directory.
    pub directory: String,
    /// Addresses of mail by which the authority may report trouble.
    pub contact: Vec<String>,
    /// The names. Each gets a certificate of its own; clients that name none are shown the first one's.
    pub domains: Vec<String>,
    /// Where keys and certificates are kept.
    pub folder: PathBuf,
    /// Authorities for the directory's own certificate, in place of the system's: a file in PEM form.
    pub authorities: Option<PathBuf>,
    /// How names are proved.
    pub challenge: Challenge,
    /// Whether the administrator agrees to the authority's terms.
    pub terms_agreed: bool,
}

impl Settings {
    /// Checks them. Nothing is asked.
    ///
    /// # Errors
    /// The first setting that cannot be used.
    pub fn check(&self) -> Result<(), WrongSetting> {
        self.client().map(drop)
    }

    /// How the authority's server is asked.
    pub(crate) fn client(&self) -> Result<Arc<ClientConfig>, WrongSetting> {
        let is_https = |uri: Uri| uri.scheme_str() == Some("https") && uri.host().is_some();
        if !self.directory.parse().is_ok_and(is_https) {
            let why = format!("'{}' is no URL that begins with https://", self.directory);
            return Err(WrongSetting::new("directory", why));
        }
        if !self.terms_agreed {
            let why = "it has to be true: a certificate is only given to who agrees to the authority's terms";
            return Err(WrongSetting::new("terms-agreed", why));
        }
        if self.domains.is_empty() || self.domains.len() > MOST_NAMES {
            let why = format!("from 1 to {MOST_NAMES} names are needed");
            return Err(WrongSetting::new("domains", why));
        }
        for (at, name) in self.domains.iter().enumerate() {
            if let Some(why) = wrong_name(name) {
                return Err(WrongSetting::new("domains", format!("'{name}' {why}")));
            }
            if self.domains.iter().take(at).any(|before| before == name) {
                return Err(WrongSetting::new("domains", format!("'{name}' is there twice")));
            }
        }
        if let Some(address) = self.contact.iter().find(|address| !is_mail(address)) {
            let why = format!("'{address}' is no address of mail");
            return Err(WrongSetting::new("contact", why));
        }
        let tls = sapwood_tls_client::config(self.authorities.as_deref());
        tls.map_err(|why| WrongSetting::new("ca-file", why))
    }

    /// The addresses as URLs.
    pub(crate) fn contact_urls(&self) -> Vec<String> {
        self.contact.iter().map(|address| format!("mailto:{address}")).collect()
    }
}

/// Why a text is no name of a host that can be proved by these challenges.
fn wrong_name(name: &str) -> Option<&'static str> {
    let is_label = |label: &str| {
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let has_edge = label.starts_with('-') || label.ends_with('-');
        (1..=63).contains(&label.len()) && label.chars().all(is_plain) && !has_edge
    };
    match () {
        () if name.starts_with("*.") => Some("is for all names below one, which needs dns-01"),
        () if name.len() > 253 || !name.split('.').all(is_label) => {
            Some("is no name of a host in small letters (other scripts as xn--...)")
        }
        () if name.split('.').all(|label| label.chars().all(|c| c.is_ascii_digit())) => {
            Some("is an address, not a name")
        }
        () => None,
    }
}

fn is_mail(address: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_graphic() && !",?&%#<>".contains(c);
    let has_both = |(user, host): (&str, &str)| !user.is_empty() && !host.is_empty();
    address.split_once('@').is_some_and(has_both) && address.chars().all(is_plain)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn settings() -> Settings {
        Settings {
            directory: LETS_ENCRYPT.to_owned(),
            contact: vec!["admin@example.org".to_owned()],
            domains: vec!["svn.example.org".to_owned(), "localhost".to_owned()],
            folder: PathBuf::from("/x"),
            authorities: None,
            challenge: Challenge::Http01,
            terms_agreed: true,
        }
    }

    #[test]
    fn what_cannot_be_used_is_named() {
        assert_eq!(settings().check(), Ok(()));
        let with = |change: &dyn Fn(&mut Settings)| {
            let mut settings = settings();
            change(&mut settings);
            settings.check().unwrap_err().setting
        };
        for url in ["http://ca/dir", "https://", "ca", "", "https://ca /x"] {
            assert_eq!(with(&|s| s.directory = url.to_owned()), "directory", "{url}");
        }
        let long = "a".repeat(64);
        for name in
            ["", "a..b", "*.example.org", "SVN.org", "a/b", "../a", "-a.org", "1.2.3.4", &long]
        {
            assert_eq!(with(&|s| s.domains = vec![name.to_owned()]), "domains", "{name}");
        }
        assert_eq!(with(&|s| s.domains = vec![]), "domains");
        assert_eq!(with(&|s| s.domains = vec!["a".to_owned(); 2]), "domains");
        for address in ["a", "@b", "a@", "a@b c", "mailto:a@b?x"] {
            assert_eq!(with(&|s| s.contact = vec![address.to_owned()]), "contact", "{address}");
        }
        assert_eq!(with(&|s| s.terms_agreed = false), "terms-agreed");
        assert_eq!(with(&|s| s.authorities = Some(PathBuf::from("/none/ca"))), "ca-file");
    }
}
