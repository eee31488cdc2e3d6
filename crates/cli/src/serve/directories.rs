//! `[[directory]]` of the configuration file: directories of users (LDAP, Active Directory), which locations name.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::time::Duration;

use sapwood_core::{ErrorCode, SvnError, SvnResult};
use sapwood_ldap::{Directory, Kind, Settings};
use serde::Deserialize;

use super::lines::Problem;

/// A directory, as the file says.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct DirectoryConfig {
    pub(super) name: String,
    #[serde(default)]
    kind: KindWord,
    servers: Vec<String>,
    #[serde(default)]
    start_tls: bool,
    #[serde(default)]
    plain: bool,
    ca: Option<PathBuf>,
    bind_dn: Option<String>,
    bind_password_file: Option<PathBuf>,
    base: String,
    user_filter: Option<String>,
    user_name: Option<String>,
    group_base: Option<String>,
    group_filter: Option<String>,
    group_name: Option<String>,
    #[serde(default)]
    groups: BTreeMap<String, String>,
    nested_groups: Option<bool>,
    timeout: Option<u64>,
    cache: Option<u64>,
    keep: Option<u64>,
    connections: Option<usize>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
enum KindWord {
    #[default]
    Ldap,
    ActiveDirectory,
}

/// The directories of a file, by their names.
pub(super) type Directories = HashMap<String, Directory>;

impl DirectoryConfig {
    /// Makes relative paths relative to `base`.
    pub(super) fn make_absolute(&mut self, base: &Path) {
        for path in [&mut self.ca, &mut self.bind_password_file].into_iter().flatten() {
            *path = base.join(&*path);
        }
    }

    fn settings(&self) -> Settings {
        let defaults = Settings::default();
        let seconds = |own: Option<u64>, default| own.map_or(default, Duration::from_secs);
        Settings {
            name: self.name.clone(),
            kind: match self.kind {
                KindWord::Ldap => Kind::Ldap,
                KindWord::ActiveDirectory => Kind::ActiveDirectory,
            },
            servers: self.servers.clone(),
            start_tls: self.start_tls,
            plain: self.plain,
            authorities: self.ca.clone(),
            bind_dn: self.bind_dn.clone(),
            bind_password: self.bind_password_file.clone(),
            base: self.base.clone(),
            user_filter: self.user_filter.clone(),
            user_name: self.user_name.clone(),
            group_base: self.group_base.clone(),
            group_filter: self.group_filter.clone(),
            group_name: self.group_name.clone(),
            groups: self.groups.clone(),
            nested: self.nested_groups.unwrap_or(defaults.nested),
            timeout: seconds(self.timeout, defaults.timeout),
            cache: seconds(self.cache, defaults.cache),
            keep: seconds(self.keep, defaults.keep),
            connections: self.connections.unwrap_or(defaults.connections),
        }
    }
}

/// The directories of a file.
///
/// # Errors
/// E125009 for one that cannot be used.
pub(super) fn open(configs: &[DirectoryConfig]) -> SvnResult<Directories> {
    let open = |config: &DirectoryConfig| {
        let directory = Directory::new(config.settings()).map_err(|wrong| {
            let why = format!("directory '{}': {wrong}", config.name);
            SvnError::new(ErrorCode::BAD_CONFIG_VALUE, why)
        })?;
        Ok((config.name.clone(), directory))
    };
    configs.iter().map(open).collect()
}

/// The directory with this name.
///
/// # Errors
/// E125009 if there is none.
pub(super) fn named(directories: &Directories, name: &str) -> SvnResult<Directory> {
    let why = || format!("There is no [[directory]] with the name '{name}'");
    let missing = || SvnError::new(ErrorCode::BAD_CONFIG_VALUE, why());
    directories.get(name).cloned().ok_or_else(missing)
}

/// What is wrong with directories, and with the names by which locations call them: `locations` has the URL of each, and
/// the name of its directory; `others` are sections that may name one. No server is asked.
pub(super) fn problems(
    configs: &[DirectoryConfig],
    locations: &[(&str, Option<&str>)],
    others: &[(&str, Option<&str>)],
) -> Vec<Problem> {
    let mut found = Vec::new();
    for (at, config) in configs.iter().enumerate() {
        if config.name.trim().is_empty() {
            found.push(Problem::error(format!("directory.{at}.name"), "'name' is empty"));
        }
        if configs.iter().take(at).any(|before| before.name == config.name) {
            let why = format!("directory '{}': there is another one with this name", config.name);
            found.push(Problem::error(format!("directory.{at}.name"), why));
        }
        if let Err(wrong) = Directory::new(config.settings()) {
            let setting = format!("directory.{at}.{}", wrong.setting);
            found.push(Problem::error(setting, format!("directory '{}': {wrong}", config.name)));
        }
        let mut named = locations.iter().chain(others).filter_map(|(_, name)| *name);
        if !named.any(|name| name == config.name) {
            let why = format!("directory '{}': no location and no section names it", config.name);
            found.push(Problem::warning(format!("directory.{at}.name"), why));
        }
    }
    let is_missing = |name: &str| !configs.iter().any(|config| config.name == name);
    for (section, name) in others {
        let Some(name) = name.filter(|name| is_missing(name)) else { continue };
        let why =
            format!("[{section}]: 'directory': there is no [[directory]] with the name '{name}'");
        found.push(Problem::error(format!("{section}.directory"), why));
    }
    for (at, (url, name)) in locations.iter().enumerate() {
        let Some(name) = name else { continue };
        if is_missing(name) {
            let why = format!(
                "location '{url}': 'directory': there is no [[directory]] with the name '{name}'"
            );
            found.push(Problem::error(format!("location.{at}.directory"), why));
        }
    }
    found
}

/// What the servers of each directory say to the account that searches: warnings, since servers may be down for a while.
pub(super) fn ask(configs: &[DirectoryConfig]) -> Vec<Problem> {
    let mut found = Vec::new();
    for (at, config) in configs.iter().enumerate() {
        let Ok(directory) = Directory::new(config.settings()) else { continue };
        for error in directory.check() {
            let why = format!("directory '{}': {error}", config.name);
            found.push(Problem::warning(format!("directory.{at}.servers"), why));
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
        assert_page_names_settings::<DirectoryConfig>(page_section("Users of a directory"));
    }
}
