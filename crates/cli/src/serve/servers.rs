//! `[servers]` of the configuration file: other servers of the same repositories, which are in a store.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use sapwood_core::{ErrorCode, SvnError, SvnResult};
use sapwood_peers::servers::MOST_SERVERS;
use sapwood_peers::{Error, Members, Name, Secret, ServerList, TlsFiles};
use sapwood_server::Listener;
use serde::Deserialize;

use super::lines::Problem;
use super::secret_file;

/// The servers, and how they reach each other.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct ServersConfig {
    own: String,
    #[serde(default)]
    list: Vec<String>,
    dns: Option<String>,
    listen: Option<String>,
    secret_file: PathBuf,
    tls_certificate: Option<PathBuf>,
    tls_key: Option<PathBuf>,
    tls_ca: Option<PathBuf>,
}

impl ServersConfig {
    /// Makes relative paths relative to `base`.
    pub(super) fn make_absolute(&mut self, base: &Path) {
        self.secret_file = base.join(&self.secret_file);
        let files = [&mut self.tls_certificate, &mut self.tls_key, &mut self.tls_ca];
        for file in files.into_iter().flatten() {
            *file = base.join(&*file);
        }
    }

    /// Where the others are answered.
    ///
    /// # Errors
    /// A sentence about what is no such address.
    pub(super) fn address(&self) -> Result<SocketAddr, String> {
        let text = self.listen.as_ref().unwrap_or(&self.own);
        text.trim().parse().map_err(|_| {
            let name = if self.listen.is_some() { "listen" } else { "own" };
            format!("[servers]: '{name}': '{text}' is no address with a port, as 10.0.0.1:3700 is")
        })
    }

    /// What is used of it.
    ///
    /// # Errors
    /// E125009 for what `--check` says of the section, too.
    pub(super) fn servers(&self) -> SvnResult<ServerList> {
        let wrong = |why| SvnError::new(ErrorCode::BAD_CONFIG_VALUE, format!("[servers]: {why}"));
        let name = |text: &String| Name::parse(text).map_err(SvnError::from);
        let members = match &self.dns {
            Some(dns) => Members::Dns(name(dns)?),
            None => Members::Fixed(self.list.iter().map(name).collect::<SvnResult<_>>()?),
        };
        let secret = secret_file::read(&self.secret_file).map_err(wrong)?;
        let tls = self.tls().map_err(|missing| wrong(needs(missing)))?;
        Ok(ServerList { own: name(&self.own)?, members, secret: Secret::new(secret)?, tls })
    }

    /// The certificate that is shown to the others, if there is one.
    pub(super) fn certificate(&self) -> Option<PathBuf> {
        self.tls_certificate.clone()
    }

    /// The settings of TLS, each with its name.
    const fn tls_settings(&self) -> [(&'static str, &Option<PathBuf>); 3] {
        [
            ("tls-certificate", &self.tls_certificate),
            ("tls-key", &self.tls_key),
            ("tls-ca", &self.tls_ca),
        ]
    }

    /// The files of TLS, if there are any.
    ///
    /// # Errors
    /// The name of a setting that is missing beside others.
    fn tls(&self) -> Result<Option<TlsFiles>, &'static str> {
        let settings = self.tls_settings();
        if settings.iter().all(|(_, file)| file.is_none()) {
            return Ok(None);
        }
        let [certificate, key, authorities] = settings.map(|(name, file)| file.clone().ok_or(name));
        Ok(Some(TlsFiles { certificate: certificate?, key: key?, authorities: authorities? }))
    }

    /// Asks each server whether it is there and knows the secret: its name, and why it is not used, if it is not.
    ///
    /// # Errors
    /// As of [`ServersConfig::servers`]; a runtime that cannot be made.
    pub(super) fn asked(&self) -> SvnResult<Vec<(String, Option<String>)>> {
        let asked = sapwood_peers::look::at_all(self.servers()?)?;
        let words =
            |(name, why): (Name, Option<Error>)| (name.to_string(), why.map(|e| e.to_string()));
        Ok(asked.into_iter().map(words).collect())
    }

