//! `sapwood serve PATH`: serves a repository, or a folder of repositories, with good defaults, and
//! says how to use it. `sapwood serve --demo` brings a repository of its own.

mod acme;
mod check;
mod config;
mod demo;
mod directories;
mod disk;
mod lines;
mod listed;
mod notifications;
mod reload;
mod secret_file;
mod servers;
mod sign_in;
mod sockets;
mod status;

use std::ffi::{OsStr, OsString};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use sapwood_core::{ErrorCode, SvnError, SvnResult, uri};
use sapwood_server::common::current::Current;
use sapwood_server::common::search_indexer::SearchIndexer;
use sapwood_server::dav::settings::{BulkUpdates, HttpSettings, Location};
use sapwood_server::dav::{CertificateSource, Http, HttpServer, TlsSettings};
use sapwood_server::operation_log::OpLog;
use sapwood_server::settings::RootUsers;
use sapwood_server::svn::DEFAULT_PORT;
use sapwood_server::{Listener, ServerState, Settings};

use crate::command::OptionSpec;
use crate::getopt::{Item, Parser};
use crate::output::{self, Output};
use crate::{report, svnserve, user_folders};
use lines::Problem;
use listed::{MAX_LISTED, find_repositories};
use reload::Reload;
use sockets::DEFAULT_HTTPS_PORT;

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

const HELP: &str = "\
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

#[derive(Default)]
struct Options {
    demo: bool,
    help: bool,
    listen: Option<String>,
    port: Option<u16>,
    log_file: Option<PathBuf>,
    metrics: Option<SocketAddr>,
    path: Option<PathBuf>,
    http_port: Option<u16>,
    no_http: bool,
    https_port: Option<u16>,
    certificate: Option<PathBuf>,
    key: Option<PathBuf>,
    folder: bool,
    config_file: Option<PathBuf>,
    config: Option<PathBuf>,
    check: bool,
    file: config::File,
    http: HttpSettings,
    users: RootUsers,
}

impl Options {
    /// Whether http:// is spoken, not encrypted: where there is https:// only if its port is named.
    const fn speaks_http(&self) -> bool {
        !self.no_http && (self.http_port.is_some() || !self.speaks_https())
    }

    const fn speaks_https(&self) -> bool {
        (self.certificate.is_some() && self.key.is_some()) || self.file.acme.is_some()
    }

    /// Where other servers are answered.
    fn servers_address(&self) -> Option<SocketAddr> {
        self.file.servers.as_ref().and_then(|servers| servers.address().ok())
    }

    /// Opens the operation log, if there is to be one.
    fn open_log(&self) -> SvnResult<Option<OpLog>> {
        let log = self.log_file.as_deref().map(OpLog::file).transpose()?;
        Ok(log.map(|log| log.in_form(self.file.operation_form())))
    }

    /// Whether nothing but the locations of the configuration is served: those are for http.
    const fn only_locations(&self) -> bool {
        self.path.is_none() && !self.demo
    }
}

/// The program's `main`.
pub(crate) fn run(args: Vec<OsString>) -> ExitCode {
    let options = match parse(args.clone()) {
        Ok(options) => options,
        Err(words) => {
            report::stderr(&format!("sapwood serve: {words}\n"));
            report::stderr("Type 'sapwood serve --help' for usage.\n");
            return ExitCode::FAILURE;
        }
    };
    if options.help {
        return output::print("sapwood serve", HELP);
    }
    let checks = options.check;
    let served = take_config(options).and_then(|(options, problems)| {
        let is_fatal = problems.iter().any(|problem| !problem.is_warning);
        say(&options.file, &problems);
        match (checks, problems.is_empty()) {
            (true, true) => Ok(output::print("sapwood serve", "The configuration is sound.\n")),
            (true, false) => Ok(ExitCode::FAILURE),
            (false, _) if is_fatal => Ok(ExitCode::FAILURE),
            (false, _) => serve(args, options).map(|()| ExitCode::SUCCESS),
        }
    });
    served.unwrap_or_else(|error| {
        report::exit_error(&error, "sapwood serve: ");
        ExitCode::FAILURE
    })
}

