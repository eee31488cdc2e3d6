//! Signing in by a provider of OpenID Connect, for pages. `sign_in_pages` answers the requests of it, and `authenticate` asks for
//! the user of a session.
//!
//! * [`sessions`]: who has signed in;
//! * [`cookies`]: what browsers keep of it;
//! * [`asking`]: the questions to the provider, while no thread has the request.
//!
//! Invariants: what a sign-in that has begun needs is in the browser's own cookie, so nothing grows here. A browser is sent
//! only to the provider, and to paths of this server.

pub mod asking;
pub(super) mod cookies;
pub(super) mod sessions;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::HeaderMap;
use sapwood_accounts::{AccountsFile, ProviderIdentity};
use sapwood_core::date::{MICROS_PER_SEC, Timestamp};
use sapwood_core::exact::signed;
use sapwood_core::{SvnError, SvnResult, uri};
use sapwood_oidc::{Provider, Secret};
use sapwood_web::site;

use self::sessions::Sessions;
use crate::common::fair::FairPermits;
use crate::common::files::ConfigFiles;
use crate::common::principal::Principal;

/// The path to which the provider sends browsers back.
pub const BACK: &str = site::SIGNED_IN;
/// The path to which it sends them after signing out there.
pub const AFTER: &str = site::SIGNED_OUT;

/// Sign-ins that may wait for the provider at a time.
const ASKING: usize = 64;

/// The settings of sign-ins.
#[derive(Clone, Debug)]
pub struct SignInSettings {
    /// Who knows the users.
    pub provider: Provider,
    /// The accounts with the tokens of users who sign in.
    pub accounts: Option<PathBuf>,
    /// How long a session counts.
    pub length: Duration,
    /// How long it counts without a request.
    pub idle: Duration,
    /// How long tokens count after the last sign-in.
    pub tokens: Duration,
}

/// What sign-ins have in common.
#[derive(Debug)]
pub struct SignIn {
    pub(super) settings: SignInSettings,
    pub(super) secret: Secret,
    pub(super) sessions: Arc<Sessions>,
    pub(super) asking: Arc<FairPermits>,
}

impl SignIn {
    /// With these settings. Sessions of `before` go on, if they are of the same provider and the same rules.
    ///
    /// # Errors
    /// When the system has no random bytes.
    pub(super) fn new(settings: SignInSettings, before: Option<&Self>) -> SvnResult<Self> {
        let is_same =
            |old: &&Self| old.settings.provider.settings() == settings.provider.settings();
        if let Some(old) = before.filter(is_same) {
            return Ok(Self {
                secret: old.secret.clone(),
                sessions: Arc::clone(&old.sessions),
                asking: Arc::clone(&old.asking),
                // It knows the provider's keys.
                settings: SignInSettings { provider: old.settings.provider.clone(), ..settings },
            });
        }
        let secret = Secret::new().map_err(SvnError::from)?;
        let (sessions, asking) = (Arc::default(), FairPermits::new(ASKING));
        Ok(Self { settings, secret, sessions, asking })
    }

    /// The URL of this server, by which browsers call it.
    pub(super) fn url(&self) -> &str {
        &self.settings.provider.settings().url
    }

    /// Whether that is of https.
    pub(super) fn is_secure(&self) -> bool {
        self.settings.provider.settings().is_secure()
    }

    /// The link by which a browser signs in, and comes back to a path with its query.
    pub(super) fn link(&self, path: &str, query: Option<&str>) -> String {
        let query = query.map_or(String::new(), |query| format!("?{query}"));
        let to = format!("{path}{query}").bytes().fold(String::new(), |mut text, byte| {
            match byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte) {
                true => text.push(char::from(byte)),
                false => text.push_str(&format!("%{byte:02X}")),
            }
            text
        });
        format!("{}{}?to={to}", self.url(), site::SIGN_IN)
    }

    /// The session of a request's cookie: its text, and who signed in.
    pub(super) fn session(
        &self,
        files: &ConfigFiles,
        headers: &HeaderMap,
    ) -> Option<(String, Principal)> {
        let text = cookies::session(headers, self.is_secure())?;
        let limits = (self.settings.length, self.settings.idle);
        let user = self.sessions.user(&self.code(text), limits, Instant::now())?;
        self.may_come(files, &user).ok().filter(|may| *may)?;
        Some((text.to_owned(), user))
    }

    /// Who a user is for the provider, and until when tokens count from now on.
    pub(super) fn known(&self, user: &Principal, now: Timestamp) -> Option<ProviderIdentity> {
        // The configuration has a year at most.
        let length = signed(self.settings.tokens.as_secs()) * MICROS_PER_SEC;
        Some(ProviderIdentity {
            issuer: self.settings.provider.settings().issuer.clone(),
            subject: user.subject()?.to_owned(),
            until: Timestamp(now.0 + length),
        })
    }

    /// Notes a sign-in in the accounts, for the tokens of the user.
    ///
    /// # Errors
    /// When they cannot be changed, or know another person by this name.
    pub(super) fn note(&self, files: &ConfigFiles, user: &Principal) -> SvnResult<()> {
        let Some(file) = &self.settings.accounts else { return Ok(()) };
        let Some(known) = self.known(user, Timestamp::now()) else { return Ok(()) };
        // Most users have no tokens, and the file stays as it is.
        if !files.accounts(file)?.accounts.users().contains_key(user.name()) {
            return Ok(());
        }
        let groups = user.plain_groups();
        let noted = AccountsFile::at(file)
            .change(|accounts| accounts.signed_in(user.name(), &known, &groups));
        noted.map_err(SvnError::from)
    }

    /// Under what a session is kept: its text does not follow from that.
    pub(super) fn code(&self, session: &str) -> String {
        self.secret.code("session", session)
    }

    /// Whether the accounts do not shut a user out.
    ///
    /// # Errors
    /// When they cannot be read.
    pub(super) fn may_come(&self, files: &ConfigFiles, user: &Principal) -> SvnResult<bool> {
        let Some(file) = &self.settings.accounts else { return Ok(true) };
        let open = files.accounts(file)?;
        Ok(!open.accounts.users().get(user.name()).is_some_and(|account| account.disabled))
    }
}

