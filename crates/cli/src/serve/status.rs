//! `[status]` of the configuration file: who may see at `/-/status` how the server is.

use std::path::{Path, PathBuf};

use sapwood_core::SvnResult;
use sapwood_server::common::config::{AccessConfig, Blanket};
use serde::Deserialize;

use super::directories::{self, Directories};
use super::lines::Problem;

/// The members, and how they log in.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct StatusConfig {
    members: Vec<String>,
    pub(super) accounts: Option<PathBuf>,
    pub(super) directory: Option<String>,
    #[serde(default)]
    pub(super) oidc: bool,
}

impl StatusConfig {
    /// Makes relative paths relative to `base`.
    pub(super) fn make_absolute(&mut self, base: &Path) {
        self.accounts.iter_mut().for_each(|path| *path = base.join(&*path));
    }

    /// How members log in, and what they may do.
    ///
    /// # Errors
    /// E125009 for the name of a directory that there is not.
    pub(super) fn access(&self, known: &Directories) -> SvnResult<AccessConfig> {
        let directory = self.directory.as_deref();
        Ok(AccessConfig {
            accounts: self.accounts.clone(),
            directory: directory.map(|name| directories::named(known, name)).transpose()?,
            sign_in: self.oidc,
            members: self.members.clone(),
            auth_access: Blanket::Read,
            ..AccessConfig::closed()
        })
    }

    /// What is wrong with it by itself.
    pub(super) fn problems(&self) -> Vec<Problem> {
        let mut found = Vec::new();
        if self.members.is_empty() {
            let why = "[status]: 'members' is empty: no user may see the page";
            found.push(Problem::error("status.members", why));
        }
        if self.accounts.is_none() && self.directory.is_none() && !self.oidc {
            let why = "[status]: members log in by 'accounts', 'directory' or 'oidc', and none of them is set";
            found.push(Problem::error("status.members", why));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::super::lines::{assert_page_names_settings, page_section};
    use super::*;

    /// The page names each setting, and no others.
    #[test]
    fn the_page_has_all_settings() {
        assert_page_names_settings::<StatusConfig>(page_section("The page of the server's status"));
    }
}
