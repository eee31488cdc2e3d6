//! What all connections of a server have in common.

use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use parking_lot::{Mutex, RwLock};
use sapwood_core::{CancelToken, Revnum, SvnResult, len64};
use sapwood_fs::{Caches, Identity, OpenOptions};
use sapwood_notify::{Notifier, Report, Target, TargetQueue};
use sapwood_peers::Name;
use sapwood_repos::Repository;
use sapwood_repos::authz::{Authz, KnownAuthz};

use crate::common::commit_queue::CommitQueue;
use crate::common::commit_source::CommitSource;
use crate::common::ending::Shutdown;
use crate::common::fair::FairPermits;
use crate::common::files::{ConfigFiles, FileCache};
use crate::common::folder_names::FolderNames;
use crate::common::folders::Folders;
use crate::common::htpasswd::VerifiedPasswords;
use crate::common::login_delay::LoginDelay;
use crate::common::metrics::Metrics;
use crate::common::metrics::sample::Sample;
use crate::common::open_repositories::UsedLast;
use crate::common::operation_log::{OpLog, Operation, Subject};
use crate::common::request_memory::RequestMemory;
use crate::common::request_number::RequestNumbers;
use crate::common::rss::resident;
use crate::common::settings::Settings;
use crate::common::slots::Slots;
use crate::common::standing::IdleTimes;
use crate::common::tasks::Tasks;
use crate::common::users::PasswordCheck;

/// The limit of repositories that are kept open, whatever they take.
const MAX_OPEN: usize = 4096;

/// A protocol with a state of its own, which takes part in what the server does as a whole.
pub trait Protocol: Debug + Send + Sync {
    /// Makes revisions of the changes to a repository that this protocol's clients were promised:
    /// another protocol is about to show the repository.
    fn commit_pending(&self, repository: &Path);

    /// Opens log files anew. (SIGHUP)
    ///
    /// # Errors
    /// When a file cannot be opened; then the old one is kept.
    fn reload(&self) -> SvnResult<()>;

    /// Accepts no more connections: the server is about to end.
    fn stop_accepting(&self);

    /// Whether a client is between two requests of one commit.
    fn is_within_commit(&self) -> bool;

    /// Adds what this protocol serves and holds now to what a monitoring program reads.
    fn sample(&self, sample: &mut Sample);
}

/// The state that is shared by all connections. A new configuration makes another one, which has all of this in common with the
/// old one but the settings and the log.
#[derive(Debug)]
pub struct ServerState {
    /// The server's settings.
    pub settings: Settings,
    /// The operational log, if there is one.
    pub log: Option<Arc<OpLog>>,
    /// The directories of this machine that no peer may see.
    pub folders: Arc<Folders>,
    /// Connections of svn:// that wait for their clients.
    pub standing: Arc<IdleTimes>,
    /// Connections of svn:// that are open.
    pub slots: Arc<Slots>,
    /// Configuration and password files.
    pub files: Arc<ConfigFiles>,
    /// The names in folders of repositories.
    pub(crate) names: Arc<FolderNames>,
    /// Authz files on the local disk.
    pub authz: Arc<FileCache<Authz>>,
    /// Authz files wherever they are.
    pub known_authz: Arc<KnownAuthz>,
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
    /// Passwords of httpd's files that were verified.
    pub proved: Arc<VerifiedPasswords>,
    /// Password hashes that are being computed: one for each processor.
    pub(crate) hashes: Arc<FairPermits>,
    /// What threads of connections wait for.
    pub(crate) tasks: Arc<Tasks>,
    /// Counts for monitoring.
    pub metrics: Arc<Metrics>,
    /// The numbers of requests.
    pub numbers: Arc<RequestNumbers>,
    /// How the server ends.
    pub ending: Arc<Shutdown>,
    /// Commits that search indexes have not yet.
    pub(crate) search: Arc<CommitQueue>,
    notifier: Arc<Mutex<Option<Notifier>>>,
    protocols: Arc<RwLock<Vec<Weak<dyn Protocol>>>>,
    open: Arc<Mutex<UsedLast<(Identity, Repository)>>>,
}

