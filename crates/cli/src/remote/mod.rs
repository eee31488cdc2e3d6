//! What all programs have in common that work on URLs: the options for authentication and how
//! they are configured, the questions at a terminal, targets with peg revisions.

pub(crate) mod config;
mod config_names;
pub(crate) mod editor;
mod first_use;
pub(crate) mod locking;
pub(crate) mod prompt;
pub(crate) mod revprops;
pub(crate) mod target;

use std::path::PathBuf;
use std::sync::Arc;

use sapwood_core::SvnResult;
use sapwood_core::exact::Exact;
use sapwood_fs::OpenOptions;
use sapwood_ra::auth::{AuthOptions, Authenticator, Failures, GpgAgent};
use sapwood_ra::{FileCaches, Settings};

use crate::option::{Name, OptionSpec, Options, name};
use crate::usage::usage_error;
use crate::{signals, terminal};

/// `--username`.
pub(crate) const USERNAME: OptionSpec = name::USERNAME.value(None, "log in as ARG");
/// `--password`.
pub(crate) const PASSWORD: OptionSpec = name::PASSWORD.value(
    None,
    "log in with the password ARG (beware: on many systems\n                             \
     others can see it)",
);
/// `--password-from-stdin`.
pub(crate) const PASSWORD_FROM_STDIN: OptionSpec =
    name::PASSWORD_FROM_STDIN.flag(None, "log in with the password on standard input");
/// `--no-auth-cache`.
pub(crate) const NO_AUTH_CACHE: OptionSpec =
    name::NO_AUTH_CACHE.flag(None, "do not keep the name and the password");
/// `--non-interactive`.
pub(crate) const NON_INTERACTIVE: OptionSpec = name::NON_INTERACTIVE.flag(None, "ask nothing");
/// `--force-interactive`.
pub(crate) const FORCE_INTERACTIVE: OptionSpec =
    name::FORCE_INTERACTIVE.flag(None, "ask although standard input is no terminal");
/// `--trust-server-cert`.
pub(crate) const TRUST_SERVER_CERT: OptionSpec =
    name::TRUST_SERVER_CERT.flag(None, "old form of --trust-server-cert-failures=unknown-ca");
/// `--trust-server-cert-failures`.
pub(crate) const TRUST_SERVER_CERT_FAILURES: OptionSpec = name::TRUST_SERVER_CERT_FAILURES.value(
    None,
    "with --non-interactive, take certificates of servers\n                             \
     that fail in the ways that ARG lists with commas:\n                             \
     'unknown-ca', 'cn-mismatch', 'expired',\n                             \
     'not-yet-valid', 'other'",
);
/// `--config-dir`.
pub(crate) const CONFIG_DIR: OptionSpec =
    name::CONFIG_DIR.value(None, "read the user's configuration in the folder ARG");
/// `--config-option`.
pub(crate) const CONFIG_OPTION: OptionSpec = name::CONFIG_OPTION.value(
    None,
    "configure FILE:SECTION:OPTION=[VALUE], as\n                             \
     servers:global:http-timeout=60",
);

/// The long names of the options that every subcommand takes which works on URLs, without
/// `--force-interactive`, which svnbench never learned.
pub(crate) const GLOBAL_WITHOUT_FORCE: &[Name] = &[
    name::USERNAME,
    name::PASSWORD,
    name::PASSWORD_FROM_STDIN,
    name::NO_AUTH_CACHE,
    name::NON_INTERACTIVE,
    name::TRUST_SERVER_CERT,
    name::TRUST_SERVER_CERT_FAILURES,
    name::CONFIG_DIR,
    name::CONFIG_OPTION,
];

/// Checks that it is clear whether questions may be asked.
pub(crate) fn check_questions(options: &Options) -> SvnResult<()> {
    if options.has(name::NON_INTERACTIVE) && options.has(name::FORCE_INTERACTIVE) {
        return Err(usage_error(
            "--non-interactive and --force-interactive are mutually exclusive",
        ));
    }
    Ok(())
}

/// Reads a list of ways in which certificates may fail.
pub(crate) fn failures(list: &str) -> SvnResult<Failures> {
    let words = list.split([',', ' ', '\n', '\r', '\t', '\u{b}']).filter(|w| !w.is_empty());
    let mut found = Failures::default();
    for word in words {
        match Failures::WORDS.iter().find(|(name, _)| *name == word) {
            Some((_, failure)) => found |= *failure,
            None => {
                return Err(usage_error(format!(
                    "Unknown value '{word}' for --trust-server-cert-failures.\nSupported values: \
                     {}",
                    Failures::WORDS.map(|(name, _)| name).join(", ")
                )));
            }
        }
    }
    Ok(found)
}

