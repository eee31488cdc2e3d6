//! Sends the messages of the queue, target by target.
//!
//! Invariants: one server works on a queue; while a target is down, its messages wait and those of others go out; one that
//! is down for [`GIVE_UP`] gets nothing of what waited until then, and the log says so.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use sapwood_core::exact::Exact as _;
use sapwood_core::{Revnum, SvnError};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::commit::Source;
use crate::error::{Error, Result};
use crate::position::Position;
use crate::target::Target;

/// The wait after the first failure; each one in a row doubles it.
const FIRST_WAIT: Duration = Duration::from_secs(1);
/// The longest wait.
const MOST_WAIT: Duration = Duration::from_secs(600);
/// How long a target may be down.
const GIVE_UP: Duration = Duration::from_secs(3 * 24 * 3600);
/// The most revisions of a repository that are sent one after the other: those before, of a `svnadmin load` perhaps, are
/// left out.
const MOST_BEHIND: u64 = 1000;
/// The file that says that a server works on the queue.
const LOCK: &str = "lock";

/// Gets what is worth a line in a log.
pub type Report = dyn Fn(&SvnError) + Send + Sync;

/// Sends messages after commits.
pub struct Notifier {
    shared: Arc<Shared>,
    thread: Option<std::thread::JoinHandle<()>>,
    /// Held as long as this server works on the queue.
    _lock: File,
}

struct Shared {
    folder: PathBuf,
    source: Arc<dyn Source>,
    report: Mutex<Arc<Report>>,
    state: Mutex<State>,
    /// Changes at each commit, and with the targets.
    changed: watch::Sender<Change>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Change {
    commits: u64,
    targets: u64,
    ends: bool,
}

#[derive(Default)]
struct State {
    targets: Vec<Arc<Target>>,
    /// By the names of targets and the folders of repositories.
    positions: HashMap<String, HashMap<PathBuf, Position>>,
}

impl std::fmt::Debug for Notifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Notifier").field("folder", &self.shared.folder).finish_non_exhaustive()
    }
}

impl Notifier {
    /// Begins to send what is in the queue of a folder, which is made if there is none. `report` gets what is worth a line
    /// in a log.
    ///
    /// # Errors
    /// [`Error::InUse`], and those of the disk.
    pub fn start(
        folder: &Path,
        targets: Vec<Target>,
        source: Arc<dyn Source>,
        report: Arc<Report>,
    ) -> Result<Self> {
        let failed = |what| move |source| Error::Io { what, path: folder.to_owned(), source };
        std::fs::create_dir_all(folder).map_err(failed("make"))?;
        let lock = File::options().create(true).append(true).open(folder.join(LOCK));
        let lock = lock.map_err(failed("lock"))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(std::fs::TryLockError::WouldBlock) => return Err(Error::InUse(folder.to_owned())),
            Err(std::fs::TryLockError::Error(e)) => return Err(failed("lock")(e)),
        }
        let shared = Arc::new(Shared {
            folder: folder.to_owned(),
            source,
            report: Mutex::new(report),
            state: Mutex::default(),
            changed: watch::Sender::new(Change::default()),
        });
        shared.set_targets(targets);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(failed("begin to work on"))?;
        let within = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("notify".to_owned())
            .spawn(move || {
                runtime.block_on(serve(within));
                runtime.shutdown_background();
            })
            .map_err(failed("begin to work on"))?;
        Ok(Self { shared, thread: Some(thread), _lock: lock })
    }

    /// Sends to other targets from now on, and reports elsewhere.
    pub fn set_targets(&self, targets: Vec<Target>, report: Arc<Report>) {
        *self.shared.report.lock() = report;
        self.shared.set_targets(targets);
    }

    /// The folder of the queue.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.shared.folder
    }

    /// A commit was made: its message goes out soon. The caller does not wait for it. What fails is reported.
    pub fn committed(&self, repository: &Path, name: &str, revision: Revnum) {
        self.shared.committed(repository, name, revision);
    }
}