/// Says what is wrong with a configuration.
fn say(file: &config::File, problems: &[Problem]) {
    for problem in problems {
        let kind = if problem.is_warning { "warning: " } else { "" };
        let text = problem.text(&file.name, &file.lines);
        report::stderr(&format!("sapwood serve: {kind}{text}\n"));
    }
}

/// What a configuration file says, and what is wrong with it, for `sapwood doctor`.
pub(crate) struct ConfigReport {
    /// Sentences with file and line, and whether the server can do without.
    pub(crate) problems: Vec<(String, bool)>,
    /// The repositories, and folders of them.
    pub(crate) folders: Vec<PathBuf>,
    /// The certificates for https, and for other servers.
    pub(crate) certificates: Vec<PathBuf>,
    /// What there is of certificates that are ordered by ACME.
    pub(crate) ordered: Vec<sapwood_acme::StoredCertificate>,
    /// The folder of backups.
    pub(crate) backups: Option<PathBuf>,
    /// The servers of the list, this one too, and why each cannot be used, if it cannot.
    pub(crate) servers: Vec<(String, Option<String>)>,
}

/// Reads a configuration file as a start does.
///
/// # Errors
/// A file that cannot be read, or is malformed.
pub(crate) fn examined(config: &Path) -> SvnResult<ConfigReport> {
    let options = Options { config: Some(config.to_owned()), ..Options::default() };
    let (options, problems) = take_config(options)?;
    let config::File { path, location, name, lines, backups, .. } = &options.file;
    let of_location = |place: &config::LocationConfig| {
        [place.folder.clone(), place.repository.clone()].into_iter().flatten()
    };
    let mut folders: Vec<PathBuf> =
        path.iter().cloned().chain(location.iter().flat_map(of_location)).collect();
    folders.sort();
    folders.dedup();
    let text = |problem: &Problem| (problem.text(name, lines), problem.is_warning);
    let mut ordered = Vec::new();
    if let Some(acme) = options.file.acme.as_ref().map(acme::AcmeConfig::settings) {
        for domain in &acme.domains {
            ordered.push(sapwood_acme::stored(&acme.folder, domain)?);
        }
    }
    let servers = match &options.file.servers {
        Some(servers) if problems.iter().all(|problem| problem.is_warning) => servers.asked()?,
        _ => Vec::new(),
    };
    let for_servers = options.file.servers.as_ref().and_then(servers::ServersConfig::certificate);
    Ok(ConfigReport {
        servers,
        ordered,
        problems: problems.iter().map(text).collect(),
        folders,
        backups: backups.clone(),
        certificates: options.certificate.into_iter().chain(for_servers).collect(),
    })
}

/// Reads the configuration file and fills in what the command line does not say; and what is wrong with it.
fn take_config(mut options: Options) -> SvnResult<(Options, Vec<Problem>)> {
    let Some(path) = &options.config else { return Ok((options, Vec::new())) };
    let file = config::File::read(path)?;
    let mut problems = check::problems(&file);
    options.path = options.path.or_else(|| file.path.clone());
    options.listen = options.listen.or_else(|| file.listen.clone());
    options.port = options.port.or(file.svn_port);
    options.http_port = options.http_port.or(file.http_port);
    options.https_port = options.https_port.or(file.https_port);
    options.certificate = options.certificate.or_else(|| file.tls_certificate.clone());
    options.key = options.key.or_else(|| file.tls_key.clone());
    options.log_file = options.log_file.or_else(|| file.log_file.clone());
    let metrics = file.metrics_listen.as_deref().and_then(|text| check::metrics_address(text).ok());
    options.metrics = options.metrics.or(metrics);
    options.config_file = options.config_file.or_else(|| file.svnserve_conf.clone());
    let (bulk, v2) = (options.http.bulk_updates, options.http.v2);
    problems.extend(tls_problem(&options, &file));
    problems.extend(redirect_problem(&options, &file));
    problems.extend(acme_problem(&options, &file));
    let tls = tls_settings(&options, &file).filter(|_| problems.is_empty());
    problems.extend(disk::problems(&file, tls));
    if problems.iter().any(|problem| !problem.is_warning) {
        options.file = file;
        return Ok((options, problems));
    }
    let directories = directories::open(&file.directory)?;
    file.http(&mut options.http, &directories)?;
    options.users = file.root_users(&directories)?;
    // A command line option that differs from the default stays.
    if bulk != BulkUpdates::Prefer {
        options.http.bulk_updates = bulk;
    }
    options.http.v2 &= v2;
    if file.redirect_to_https {
        let port = options.https_port.unwrap_or(DEFAULT_HTTPS_PORT);
        options.http.redirect_to_https = Some(port);
    }
    options.folder |= file.path.is_some();
    options.file = file;
    if options.path.is_none() && options.http.locations.is_empty() && !options.demo {
        let message = "The configuration names neither a 'path' nor a 'location'";
        return Err(SvnError::new(ErrorCode::BAD_CONFIG_VALUE, message));
    }
    let is_http_only = options.path.is_none() && !options.demo;
    if options.no_http && is_http_only && !options.speaks_https() {
        let message = "Nothing is served: a 'location' is for http:// and https:// only";
        return Err(SvnError::new(ErrorCode::BAD_CONFIG_VALUE, message));
    }
    Ok((options, problems))
}