impl ServerState {
    /// The state of a server that has just started.
    #[must_use]
    pub fn new(settings: Settings, log: Option<OpLog>) -> Self {
        let caches = Caches::holding(settings.cache_bytes, resident);
        let requests = Arc::new(RequestMemory::new(settings.limits.pending_bytes));
        let standing = Arc::default();
        // What is known of repositories is not in the caches, and takes less than they do.
        let most_bytes = len64(settings.cache_bytes / 2);
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self {
            logins: LoginDelay::default(),
            requests,
            folders: Arc::new(Folders::of(&settings)),
            slots: Slots::new(&standing),
            standing,
            settings,
            log: log.map(Arc::new),
            files: Arc::default(),
            names: Arc::default(),
            authz: Arc::default(),
            known_authz: Arc::default(),
            caches,
            options: OpenOptions::default(),
            cancel: CancelToken::new(),
            proved: Arc::default(),
            hashes: FairPermits::new(processors),
            tasks: Arc::default(),
            metrics: Arc::default(),
            numbers: Arc::default(),
            ending: Arc::default(),
            search: Arc::default(),
            notifier: Arc::default(),
            protocols: Arc::default(),
            open: Arc::new(Mutex::new(UsedLast::new(MAX_OPEN, most_bytes))),
        }
    }

    /// The same server with other settings and another log. The size of the caches and the limits stay as they are.
    #[must_use]
    pub fn with(&self, mut settings: Settings, log: Option<Arc<OpLog>>) -> Self {
        settings.users.keep_directory(&self.settings.users);
        settings.keep_servers(&self.settings);
        self.folders.add_of(&settings);
        Self {
            settings,
            log,
            folders: Arc::clone(&self.folders),
            standing: Arc::clone(&self.standing),
            slots: Arc::clone(&self.slots),
            files: Arc::clone(&self.files),
            names: Arc::clone(&self.names),
            authz: Arc::clone(&self.authz),
            known_authz: Arc::clone(&self.known_authz),
            caches: Arc::clone(&self.caches),
            logins: self.logins.clone(),
            requests: Arc::clone(&self.requests),
            options: self.options.clone(),
            cancel: self.cancel.clone(),
            proved: Arc::clone(&self.proved),
            hashes: Arc::clone(&self.hashes),
            tasks: Arc::clone(&self.tasks),
            metrics: Arc::clone(&self.metrics),
            numbers: Arc::clone(&self.numbers),
            ending: Arc::clone(&self.ending),
            search: Arc::clone(&self.search),
            notifier: Arc::clone(&self.notifier),
            protocols: Arc::clone(&self.protocols),
            open: Arc::clone(&self.open),
        }
    }

    /// What checks passwords.
    pub(crate) fn password_check(&self) -> PasswordCheck {
        PasswordCheck {
            proved: Arc::clone(&self.proved),
            hashes: Arc::clone(&self.hashes),
            log: self.log.clone(),
        }
    }

    /// The repository whose folder is `path`, opened once and then shared, until it is replaced,
    /// upgraded or configured anew. The cached entry does not keep its file system open.
    ///
    /// # Errors
    /// Whatever opening meets.
    pub fn repository(&self, path: &Path) -> SvnResult<Repository> {
        let identity = Identity::of(&path.join("db"));
        let bytes = |(_, known): &(Identity, Repository)| known.fs().state_bytes();
        if let Some((known, repository)) = self.open.lock().get(path, bytes)
            && *known == identity
        {
            return Ok(repository.opened_again());
        }
        let repository = Repository::open(path, &self.caches, &self.options)?;
        let kept = (!identity.is_fresh()).then(|| (identity, repository.at_rest()));
        let mut open = self.open.lock();
        let gone = match kept {
            Some(kept) => open.insert(path.to_owned(), bytes(&kept), kept),
            None => open.remove(path).into_iter().collect(),
        };
        drop(open);
        drop(gone);
        Ok(repository)
    }

    /// Adds a protocol. It ends with its own state.
    pub fn add(&self, protocol: Weak<dyn Protocol>) {
        self.protocols.write().push(protocol);
    }

    fn protocols(&self) -> Vec<Arc<dyn Protocol>> {
        self.protocols.read().iter().filter_map(Weak::upgrade).collect()
    }

    /// Commits the changes to a repository that any protocol has acknowledged, and not committed yet.
    pub(crate) fn commit_pending(&self, repository: &Path) {
        for protocol in self.protocols() {
            protocol.commit_pending(repository);
        }
    }

    /// What the protocols hold now.
    #[must_use]
    pub fn sample(&self) -> Sample {
        let mut sample = Sample::default();
        self.protocols().iter().for_each(|protocol| protocol.sample(&mut sample));
        sample
    }

    /// Counts an operation, and writes its line to the operational log.
    pub fn note(&self, subject: Subject<'_>, operation: &Operation<'_>) {
        match operation {
            Operation::Commit { .. } => self.metrics.committed(),
            Operation::WrongPassword { .. } => self.metrics.login_failed(),
            _ => {}
        }
        if let Some(log) = &self.log {
            log.command(subject, operation);
        }
    }

