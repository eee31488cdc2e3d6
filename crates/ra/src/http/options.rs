//! What the `servers` file says of http servers: the options of `[global]`, and before them those of
//! the group that the server belongs to.

use std::time::Duration;

use sapwood_core::config::Config;
use sapwood_core::{ErrorCode, SvnError, SvnResult, base64, glob};

use super::login::Scheme;
use super::origin::Origin;
use crate::auth::server_group;

/// How long a server may be silent unless the configuration says otherwise.
const PATIENCE: u64 = 600;
/// Connections to one server, unless the configuration says otherwise.
const CONNECTIONS: i64 = 4;
/// As many there are at most, whatever it says.
const MOST_CONNECTIONS: i64 = 8;

/// What is said of one server.
#[derive(Clone, Debug)]
pub(super) struct Options {
    /// `http-timeout`: `None` for a patience without end.
    pub(super) patience: Option<Duration>,
    /// `http-max-connections`.
    pub(super) connections: usize,
    /// `http-bulk-updates`: `None` leaves it to the server.
    pub(super) bulk: Option<bool>,
    /// `http-compression`: `None` leaves it to how far the server is.
    pub(super) compression: Option<bool>,
    /// `http-chunked-requests yes`: bodies go without their length.
    pub(super) chunked: bool,
    /// `http-auth-types`: the ways of proving that are allowed; `None` for all.
    pub(super) schemes: Option<Vec<Scheme>>,
    /// The same for tickets of Kerberos (`negotiate`).
    pub(super) negotiate: bool,
    /// `http-proxy-...`: the proxy, and how it knows the user.
    pub(super) proxy: Option<(Origin, Option<String>)>,
    /// `ssl-trust-default-ca`.
    pub(super) default_authorities: bool,
    /// `ssl-authority-files`.
    pub(super) authority_files: Vec<String>,
}

fn bad(message: String) -> SvnError {
    SvnError::new(ErrorCode::BAD_CONFIG_VALUE, message)
}

/// The sections that speak of a server, the one that counts most at the end.
struct Sections<'c> {
    servers: &'c Config,
    group: Option<String>,
}