    /// What is wrong with it by itself.
    pub(super) fn problems(&self) -> Vec<Problem> {
        let mut found = Vec::new();
        let error = |setting: String, why: String| {
            Problem::error(format!("servers.{setting}"), format!("[servers]: {why}"))
        };
        let mut names = Vec::new();
        let listed = self.list.iter().enumerate().map(|(at, text)| (format!("list.{at}"), text));
        for (setting, text) in listed {
            match Name::parse(text) {
                Err(why) => found.push(error(setting, format!("'list': {why}"))),
                Ok(name) if names.contains(&name) => {
                    found.push(error(setting, format!("'list': '{text}' is there already")));
                }
                Ok(name) => names.push(name),
            }
        }
        if self.list.is_empty() == self.dns.is_none() {
            found.push(error("own".to_owned(), "either 'list' or 'dns' is needed".to_owned()));
        }
        if names.len() > MOST_SERVERS {
            found.push(error(
                "list".to_owned(),
                format!("'list' has at most {MOST_SERVERS} servers"),
            ));
        }
        match Name::parse(&self.own) {
            Err(why) => found.push(error("own".to_owned(), format!("'own': {why}"))),
            Ok(own) => found.extend(self.of_own(&own, &names)),
        }
        if let Err(why) = self.address() {
            let setting = if self.listen.is_some() { "servers.listen" } else { "servers.own" };
            found.push(Problem::error(setting, why));
        }
        let secret = secret_file::read(&self.secret_file);
        let secret = secret.and_then(|bytes| Secret::new(bytes).map_err(|e| e.to_string()));
        if let Err(why) = secret {
            found.push(error("secret-file".to_owned(), format!("'secret-file': {why}")));
        }
        found.extend(self.of_tls());
        found
    }

    /// Files of TLS that cannot be used.
    fn of_tls(&self) -> Option<Problem> {
        let first = self.tls_settings().into_iter().find(|(_, file)| file.is_some());
        let setting = format!("servers.{}", first.map_or("own", |(name, _)| name));
        let error = |why: String| Some(Problem::error(setting, format!("[servers]: {why}")));
        let host = match &self.dns {
            Some(dns) => Name::parse(dns),
            None => Name::parse(&self.own),
        };
        match (self.tls(), host) {
            (Err(missing), _) => error(needs(missing)),
            // A name that is none has been found already.
            (Ok(None), _) | (_, Err(_)) => None,
            (Ok(Some(files)), Ok(host)) => {
                files.check(host.host()).err().and_then(|e| error(e.to_string()))
            }
        }
    }

    /// A name of this server that the others do not know it by.
    fn of_own(&self, own: &Name, names: &[Name]) -> Option<Problem> {
        let error = |why: String| Some(Problem::error("servers.own", format!("[servers]: {why}")));
        if let Some(dns) = &self.dns {
            let is_address = own.host().parse::<std::net::IpAddr>().is_ok();
            return match Name::parse(dns) {
                Err(why) => Some(Problem::error("servers.dns", format!("[servers]: 'dns': {why}"))),
                Ok(_) if !is_address => {
                    error("'own' has to be one of the addresses of 'dns'".to_owned())
                }
                Ok(dns) if dns.port() != own.port() => {
                    error(format!("'own' needs the port of 'dns', {}", dns.port()))
                }
                Ok(_) => None,
            };
        }
        if !names.is_empty() && !names.contains(own) {
            return error(format!("'own': '{own}' is not in 'list'"));
        }
        let why = "[servers] has no effect: there is no other server in 'list'";
        (names.len() == 1).then(|| Problem::warning("servers.list", why))
    }

    /// An address of another machine.
    pub(super) fn of_machine(&self) -> Option<Problem> {
        let at = self.address().ok()?;
        let bound = Listener::bind(Some(&at.ip().to_string()), 0, at.is_ipv6());
        let why = |error: SvnError| format!("[servers]: '{at}': {}", error.message());
        let setting = if self.listen.is_some() { "servers.listen" } else { "servers.own" };
        bound.err().map(|error| Problem::error(setting, why(error)))
    }
}

