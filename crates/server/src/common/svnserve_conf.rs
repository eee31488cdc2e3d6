//! `svnserve.conf`: what it says, as values.

use std::path::{Path, PathBuf};
use std::time::Duration;

use sapwood_core::config::Config;
use sapwood_core::{ErrorCode, SvnError, SvnResult};

use super::config::{AccessConfig, Blanket, Login, SaslStrength, UsernameCase};

const GENERAL: &str = "general";
const SASL: &str = "sasl";

/// What a word grants.
fn blanket(value: Option<&str>, default: Blanket, read_only: bool) -> Blanket {
    let access = match value {
        None => default,
        Some("write") => Blanket::Write,
        Some("read") => Blanket::Read,
        Some(_) => Blanket::None,
    };
    if read_only { access.min(Blanket::Read) } else { access }
}

fn sasl_strength(config: &Config) -> SvnResult<Option<SaslStrength>> {
    if !config.get_bool(SASL, "use-sasl", false)? {
        return Ok(None);
    }
    let number = |option: &str, default: u32| match config.get(SASL, option) {
        None => Ok(default),
        Some(text) => text.trim().parse().map_err(|_| {
            SvnError::new(
                ErrorCode::INCORRECT_PARAMS,
                format!("Could not convert '{text}' into a number"),
            )
        }),
    };
    let (min, max) = (number("min-encryption", 0)?, number("max-encryption", 256)?);
    Ok(Some(SaslStrength { min, max }))
}

impl AccessConfig {
    /// Takes the needed options from a parsed file in the folder `base`.
    ///
    /// # Errors
    /// E125009 and kin for options that make no sense.
    pub fn from_config(config: &Config, base: &Path, read_only: bool) -> SvnResult<Self> {
        let get = |option: &str| config.get(GENERAL, option);
        let authz_db = get("authz-db").map(std::borrow::Cow::into_owned);
        let username_case = match get("force-username-case").as_deref() {
            _ if authz_db.is_none() => UsernameCase::AsIs,
            Some("upper") => UsernameCase::Upper,
            Some("lower") => UsernameCase::Lower,
            _ => UsernameCase::AsIs,
        };
        Ok(Self {
            login: Login::Optional,
            anon_access: blanket(get("anon-access").as_deref(), Blanket::Read, read_only),
            auth_access: blanket(get("auth-access").as_deref(), Blanket::Write, read_only),
            password_db: get("password-db").map(|p| base.join(&*p)),
            authz_db,
            groups_db: get("groups-db").map(std::borrow::Cow::into_owned),
            realm: get("realm").map(std::borrow::Cow::into_owned),
            username_case,
            hooks_env: get("hooks-env").map(|p| PathBuf::from(&*p)),
            sasl: sasl_strength(config)?,
            hook_time_limit: match config.get_i64(GENERAL, "hook-timeout", 0)? {
                seconds @ 1.. => u64::try_from(seconds).ok().map(Duration::from_secs),
                _ => None,
            },
            password_delay: match config.get_i64(GENERAL, "password-delay", 1)? {
                seconds @ 1.. => Duration::from_secs(u64::try_from(seconds).unwrap_or(1).min(60)),
                _ => Duration::ZERO,
            },
            base: base.to_owned(),
            ..Self::closed()
        })
    }
}
