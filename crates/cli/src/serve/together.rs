//! The command line and the configuration file together.
//!
//! Invariant: what the command line says comes before what the file says.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use sapwood_core::{ErrorCode, SvnError, SvnResult};
use sapwood_server::dav::settings::BulkUpdates;

use super::https::{acme_problem, redirect_problem, tls_problem, tls_settings};
use super::lines::Problem;
use super::options::Options;
use super::sockets::DEFAULT_HTTPS_PORT;
use super::{acme, check, config, directories, disk, servers};

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
pub(super) fn take_config(mut options: Options) -> SvnResult<(Options, Vec<Problem>)> {
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

/// Where a configuration says that metrics are answered.
///
/// # Errors
/// When the file cannot be read, or is wrong.
pub(crate) fn metrics_address(config: &Path) -> SvnResult<Option<SocketAddr>> {
    let file = config::File::read(config)?;
    let wrong = |why| SvnError::new(ErrorCode::BAD_CONFIG_VALUE, why);
    file.metrics_listen.as_deref().map(check::metrics_address).transpose().map_err(wrong)
}