impl Drop for Notifier {
    fn drop(&mut self) {
        self.shared.changed.send_modify(|change| change.ends = true);
        if let Some(thread) = self.thread.take() {
            // A fault of the thread was its end.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn report(&self, error: Error) {
        let report = Arc::clone(&self.report.lock());
        report(&error.into());
    }

    fn set_targets(&self, targets: Vec<Target>) {
        let mut state = self.state.lock();
        for target in &targets {
            if state.positions.contains_key(target.name()) {
                continue;
            }
            let (positions, errors) = Position::read_all(&self.folder.join(target.name()));
            errors.into_iter().for_each(|error| self.report(error));
            let by_folder = positions.into_iter().map(|p| (p.repository.clone(), p)).collect();
            state.positions.insert(target.name().to_owned(), by_folder);
        }
        state.targets = targets.into_iter().map(Arc::new).collect();
        drop(state);
        self.changed.send_modify(|change| change.targets = change.targets.plus(1));
    }

    fn committed(&self, repository: &Path, name: &str, revision: Revnum) {
        let mut state = self.state.lock();
        let State { targets, positions } = &mut *state;
        for target in targets.iter().filter(|target| target.filter.has_repository(name)) {
            let of_target = positions.entry(target.name().to_owned()).or_default();
            if of_target.contains_key(repository) {
                continue;
            }
            // The first commit that this target gets a message of.
            let position = Position::before(repository.to_owned(), name.to_owned(), revision);
            if let Err(error) = position.write(&self.folder.join(target.name())) {
                self.report(error);
            }
            of_target.insert(repository.to_owned(), position);
        }
        drop(state);
        self.changed.send_modify(|change| change.commits = change.commits.plus(1));
    }

    /// The positions of a target.
    fn positions(&self, target: &Target) -> Vec<Position> {
        let state = self.state.lock();
        let own = state.positions.get(target.name()).into_iter().flat_map(HashMap::values);
        own.filter(|position| target.filter.has_repository(&position.name)).cloned().collect()
    }

    /// Writes how far a target has come.
    fn go_on(&self, target: &Target, position: &Position) -> Result<()> {
        position.write(&self.folder.join(target.name()))?;
        let mut state = self.state.lock();
        if let Some(of_target) = state.positions.get_mut(target.name()) {
            of_target.insert(position.repository.clone(), position.clone());
        }
        Ok(())
    }
}

/// Serves all targets, until the end.
async fn serve(shared: Arc<Shared>) {
    let mut changes = shared.changed.subscribe();
    loop {
        let now = *changes.borrow_and_update();
        if now.ends {
            return;
        }
        let targets = shared.state.lock().targets.clone();
        let mut tasks = JoinSet::new();
        for target in targets {
            tasks.spawn(serve_target(Arc::clone(&shared), target));
        }
        // Tasks end when the targets are others: what they were sending is sent again.
        let differs = |change: &Change| change.ends || change.targets != now.targets;
        if changes.wait_for(differs).await.is_err() {
            return;
        }
    }
}

/// Sends what is new to a target, and waits for more.
async fn serve_target(shared: Arc<Shared>, target: Arc<Target>) {
    let mut changes = shared.changed.subscribe();
    let mut down: Option<(Instant, Duration)> = None;
    let mut unreadable = HashSet::new();
    loop {
        changes.borrow_and_update();
        let result = send_waiting(&shared, &target, &mut unreadable).await;
        let Err(error) = result else {
            down = None;
            if changes.changed().await.is_err() {
                return;
            }
            continue;
        };
        let (since, wait) = down.unwrap_or((Instant::now(), FIRST_WAIT));
        if down.is_none() {
            // One line for the fault, not one for each message.
            shared.report(error);
        }
        down = Some((since, wait.saturating_mul(2).min(MOST_WAIT)));
        if since.elapsed() > GIVE_UP {
            give_up(&shared, &target).await;
            down = None;
        }
        tokio::time::sleep(wait).await;
    }
}

/// Sends all that waits for a target.
///
/// # Errors
/// The first fault of the target. What is wrong with one repository is reported once, and the others go on; `unreadable`
/// are those of which it was reported.
async fn send_waiting(
    shared: &Arc<Shared>,
    target: &Arc<Target>,
    unreadable: &mut HashSet<PathBuf>,
) -> Result<()> {
    for mut position in shared.positions(target) {
        loop {
            match send_next(shared, target, &mut position).await {
                Ok(has_more) => {
                    unreadable.remove(&position.repository);
                    if !has_more {
                        break;
                    }
                }
                Err(error) if error.is_of_target() => return Err(error),
                Err(error) => {
                    if unreadable.insert(position.repository.clone()) {
                        shared.report(error);
                    }
                    break;
                }
            }
        }
    }
    Ok(())
}

/// Sends the next message of a repository; `false` if there is none.
async fn send_next(
    shared: &Arc<Shared>,
    target: &Arc<Target>,
    position: &mut Position,
) -> Result<bool> {
    let (within, asked, about) = (Arc::clone(shared), Arc::clone(target), position.clone());
    let read = tokio::task::spawn_blocking(move || read_next(&within, &asked, about)).await;
    let fault = |_| SvnError::internal("reading a commit has panicked");
    let Some((next, commit)) = read.map_err(fault)?? else { return Ok(false) };
    if let Some(commit) = commit {
        match target.send(&commit).await {
            Ok(()) => {}
            // It would be refused again.
            Err(error @ Error::Refused { .. }) => shared.report(error),
            Err(error) => return Err(error),
        }
    }
    position.go_on_to(next);
    let (within, asked, about) = (Arc::clone(shared), Arc::clone(target), position.clone());
    let written = tokio::task::spawn_blocking(move || within.go_on(&asked, &about)).await;
    written.map_err(|_| SvnError::internal("writing a position has panicked"))??;
    Ok(true)
}

/// The next commit of a repository, if it concerns the target, and the revision after it; `None` if there is no next one.
fn read_next(
    shared: &Shared,
    target: &Target,
    position: Position,
) -> Result<Option<(Revnum, Option<crate::commit::Commit>)>> {
    let youngest = shared.source.youngest(&position.repository)?;
    let mut next = position.next();
    if next > youngest {
        return Ok(None);
    }
    if let Some(first @ 1..) = youngest.0.checked_sub(MOST_BEHIND).filter(|first| *first > next.0) {
        shared.report(left_out(target, &position, first, "they are too many"));
        next = Revnum(first);
    }
    let concerns = |path: &_| target.filter.has_path(path);
    let commit = shared.source.commit(&position.repository, &position.name, next, &concerns)?;
    Ok(Some((next.next(), commit)))
}

/// Leaves out all that waits for a target.
async fn give_up(shared: &Arc<Shared>, target: &Arc<Target>) {
    for mut position in shared.positions(target) {
        let (within, asked) = (Arc::clone(shared), Arc::clone(target));
        let skip = move || -> Result<()> {
            let after = within.source.youngest(&position.repository)?.next();
            if after > position.next() {
                let why = "it was down for three days";
                within.report(left_out(&asked, &position, after.0, why));
                position.go_on_to(after);
                within.go_on(&asked, &position)?;
            }
            Ok(())
        };
        if let Ok(Err(error)) = tokio::task::spawn_blocking(skip).await {
            shared.report(error);
        }
    }
}

/// The revisions before `first` get no messages.
fn left_out(target: &Target, position: &Position, first: u64, why: &'static str) -> Error {
    Error::GivenUp {
        target: target.name().to_owned(),
        repository: position.name.clone(),
        from: position.next().0,
        to: first.minus(1),
        why,
    }
}