/// The certificate failures that the options accept; `list` is the option for this server.
pub(crate) fn trusted(options: &Options, list: Name) -> SvnResult<Failures> {
    let mut trust = match options.value(list)? {
        Some(list) => failures(&list)?,
        None => Failures::default(),
    };
    if options.has(name::TRUST_SERVER_CERT) {
        trust |= Failures::UNKNOWN_CA;
    }
    Ok(trust)
}

/// Checks what the options say together. `alone` is whether the program takes it that no user can
/// be asked anything.
pub(crate) fn check(options: &Options, alone: bool) -> SvnResult<()> {
    trusted(options, name::TRUST_SERVER_CERT_FAILURES)?;
    check_questions(options)?;
    if !alone
        && (options.has(name::TRUST_SERVER_CERT) || options.has(name::TRUST_SERVER_CERT_FAILURES))
    {
        return Err(usage_error("--trust-server-cert-failures requires --non-interactive"));
    }
    if !alone && options.has(name::PASSWORD_FROM_STDIN) {
        return Err(usage_error("--password-from-stdin requires --non-interactive"));
    }
    Ok(())
}

/// A name and a password that were given.
#[derive(Clone, Debug, Default)]
pub(crate) struct Credentials {
    pub(crate) username: Option<String>,
    pub(crate) password: Option<String>,
    /// The accepted failures of the server's certificate.
    pub(crate) trust: Failures,
}

impl Credentials {
    /// Those of `--username`, `--password` and `--password-from-stdin`.
    pub(crate) fn from_options(options: &Options) -> SvnResult<Self> {
        let mut password = options.value(name::PASSWORD)?;
        if options.has(name::PASSWORD_FROM_STDIN) {
            password = Some(prompt::stdin_line()?);
        }
        let trust = trusted(options, name::TRUST_SERVER_CERT_FAILURES)?;
        Ok(Self { username: options.value(name::USERNAME)?, password, trust })
    }
}

/// How a program sees its user.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Manner {
    /// The prefix of warnings.
    pub(crate) prefix: &'static str,
    /// Whether the user's configuration folder is made when it is not there.
    pub(crate) makes_folder: bool,
    /// Whether nothing is asked when standard input is no terminal.
    pub(crate) looks_for_terminal: bool,
    /// How an unreadable user configuration is treated.
    pub(crate) unreadable: config::Unreadable,
}

/// Whether no user can be asked anything.
pub(crate) fn is_non_interactive(options: &Options, manner: Manner) -> bool {
    options.has(name::NON_INTERACTIVE)
        || (manner.looks_for_terminal
            && !options.has(name::FORCE_INTERACTIVE)
            && !terminal::stdin_is_one())
}

/// Makes the user's configuration folder if it is not there.
pub(crate) fn ensure_folder(options: &Options) {
    let dir = options.os_value(name::CONFIG_DIR).map(PathBuf::from).or_else(config::user_dir);
    if let Some(dir) = dir {
        first_use::ensure(&dir);
    }
}

/// Everything that opening sessions needs.
pub(crate) fn settings(
    options: &Options,
    credentials: Credentials,
    manner: Manner,
) -> SvnResult<Settings> {
    let dir = options.os_value(name::CONFIG_DIR).map(PathBuf::from).or_else(config::user_dir);
    if let Some(dir) = dir.as_deref().filter(|_| manner.makes_folder) {
        first_use::ensure(dir);
    }
    let given = options.values(name::CONFIG_OPTION)?;
    let mut files = config::load(dir.as_deref(), &given, manner.prefix, manner.unreadable)?;
    let non_interactive = is_non_interactive(options, manner);
    let system_user = config::system_user();
    let flag = |name| files.config.get_bool("auth", name, true);
    let auth = AuthOptions {
        username: credentials.username,
        password: credentials.password,
        config_dir: dir,
        no_auth_cache: options.has(name::NO_AUTH_CACHE) || !flag("store-auth-creds")?,
        store_passwords: flag("store-passwords")?,
        non_interactive,
        system_user: system_user.clone(),
        trust: credentials.trust,
        gpg_agent: gpg_agent(&files.config),
        password_store: password_store(&files.config),
        agent_first: is_before(&files.config, "gpg-agent", "gnome-keyring"),
        asks_for_certificate: files.config.get_bool(
            "auth",
            "ssl-client-cert-file-prompt",
            false,
        )?,
    };
    if let Some(size) = options.value(name::MEMORY_CACHE_SIZE)? {
        files.config.set("miscellany", "memory-cache-size", size.as_bytes());
    }
    let caches = Arc::new(FileCaches::new(CACHE));
    crate::repo::leave_to_the_system(&caches);
    let servers = Arc::new(files.servers);
    let prompter: Box<dyn sapwood_ra::auth::Prompter> = Box::new(prompt::Terminal);
    Ok(Settings {
        auth: Arc::new(Authenticator::new(auth, Arc::clone(&servers), Some(prompter))),
        config: Arc::new(files.config),
        servers,
        variable: |name| std::env::var_os(name),
        system_user,
        caches,
        open_options: OpenOptions::default(),
        http_clients: sapwood_ra::http::HttpClients::default(),
        svn_connections: sapwood_ra::svn::IdleConnections::default(),
        client_name: None,
        cancel: signals::cancel_token(),
    })
}