/// What is said of a file that is missing.
fn needs(name: &str) -> String {
    format!("'{name}' is missing: TLS needs 'tls-certificate', 'tls-key' and 'tls-ca'")
}

#[cfg(test)]
mod tests {
    use super::super::lines::{assert_page_names_settings, page_section};
    use super::*;

    /// The page names each setting, and no others.
    #[test]
    fn the_page_has_all_settings() {
        assert_page_names_settings::<ServersConfig>(page_section("Other servers: `[servers]`"));
    }

    #[test]
    fn what_is_wrong_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let (good, short) = (folder.path().join("good"), folder.path().join("short"));
        std::fs::write(&good, "0123456789abcdef0123456789abcdef\n").unwrap();
        std::fs::write(&short, "0123\n").unwrap();
        let with = |text: &str, secret: &Path| {
            let text = format!("{text}\nsecret-file = '{}'", secret.display());
            let config: ServersConfig = toml::from_str(&text).unwrap();
            let problems = config.problems();
            let settings = config.servers();
            assert!(settings.is_ok() || !problems.is_empty(), "{text}");
            problems.into_iter().map(|p| format!("{}: {}", p.setting, p.why)).collect::<Vec<_>>()
        };
        let of = |text: &str| with(text, &good);
        for sound in [
            "own = '10.0.0.1:3700'\nlist = ['10.0.0.1:3700', 'b.example:3700']",
            "own = 'a.example:3700'\nlisten = '[::]:3700'\nlist = ['a.example:3700', 'b.example:3700']",
            "own = '10.0.0.1:3700'\ndns = 'peers.example:3700'",
        ] {
            assert_eq!(of(sound), [""; 0], "{sound}");
        }
        for (text, why) in [
            (
                "own = '10.0.0.1'\ndns = 'p.example:1'",
                "servers.own: [servers]: 'own': '10.0.0.1' is no",
            ),
            ("own = '10.0.0.1:1'", "either 'list' or 'dns'"),
            ("own = '10.0.0.1:1'\nlist = ['10.0.0.1:1']\ndns = 'p.example:1'", "either 'list' or"),
            (
                "own = '10.0.0.1:1'\nlist = ['10.0.0.1:1', 'b']",
                "servers.list.1: [servers]: 'list': 'b'",
            ),
            ("own = '10.0.0.1:1'\nlist = ['10.0.0.1:1', '10.0.0.1:1']", "there already"),
            ("own = '10.0.0.1:1'\nlist = ['10.0.0.2:1', '10.0.0.3:1']", "is not in 'list'"),
            ("own = '10.0.0.1:1'\nlist = ['10.0.0.1:1']", "no effect"),
            (
                "own = 'a.example:1'\nlist = ['a.example:1', 'b.example:1']",
                "'own': 'a.example:1' is no address",
            ),
            (
                "own = '10.0.0.1:1'\nlisten = 'x'\ndns = 'p.example:1'",
                "servers.listen: [servers]: 'listen'",
            ),
            (
                "own = 'a.example:1'\nlisten = '0.0.0.0:1'\ndns = 'p.example:1'",
                "one of the addresses",
            ),
            ("own = '10.0.0.1:1'\ndns = 'p.example:2'", "needs the port of 'dns', 2"),
            ("own = '10.0.0.1:1'\ndns = 'p'", "servers.dns: [servers]: 'dns'"),
        ] {
            let problems = of(text);
            assert!(problems.iter().any(|problem| problem.contains(why)), "{text}: {problems:?}");
        }
        let sound = "own = '10.0.0.1:1'\ndns = 'p.example:1'";
        assert!(with(sound, &short)[0].contains("shorter than 16 bytes"));
        assert!(with(sound, &folder.path().join("none"))[0].contains("servers.secret-file"));
    }
}
