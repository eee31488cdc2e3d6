//! What all connections of a server have in common.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use sapwood_core::{CancelToken, SvnResult};
use sapwood_fs::{Caches, Identity, OpenOptions};
use sapwood_repos::Repository;
use sapwood_repos::authz::{Authz, KnownAuthz};

use crate::common::files::{ConfigFiles, FileCache};
use crate::common::folders::Folders;
use crate::common::htpasswd::VerifiedPasswords;
use crate::common::login_delay::LoginDelay;
use crate::common::operation_log::OpLog;
use crate::common::request_memory::RequestMemory;
use crate::common::rss::resident;
use crate::common::settings::Settings;
use crate::common::standing::Standing;
use crate::dav::AccessLog;

/// The limit of repositories that are kept open.
const MAX_OPEN: usize = 4096;

/// The state that is shared by all connections.
#[derive(Debug)]
pub struct ServerState {
    /// The server's settings.
    pub settings: Settings,
    /// The operational log, if there is one.
    pub log: Option<OpLog>,
    /// The directories of this machine that no peer may see.
    pub folders: Arc<Folders>,
    /// Connections of svn:// that wait for their clients.
    pub standing: Arc<Standing>,
    /// The log of http requests, if there is one.
    pub access_log: Option<AccessLog>,
    /// Configuration and password files.
    pub files: ConfigFiles,
    /// Authz files on the local disk.
    pub authz: FileCache<Authz>,
    /// Authz files wherever they are.
    pub known_authz: KnownAuthz,
    /// The caches of all repositories.
    pub caches: Arc<Caches>,
    /// Wrong passwords of all connections.
    pub logins: LoginDelay,
    /// The memory of requests in progress.
    pub requests: Arc<RequestMemory>,
    /// How repositories are opened.
    pub options: OpenOptions,
    /// Set when the server is to end: long requests are cancelled.
    pub cancel: CancelToken,
    /// The key for nonces of Digest authentication.
    pub nonces: crate::dav::digest::Nonces,
    /// Passwords of httpd's files that were verified.
    pub proved: VerifiedPasswords,
    /// Locks of DAV programs that repositories cannot have.
    pub held: crate::dav::autoversioning::held::HeldLocks,
    /// Changes of DAV programs that wait for the rest of a save.
    pub saves: crate::dav::autoversioning::pending::Saves,
    /// How many http connections may be open.
    pub places: Arc<crate::dav::connection_slots::ConnectionSlots>,
    /// The resources that http requests share.
    pub workers: Arc<crate::dav::workers::Workers>,
    /// Commits in progress over http.
    pub txns: crate::dav::txns::OpenTxns,
    open: Mutex<HashMap<PathBuf, (Identity, Repository)>>,
}

impl ServerState {
    /// The state of a server that has just started.
    #[must_use]
    pub fn new(settings: Settings, log: Option<OpLog>) -> Self {
        let caches = Caches::holding(settings.cache_bytes, resident);
        let requests = Arc::new(RequestMemory::new(settings.limits.pending_bytes));
        let workers = crate::dav::workers::Workers::new(
            &settings.limits,
            settings.scratch.clone(),
            Arc::clone(&requests),
        );
        Self {
            logins: LoginDelay::default(),
            requests,
            workers,
            folders: Arc::new(Folders::of(&settings)),
            standing: Arc::default(),
            places: crate::dav::connection_slots::ConnectionSlots::new(&settings.limits),
            settings,
            log,
            access_log: None,
            files: ConfigFiles::default(),
            authz: FileCache::default(),
            known_authz: KnownAuthz::default(),
            caches,
            options: OpenOptions::default(),
            cancel: CancelToken::new(),
            nonces: crate::dav::digest::Nonces::default(),
            proved: VerifiedPasswords::default(),
            held: crate::dav::autoversioning::held::HeldLocks::default(),
            saves: crate::dav::autoversioning::pending::Saves::default(),
            txns: crate::dav::txns::OpenTxns::default(),
            open: Mutex::new(HashMap::new()),
        }
    }

    /// The repository whose folder is `path`, opened once and then shared, until it is replaced,
    /// upgraded or configured anew. The cached entry does not keep its file system open.
    ///
    /// # Errors
    /// Whatever opening meets.
    pub fn repository(&self, path: &Path) -> SvnResult<Repository> {
        let identity = Identity::of(&path.join("db"));
        if let Some((known, repository)) = self.open.lock().get(path)
            && *known == identity
        {
            return Ok(repository.opened_again());
        }
        let repository = Repository::open(path, &self.caches, &self.options)?;
        let mut open = self.open.lock();
        if open.len() >= MAX_OPEN {
            open.clear();
        }
        if identity.is_fresh() {
            open.remove(path);
        } else {
            open.insert(path.to_owned(), (identity, repository.at_rest()));
        }
        Ok(repository)
    }

    /// Commits the pending changes of DAV programs in a repository.
    pub fn commit_pending(&self, repository: &Path) {
        self.saves.flush(self, |save| save.is_of(repository));
    }

    /// Reads every configuration file anew, and opens the log file anew. (SIGHUP)
    ///
    /// # Errors
    /// When the log file cannot be opened; then the old one is kept.
    pub fn reload(&self) -> SvnResult<()> {
        self.files.clear();
        self.authz.clear();
        self.known_authz.clear();
        self.open.lock().clear();
        self.access_log.as_ref().map_or(Ok(()), AccessLog::reopen)?;
        self.log.as_ref().map_or(Ok(()), OpLog::reopen)
    }
}
