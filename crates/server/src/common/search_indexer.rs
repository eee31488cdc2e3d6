//! Keeps the search indexes of the repositories that are served near to their newest revisions.
//!
//! A thread works on one repository at a time: on those with a commit through this server at once, on all others when it is
//! their turn. Invariants: no request waits for it; it holds the caches of one repository, of [`CACHE`] bytes; an index that
//! fails is reported once, and tried again.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use sapwood_core::{CancelToken, SvnError, SvnResult};
use sapwood_fs::Caches;
use sapwood_repos::Repository;
use sapwood_search::{Index, Scope};

use crate::common::commit_queue::{CommitQueue, EditedRevprops, MOST};
use crate::common::current::Current;
use crate::common::served_repositories::ServedRepositories;
use crate::common::state::ServerState;

/// The least time between two looks at all repositories: others than this server may commit too.
const ROUND: Duration = Duration::from_secs(30);
/// How many times longer the pause is than the look, at least: so that many repositories do not keep a processor busy.
const PAUSE: u32 = 20;
/// Bytes of the caches.
const CACHE: usize = 16 << 20;

/// Takes what is worth a line in the log.
pub type Report = dyn Fn(&SvnError) + Send + Sync;

/// The thread. It ends when this is dropped.
#[derive(Debug)]
pub struct SearchIndexer {
    commits: Arc<CommitQueue>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl SearchIndexer {
    /// Begins to keep the indexes, in the folder that the present settings name; as long as they name none, it waits.
    ///
    /// # Errors
    /// When there can be no thread.
    pub fn start(server: &Arc<Current<ServerState>>, report: Arc<Report>) -> SvnResult<Self> {
        let commits = Arc::clone(&server.get().search);
        let work = Work {
            server: Arc::clone(server),
            commits: Arc::clone(&commits),
            report,
            failures: BTreeMap::new(),
            unfinished: Vec::new(),
            served: ServedRepositories::default(),
        };
        let thread = std::thread::Builder::new().name("search".to_owned()).spawn(|| work.run());
        let thread = thread.map_err(|e| SvnError::io(&e, "Can't begin to keep search indexes"))?;
        Ok(Self { commits, thread: Some(thread) })
    }
}

impl Drop for SearchIndexer {
    fn drop(&mut self) {
        self.commits.end();
        if let Some(thread) = self.thread.take() {
            // A fault of the thread was its end.
            let _ = thread.join();
        }
    }
}

struct Work {
    server: Arc<Current<ServerState>>,
    commits: Arc<CommitQueue>,
    report: Arc<Report>,
    /// What was reported of which repository.
    failures: BTreeMap<PathBuf, String>,
    /// Those whose indexes may lack older revisions.
    unfinished: Vec<PathBuf>,
    served: ServedRepositories,
}

impl Work {
    fn run(mut self) {
        while !self.commits.has_ended() {
            let begun = Instant::now();
            if self.server.get().settings.search_folder.is_some() {
                self.round();
            }
            let pause = begun.elapsed().saturating_mul(PAUSE).max(ROUND);
            let now = Instant::now();
            let until = now.checked_add(pause).unwrap_or(now);
            self.older(until);
            self.changed(until);
        }
    }

    /// Looks at all repositories. A change that became known does not wait for the rest.
    fn round(&mut self) {
        let folders = self.server.get().sample().folders;
        self.unfinished.clear();
        for repository in self.served.find(folders).into_keys().take(MOST) {
            self.changed(Instant::now());
            if self.commits.has_ended() {
                return;
            }
            self.keep(&repository, &EditedRevprops::new());
            self.unfinished.push(repository);
        }
    }

    /// Adds what older revisions changed, as long as there is time. A change that becomes known does not wait for it.
    fn older(&mut self, until: Instant) {
        while let Some(repository) = self.unfinished.last().cloned() {
            self.changed(Instant::now());
            if self.commits.has_ended() || Instant::now() >= until {
                return;
            }
            let server = self.server.get();
            let Some(folder) = &server.settings.search_folder else { return };
            let commits = Arc::clone(&self.commits);
            let cancel = server.cancel.or_when(move || commits.has_ended());
            // What fails here is reported by the next look at the repository.
            if !older(&server, folder, &repository, &cancel).unwrap_or(false) {
                self.unfinished.pop();
            }
        }
    }

    /// Takes what is in the queue, and what comes until then.
    fn changed(&mut self, until: Instant) {
        while let Some((repository, edited)) = self.commits.next(until) {
            self.keep(&repository, &edited);
        }
    }

    /// Brings the index of a repository to its newest revision.
    fn keep(&mut self, repository: &Path, edited: &EditedRevprops) {
        let server = self.server.get();
        let Some(folder) = &server.settings.search_folder else { return };
        let commits = Arc::clone(&self.commits);
        let cancel = server.cancel.or_when(move || commits.has_ended());
        match advance(&server, folder, repository, edited, &cancel) {
            Ok(()) => drop(self.failures.remove(repository)),
            Err(error) if error.is_cancelled() => {}
            Err(error) => {
                let text = error.message().to_owned();
                if self.failures.get(repository) != Some(&text) {
                    let of = format!("The search index of '{}' is not kept", repository.display());
                    (self.report)(&error.context(of));
                    self.failures.insert(repository.to_owned(), text);
                }
            }
        }
    }
}

/// Adds a step's worth of older revisions to an index that is there; `false` when nothing is left to do.
fn older(
    server: &ServerState,
    folder: &Path,
    path: &Path,
    cancel: &CancelToken,
) -> SvnResult<bool> {
    let repository = Repository::open(path, &Caches::new(CACHE), &server.options)?;
    let scope = Scope::without(server.settings.search_skip.clone());
    let uuid = repository.fs().uuid().map_err(SvnError::from)?;
    let mut index = Index::create(&Index::file(folder, path), &uuid, &scope)?;
    if index.complete_to()?.is_none() {
        return Ok(false);
    }
    Ok(index.older(&repository, &scope, cancel)?)
}

fn advance(
    server: &ServerState,
    folder: &Path,
    path: &Path,
    edited: &EditedRevprops,
    cancel: &CancelToken,
) -> SvnResult<()> {
    let repository = Repository::open(path, &Caches::new(CACHE), &server.options)?;
    let scope = Scope::without(server.settings.search_skip.clone());
    let index = Index::up_to_date(folder, &repository, &scope, cancel)?;
    for revision in edited {
        index.message_changed(&repository, *revision)?;
    }
    Ok(())
}