/// The settings of https.
fn tls_settings(options: &Options, file: &config::File) -> Option<TlsSettings> {
    let source = match (&file.acme, options.certificate.clone().zip(options.key.clone())) {
        (Some(acme), _) => CertificateSource::Acme(acme.settings()),
        (None, Some((certificate, key))) => CertificateSource::Files { certificate, key },
        (None, None) => return None,
    };
    Some(TlsSettings { source, clients: file.clients() })
}

/// The problem of certificates that are ordered, and cannot be.
fn acme_problem(options: &Options, file: &config::File) -> Option<Problem> {
    let acme = file.acme.as_ref()?;
    if options.certificate.is_some() || options.key.is_some() {
        let why = "either '[acme]' or 'tls-certificate' and 'tls-key', not both";
        return Some(Problem::error("acme", why));
    }
    let is_asked = options.http_port.is_some() && !options.no_http;
    let why =
        "acme: 'challenge': http-01 needs 'http-port', which the authority reaches as port 80";
    (acme.needs_http() && !is_asked).then(|| Problem::error("acme.challenge", why))
}

/// The problem of https settings that cannot be used.
fn tls_problem(options: &Options, file: &config::File) -> Option<Problem> {
    let asks = [
        ("tls-certificate", options.certificate.is_some()),
        ("tls-key", options.key.is_some()),
        ("https-port", options.https_port.is_some()),
        ("tls-client-ca", file.clients().is_some()),
    ];
    let (name, _) = asks.into_iter().find(|(_, is_set)| *is_set)?;
    let has_both = options.certificate.is_some() && options.key.is_some();
    let why = "https needs both 'tls-certificate' and 'tls-key', or '[acme]'";
    (!has_both && file.acme.is_none()).then(|| Problem::error(name, why))
}

/// The problem of a redirect to https when one of both ports is missing.
fn redirect_problem(options: &Options, file: &config::File) -> Option<Problem> {
    let has_certificate = options.certificate.is_some() || file.acme.is_some();
    let speaks_https = has_certificate && options.https_port != Some(0);
    let has_both = speaks_https && options.http_port.is_some() && !options.no_http;
    let why = "'redirect-to-https' needs 'http-port', a certificate and a known 'https-port'";
    (file.redirect_to_https && !has_both).then(|| Problem::error("redirect-to-https", why))
}

/// Where a configuration says that metrics are answered.
///
/// # Errors
/// When the file cannot be read, or is wrong.
pub(crate) fn metrics_address(config: &Path) -> SvnResult<Option<SocketAddr>> {
    let file = config::File::read(config)?;
    let wrong = |why| SvnError::new(ErrorCode::BAD_CONFIG_VALUE, why);
    file.metrics_listen.as_deref().map(check::metrics_address).transpose().map_err(wrong)
}

/// The manual page.
pub(crate) fn manual() -> crate::manual::Manual {
    crate::manual::Manual::of_help(HELP)
}

