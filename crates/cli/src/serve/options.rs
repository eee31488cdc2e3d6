//! The command line of `sapwood serve`.
//!
//! Invariant: what `set` takes is what `SPECS` and the help text name.

use std::ffi::{OsStr, OsString};
use std::net::SocketAddr;
use std::path::PathBuf;

use sapwood_core::SvnResult;
use sapwood_server::dav::settings::{BulkUpdates, HttpSettings, Location};
use sapwood_server::operation_log::OpLog;
use sapwood_server::settings::RootUsers;

use super::{check, config};
use crate::command::OptionSpec;
use crate::getopt::{Item, Parser};

const SPECS: &[OptionSpec] = &[
    OptionSpec::flag("demo", None, ""),
    OptionSpec::value("listen", None, ""),
    OptionSpec::value("port", None, ""),
    OptionSpec::value("log-file", None, ""),
    OptionSpec::value("metrics-listen", None, ""),
    OptionSpec::value("http-port", None, ""),
    OptionSpec::flag("no-http", None, ""),
    OptionSpec::value("https-port", None, ""),
    OptionSpec::value("tls-certificate", None, ""),
    OptionSpec::value("tls-key", None, ""),
    OptionSpec::flag("folder", None, ""),
    OptionSpec::value("location", None, ""),
    OptionSpec::value("config-file", None, ""),
    OptionSpec::value("config", None, ""),
    OptionSpec::flag("check", None, ""),
    OptionSpec::value("bulk-updates", None, ""),
    OptionSpec::flag("no-http-v2", None, ""),
    OptionSpec::flag("autoversioning", None, ""),
    OptionSpec::flag("help", Some('h'), ""),
];

pub(super) const HELP: &str = "\
usage: sapwood serve PATH
       sapwood serve --config FILE [PATH]
       sapwood serve --config FILE --check
       sapwood serve --demo [PATH]

Serves the repository at PATH, or all repositories in the folder PATH, over svn:// and http://,
or with a certificate svn:// and https://, until Ctrl-C. Each repository's conf/svnserve.conf says
who may read and write.

With --demo, a small repository with some history is made first, at PATH or in the
user's data folder, if there is none. Everybody may read it; the user 'demo' with the
password 'demo' may commit.

With --config, a file in TOML says what is served where and to whom, with logins of its own for
http:// (docs/serve.md describes it); options and PATH take precedence. The file, and what it
names, is looked at before anything is served; with --check nothing else is done.

Options:
  --config FILE      serve what this file in TOML says
  --check            say what is wrong with it, and serve nothing
  --listen ADDRESS   listen there (127.0.0.1: this machine only; 0.0.0.0: everywhere)
  --port PORT        listen there for svn:// (3690)
  --http-port PORT   listen there for http:// (8080; with a certificate only if this is given)
  --no-http          no http:// without encryption; svn:// and https:// stay
  --tls-certificate FILE, --tls-key FILE
                     serve https://, too, with this certificate (and those between it and its
                     authority) and its key, in PEM form; they are read again when they change
  --https-port PORT  listen there for https:// (8443)
  --folder           PATH is a folder of repositories, though there may be none in it yet
  --location /URL/PATH=FOLDER
                     serve FOLDER at that path of http://, too; may be said more than once
  --config-file FILE a svnserve.conf for all repositories, in place of their own
  --bulk-updates WORD
                     on, off or prefer (the default): whether http clients get texts inside
                     of update reports
  --no-http-v2       speak to http clients as servers before 1.7 did
  --autoversioning   what file managers and other programs write at PATH's http:// addresses
                     becomes revisions
  --log-file FILE    write a line for each request
  --metrics-listen ADDRESS:PORT
                     answer monitoring programs there: /metrics, /healthz, /readyz
  -h [--help]        show this help
";

/// What the command line says, and what the configuration file adds to it.
#[derive(Default)]
pub(super) struct Options {
    pub(super) demo: bool,
    pub(super) help: bool,
    pub(super) listen: Option<String>,
    pub(super) port: Option<u16>,
    pub(super) log_file: Option<PathBuf>,
    pub(super) metrics: Option<SocketAddr>,
    pub(super) path: Option<PathBuf>,
    pub(super) http_port: Option<u16>,
    pub(super) no_http: bool,
    pub(super) https_port: Option<u16>,
    pub(super) certificate: Option<PathBuf>,
    pub(super) key: Option<PathBuf>,
    pub(super) folder: bool,
    pub(super) config_file: Option<PathBuf>,
    pub(super) config: Option<PathBuf>,
    pub(super) check: bool,
    pub(super) file: config::File,
    pub(super) http: HttpSettings,
    pub(super) users: RootUsers,
}

