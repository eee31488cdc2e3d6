//! What every operation needs from its caller.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sapwood_core::config::Config;
use sapwood_core::notify::{Action, Notify};
use sapwood_core::paths::{RelPathBuf, Url};
use sapwood_core::{CancelToken, ErrorCode, Revnum, SvnError, SvnResult};
use sapwood_ra::{CommitInfo, Session, Settings};
use sapwood_wc::{Options, WorkingCopy};

use crate::caching_session::History;
use crate::commit_item::{CommitItem, LogMessage};
use crate::near::Near;
use crate::recursion::Nesting;

/// How many targets are looked at under one lock of wc.db.
const TOGETHER: usize = 100;
/// How long targets share a lock: a folder may take longer than a hundred files, and others wait for it.
const HELD: Duration = Duration::from_millis(50);

/// The caller's side of operations: configuration, how sessions are opened, notifications and
/// questions. For one thread: an operation with several threads notifies only from its first one.
pub struct Context {
    /// How sessions are opened: credentials, caches, tunnels, the `servers` file.
    pub ra: Settings,
    /// The folder that local paths are relative to, absolute.
    pub here: PathBuf,
    /// How working copies are opened.
    pub wc: Options,
    /// Whether the new URL of a relocated working copy is believed without asking its server.
    pub relocates_unchecked: bool,
    /// Working copies that are open: a root's database is opened once.
    open: RefCell<Vec<WorkingCopy>>,
    /// What was found last, while [`Context::each_target`] goes on: no working copy is made or removed meanwhile.
    near: RefCell<Option<Near>>,
    /// The cached histories of repositories, by working copy.
    histories: RefCell<Vec<(PathBuf, Rc<History>)>>,
    /// Externals that are being fetched.
    pub(crate) nesting: Nesting,
    /// Receives notifications; `None` when the caller wants none.
    pub notify: Option<Rc<NotifyCallback>>,
    /// Writes log messages; without it messages are empty.
    pub log_message: Option<Box<LogMessage>>,
    /// Called with each revision that is committed.
    pub committed: Option<Box<CommittedCallback>>,
    /// Merges texts with another program (`diff3-cmd`) instead of by ourselves.
    pub merge_text: Option<Box<MergeCallback>>,
}

/// Checks for cancellation.
///
/// # Errors
/// E200015 when cancelled.
pub(crate) fn check_cancel(cancel: &CancelToken) -> SvnResult<()> {
    if cancel.is_cancelled() {
        return Err(SvnError::new(ErrorCode::CANCELLED, "Caught signal"));
    }
    Ok(())
}

/// Receives notifications.
pub(crate) type NotifyCallback = dyn Fn(&Notify<'_>);

/// Merges texts: as [`sapwood_wc::conflict::ExternalMerge`].
pub type MergeCallback =
    dyn Fn([&Path; 3], [&str; 3], &mut std::fs::File) -> sapwood_wc::Result<bool>;

/// Called with each revision that is committed.
pub(crate) type CommittedCallback = dyn Fn(&CommitInfo) -> SvnResult<()>;

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context").field("ra", &self.ra).finish_non_exhaustive()
    }
}

impl Context {
    /// A context without callbacks.
    #[must_use]
    pub fn new(ra: Settings, here: PathBuf) -> Self {
        Self {
            ra,
            here,
            wc: Options::default(),
            relocates_unchecked: false,
            open: RefCell::default(),
            near: RefCell::default(),
            histories: RefCell::default(),
            nesting: Nesting::default(),
            notify: None,
            log_message: None,
            committed: None,
            merge_text: None,
        }
    }

    /// The same context with another callback for notifications.
    #[must_use]
    pub(crate) fn with_notify(&self, notify: Rc<NotifyCallback>) -> Self {
        let mut other = Self::new(self.ra.clone(), self.here.clone());
        other.wc = self.wc.clone();
        other.relocates_unchecked = self.relocates_unchecked;
        other.notify = Some(notify);
        // Locks are known to the working copies that hold them.
        other.open.clone_from(&self.open);
        other.nesting = self.nesting.clone();
        other
    }

    /// The absolute form of a local path: `.` and doubled slashes go, `..` takes a name away.
    #[must_use]
    pub fn absolute(&self, path: &str) -> PathBuf {
        sapwood_core::paths::absolute_from(&self.here, Path::new(path))
    }