fn parse(args: Vec<OsString>) -> Result<Options, String> {
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

/// What the options and the disk say, before anything listens.
struct ServePlan {
    settings: Settings,
    http: HttpSettings,
    repositories: Vec<PathBuf>,
}

/// Finds what is served.
fn prepare(options: &Options) -> SvnResult<ServePlan> {
    let only_locations = options.only_locations();
    let path = match &options.path {
        Some(path) => path.clone(),
        None if only_locations => PathBuf::from("/"),
        None => demo::default_place(),
    };
    if options.demo {
        demo::unpack(&path).map_err(|e| {
            SvnError::io(&e, format_args!("Can't make the demonstration in '{}'", path.display()))
        })?;
    }
    let root = std::fs::canonicalize(&path)
        .map_err(|e| SvnError::io(&e, format_args!("Can't open '{}'", path.display())))?;
    let repositories = if only_locations { Vec::new() } else { find_repositories(&root)? };
    if repositories.is_empty() && !options.folder && !only_locations {
        let shown = root.display();
        let message = format!(
            "No repository found in '{shown}' (make one with 'sapwood svnadmin create {shown}/NAME', or \
             serve the empty folder with --folder)"
        );
        return Err(SvnError::new(ErrorCode::RA_SVN_REPOS_NOT_FOUND, message));
    }
    // A repository is served under its own name, as it would be in a folder of several.
    let is_one = repositories == [root.clone()];
    let served_root = match root.parent() {
        Some(parent) if is_one => parent.to_owned(),
        _ => root.clone(),
    };
    let mut settings = Settings::new(served_root);
    settings.limits.connections_per_address = settings.limits.connections;
    settings.scratch = std::env::temp_dir();
    settings.only = is_one.then_some(root);
    options.file.others(&mut settings)?;
    if options.demo {
        settings.search_folder.get_or_insert_with(user_folders::caches);
    }
    settings.users = options.users.clone();
    settings.config_file = match &options.config_file {
        Some(file) => Some(
            std::path::absolute(file)
                .map_err(|e| SvnError::io(&e, format_args!("Can't find '{}'", file.display())))?,
        ),
        None => None,
    };
    let http = HttpSettings { locations_only: only_locations, ..options.http.clone() };
    Ok(ServePlan { settings, http, repositories })
}

fn serve(args: Vec<OsString>, options: Options) -> SvnResult<()> {
    let ServePlan { settings, http, repositories } = prepare(&options)?;
    // How much may be open is decided by it from here on.
    svnserve::raise_file_limit();
    let log = options.open_log()?;
    let mut sockets = sockets::Sockets::open(&options, options.only_locations())?;
    let served_root = settings.root.clone();
    let server = Arc::new(ServerState::new(settings, log));
    server.set_notifications(options.file.targets()?, notifications::report(&server))?;
    let http = Http::new(&server, http)?;
    if let Some(file) = &server.settings.config_file {
        // Errors in it are reported now, not to the first client.
        server.files.server(file, true)?;
    }
    let server = Current::new(server);
    let tls = tls_settings(&options, &options.file).map(|tls| (tls, acme::report(&server)));
    let (plain, secure) = sockets.start_http(&http, tls)?;
    let monitor = sockets.start_monitor(&server)?;
    let peers = sockets.start_peers(&server, &http)?;
    let indexer = SearchIndexer::start(&server, notifications::report(&server.get()))?;
    sapwood_objects::trouble::set_report(notifications::report(&server.get()));
    let mut out = Output::stdout();
    let url = |scheme: &str, usual, server: &Option<HttpServer>| {
        let address = server.as_ref().map(HttpServer::address)?;
        Some(format!("{scheme}://{}", authority(Some(address), usual)))
    };
    let of_http = http.current();
    // A port that only redirects to https is not listed.
    let shown = url("http", 80, &plain).filter(|_| of_http.settings.redirect_to_https.is_none());
    let pages: Vec<String> = [shown, url("https", 443, &secure)].into_iter().flatten().collect();
    let hello = match &sockets.svn {
        Some(listener) => hello(listener, &pages, &served_root, &repositories, options.demo),
        None => hello_places(&pages, &of_http.settings.locations),
    };
    drop(of_http);
    ignore_closed_pipe(out.text(&hello).and_then(|()| out.flush()))?;
    if plain.is_some() || secure.is_some() {
        give_memory_back();
    }
    let reload = Reload::new(args, options, &server, &http);
    let reload = move || reload.run();
    match &sockets.svn {
        Some(listener) => svnserve::serve(listener, &server, false, reload)?,
        None => svnserve::wait(&server, reload)?,
    }
    [plain, secure].into_iter().flatten().for_each(HttpServer::stop);
    drop((monitor, peers));
    drop(indexer);
    ignore_closed_pipe(out.text("\nEnded.\n").and_then(|()| out.flush()))
}

/// Memory that no request uses goes back to the system when nothing is asked for, too: http clients keep connections
/// for the next command. The allocator looks for such memory when it is called, and otherwise by a thread of its
/// own, beside which a single large request takes some MiB more at its height.
fn give_memory_back() {
    // Without the thread it goes back with the next requests.
    #[cfg(feature = "jemalloc")]
    {
        let _ = tikv_jemalloc_ctl::max_background_threads::write(1);
        let _ = tikv_jemalloc_ctl::background_thread::write(true);
    }
}

/// The command for our `svn` in a shell: its name where that is ours or another one, or our own program's.
fn svn_command() -> String {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there =
        |name: &str| std::env::split_paths(&path).any(|folder| folder.join(name).is_file());
    match () {
        () if is_there("svn") => "svn".to_owned(),
        () if is_there("sapwood") => "sapwood svn".to_owned(),
        () => {
            let own = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("sapwood"));
            let own = own.to_string_lossy();
            let plain = |c: char| c.is_alphanumeric() || "/._-+".contains(c);
            match own.chars().all(plain) {
                true => format!("{own} svn"),
                false => format!("'{}' svn", own.replace('\'', "'\\''")),
            }
        }
    }
}