impl Sections<'_> {
    fn names(&self) -> impl Iterator<Item = &str> {
        [Some("global"), self.group.as_deref()].into_iter().flatten()
    }

    fn text(&self, option: &str) -> Option<String> {
        let found = self.names().filter_map(|section| self.servers.get(section, option)).last();
        found.map(std::borrow::Cow::into_owned)
    }

    fn yes_no_auto(&self, option: &str) -> SvnResult<Option<bool>> {
        let mut value = None;
        for section in self.names() {
            value = self.servers.get_tristate(section, option, "auto", value)?;
        }
        Ok(value)
    }

    fn yes_no(&self, option: &str, default: bool) -> SvnResult<bool> {
        let mut value = default;
        for section in self.names() {
            value = self.servers.get_bool(section, option, value)?;
        }
        Ok(value)
    }

    fn patience(&self) -> SvnResult<Option<Duration>> {
        let Some(text) = self.text("http-timeout") else {
            return Ok(Some(Duration::from_secs(PATIENCE)));
        };
        let wrong = |why: String| {
            bad("invalid config: bad value for 'http-timeout' option".to_owned())
                .with_cause(SvnError::new(ErrorCode::INCORRECT_PARAMS, why))
        };
        let seconds = text
            .trim()
            .parse::<i64>()
            .map_err(|_| wrong(format!("Could not convert '{text}' into a number")))?;
        match u64::try_from(seconds) {
            Ok(0) => Ok(None),
            Ok(seconds) => Ok(Some(Duration::from_secs(seconds))),
            Err(_) => Err(wrong(format!("Number '{text}' is out of range '[0, {}]'", i64::MAX))),
        }
    }

    fn connections(&self) -> SvnResult<usize> {
        let mut value = CONNECTIONS;
        for section in self.names() {
            value = self.servers.get_i64(section, "http-max-connections", value)?;
        }
        Ok(usize::try_from(value.clamp(2, MOST_CONNECTIONS)).unwrap_or(2))
    }

    fn schemes(&self) -> SvnResult<Option<Vec<Scheme>>> {
        let Some(text) = self.text("http-auth-types") else { return Ok(None) };
        let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        let mut schemes = Vec::new();
        for word in text.split(';').filter(|word| !word.is_empty()) {
            match word.to_ascii_lowercase().as_str() {
                "basic" => schemes.push(Scheme::Basic),
                "digest" => schemes.push(Scheme::Digest),
                // A known word for a way that this client does not have, and one that needs no password.
                "ntlm" | "negotiate" => {}
                _ => return Err(bad(format!("Invalid config: unknown http-auth-types '{word}'"))),
            }
        }
        Ok(Some(schemes))
    }

    /// Whether tickets of Kerberos may be used.
    fn negotiate(&self) -> bool {
        let words = self.text("http-auth-types");
        words.is_none_or(|text| {
            text.split(';').any(|word| word.trim().eq_ignore_ascii_case("negotiate"))
        })
    }

    /// The proxy of a host. Exceptions are from the proxy of `[global]`: what a group says is
    /// meant for its servers.
    fn proxy(&self, host: &str) -> SvnResult<Option<(Origin, Option<String>)>> {
        let servers = self.servers;
        let exceptions = servers.get("global", "http-proxy-exceptions").unwrap_or("".into());
        let excepted = exceptions.split(',').map(str::trim).any(|pattern| {
            !pattern.is_empty() && glob::matches(pattern.as_bytes(), host.as_bytes())
        });
        let get = |option: &str| {
            let own = self.group.as_deref().and_then(|group| servers.get(group, option));
            own.or_else(|| servers.get("global", option).filter(|_| !excepted))
                .map(std::borrow::Cow::into_owned)
                .filter(|value| !value.is_empty())
        };
        let port = match get("http-proxy-port") {
            None => 80,
            Some(text) => proxy_port(&text)?,
        };
        let Some(proxy) = get("http-proxy-host") else { return Ok(None) };
        let user = get("http-proxy-username").map(|name| {
            let password = get("http-proxy-password").unwrap_or_default();
            format!("Basic {}", base64::encode(format!("{name}:{password}").as_bytes()))
        });
        Ok(Some((Origin { host: proxy, port }, user)))
    }
}

fn proxy_port(text: &str) -> SvnResult<u16> {
    let illegal =
        |why: &str| SvnError::new(ErrorCode::RA_ILLEGAL_URL, format!("Invalid URL: {why}"));
    let number =
        text.parse::<i64>().map_err(|_| illegal("illegal character in proxy port number"))?;
    if number < 0 {
        return Err(illegal("negative proxy port number"));
    }
    u16::try_from(number)
        .map_err(|_| illegal("proxy port number greater than maximum TCP port number 65535"))
}

impl Options {
    /// What the configuration says of `host`.
    ///
    /// # Errors
    /// E125009 and kin for values that mean nothing.
    pub(super) fn of(servers: &Config, host: &str) -> SvnResult<Self> {
        let sections = Sections { servers, group: server_group(servers, host) };
        let files = sections.text("ssl-authority-files").unwrap_or_default();
        let files = files.split(';').map(str::trim).filter(|file| !file.is_empty());
        Ok(Self {
            compression: sections.yes_no_auto("http-compression")?,
            default_authorities: sections.yes_no("ssl-trust-default-ca", true)?,
            authority_files: files.map(str::to_owned).collect(),
            bulk: sections.yes_no_auto("http-bulk-updates")?,
            connections: sections.connections()?,
            // The length is always known here, and every server takes it.
            chunked: sections.yes_no_auto("http-chunked-requests")? == Some(true),
            patience: sections.patience()?,
            proxy: sections.proxy(host)?,
            schemes: sections.schemes()?,
            negotiate: sections.negotiate(),
        })
    }
}

#[cfg(test)]
mod tests {
    use sapwood_core::config::Case;

