//! Problems with what the configuration names: files, directories, certificates, rules, addresses.
//!
//! Folders and repositories may come later (a disk that is mounted): a warning. Without password and rule files no user
//! can be let in safely, and without certificates and logs the server does not do what it is to do: errors.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use sapwood_core::{SvnError, SvnResult};
use sapwood_repos::authz::{Authz, ConfigSource};
use sapwood_repos::{Repository, Rules};
use sapwood_server::common::htpasswd::Htpasswd;
use sapwood_server::dav::{CertificateSource, Master, TlsSettings};
use sapwood_server::{Listener, ServerState, Settings};

use super::config::{File, LocationConfig};
use super::directories;
use super::lines::Problem;
use super::servers::ServersConfig;
use crate::report;

type Problems = Vec<Problem>;

/// All of it. `tls` is what https is spoken with.
pub(super) fn problems(file: &File, tls: Option<TlsSettings>) -> Problems {
    let mut found = Vec::new();
    let own = [
        ("tls-certificate", file.tls_certificate.as_ref()),
        ("tls-key", file.tls_key.as_ref()),
        ("tls-client-ca", file.tls_client_ca.as_ref()),
        ("tls-client-crl", file.tls_client_crl.as_ref()),
        ("svnserve-conf", file.svnserve_conf.as_ref()),
        ("rules", file.rules.as_ref()),
    ];
    own.into_iter().for_each(|(name, path)| need_file(name, path, &mut found));
    need_rules(file.rules.as_deref(), &mut found);
    if let Some(path) = &file.path {
        need_folder("path", path, &mut found);
    }
    if let Some(path) = &file.backups {
        need_folder("backups", path, &mut found);
    }
    if found.is_empty()
        && let Some(tls) = tls
        && let Err(error) = tls.check()
    {
        let setting = match tls.source {
            CertificateSource::Files { .. } => "tls-certificate",
            CertificateSource::Acme(_) => "tls-client-ca",
        };
        found.push(Problem::error(setting, error.message()));
    }
    for (name, path) in [("log-file", &file.log_file), ("access-log", &file.access_log)] {
        if let Some(Err(why)) = path.as_deref().map(can_append) {
            found.push(Problem::error(name, why));
        }
    }
    if let Some(host) = &file.listen
        && let Err(error) = Listener::bind(Some(host), 0, host.contains(':'))
    {
        found.push(Problem::error("listen", format!("'{host}': {}", error.message())));
    }
    found.extend(file.servers.as_ref().and_then(ServersConfig::of_machine));
    let shared = ServerState::new(Settings::new(PathBuf::from("/")), None);
    if let Some(Err(error)) =
        file.svnserve_conf.as_ref().map(|path| shared.files.server(path, true))
    {
        found.push(Problem::error("svnserve-conf", error.message()));
    }
    found.extend(directories::ask(&file.directory));
    of_all_accounts(file, &shared, &mut found);
    for (at, place) in file.location.iter().enumerate() {
        let mut own = Vec::new();
        of_place(place, &shared, &mut own);
        found.extend(own.into_iter().map(|problem| Problem {
            setting: format!("location.{at}.{}", problem.setting),
            why: format!("location '{}': {}", place.url, problem.why),
            ..problem
        }));
    }
    found
}

fn read(path: &Path) -> SvnResult<Vec<u8>> {
    crate::input::contents(&path.to_string_lossy())
}

fn need_file(name: &str, path: Option<&PathBuf>, found: &mut Problems) {
    let Some(path) = path else { return };
    if let Err(error) = read(path) {
        found.push(Problem::error(name, error.message()));
    }
}

/// A file of rules that is understood.
fn need_rules(path: Option<&Path>, found: &mut Problems) {
    let Some((path, Ok(bytes))) = path.map(|path| (path, read(path))) else { return };
    let text = String::from_utf8_lossy(&bytes);
    if let Err(error) = Rules::parse(&path.to_string_lossy(), &text) {
        found.push(Problem::error("rules", error.to_string()));
    }
}

/// A folder that may come later.
fn need_folder(name: &str, path: &Path, found: &mut Problems) {
    let why = match fs::read_dir(path) {
        Ok(_) => return,
        Err(e) if e.kind() == io::ErrorKind::NotADirectory => "is no folder".to_owned(),
        Err(e) => {
            return found.push(Problem::warning(
                name,
                SvnError::io(&e, format_args!("'{}'", path.display())).message(),
            ));
        }
    };
    found.push(Problem::warning(name, format!("'{}' {why}", path.display())));
}

/// Whether lines can be written to a file, without making it.
fn can_append(path: &Path) -> Result<(), String> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    match fs::OpenOptions::new().append(true).open(path) {
        Ok(_) => Ok(()),
        Err(e) if e.kind() == io::ErrorKind::NotFound && folder.is_dir() => Ok(()),
        Err(e) => {
            let error = SvnError::io(&e, format_args!("Can't open file '{}'", path.display()));
            Err(error.message().to_owned())
        }
    }
}

