//! The settings of the http server: locations, redirects, and what it does for clients.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use sapwood_core::SvnResult;

use sapwood_ldap::Directory;

use super::Master;
use super::access_log::{AccessForm, AccessLog};
use super::sign_in::SignInSettings;
use crate::common::config::AccessConfig;
use crate::common::settings::Network;

/// Whether update reports over http hold texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BulkUpdates {
    /// When the client wants it.
    On,
    /// Never.
    Off,
    /// The server recommends it to the client.
    Prefer,
}

/// A folder that is served below some path of the server's URL.
#[derive(Clone, Debug)]
pub struct Location {
    /// The path, decoded, without slashes around it; empty for the top.
    pub prefix: String,
    /// The repository, or the folder of repositories.
    pub root: PathBuf,
    /// How many names below the root its repositories are; at any depth, without one.
    pub levels: Option<usize>,
    /// How it may be used; if this is missing, the repositories' own files decide.
    pub access: Option<Arc<AccessConfig>>,
    /// Whether the folder's page lists its repositories.
    pub list: bool,
    /// A name of the repository, or of all in the folder, for pages.
    pub name: Option<String>,
    /// Whether pages are as mod_dav_svn writes them.
    pub plain_pages: bool,
    /// Whether there are pages for people, below `/-/`.
    pub web: bool,
    /// Whether changes that other programs than Subversion's make at plain URLs become revisions.
    pub autoversioning: bool,
    /// Whether browsers may run scripts of stored pages and images, with the rights of their visitors.
    pub trusted: bool,
    /// Where write requests are passed on to: then this is a mirror.
    pub master: Option<Arc<Master>>,
}

impl Location {
    /// A location whose repositories' own files say how they may be used.
    #[must_use]
    pub fn new(prefix: &str, root: PathBuf) -> Self {
        Self {
            prefix: prefix.trim_matches('/').to_owned(),
            root,
            levels: None,
            access: None,
            list: true,
            name: None,
            plain_pages: false,
            web: true,
            autoversioning: false,
            trusted: false,
            master: None,
        }
    }
}

/// Addresses that have been moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirect {
    /// The prefix of such a path, percent-encoded; with a star at the end it may end within a name.
    pub from: String,
    /// What replaces it: a path or a URL.
    pub to: String,
    /// Whether clients should note the new address.
    pub permanent: bool,
}

impl Redirect {
    /// What follows of a path that begins with `from`, at the end of a name: `/old` means `/old/x`, and
    /// not `/older`, which `/old*` means too.
    #[must_use]
    pub fn rest<'p>(&self, path: &'p str) -> Option<&'p str> {
        if let Some(from) = self.from.strip_suffix('*') {
            return path.strip_prefix(from);
        }
        let rest = path.strip_prefix(&*self.from)?;
        let ends = rest.is_empty() || rest.starts_with('/') || self.from.ends_with('/');
        ends.then_some(rest)
    }
}

/// All settings of an http server, besides those of any server.
#[derive(Clone, Debug)]
pub struct HttpSettings {
    /// What is served besides the root; it hides what the root has at the same path.
    pub locations: Vec<Location>,
    /// Whether nothing else is served.
    pub locations_only: bool,
    /// Addresses that have been moved.
    pub redirects: Vec<Redirect>,
    /// The proxies that are trusted to say who the client is, and which address it called.
    pub trusted_proxies: Vec<Network>,
    /// Where a line is written for each request.
    pub access_log: Option<PathBuf>,
    /// How such a line is written.
    pub access_form: AccessForm,
    /// Whether update reports hold texts.
    pub bulk_updates: BulkUpdates,
    /// Whether replies that are text are compressed for clients that accept it.
    pub gzip: bool,
    /// Whether the server announces HTTPv2 to clients.
    pub v2: bool,
    /// As [`Location::autoversioning`], for paths outside of the locations.
    pub autoversioning: bool,
    /// How long such changes wait for the rest of the save that they belong to, if they carry no text.
    pub autoversioning_wait: Duration,
    /// The limit of commits in progress.
    pub transactions: usize,
    /// Time without a request after which such a commit is aborted.
    pub transaction_idle: Duration,
    /// Whether every client must show a certificate.
    pub requires_certificate: bool,
    /// The https address that unencrypted requests are redirected to, if they are.
    pub redirect_to_https: Option<u16>,
    /// Sign-ins by a provider of OpenID Connect, for pages.
    pub sign_in: Option<SignInSettings>,
    /// How users log in to the page of their tokens: it names the file of accounts.
    pub token_access: Option<Arc<AccessConfig>>,
    /// Who may see how the server is, and how these log in.
    pub status_access: Option<Arc<AccessConfig>>,
    /// URIs by which faults of security are reported, for `security.txt`; without any there is no such file.
    pub security_contacts: Vec<String>,
    /// The limits of connections and of what they send.
    pub limits: HttpLimits,
}