/// Where a browser goes after signing in: a path of this server, or its top.
pub(super) fn path_of_ours(text: &str) -> String {
    let is_plain = |b: u8| b.is_ascii_graphic() && !b"\\\"<>^`{|}".contains(&b);
    let is_path = text.starts_with('/') && !text.starts_with("//") && text.len() <= 2048;
    let is_ours = is_path && text.bytes().all(is_plain) && !text.starts_with("/-/sign");
    if is_ours { text.to_owned() } else { "/".to_owned() }
}

/// The value of a name in a query or a form.
pub(super) fn field(query: &str, name: &str) -> Option<String> {
    let value = query.split('&').find_map(|pair| {
        let (key, value) = pair.split_once('=')?;
        (key == name).then_some(value)
    })?;
    uri::decode_utf8(&value.replace('+', " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_goes_back_to_this_server_only() {
        for ours in ["/", "/svn/repo/-/tree/a%20b?p=3&r=2", "/-/tokens", "/svn/@x:y"] {
            assert_eq!(path_of_ours(ours), ours);
        }
        let long = format!("/{}", "x".repeat(2048));
        for other in [
            "",
            "x",
            "//evil.com",
            "///evil.com",
            "/\\evil.com",
            "\\\\evil.com",
            "https://evil.com",
            "/a b",
            "/a\r\nX: y",
            "/\u{e9}",
            "javascript:x",
            "/<",
            "/-/sign-in?to=/",
            "/-/sign-out",
            "/-/signed-in",
            "/-/signed-out",
            &long,
        ] {
            assert_eq!(path_of_ours(other), "/", "{other:?}");
        }
    }

    #[test]
    fn sessions_go_on_with_the_same_provider_and_rules_only() {
        let settings = |allowed: &[&str], hours: u64| {
            let settings = sapwood_oidc::Settings {
                issuer: "https://h".to_owned(),
                client_id: "svn".to_owned(),
                url: "https://s".to_owned(),
                name_claim: "sub".to_owned(),
                allowed_domains: allowed.iter().map(|name| (*name).to_owned()).collect(),
                ..sapwood_oidc::Settings::default()
            };
            let (length, idle) = (Duration::from_secs(hours * 3600), Duration::from_secs(60));
            let provider = Provider::new(settings, BACK, AFTER).unwrap();
            SignInSettings { provider, accounts: None, length, idle, tokens: idle }
        };
        let first = SignIn::new(settings(&[], 1), None).unwrap();
        let same = SignIn::new(settings(&[], 2), Some(&first)).unwrap();
        assert!(Arc::ptr_eq(&first.sessions, &same.sessions));
        assert_eq!((same.code("x"), same.settings.length.as_secs()), (first.code("x"), 7200));
        let other = SignIn::new(settings(&["example.com"], 1), Some(&first)).unwrap();
        assert!(
            !Arc::ptr_eq(&first.sessions, &other.sessions) && other.code("x") != first.code("x")
        );
        assert_eq!(
            first.link("/a b", Some("p=1&r=2")),
            "https://s/-/sign-in?to=/a%20b%3Fp%3D1%26r%3D2"
        );
    }

    #[test]
    fn fields_of_forms() {
        assert_eq!(field("a=1&to=%2Fx%3Fy%3D1+z", "to").as_deref(), Some("/x?y=1 z"));
        assert_eq!(field("a=1", "to"), None);
        assert_eq!(field("to=%FF", "to"), None);
    }
}