/// The names of the stores of passwords that the configuration allows, in the order in which they are tried.
fn password_stores(config: &sapwood_core::config::Config) -> Vec<String> {
    let stores = config.get("auth", "password-stores");
    let stores = stores.as_deref().unwrap_or("gnome-keyring,kwallet,gpg-agent");
    stores.split([' ', ',']).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// Whether a store is tried before another, or that one not at all.
fn is_before(config: &sapwood_core::config::Config, first: &str, second: &str) -> bool {
    let stores = password_stores(config);
    let place = |name: &str| stores.iter().position(|store| store == name);
    place(first).is_some_and(|first| place(second).is_none_or(|second| first < second))
}

/// The session's Secret Service, if the configuration lets passwords be kept there and the environment says
/// where its bus is.
#[cfg(feature = "secret-service")]
fn password_store(
    config: &sapwood_core::config::Config,
) -> Option<Arc<dyn sapwood_ra::auth::PasswordStore>> {
    if !password_stores(config).iter().any(|store| store == "gnome-keyring") {
        return None;
    }
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let own = || Some(format!("unix:path={}/bus", variable("XDG_RUNTIME_DIR")?));
    let address = variable("DBUS_SESSION_BUS_ADDRESS").or_else(own)?;
    Some(Arc::new(sapwood_ra::auth::SecretService::at(address)))
}

/// Without the feature `secret-service` there is no such store.
#[cfg(not(feature = "secret-service"))]
fn password_store(
    _: &sapwood_core::config::Config,
) -> Option<Arc<dyn sapwood_ra::auth::PasswordStore>> {
    None
}

/// gpg-agent, if the configuration lets passwords be kept there: where it listens, by the environment.
fn gpg_agent(config: &sapwood_core::config::Config) -> Option<GpgAgent> {
    if !password_stores(config).iter().any(|store| store == "gpg-agent") {
        return None;
    }
    let variable = |name: &str| std::env::var_os(name);
    let sockets = if let Some(info) = variable("GPG_AGENT_INFO") {
        let info = info.to_string_lossy().into_owned();
        vec![info.split(':').next().unwrap_or("").into()]
    } else if let Some(home) = variable("GNUPGHOME") {
        vec![PathBuf::from(home).join("S.gpg-agent")]
    } else {
        let user = rustix::process::getuid().as_raw();
        let home = variable("HOME").map(|home| PathBuf::from(home).join(".gnupg/S.gpg-agent"));
        [format!("/run/user/{user}"), format!("/var/run/user/{user}")]
            .into_iter()
            .map(|dir| PathBuf::from(dir).join("gnupg/S.gpg-agent"))
            .chain(home)
            .collect()
    };
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(variable);
    let terminal_values = [
        ("ttyname", variable("GPG_TTY")),
        ("ttytype", variable("TERM")),
        ("lc-ctype", locale),
        ("display", variable("DISPLAY")),
    ];
    let text = |(name, value): (&'static str, Option<std::ffi::OsString>)| {
        Some((name, value?.into_string().ok()?))
    };
    Some(GpgAgent { sockets, terminal: terminal_values.into_iter().filter_map(text).collect() })
}

/// Bytes of cache for repositories that are opened in this process, when `memory-cache-size` does not say: the reference's default.
const CACHE: usize = 16 << 20;

/// Formats a number: groups of three digits, with commas.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && digits.len().minus(at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_digits() {
        for (number, want) in
            [(0, "0"), (999, "999"), (1000, "1,000"), (47_191, "47,191"), (1_234_567, "1,234,567")]
        {
            assert_eq!(grouped(number), want);
        }
    }
}