    /// A commit was made: counts it, writes its line to the operational log, and has webhooks and mail sent. `name` is the
    /// repository's in authz files.
    pub fn committed(
        &self,
        subject: Subject<'_>,
        repository: &Repository,
        name: &str,
        revision: Revnum,
    ) {
        self.note(subject, &Operation::Commit { revision });
        self.search_changed(repository, None);
        if let Some(notifier) = &*self.notifier.lock() {
            notifier.committed(repository.path(), name, revision);
        }
    }

    /// A property of a revision was changed.
    pub(crate) fn revprop_changed(&self, repository: &Repository, revision: Revnum) {
        self.search_changed(repository, Some(revision));
    }

    fn search_changed(&self, repository: &Repository, edited: Option<Revnum>) {
        if self.settings.search_folder.is_some() {
            self.search.add(repository.path(), edited);
        }
    }

    /// Sends webhooks and mail from now on, from the queue in a folder, or none any more. `report` gets what fails.
    ///
    /// # Errors
    /// When the queue cannot be used; then nothing changes.
    pub fn set_notifications(
        &self,
        wanted: Option<(PathBuf, Vec<Target>)>,
        report: Arc<Report>,
    ) -> SvnResult<()> {
        let mut notifier = self.notifier.lock();
        let Some((folder, targets)) = wanted else {
            *notifier = None;
            return Ok(());
        };
        match &*notifier {
            Some(known) if known.folder() == folder => known.set_targets(targets, report),
            _ => {
                let (caches, options) = (Arc::clone(&self.caches), self.options.clone());
                let source = Arc::new(CommitSource { caches, options });
                *notifier = Some(Notifier::start(&folder, targets, source, report)?);
            }
        }
        Ok(())
    }

    /// What waits for webhooks and mail servers. The disks of repositories are read.
    #[must_use]
    pub(crate) fn waiting_messages(&self) -> Vec<TargetQueue> {
        // The lock is not held while disks are read.
        let reader = self.notifier.lock().as_ref().map(Notifier::reader);
        reader.map_or(Vec::new(), |reader| reader.waiting())
    }

    /// The server that a request should have gone to did not take it: it is avoided for a while. `client` is for the log.
    pub(crate) fn owner_failed(
        &self,
        door: &'static str,
        owner: &Name,
        error: &sapwood_peers::Error,
        client: Option<&str>,
    ) {
        self.metrics.routed(door, error.into());
        if let Some(servers) = &self.settings.servers
            && !matches!(error, sapwood_peers::Error::Elsewhere { .. })
        {
            servers.avoid(owner);
        }
        if let Some(log) = &self.log {
            let subject = Subject { host: client, ..Subject::default() };
            log.error(subject, &error.clone().into(), true);
        }
    }

    /// Whether it has the same list of other servers as another state.
    #[must_use]
    pub fn has_servers_of(&self, other: &Self) -> bool {
        match (&self.settings.servers, &other.settings.servers) {
            (Some(own), Some(others)) => Arc::ptr_eq(own, others),
            (own, others) => own.is_none() && others.is_none(),
        }
    }

    /// Looks up the names of other servers from now on, where they are in DNS, until the configuration names others.
    pub fn watch_servers(&self) {
        let Some(servers) = self.settings.servers.as_ref().map(Arc::downgrade) else { return };
        let log = self.log.clone();
        let watching = async move {
            while let Some(known) = servers.upgrade() {
                let Some((wait, looked)) = known.refresh().await else { return };
                drop(known);
                if let (Err(error), Some(log)) = (looked, &log) {
                    log.error(Subject::default(), &error.into(), true);
                }
                tokio::time::sleep(wait).await;
            }
        };
        if let (Err(error), Some(log)) = (self.tasks.spawn(watching), &self.log) {
            log.error(Subject::default(), &error, false);
        }
    }

    /// The server is about to end: no connection is accepted any more, and no commit begins. The second time it does not
    /// wait for those in progress.
    pub fn begin_ending(&self) {
        self.ending.begin();
        self.protocols().iter().for_each(|protocol| protocol.stop_accepting());
    }

    /// Waits for commits in progress, as long as [`Shutdown`] says.
    pub fn finish_writes(&self) {
        let protocols = self.protocols();
        self.ending.wait(|| protocols.iter().any(|protocol| protocol.is_within_commit()));
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
        self.protocols().iter().try_for_each(|protocol| protocol.reload())?;
        self.log.as_ref().map_or(Ok(()), |log| log.reopen())
    }
}
