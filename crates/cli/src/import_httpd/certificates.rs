//! Client certificates: mod_ssl's directives for a location, converted to our settings.
//!
//! Invariant: a location that httpd guards by certificates is guarded by the same ones here, or closed.

use std::path::Path;

use super::Note;
use super::parse::Directive;
use super::words::file;

/// The words of `SSLUserName` that are known here, with ours.
const USERS: [(&str, &str); 9] = [
    ("SSL_CLIENT_S_DN_CN", "CN"),
    ("SSL_CLIENT_S_DN_O", "O"),
    ("SSL_CLIENT_S_DN_OU", "OU"),
    ("SSL_CLIENT_S_DN_UID", "UID"),
    ("SSL_CLIENT_S_DN_Email", "Email"),
    ("SSL_CLIENT_SAN_Email_0", "SAN_Email"),
    ("SSL_CLIENT_SAN_DNS_0", "SAN_DNS"),
    ("SSL_CLIENT_S_DN_CN_0", "CN"),
    ("SSL_CLIENT_S_DN_Email_0", "Email"),
];

/// A server's trust anchors for client certificates, as our settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Trust {
    authorities: Option<String>,
    revoked: Option<String>,
    /// Revoked certificates are refused, but the way to know them cannot be converted.
    unknown_revoked: bool,
}

impl Trust {
    /// The trust of a server, by its directives.
    pub(super) fn of<'d>(root: &Path, server: impl Iterator<Item = &'d Directive>) -> Self {
        let (mut trust, mut checks) = (Self::default(), false);
        for directive in server {
            let first = directive.args.first().map_or("", String::as_str);
            match directive.name.as_str() {
                "sslcacertificatefile" => trust.authorities = Some(file(root, first)),
                "sslcarevocationfile" => trust.revoked = Some(file(root, first)),
                "sslcarevocationcheck" => checks = !first.eq_ignore_ascii_case("none"),
                _ => {}
            }
        }
        // httpd reads revocation lists, and uses them only when checks are configured.
        trust.unknown_revoked = checks && trust.revoked.is_none();
        trust.revoked = trust.revoked.filter(|_| checks);
        trust
    }

    /// Whether it is known by it which certificates are right ones.
    pub(super) const fn is_some(&self) -> bool {
        self.authorities.is_some()
    }

    /// Why it cannot be taken over, if it cannot. `taken` is that of the whole server.
    fn problem(&self, taken: Option<&Self>) -> Option<&'static str> {
        match () {
            () if self.authorities.is_none() => Some("no SSLCACertificateFile is named"),
            () if self.unknown_revoked => {
                Some("revoked ones are known by SSLCARevocationFile only")
            }
            () if taken != Some(self) => Some("there can be one SSLCACertificateFile only"),
            () => None,
        }
    }

    fn settings(&self) -> impl Iterator<Item = (&'static str, String)> {
        let all = [("tls-client-ca", &self.authorities), ("tls-client-crl", &self.revoked)];
        all.into_iter().filter_map(|(name, value)| Some((name, value.clone()?)))
    }
}

/// What is reported about client certificates at a location.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Certificates {
    /// `SSLVerifyClient` with anything but `none`: the word, and where it stands.
    verify: Option<(String, Directive)>,
    user: Option<Directive>,
    /// `SSLRequire`, or something else that nothing here stands for.
    beyond: Option<Note>,
    fake_logins: Option<Directive>,
    /// `Require ssl-verify-client`.
    needed: bool,
}

/// The settings, and the reasons against them.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// Settings of the location.
    pub(super) own: Vec<(&'static str, String)>,
    /// Settings of the server.
    pub(super) of_server: Vec<(&'static str, String)>,
    pub(super) notes: Vec<Note>,
    /// All clients are refused.
    pub(super) is_closed: bool,
}

impl Certificates {
    /// Takes a directive, if it is about certificates.
    pub(super) fn take(&mut self, directive: &Directive) -> bool {
        let word = directive.args.first().map_or("", String::as_str).to_ascii_lowercase();
        match directive.name.as_str() {
            "sslverifyclient" if word == "none" => self.verify = None,
            "sslverifyclient" => self.verify = Some((word, directive.clone())),
            "sslusername" => self.user = Some(directive.clone()),
            "ssloptions" => {
                let has = |begin: &str| {
                    let word = format!("{begin}fakebasicauth");
                    directive.args.iter().any(|arg| arg.eq_ignore_ascii_case(&word))
                };
                if has("") || has("+") {
                    self.fake_logins = Some(directive.clone());
                } else if has("-") {
                    self.fake_logins = None;
                }
            }
            "sslrequire" => {
                self.beyond = Some(Note::of(directive, "what certificates say is not looked at"));
            }
            // All users need one then, whatever else is required beside it.
            "require" => {
                self.needed |= directive.args.iter().any(|word| word == "ssl-verify-client");
                return false;
            }
            _ => return false,
        }
        true
    }

    /// Decides on it. `trust` are the trust anchors of this location, and `taken` those of the whole
    /// server. `has_passwords`: users log in by passwords, which take precedence.
    pub(super) fn close(
        self,
        (trust, taken): (&Trust, Option<&Trust>),
        has_passwords: bool,
    ) -> Outcome {
        let mut outcome = Outcome { is_closed: self.beyond.is_some(), ..Outcome::default() };
        outcome.notes.extend(self.beyond);
        let Some((word, directive)) = self.verify else {
            if self.needed {
                outcome.is_closed = true;
                let why = "certificates are needed and not asked for";
                outcome.notes.push(Note::new("", "Require", why));
            }
            return outcome;
        };
        let is_required = self.needed || !word.starts_with("optional");
        let mut cannot = |directive: &Directive, why: &str| {
            outcome.notes.push(Note::of(directive, why));
            outcome.is_closed |= is_required;
        };
        if let Some(why) = trust.problem(taken) {
            cannot(&directive, why);
            return outcome;
        }
        if word == "optional_no_ca" {
            cannot(&directive, "certificates of unknown authorities are refused");
            return outcome;
        }
        if let Some(fake) = &self.fake_logins {
            cannot(fake, "certificates do not stand for passwords");
            return outcome;
        }
        let mut user = None;
        if let Some(directive) = self.user.filter(|_| !has_passwords) {
            let word = directive.args.first().map_or("", String::as_str);
            user = USERS.iter().find(|(theirs, _)| *theirs == word).map(|(_, ours)| *ours);
            if user.is_none() {
                cannot(&directive, "that part of certificates is not looked at");
                return outcome;
            }
        }
        outcome.of_server.extend(trust.settings());
        if is_required {
            outcome.own.push(("require-certificate", "true".to_owned()));
        }
        outcome.own.extend(user.map(|word| ("certificate-user", format!("\"{word}\""))));
        outcome
    }
}
