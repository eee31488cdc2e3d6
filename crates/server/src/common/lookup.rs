//! From a URL to a repository, its configuration and the path in it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sapwood_core::FsPath;
use sapwood_core::config::Config;
use sapwood_core::path::canonical_relpath;
use sapwood_core::paths::FsPathBuf;
use sapwood_core::{ErrorCode, SvnError, SvnResult, uri};
use sapwood_repos::Repository;
use sapwood_repos::authz::{Authz, ConfigSource};

use crate::common::config::AccessConfig;
use crate::common::state::ServerState;

/// A repository that a client asked for, and how it may be used.
#[derive(Debug)]
pub struct FoundRepository {
    /// The repository.
    pub repository: Repository,
    /// Its URL as the client would write it, percent-encoded.
    pub url: String,
    /// The fspath that the client's URL leads to.
    pub fs_path: FsPathBuf,
    /// The repository's name in logs: its path below the root, percent-encoded.
    pub name: String,
    /// The repository's name in authz files; empty when it is the root itself.
    pub authz_name: String,
    /// What its `svnserve.conf`, or the server's, says.
    pub config: AccessConfig,
    /// User names and passwords.
    pub passwords: Option<Arc<Config>>,
    /// Path-based access rules.
    pub authz: Option<Authz>,
    /// The realm of authentication.
    pub realm: String,
    /// The repository's UUID.
    pub uuid: String,
}

/// Everything after `svn://` or `svn+something://`.
fn after_scheme(url: &str) -> Option<&str> {
    let rest = url.strip_prefix("svn")?;
    let rest = if rest.starts_with('+') { rest.get(rest.find(':')?..)? } else { rest };
    rest.strip_prefix("://")
}

/// The path on disk, below the server's root, that `url` asks for, relative and decoded.
fn requested_path(url: &str, virtual_host: bool) -> SvnResult<String> {
    let Some(rest) = after_scheme(url) else {
        return Err(SvnError::new(
            ErrorCode::BAD_URL,
            format!("Non-svn URL passed to svn server: '{url}'"),
        ));
    };
    let path = if virtual_host {
        rest
    } else {
        rest.find('/').and_then(|at| rest.get(at..)).unwrap_or("")
    };
    let bad = || SvnError::new(ErrorCode::BAD_FILENAME, "Couldn't determine repository path");
    let path = uri::decode_utf8(&canonical_relpath(path)).ok_or_else(bad)?;
    // No URL climbs out of the root.
    if path.contains('\0') || path.split('/').any(|part| part == "..") {
        return Err(bad());
    }
    let parts = path.split('/').filter(|part| !part.is_empty() && *part != ".");
    Ok(parts.collect::<Vec<_>>().join("/"))
}

/// Where a repository is that a client asked for.
#[derive(Debug)]
pub struct Place {
    /// The folder of the repository.
    pub top: PathBuf,
    /// What the client asked for, in the file system.
    full: PathBuf,
}

/// Finds where the repository is that `url` (canonical) leads to, without opening it.
///
/// # Errors
/// E210005 when there is none.
pub fn locate(shared: &ServerState, url: &str) -> SvnResult<Place> {
    let settings = &shared.settings;
    let requested = requested_path(url, settings.virtual_host)?;
    let full = match requested.is_empty() {
        true => settings.root.clone(),
        false => settings.root.join(&requested),
    };
    let allowed = |top: &PathBuf| settings.only.as_ref().is_none_or(|only| only == top);
    let Some(top) = Repository::find_root(&full).filter(allowed) else {
        return Err(SvnError::new(
            ErrorCode::RA_SVN_REPOS_NOT_FOUND,
            format!("No repository found in '{url}'"),
        ));
    };
    Ok(Place { top, full })
}

/// Describes the repository at a place, as `url` (canonical) names it. `warn` is called with warnings about authz
/// files.
///
/// # Errors
/// E220003 and E215004 (with causes that the client must not see) for broken authz and password files, and all errors of
/// opening.
pub fn find(
    shared: &ServerState,
    place: &Place,
    url: &str,
    warn: &mut dyn FnMut(SvnError),
) -> SvnResult<FoundRepository> {
    let Place { top, full } = place;
    // A guess here would be the root, and access is checked by the rules of this path.
    let inner = full
        .strip_prefix(top)
        .map_err(|_| SvnError::internal("a repository that is not above the path"))?
        .to_string_lossy();
    let depth = inner.split('/').filter(|part| !part.is_empty()).count();
    let found = describe(shared, &shared.settings.root, top, None, warn)?;
    Ok(FoundRepository {
        url: without_last_components(url, depth).to_owned(),
        fs_path: FsPathBuf::canonicalized(format!("/{inner}")),
        ..found
    })
}

/// The path of a repository below `root`, and the name that it has without one.
fn names(root: &Path, top: &Path) -> (String, String) {
    let below = top.strip_prefix(root).unwrap_or(Path::new("")).to_string_lossy().into_owned();
    let name = if below.is_empty() {
        // The root of the file system has no name.
        top.file_name().map_or(String::new(), |name| name.to_string_lossy().into_owned())
    } else {
        below.clone()
    };
    (below, name)
}

/// The name in logs of the repository at a place, which may not have been found yet.
pub(crate) fn name_in_logs(shared: &ServerState, place: &Place) -> String {
    let (_, name) = names(&shared.settings.root, &place.top);
    uri::encode(&name).into_owned()
}