    use super::*;

    fn of(settings: &[(&str, &str, &str)]) -> SvnResult<Options> {
        let mut servers = Config::new(Case::INSENSITIVE);
        for (section, option, value) in settings {
            servers.set(section, option, value.as_bytes());
        }
        Options::of(&servers, "svn.example.com")
    }

    const GROUP: (&str, &str, &str) = ("groups", "ours", "*.example.com");

    #[test]
    fn without_a_word_there_are_defaults() {
        let options = of(&[("else", "http-timeout", "1")]).unwrap();
        assert_eq!(options.patience, Some(Duration::from_secs(600)));
        assert_eq!((options.connections, options.chunked, options.bulk), (4, false, None));
        assert!(options.proxy.is_none() && options.schemes.is_none());
        assert!(options.default_authorities && options.compression.is_none());
    }

    #[test]
    fn groups_come_first() {
        let options = of(&[
            GROUP,
            ("global", "http-timeout", "5"),
            ("ours", "http-timeout", "0"),
            ("global", "http-max-connections", "99"),
            ("global", "http-bulk-updates", "no"),
            ("ours", "http-bulk-updates", "auto"),
            ("global", "http-compression", "yes"),
            ("ours", "http-chunked-requests", "yes"),
            ("ours", "http-auth-types", "Basic; ntlm"),
        ])
        .unwrap();
        assert_eq!((options.patience, options.connections, options.bulk), (None, 8, None));
        assert_eq!((options.compression, options.chunked), (Some(true), true));
        assert_eq!(options.schemes, Some(vec![Scheme::Basic]));
    }

    #[test]
    fn exceptions_are_from_the_proxy_of_all() {
        let all = [("global", "http-proxy-host", "p"), ("global", "http-proxy-port", "81")];
        let except = ("global", "http-proxy-exceptions", "localhost, *.example.com");
        let own = [GROUP, ("ours", "http-proxy-host", "q"), ("ours", "http-proxy-username", "u")];
        let origin = |settings: &[(&str, &str, &str)]| of(settings).unwrap().proxy;
        let at = |host: &str, port| Origin { host: host.to_owned(), port };
        assert_eq!(origin(&all), Some((at("p", 81), None)));
        assert_eq!(origin(&[&all[..], &[except]].concat()), None);
        assert_eq!(origin(&[&all[..], &[except, GROUP]].concat()), None);
        let user = Some("Basic dTo=".to_owned());
        assert_eq!(origin(&[&all[..], &own].concat()), Some((at("q", 81), user.clone())));
        assert_eq!(origin(&[&all[..], &[except], &own].concat()), Some((at("q", 80), user)));
    }

    #[test]
    fn meaningless_options_are_reported() {
        for (option, value, code, text) in [
            ("http-timeout", "x", 125_009, "bad value for 'http-timeout' option"),
            ("http-timeout", "-1", 125_009, "bad value for 'http-timeout' option"),
            ("http-max-connections", "x", 200_004, "Could not convert 'x' into a number"),
            ("http-auth-types", "foo", 125_009, "unknown http-auth-types 'foo'"),
            ("http-compression", "maybe", 125_009, "'[global] http-compression'"),
            ("http-bulk-updates", "maybe", 125_009, "'[global] http-bulk-updates'"),
            ("http-chunked-requests", "maybe", 125_009, "'[global] http-chunked-requests'"),
            ("ssl-trust-default-ca", "maybe", 125_009, "'[global] ssl-trust-default-ca'"),
            ("http-proxy-port", "x", 170_000, "illegal character in proxy port number"),
            ("http-proxy-port", "-1", 170_000, "negative proxy port number"),
            ("http-proxy-port", "70000", 170_000, "port number 65535"),
        ] {
            let error = of(&[("global", option, value)]).unwrap_err();
            assert_eq!(error.code(), ErrorCode(code), "{option} {value}");
            assert!(error.message().contains(text), "{option} {value}: {}", error.message());
        }
    }
}