impl Default for HttpSettings {
    fn default() -> Self {
        Self {
            locations: Vec::new(),
            locations_only: false,
            redirects: Vec::new(),
            trusted_proxies: Vec::new(),
            access_log: None,
            access_form: AccessForm::Combined,
            bulk_updates: BulkUpdates::Prefer,
            gzip: false,
            v2: true,
            autoversioning: false,
            autoversioning_wait: Duration::from_secs(3),
            transactions: 1000,
            transaction_idle: Duration::from_secs(24 * 3600),
            requires_certificate: false,
            redirect_to_https: None,
            sign_in: None,
            token_access: None,
            status_access: None,
            security_contacts: Vec::new(),
            limits: HttpLimits::default(),
        }
    }
}

impl HttpSettings {
    /// Opens the access log, if there is to be one.
    ///
    /// # Errors
    /// When its file cannot be opened.
    pub(super) fn open_access_log(&self) -> SvnResult<Option<Arc<AccessLog>>> {
        let open = |path: &PathBuf| AccessLog::new(path, self.access_form).map(Arc::new);
        self.access_log.as_ref().map(open).transpose()
    }

    /// Uses the directories of users of other settings where they are the same: they know who logged in a short time ago,
    /// which counts while no server of theirs answers.
    pub(super) fn keep_directories(&mut self, others: &Self) {
        let of_locations = others.locations.iter().filter_map(|location| location.access.as_ref());
        let known: Vec<Directory> = of_locations
            .chain(&others.status_access)
            .filter_map(|access| access.directory.clone())
            .collect();
        let of_locations =
            self.locations.iter_mut().filter_map(|location| location.access.as_mut());
        for access in of_locations.chain(&mut self.status_access) {
            let same = |new: &Directory| known.iter().find(|known| known.has_settings_of(new));
            if let Some(same) = access.directory.as_ref().and_then(same).cloned() {
                Arc::make_mut(access).directory = Some(same);
            }
        }
    }

    /// The directories of the locations, and those of the files that these name: no peer may see them.
    pub(super) fn folders(&self) -> impl Iterator<Item = &Path> {
        let access = self.locations.iter().filter_map(|location| location.access.as_deref());
        let files = access.flat_map(|access| {
            [&access.htpasswd, &access.htdigest, &access.password_db, &access.hooks_env]
        });
        let of_files = files.flatten().filter_map(|file| file.parent());
        self.locations.iter().map(|location| &*location.root).chain(of_files)
    }
}

/// Limits of connections over http, besides those of any server.
#[derive(Clone, Copy, Debug)]
pub struct HttpLimits {
    /// Connections that are open at one time, over all listeners together.
    pub connections: usize,
    /// Connections over http from one address (of IPv6: one network of 64 bits); more are closed at once.
    pub connections_per_address: usize,
    /// Time for the body of a request, with a second more for each [`HttpLimits::SLOWEST_BODY`] bytes
    /// of it that have come.
    pub body_first: Duration,
    /// Time without progress that is allowed for such a body.
    pub body_stall: Duration,
    /// Bytes of temporary files for bodies that arrive slowly and for replies that are not read.
    pub spool_bytes: u64,
}

impl HttpLimits {
    /// Bytes a second of a body over http, as for httpd's `RequestReadTimeout`.
    const SLOWEST_BODY: u64 = 500;

    /// How long the server may have waited for a client that has sent so many bytes of a body.
    #[must_use]
    pub(crate) fn body_time(&self, bytes: usize) -> Duration {
        let bytes = sapwood_core::exact::len64(bytes);
        self.body_first.saturating_add(Duration::from_secs(bytes / Self::SLOWEST_BODY))
    }
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            connections: 20_000,
            connections_per_address: 2048,
            body_first: Duration::from_secs(20),
            body_stall: Duration::from_secs(300),
            spool_bytes: 4 << 30,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirects_end_with_a_name() {
        let rest = |from: &str, path: &'static str| {
            Redirect { from: from.to_owned(), to: String::new(), permanent: true }.rest(path)
        };
        assert_eq!(rest("/old", "/old"), Some(""));
        assert_eq!(rest("/old", "/old/x"), Some("/x"));
        assert_eq!(rest("/old/", "/old/x"), Some("x"));
        assert_eq!(rest("/old", "/older/x"), None);
        assert_eq!(rest("/old*", "/older/x"), Some("er/x"));
        assert_eq!(rest("/old*", "/ol"), None);
    }
}