/// Collects everything about the repository whose folder is `top`, named by its path below `root`;
/// its URL is empty and the fspath is the root. `access` replaces its own configuration files.
///
/// # Errors
/// As [`find`].
pub fn describe(
    shared: &ServerState,
    root: &Path,
    top: &Path,
    access: Option<&AccessConfig>,
    warn: &mut dyn FnMut(SvnError),
) -> SvnResult<FoundRepository> {
    let settings = &shared.settings;
    let repository = shared.repository(top)?;
    let (mut authz_name, name) = names(root, top);
    if access.is_some() && authz_name.is_empty() {
        // Of a repository that has a place of its own, as mod_authz_svn names it.
        authz_name.clone_from(&name);
    }
    let config = match access {
        Some(access) => AccessConfig {
            base: if access.is_relative_to_conf {
                repository.conf_dir()
            } else {
                access.base.clone()
            },
            ..access.clone()
        },
        None => {
            let (config, base) = configuration(shared, &repository)?;
            AccessConfig::from_config(&config, &base, settings.read_only)?
                .and_users(&settings.users)
        }
    };
    let passwords = match &config.password_db {
        Some(path) => shared.files.passwords(path)?,
        None => None,
    };
    let authz = rules(shared, top, &config, warn)
        .map_err(|e| e.wrap(ErrorCode::AUTHZ_INVALID_CONFIG, ""))?;
    let uuid = repository.fs().uuid().map_err(SvnError::from)?;
    let realm = config.realm.clone().unwrap_or_else(|| uuid.clone());
    Ok(FoundRepository {
        url: String::new(),
        name: uri::encode(&name).into_owned(),
        repository,
        fs_path: FsPath::ROOT.to_owned(),
        authz_name,
        config,
        passwords,
        authz,
        realm,
        uuid,
    })
}

fn configuration(
    shared: &ServerState,
    repository: &Repository,
) -> SvnResult<(Arc<Config>, PathBuf)> {
    if let Some(path) = &shared.settings.config_file {
        let base = path.parent().unwrap_or(Path::new("/")).to_owned();
        return Ok((shared.files.server(path, true)?, base));
    }
    let base = repository.conf_dir();
    Ok((shared.files.server(&base.join("svnserve.conf"), false)?, base))
}

/// The access rules that a configuration names, for repositories at or below `top`. `warn` gets the
/// warnings.
///
/// # Errors
/// When they cannot be read.
pub fn rules(
    shared: &ServerState,
    top: &Path,
    config: &AccessConfig,
    warn: &mut dyn FnMut(SvnError),
) -> SvnResult<Option<Authz>> {
    let Some(named) = &config.authz_db else { return Ok(None) };
    let source =
        ConfigSource { caches: &shared.caches, options: &shared.options, must_exist: true };
    let rules = access_file(named, top, &config.base)?;
    let groups =
        config.groups_db.as_deref().map(|g| access_file(g, top, &config.base)).transpose()?;
    let mut read = || shared.known_authz.read(&source, &rules, groups.as_deref(), "config", warn);
    // Rules with a groups file, or inside a repository, depend on more than one file's stamp.
    if groups.is_some() || uri::is_url(&rules) {
        return read().map(Some);
    }
    shared.authz.get(Path::new(&rules), read).map(Some)
}

/// Where an authz or groups file is: a path relative to the configuration file, a URL, or a path
/// in the repository itself (`^/path`).
fn access_file(name: &str, top: &Path, base: &Path) -> SvnResult<String> {
    let bad = |e: uri::Error| SvnError::new(ErrorCode::BAD_URL, e.to_string());
    if uri::is_url(name) {
        return uri::canonicalize(name).map_err(bad);
    }
    if let Some(path) = name.strip_prefix("^/") {
        let top = top.to_string_lossy();
        return uri::canonicalize(&format!("file://{}/{path}", uri::encode(&top))).map_err(bad);
    }
    Ok(base.join(name).to_string_lossy().into_owned())
}

/// The URL without its last `count` components.
fn without_last_components(url: &str, count: usize) -> &str {
    let mut url = url;
    for _ in 0..count {
        url = url.rsplit_once('/').map_or(url, |(head, _)| head);
    }
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_urls() {
        let path = |url, vhost| requested_path(url, vhost).map_err(|e| e.code());
        assert_eq!(path("svn://h/a%20b/c", false).unwrap(), "a b/c");
        assert_eq!(path("svn+ssh://u@h:1/a", false).unwrap(), "a");
        assert_eq!(path("svn://h", false).unwrap(), "");
        assert_eq!(path("svn://h/a", true).unwrap(), "h/a");
        assert_eq!(path("http://h/a", false), Err(ErrorCode::BAD_URL));
        for climb in ["svn://h/../x", "svn://h/a/%2e%2e/x", "svn://h/a/.%2E"] {
            assert_eq!(path(climb, false), Err(ErrorCode::BAD_FILENAME), "{climb}");
        }
        assert_eq!(path("svn://../x", true), Err(ErrorCode::BAD_FILENAME));
    }

    #[test]
    fn repository_urls() {
        assert_eq!(without_last_components("svn://h/r/a/b", 2), "svn://h/r");
        assert_eq!(without_last_components("svn://h/r", 0), "svn://h/r");
    }
}