fn of_place(place: &LocationConfig, shared: &ServerState, found: &mut Problems) {
    let files = [
        ("users", place.users.as_ref()),
        ("digest-users", place.digest_users.as_ref()),
        ("svnserve-users", place.svnserve_users.as_ref()),
        ("accounts", place.accounts.as_ref()),
        ("rules", place.rules.as_ref()),
        ("master-ca", place.master_ca.as_ref()),
    ];
    let before = found.len();
    files.into_iter().for_each(|(name, path)| need_file(name, path, found));
    need_rules(place.rules.as_deref(), found);
    if found.len() == before {
        of_users(place, shared, found);
        if let (Some(url), Some(ca)) = (&place.master, &place.master_ca)
            && let Err(error) = Master::new(url, None, Some(ca))
        {
            found.push(Problem::error("master-ca", error.message()));
        }
    }
    if let Some(folder) = &place.folder {
        need_folder("folder", folder, found);
    }
    if let Some(repository) = &place.repository {
        need_folder("repository", repository, found);
        if repository.is_dir() && !Repository::is_root(repository) {
            let why = format!("'{}' is no repository", repository.display());
            found.push(Problem::warning("repository", why));
        }
    }
    of_rules(place, shared, found);
}

/// The files of accounts that sections name.
fn of_all_accounts(file: &File, shared: &ServerState, found: &mut Problems) {
    let of_users = file.users.as_ref().and_then(|users| users.accounts.as_ref());
    let of_status = file.status.as_ref().and_then(|status| status.accounts.as_ref());
    for (setting, accounts) in [("users.accounts", of_users), ("status.accounts", of_status)] {
        accounts.into_iter().for_each(|path| of_accounts(setting, path, shared, found));
    }
    // Those of users who sign in begin without any.
    if let Some(accounts) = file.oidc.as_ref().and_then(|oidc| oidc.accounts.as_ref())
        && let Err(error) = shared.files.accounts(accounts)
    {
        found.push(Problem::error("oidc.accounts", report::one_line(&error)));
    }
}

/// A file of accounts that cannot be read, or has no users.
fn of_accounts(setting: &str, path: &Path, shared: &ServerState, found: &mut Problems) {
    match shared.files.accounts(path) {
        Err(error) => found.push(Problem::error(setting, report::one_line(&error))),
        Ok(open) if open.accounts.users().is_empty() => {
            let why = "there are no users in it: see 'sapwood user --help'";
            found.push(Problem::warning(setting, why));
        }
        Ok(_) => {}
    }
}

/// Users that can never log in.
fn of_users(place: &LocationConfig, shared: &ServerState, found: &mut Problems) {
    let text =
        |path: &PathBuf| String::from_utf8_lossy(&read(path).unwrap_or_default()).into_owned();
    if let Some(path) = &place.users {
        let text = text(path);
        for user in Htpasswd::parse(&text).unknown() {
            let shown = path.display();
            let why =
                format!("'{shown}': the password of '{user}' has a hash that is not supported");
            found.push(Problem::warning("users", why));
        }
        if !text.lines().any(|line| line.contains(':')) {
            found.push(Problem::warning("users", format!("'{}' names no users", path.display())));
        }
    }
    if let (Some(path), Some(realm)) = (&place.digest_users, &place.realm) {
        let of_realm = |line: &str| line.split(':').nth(1) == Some(realm.as_str());
        if !text(path).lines().any(of_realm) {
            let why = format!("'{}' names no users of '{realm}'", path.display());
            found.push(Problem::warning("digest-users", why));
        }
    }
    if let Some(path) = &place.accounts {
        of_accounts("accounts", path, shared, found);
    }
    match place.svnserve_users.as_ref().map(|path| shared.files.passwords(path)) {
        Some(Err(error)) => found.push(Problem::error("svnserve-users", report::one_line(&error))),
        Some(Ok(Some(users))) if !users.has_section("users") => {
            found.push(Problem::warning("svnserve-users", "there is no section [users] in it"));
        }
        _ => {}
    }
}

/// Rules that refuse all users.
fn of_rules(place: &LocationConfig, shared: &ServerState, found: &mut Problems) {
    let source =
        ConfigSource { caches: &shared.caches, options: &shared.options, must_exist: true };
    let is_file = |rules: &&String| !rules.starts_with("^/");
    let groups = place.groups.as_ref().filter(is_file);
    if let Some(rules) = place.authz.as_ref().filter(is_file) {
        let groups = groups.map(String::as_str);
        if let Err(error) = Authz::read(&source, rules, groups, "authz", &mut |_| {}) {
            found.push(Problem::error("authz", report::one_line(&error)));
        }
        return;
    }
    if let Some(groups) = groups
        && let Err(error) = source.load(groups)
    {
        found.push(Problem::error("groups", report::one_line(&error)));
    }
    let inner = |repository: &Path| match (&place.authz_in_conf, &place.authz) {
        (Some(name), _) => Some(repository.join("conf").join(name).to_string_lossy().into_owned()),
        (None, Some(path)) => {
            let url = sapwood_core::uri::encode(&repository.to_string_lossy()).into_owned();
            Some(format!("file://{url}/{}", path.strip_prefix("^/")?))
        }
        (None, None) => None,
    };
    let name = if place.authz_in_conf.is_some() { "authz-in-conf" } else { "authz" };
    for repository in repositories(place) {
        let Some(rules) = inner(&repository) else { return };
        if let Err(error) = Authz::read(&source, &rules, None, "authz", &mut |_| {}) {
            found.push(Problem::warning(name, report::one_line(&error)));
        }
    }
}

/// The existing repositories of a location.
fn repositories(place: &LocationConfig) -> Vec<PathBuf> {
    const MOST: usize = 1000;
    let of_folder =
        place.folder.iter().flat_map(|folder| fs::read_dir(folder).into_iter().flatten());
    let inner = of_folder.filter_map(|entry| Some(entry.ok()?.path()));
    let all = inner.chain(place.repository.clone());
    all.filter(|path| Repository::is_root(path)).take(MOST).collect()
}
