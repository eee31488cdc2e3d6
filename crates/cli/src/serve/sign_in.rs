//! `[oidc]` of the configuration file: the provider of OpenID Connect, by which users sign in to pages.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sapwood_core::{ErrorCode, Exact as _, SvnError, SvnResult};
use sapwood_oidc::{Provider, Settings, WrongSetting};
use sapwood_server::dav::sign_in::{AFTER, BACK, SignInSettings};
use serde::Deserialize;

use super::lines::Problem;
use super::secret_file;

/// The most hours that a session counts: a month.
const MOST_HOURS: u64 = 744;
/// The hours that a session counts, and the minutes without a request, unless the file says otherwise.
const USUAL: (u64, u64) = (12, 120);
/// The days that tokens count after a sign-in, unless the file says otherwise; and the most.
const TOKEN_DAYS: (u64, u64) = (30, 366);

/// The provider, as the file says.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct SignInConfig {
    issuer: String,
    client_id: String,
    client_secret_file: Option<PathBuf>,
    pub(super) url: String,
    scopes: Option<Vec<String>>,
    name_claim: String,
    name_suffix: Option<String>,
    groups_claim: Option<String>,
    #[serde(default)]
    groups: BTreeMap<String, String>,
    #[serde(default)]
    allowed_groups: Vec<String>,
    #[serde(default)]
    allowed_domains: Vec<String>,
    ca: Option<PathBuf>,
    pub(super) accounts: Option<PathBuf>,
    token_days: Option<u64>,
    session_hours: Option<u64>,
    idle_minutes: Option<u64>,
}

impl SignInConfig {
    /// Makes relative paths relative to `base`.
    pub(super) fn make_absolute(&mut self, base: &Path) {
        let Self { client_secret_file, ca, accounts, .. } = self;
        for path in [client_secret_file, ca, accounts].into_iter().flatten() {
            *path = base.join(&*path);
        }
    }

    fn settings(&self) -> Result<Settings, WrongSetting> {
        let wrong = |setting, why: String| WrongSetting { setting, why };
        let read = |path: &PathBuf| {
            let bytes = secret_file::read(path).map_err(|why| wrong("client-secret-file", why))?;
            String::from_utf8(bytes)
                .map_err(|_| wrong("client-secret-file", "it is not UTF-8".to_owned()))
        };
        let usual = || ["profile", "email"].map(str::to_owned).to_vec();
        Ok(Settings {
            issuer: self.issuer.clone(),
            client_id: self.client_id.clone(),
            client_secret: self.client_secret_file.as_ref().map(read).transpose()?,
            url: self.url.clone(),
            scopes: self.scopes.clone().unwrap_or_else(usual),
            name_claim: self.name_claim.clone(),
            name_suffix: self.name_suffix.clone(),
            groups_claim: self.groups_claim.clone(),
            groups: self.groups.clone(),
            allowed_groups: self.allowed_groups.clone(),
            allowed_domains: self.allowed_domains.clone(),
            authorities: self.ca.clone(),
        })
    }

    fn provider(&self) -> Result<Provider, WrongSetting> {
        Provider::new(self.settings()?, BACK, AFTER)
    }

    /// What the server needs for sign-ins.
    ///
    /// # Errors
    /// E125009 for settings that cannot be used.
    pub(super) fn sign_in(&self) -> SvnResult<SignInSettings> {
        let failed = |wrong: WrongSetting| {
            SvnError::new(ErrorCode::BAD_CONFIG_VALUE, format!("[oidc]: {wrong}"))
        };
        let hours = self.session_hours.unwrap_or(USUAL.0);
        let minutes = self.idle_minutes.unwrap_or(USUAL.1);
        let days = self.token_days.unwrap_or(TOKEN_DAYS.0);
        Ok(SignInSettings {
            provider: self.provider().map_err(failed)?,
            accounts: self.accounts.clone(),
            length: Duration::from_secs(hours.min(MOST_HOURS).times(3600)),
            tokens: Duration::from_secs(days.min(TOKEN_DAYS.1).times(86_400)),
            idle: Duration::from_secs(minutes.min(MOST_HOURS * 60).times(60)),
        })
    }

    fn problems(&self) -> Vec<Problem> {
        let mut found = Vec::new();
        if let Err(wrong) = self.provider() {
            found.push(Problem::error(
                format!("oidc.{}", wrong.setting),
                format!("[oidc]: {wrong}"),
            ));
        }
        if self.session_hours.is_some_and(|hours| hours == 0 || hours > MOST_HOURS) {
            let why = format!("'session-hours' goes from 1 to {MOST_HOURS}");
            found.push(Problem::error("oidc.session-hours", why));
        }
        if self.token_days.is_some_and(|days| days == 0 || days > TOKEN_DAYS.1) {
            let why = format!("'token-days' goes from 1 to {}", TOKEN_DAYS.1);
            found.push(Problem::error("oidc.token-days", why));
        }
        if self.token_days.is_some() && self.accounts.is_none() {
            let why = "'token-days' has no effect without 'accounts'";
            found.push(Problem::warning("oidc.token-days", why));
        }
        if self.idle_minutes.is_some_and(|minutes| minutes == 0 || minutes > MOST_HOURS * 60) {
            let why = format!("'idle-minutes' goes from 1 to {}", MOST_HOURS * 60);
            found.push(Problem::error("oidc.idle-minutes", why));
        }
        found
    }
}

/// How a location names the provider.
pub(super) struct ProviderUse<'f> {
    pub(super) url: &'f str,
    pub(super) oidc: bool,
    pub(super) trusted: bool,
    /// The file of accounts that it names itself.
    pub(super) accounts: Option<&'f Path>,
}

/// What is wrong with the provider, and with where it is named: by locations, and by `others`, settings of sections with
/// whether they do. The provider is not asked.
pub(super) fn problems(
    own: Option<&SignInConfig>,
    locations: &[ProviderUse<'_>],
    others: &[(&str, bool)],
) -> Vec<Problem> {
    let mut found = own.map_or_else(Vec::new, SignInConfig::problems);
    let is_named = locations.iter().any(|place| place.oidc) || others.iter().any(|(_, is)| *is);
    if own.is_some() && !is_named {
        let why = "'[oidc]' has no effect: no location and no section has 'oidc'";
        found.push(Problem::warning("oidc", why));
    }
    let needs = "'oidc' needs '[oidc]', which says who the provider is";
    for (setting, _) in others.iter().filter(|(_, is)| *is && own.is_none()) {
        found.push(Problem::error(*setting, needs));
    }
    for (at, place) in locations.iter().enumerate() {
        let problem = |setting: &str, why: &str| {
            let why = format!("location '{}': {why}", place.url);
            Problem::error(format!("location.{at}.{setting}"), why)
        };
        if place.oidc && own.is_none() {
            found.push(problem("oidc", needs));
        }
        let tokens = own.and_then(|own| own.accounts.as_deref());
        if place.oidc && tokens.is_some() && place.accounts.is_some() && tokens != place.accounts {
            let why = "'accounts' is another file than that of '[oidc]': tokens of the page do not count here";
            found.push(Problem { is_warning: true, ..problem("accounts", why) });
        }
        if place.trusted && own.is_some() {
            let why = "'trusted' cannot be together with '[oidc]': a script of a stored page \
                       could do all that its reader may";
            found.push(problem("trusted", why));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::lines::{assert_page_names_settings, page_section};
    use super::*;

    /// The page names each setting, and no others.
    #[test]
    fn the_page_has_all_settings() {
        assert_page_names_settings::<SignInConfig>(page_section("Signing in to pages"));
    }
}