/// A message need not be read: the server serves without a reader.
fn ignore_closed_pipe(result: SvnResult<()>) -> SvnResult<()> {
    match result {
        Err(error) if error.is_closed_pipe() => Ok(()),
        other => other,
    }
}

/// Host and port as a URL has them.
fn authority(address: Option<SocketAddr>, usual: u16) -> String {
    let port = address.map_or(usual, |a| a.port());
    let host = match address.map(|a| a.ip()) {
        Some(ip) if !ip.is_unspecified() && ip.is_ipv6() => format!("[{ip}]"),
        Some(ip) if !ip.is_unspecified() => ip.to_string(),
        _ => "localhost".to_owned(),
    };
    if port == usual { host } else { format!("{host}:{port}") }
}

fn hello_places(bases: &[String], places: &[Location]) -> String {
    let mut text = String::from("Serving:\n");
    for place in places.iter().take(MAX_LISTED) {
        for base in bases {
            text.push_str(&format!("  {base}/{}\n", uri::encode(&place.prefix)));
        }
    }
    text.push_str("\nCtrl-C ends it.\n");
    text
}

fn hello(
    listener: &Listener,
    bases: &[String],
    root: &Path,
    repositories: &[PathBuf],
    is_demo: bool,
) -> String {
    let svn = format!("svn://{}", authority(listener.address(), DEFAULT_PORT));
    let name = |repository: &PathBuf| {
        let name = repository.strip_prefix(root).unwrap_or(repository).to_string_lossy();
        uri::encode(&name).into_owned()
    };
    let urls: Vec<String> = repositories.iter().map(|r| format!("{svn}/{}", name(r))).collect();
    let of = |r| bases.iter().map(|base| format!("  {base}/{}\n", name(r))).collect();
    let pages: Vec<String> = repositories.iter().map(of).collect();
    let mut text = String::from("Serving:\n");
    for (url, page) in urls.iter().zip(&pages).take(MAX_LISTED) {
        text.push_str(&format!("  {url}\n{page}"));
    }
    if urls.len() > MAX_LISTED {
        text.push_str("  ... and more\n");
    }
    if let Some(url) = urls.first() {
        text.push_str("\nTry:\n");
        if let Some(page) = pages.first().and_then(|pages| pages.lines().next()) {
            // The web pages, which a configuration may have switched off.
            let pages = if is_demo { "-/" } else { "" };
            text.push_str(&format!("{page}/{pages} in a browser\n"));
        }
        let svn = svn_command();
        text.push_str(&format!(
            "  {svn} log -v {url}\n  {svn} ls -R {url}\n  {svn} checkout {url}\n"
        ));
        if is_demo {
            let user = "--username demo --password demo";
            text.push_str(&format!(
                "  {svn} mkdir -m 'Something new.' {user} {url}/branches/new\n"
            ));
        }
    }
    text.push_str("\nCtrl-C ends it.\n");
    text
}