impl Options {
    /// Whether http:// is spoken, not encrypted: where there is https:// only if its port is named.
    pub(super) const fn speaks_http(&self) -> bool {
        !self.no_http && (self.http_port.is_some() || !self.speaks_https())
    }

    pub(super) const fn speaks_https(&self) -> bool {
        (self.certificate.is_some() && self.key.is_some()) || self.file.acme.is_some()
    }

    /// Where other servers are answered.
    pub(super) fn servers_address(&self) -> Option<SocketAddr> {
        self.file.servers.as_ref().and_then(|servers| servers.address().ok())
    }

    /// Opens the operation log, if there is to be one.
    pub(super) fn open_log(&self) -> SvnResult<Option<OpLog>> {
        let log = self.log_file.as_deref().map(OpLog::file).transpose()?;
        Ok(log.map(|log| log.in_form(self.file.operation_form())))
    }

    /// Whether nothing but the locations of the configuration is served: those are for http.
    pub(super) const fn only_locations(&self) -> bool {
        self.path.is_none() && !self.demo
    }
}

/// Reads the command line.
///
/// # Errors
/// What is wrong with it.
pub(super) fn parse(args: Vec<OsString>) -> Result<Options, String> {
    let mut options = Options::default();
    let mut parser = Parser::new(SPECS, args);
    while let Some(item) = parser.next()? {
        let (name, value) = match item {
            Item::Argument(path) if options.path.is_none() => {
                options.path = Some(path.into());
                continue;
            }
            Item::Argument(path) => {
                return Err(format!("one PATH only, not '{}' too", path.display()));
            }
            // Flags have none.
            Item::Option(spec, value) => (spec.long, value.unwrap_or_default()),
        };
        set(&mut options, name, value)?;
    }
    check_together(&options)?;
    Ok(options)
}

/// Takes an option from the command line. `value` is empty for a flag.
fn set(options: &mut Options, name: &'static str, value: OsString) -> Result<(), String> {
    match name {
        "demo" => options.demo = true,
        "help" => options.help = true,
        "listen" => options.listen = Some(value.to_string_lossy().into_owned()),
        "log-file" => options.log_file = Some(value.into()),
        "metrics-listen" => {
            options.metrics = Some(check::metrics_address(&value.to_string_lossy())?);
        }
        "no-http" => options.no_http = true,
        "tls-certificate" => options.certificate = Some(value.into()),
        "tls-key" => options.key = Some(value.into()),
        "folder" => options.folder = true,
        "no-http-v2" => options.http.v2 = false,
        "autoversioning" => options.http.autoversioning = true,
        "config" => options.config = Some(value.into()),
        "check" => options.check = true,
        "config-file" => options.config_file = Some(value.into()),
        "location" => options.http.locations.push(location(&value.to_string_lossy())?),
        "bulk-updates" => {
            options.http.bulk_updates = match &*value.to_string_lossy() {
                "on" => BulkUpdates::On,
                "off" => BulkUpdates::Off,
                "prefer" => BulkUpdates::Prefer,
                word => return Err(format!("'{word}' is not on, off or prefer")),
            }
        }
        "port" => options.port = Some(port(&value)?),
        "http-port" => options.http_port = Some(port(&value)?),
        "https-port" => options.https_port = Some(port(&value)?),
        other => return Err(format!("--{other} has no meaning: this is an error of the program")),
    }
    Ok(())
}

fn port(value: &OsStr) -> Result<u16, String> {
    let text = value.to_string_lossy();
    text.parse().map_err(|_| format!("'{text}' is no port"))
}

/// Refuses options that need another one.
fn check_together(options: &Options) -> Result<(), String> {
    let has_certificate = options.certificate.is_some() && options.key.is_some();
    let wants_tls =
        options.certificate.is_some() || options.key.is_some() || options.https_port.is_some();
    if options.check && options.config.is_none() {
        return Err("--check needs --config FILE".to_owned());
    }
    if wants_tls && !has_certificate && options.config.is_none() {
        return Err("https needs both --tls-certificate and --tls-key".to_owned());
    }
    let needs_path = !options.help && !options.demo && options.config.is_none();
    if needs_path && options.path.is_none() {
        return Err("a repository, or a folder of repositories, is needed (or --demo)".to_owned());
    }
    Ok(())
}

/// `/URL/PATH=FOLDER`
fn location(text: &str) -> Result<Location, String> {
    let wrong = || format!("'{text}' is not /URL/PATH=FOLDER");
    let (prefix, folder) = text.split_once('=').ok_or_else(wrong)?;
    let root = std::path::absolute(folder).map_err(|_| wrong())?;
    Ok(Location::new(prefix, root))
}
