//! `[acme]` of the configuration file: certificates that the server orders itself.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sapwood_acme::{Challenge, LETS_ENCRYPT, Report, Settings};
use sapwood_server::ServerState;
use sapwood_server::common::current::Current;
use serde::Deserialize;

use super::lines::Problem;
use crate::report;

/// The table, as the file says.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct AcmeConfig {
    directory: Option<String>,
    #[serde(default)]
    terms_agreed: bool,
    domains: Vec<String>,
    #[serde(default)]
    contact: Vec<String>,
    folder: PathBuf,
    #[serde(default)]
    challenge: ChallengeWord,
    ca_file: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
enum ChallengeWord {
    #[default]
    #[serde(rename = "http-01")]
    Http01,
    #[serde(rename = "tls-alpn-01")]
    TlsAlpn01,
}

impl AcmeConfig {
    /// Makes relative paths relative to `base`.
    pub(super) fn make_absolute(&mut self, base: &Path) {
        self.folder = base.join(&self.folder);
        if let Some(path) = &mut self.ca_file {
            *path = base.join(&*path);
        }
    }

    pub(super) fn settings(&self) -> Settings {
        Settings {
            directory: self.directory.clone().unwrap_or_else(|| LETS_ENCRYPT.to_owned()),
            contact: self.contact.clone(),
            domains: self.domains.clone(),
            folder: self.folder.clone(),
            authorities: self.ca_file.clone(),
            challenge: match self.challenge {
                ChallengeWord::Http01 => Challenge::Http01,
                ChallengeWord::TlsAlpn01 => Challenge::TlsAlpn01,
            },
            terms_agreed: self.terms_agreed,
        }
    }

    /// Whether the authority asks over http.
    pub(super) fn needs_http(&self) -> bool {
        self.challenge == ChallengeWord::Http01
    }

    /// What is wrong with it. No authority is asked.
    pub(super) fn problems(&self) -> Vec<Problem> {
        let wrong = self.settings().check().err();
        let mut found: Vec<Problem> = wrong
            .map(|wrong| {
                Problem::error(format!("acme.{}", wrong.setting), format!("acme: {wrong}"))
            })
            .into_iter()
            .collect();
        let above = self.folder.parent().unwrap_or(Path::new("/"));
        if !self.folder.is_dir() && !above.is_dir() {
            let why = format!("acme: 'folder': '{}' is no folder", above.display());
            found.push(Problem::error("acme.folder", why));
        }
        found
    }
}

/// Writes what goes wrong to the operational log and to standard error, which the supervisor keeps.
pub(super) fn report(server: &Arc<Current<ServerState>>) -> Arc<Report> {
    // The server has the task that has this.
    let server = Arc::downgrade(server);
    Arc::new(move |error, is_warning| {
        let log = server.upgrade().and_then(|server| server.get().log.clone());
        if let Some(log) = log {
            log.error(Default::default(), error, is_warning);
        }
        let kind = if is_warning { "warning: " } else { "" };
        report::stderr(&format!("sapwood serve: {kind}{}\n", report::one_line(error)));
    })
}

#[cfg(test)]
mod tests {
    use super::super::lines::{assert_page_names_settings, page_section};
    use super::*;

    /// The page names each setting, and no others.
    #[test]
    fn the_page_has_all_settings() {
        assert_page_names_settings::<AcmeConfig>(page_section("Certificates by ACME"));
    }
}