    /// The working copy that a local path (absolute, without `.` and `..`) is in, and the path below
    /// its root.
    ///
    /// # Errors
    /// E155007 when it is in none; E155036 and the like when it has another format.
    pub fn working_copy(&self, abspath: &Path) -> SvnResult<(WorkingCopy, RelPathBuf)> {
        let mut near = self.near.borrow_mut();
        if let Some(known) = near.as_ref().and_then(|near| near.find(abspath)) {
            return Ok((known.clone(), known.relpath(abspath)?));
        }
        let mut open = self.open.borrow_mut();
        let (found, relpath) = WorkingCopy::find_among(abspath, self.wc.clone(), &open)?;
        if let Some(near) = near.as_mut() {
            near.note(abspath, &found, &relpath);
        }
        if !open.iter().any(|known| known.root() == found.root()) {
            open.push(found.clone());
        }
        Ok((found, relpath))
    }

    /// Calls `each` with each of the local targets of a command that changes no working copy before it has released the
    /// lock. Targets in a row share one lock of wc.db, a hundred at most. `each` must not wait for another program
    /// while it has the lock: `begin` gets the working copy, whose lock is to be released with
    /// [`let_go`](sapwood_wc::db::Db::let_go) before output is written.
    ///
    /// # Errors
    /// Those of `each`, which end the walk.
    pub fn each_target<T>(
        &self,
        targets: &[T],
        begin: &mut dyn FnMut(&WorkingCopy),
        each: &mut dyn FnMut(&T) -> SvnResult<()>,
    ) -> SvnResult<()> {
        let (first, others) = targets.split_at(targets.len().min(1));
        // The first opens the working copy.
        first.iter().try_for_each(&mut *each)?;
        let Some(wc) = self.open.borrow().last().cloned() else {
            return others.iter().try_for_each(each);
        };
        begin(&wc);
        for together in others.chunks(TOGETHER) {
            self.near.replace(Some(Near::default()));
            let done = wc.db().questions(|| {
                let mut held = Instant::now();
                together.iter().try_for_each(|target| {
                    each(target)?;
                    if held.elapsed() > HELD {
                        wc.db().let_go()?;
                        held = Instant::now();
                    }
                    SvnResult::Ok(())
                })
            });
            self.near.replace(None);
            done?;
        }
        Ok(())
    }

    /// Waits until files that are changed from now on get other times than those that were recorded.
    pub(crate) fn wait_for_clock(&self) {
        if self.wc.wait_for_tick {
            self.wc.recorded.wait();
        }
    }

    /// Notifies of a local path with nothing but an action and a revision.
    pub(crate) fn notify_path(&self, path: &Path, action: Action, revision: Option<Revnum>) {
        let path = path.to_string_lossy();
        self.notify(&Notify { revision, ..Notify::new(action, &path) });
    }

    /// Forgets a working copy that is no more: another one may come to be in its place.
    pub fn forget(&self, root: &Path) {
        self.open.borrow_mut().retain(|known| known.root() != root);
    }

    /// The cached history of the repository of a working copy.
    pub(crate) fn history(&self, root: &Path, uuid: &str) -> Rc<History> {
        let mut known = self.histories.borrow_mut();
        let same = |(at, history): &&(PathBuf, Rc<History>)| at == root && history.is_of(uuid);
        if let Some((_, history)) = known.iter().find(same) {
            return Rc::clone(history);
        }
        let history = History::new(uuid);
        known.push((root.to_owned(), Rc::clone(&history)));
        history
    }

    /// The user's `config` file.
    #[must_use]
    pub fn config(&self) -> &Arc<Config> {
        &self.ra.config
    }

    /// Asks operations to stop.
    #[must_use]
    pub fn cancel(&self) -> &CancelToken {
        &self.ra.cancel
    }

    /// Checks for cancellation.
    ///
    /// # Errors
    /// E200015 when cancelled.
    pub fn check_cancel(&self) -> SvnResult<()> {
        check_cancel(&self.ra.cancel)
    }

    /// Opens a session to a URL, or to where its server says that the repository has moved to.
    ///
    /// # Errors
    /// As [`sapwood_ra::open_following`].
    pub(crate) fn open_following(&self, url: &Url) -> SvnResult<Box<dyn Session>> {
        sapwood_ra::open_following(url, &self.ra, &mut |value| self.notify(value))
    }

    /// Sends a notification.
    pub fn notify(&self, value: &Notify<'_>) {
        if let Some(notify) = &self.notify {
            notify(value);
        }
    }

    /// The log message for a commit of these items; `None` gives the commit up.
    ///
    /// # Errors
    /// Those of the caller's callback.
    pub fn message_for(&self, items: &[CommitItem]) -> SvnResult<Option<Vec<u8>>> {
        self.log_message.as_ref().map_or(Ok(Some(Vec::new())), |write| write(items))
    }

    /// Reports a committed revision.
    ///
    /// # Errors
    /// Those of the callback.
    pub(crate) fn notify_commit(&self, info: &CommitInfo) -> SvnResult<()> {
        self.committed.as_ref().map_or(Ok(()), |committed| committed(info))
    }
}
