//! Changes that were acknowledged and wait, for a few seconds, for the rest of the save that they
//! belong to: one save of a program is often several requests (a file is made empty, or locked, and
//! then written; what is in a directory is deleted before the directory).
//!
//! Only changes without a text wait: that an empty file or a directory was created, with its properties,
//! and that a node was deleted. A text is committed before the program gets the reply, and the changes
//! that wait for it are in the same revision. So a server that is killed loses no text.
//!
//! Invariants: pending changes are visible to the user and address that made them. They are committed
//! before the reply to another client could show that they are missing. Two threads never commit the
//! same changes.

use std::cell::Cell;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, MutexGuard};
use sapwood_core::FsPath;
use sapwood_core::exact::Exact as _;
use sapwood_core::path::{dirname, is_ancestor};
use sapwood_core::paths::FsPathBuf;
use sapwood_core::{NodeKind, PropList};
use sapwood_repos::{Hooks, Repository};

/// Most changes that wait of one user at one address.
const MAX_CHANGES: usize = 1000;
/// The limit of users and addresses with pending changes.
const MAX_SAVES: usize = 1000;
/// Bytes of the properties of one node that waits.
const MAX_PROPS: usize = 64 << 10;
/// How long a request waits for a revision that is just made.
const PATIENCE: Duration = Duration::from_secs(3);
/// How soon it is looked again at what a request is at.
const BUSY: Duration = Duration::from_millis(250);

/// Whose changes wait together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The repository's folder.
    pub repository: PathBuf,
    /// The user's name.
    pub user: Option<String>,
    /// The client's address.
    pub client: IpAddr,
}

/// A change that waits.
#[derive(Clone, Debug)]
pub struct Change {
    id: u64,
    /// The fspath.
    pub path: FsPathBuf,
    /// What becomes of it.
    pub what: ChangeKind,
}

impl Change {
    /// Whether it makes a directory that `path` is to be in.
    #[must_use]
    pub(crate) fn is_made_above(&self, path: &FsPath) -> bool {
        matches!(self.what, ChangeKind::Make(..))
            && self.path != path
            && is_ancestor(&self.path, path)
    }
}

/// What becomes of a path.
#[derive(Clone, Debug)]
pub enum ChangeKind {
    /// Something is made: without a text or entries, with properties.
    Make(NodeKind, PropList),
    /// What is there goes; the lock tokens that were shown, each with its path.
    Delete(Vec<(String, String)>),
}

/// The state of a path for the user who made the pending changes, if it differs from the
/// repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Something is there, without a text or entries.
    Made(NodeKind, PropList),
    /// Nothing is there; what was there went by itself, or with a directory.
    Gone {
        /// Whether it went by itself.
        itself: bool,
    },
}

/// What is needed to commit pending changes.
#[derive(Clone, Debug)]
pub struct Context {
    /// The repository, at rest.
    pub repository: Repository,
    /// Its hooks.
    pub hooks: Hooks,
    /// Its name, for the log.
    pub name: Option<String>,
    /// Its name in authz files.
    pub authz_name: String,
}

/// The pending changes of one user at one address.
#[derive(Debug)]
pub struct Save {
    who: Owner,
    context: Context,
    changes: Vec<Change>,
    /// When the last change was added.
    last: Instant,
    /// Requests that are about to commit it.
    busy: usize,
    /// Whether it is being committed.
    is_settling: bool,
}

impl Save {
    /// Whether it is of a repository.
    #[must_use]
    pub fn is_of(&self, repository: &Path) -> bool {
        self.who.repository == repository
    }

    /// The user and address that made it.
    #[must_use]
    pub const fn who(&self) -> &Owner {
        &self.who
    }

    /// Whether a path is above, at or below what changes.
    #[must_use]
    pub fn concerns(&self, path: &FsPath) -> bool {
        let near =
            |change: &Change| is_ancestor(&change.path, path) || is_ancestor(path, &change.path);
        self.changes.iter().any(near)
    }

    /// Whether something is made at a path.
    #[must_use]
    pub fn makes(&self, path: &FsPath) -> bool {
        matches!(state(&self.changes, path), Some(State::Made(..)))
    }

    /// Whether a change is at a path or above it.
    #[must_use]
    pub(crate) fn is_at_or_above(&self, path: &FsPath) -> bool {
        self.changes.iter().any(|change| is_ancestor(&change.path, path))
    }

    /// Whether one of a directory's own entries changes.
    #[must_use]
    pub(crate) fn changes_entries(&self, path: &FsPath) -> bool {
        self.changes.iter().any(|change| dirname(&change.path) == path)
    }
}

/// All pending changes.
#[derive(Debug, Default)]
pub struct Saves {
    table: Mutex<Table>,
    settled: Condvar,
    /// The number of saves, to be read without the lock.
    count: AtomicUsize,
}

#[derive(Debug, Default)]
struct Table {
    saves: Vec<Save>,
    last_id: u64,
    /// Whether a task commits changes that have waited long enough.
    is_watched: bool,
}

impl Table {
    fn of(&mut self, who: &Owner) -> Option<&mut Save> {
        self.saves.iter_mut().find(|save| save.who == *who)
    }

    fn next_id(&mut self) -> u64 {
        self.last_id = self.last_id.wrapping_add(1);
        self.last_id
    }
}

/// The state of `path` after some changes.
fn state(changes: &[Change], path: &FsPath) -> Option<State> {
    let mut state = None;
    for change in changes {
        match &change.what {
            ChangeKind::Make(kind, props) if change.path == path => {
                state = Some(State::Made(*kind, props.clone()));
            }
            ChangeKind::Delete(_) if is_ancestor(&change.path, path) => {
                state = Some(State::Gone { itself: change.path == path });
            }
            _ => {}
        }
    }
    state
}

/// Drops new nodes at a path and below it, and deletions below it. Returns whether a node was to be
/// created at the path.
fn take_back(changes: &mut Vec<Change>, path: &FsPath) -> bool {
    let was_made = matches!(state(changes, path), Some(State::Made(..)));
    changes.retain(|change| match change.what {
        ChangeKind::Make(..) => !is_ancestor(path, &change.path),
        ChangeKind::Delete(_) => change.path == path || !is_ancestor(path, &change.path),
    });
    was_made
}

impl Saves {
    /// Whether there are no pending changes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count.load(Ordering::Acquire) == 0
    }

    fn recount(&self, table: &Table) {
        self.count.store(table.saves.len(), Ordering::Release);
    }

    /// Waits until no save for which `test` holds is being committed; false if that takes too long.
    fn calm(&self, table: &mut MutexGuard<'_, Table>, test: impl Fn(&Save) -> bool) -> bool {
        let end = Instant::now().checked_add(PATIENCE);
        while table.saves.iter().any(|save| save.is_settling && test(save)) {
            if end.is_none_or(|end| self.settled.wait_until(table, end).timed_out()) {
                return false;
            }
        }
        true
    }

    /// The pending state of a path for a user, if it differs from the repository. Waits for a commit
    /// in progress.
    #[must_use]
    pub fn state(&self, who: &Owner, path: &FsPath) -> Option<State> {
        if self.is_empty() {
            return None;
        }
        let mut table = self.table.lock();
        self.calm(&mut table, |save| save.who == *who);
        table.of(who).and_then(|save| state(&save.changes, path))
    }

    /// Whether there is a pending save for which `test` holds.
    #[must_use]
    pub fn any(&self, test: impl Fn(&Save) -> bool) -> bool {
        !self.is_empty() && self.table.lock().saves.iter().any(test)
    }

    /// Lets a change wait. False when there are too many; then nothing has changed.
    #[must_use]
    pub fn hold(
        &self,
        who: &Owner,
        context: impl FnOnce() -> Context,
        (path, what): (&FsPath, ChangeKind),
    ) -> bool {
        if matches!(&what, ChangeKind::Make(_, props) if props.byte_len() > MAX_PROPS) {
            return false;
        }
        let mut table = self.table.lock();
        self.calm(&mut table, |save| save.who == *who);
        if table.of(who).is_some_and(|save| save.is_settling) {
            return false;
        }
        let id = table.next_id();
        if table.of(who).is_none() {
            if table.saves.len() >= MAX_SAVES {
                return false;
            }
            let (who, context) = (who.clone(), context());
            let (changes, last) = (Vec::new(), Instant::now());
            table.saves.push(Save { who, context, changes, last, busy: 0, is_settling: false });
            self.recount(&table);
        }
        let Some(save) = table.of(who) else { return false };
        let is_delete = matches!(what, ChangeKind::Delete(_));
        if is_delete {
            take_back(&mut save.changes, path);
        }
        if save.changes.len() >= MAX_CHANGES {
            return false;
        }
        save.last = Instant::now();
        // A node that was created and deleted again needs no change.
        if !(is_delete && matches!(state(&save.changes, path), Some(State::Gone { .. }))) {
            save.changes.push(Change { id, path: path.to_owned(), what });
        }
        true
    }

    /// Drops pending new nodes at a path and below it. False if there are none.
    #[must_use]
    pub(crate) fn unmake(&self, who: &Owner, path: &FsPath) -> bool {
        let mut table = self.table.lock();
        let Some(save) = table.of(who).filter(|save| !save.is_settling) else { return false };
        let found = take_back(&mut save.changes, path);
        save.last = Instant::now();
        if save.changes.is_empty() && save.busy == 0 {
            table.saves.retain(|save| save.who != *who);
        }
        self.recount(&table);
        found
    }

    /// Replaces the properties of a pending new node. False if there is none, or they are too many.
    #[must_use]
    pub fn set_props(&self, who: &Owner, path: &FsPath, new: &PropList) -> bool {
        let mut table = self.table.lock();
        let Some(save) = table.of(who).filter(|save| !save.is_settling) else { return false };
        save.last = Instant::now();
        let made = save.changes.iter_mut().rev().find(|change| change.path == path);
        match made.map(|change| &mut change.what) {
            Some(ChangeKind::Make(_, props)) if new.byte_len() <= MAX_PROPS => {
                props.clone_from(new);
                true
            }
            _ => false,
        }
    }

    /// The pending changes, for a request that commits them together with its own. They stay pending
    /// until then.
    #[must_use]
    pub fn join(&self, who: &Owner) -> JoinedChanges<'_> {
        let mut table = self.table.lock();
        self.calm(&mut table, |save| save.who == *who);
        let free = table.of(who).filter(|save| !save.is_settling);
        let changes = free.map(|save| {
            save.busy = save.busy.plus(1);
            save.changes.clone()
        });
        let is_counted = changes.is_some();
        JoinedChanges {
            saves: self,
            who: who.clone(),
            changes: changes.into_iter().flatten().collect(),
            is_counted,
        }
    }

    /// Commits the pending saves that are `wanted`, one for each user and address, and waits for
    /// other threads that do. Saves that a request is about to commit are left to it.
    pub fn flush(&self, commit: &dyn Commit, wanted: impl Fn(&Save) -> bool) {
        self.flush_matching(commit, |save| wanted(save), |save| save.busy == 0);
    }

    /// Commits all pending changes, when the server ends.
    pub(crate) fn flush_all(&self, commit: &dyn Commit) {
        self.flush_matching(commit, |_| true, |_| true);
    }

    fn flush_matching(
        &self,
        commit: &dyn Commit,
        wanted: impl Fn(&Save) -> bool,
        is_free: impl Fn(&Save) -> bool,
    ) {
        while !self.is_empty() {
            let mut table = self.table.lock();
            if !self.calm(&mut table, &wanted) {
                return;
            }
            let found = table.saves.iter_mut().find(|save| wanted(save) && is_free(save));
            let Some(save) = found else { return };
            save.is_settling = true;
            let (who, context, changes) =
                (save.who.clone(), save.context.clone(), save.changes.clone());
            drop(table);
            let settling = SaveGuard { saves: self, who: &who, is_over: Cell::new(false) };
            commit.commit(&who, &context, &changes, &|| settling.over());
            drop(settling);
        }
    }

    /// Whether the caller should start a task that calls [`Saves::flush_due`], as
    /// [`Saves::next_due`] says.
    #[must_use]
    pub(crate) fn needs_watch(&self) -> bool {
        if self.is_empty() {
            return false;
        }
        let mut table = self.table.lock();
        !std::mem::replace(&mut table.is_watched, true)
    }

    /// The time when a save will have waited for so long; `None` when nothing is pending, and the
    /// task may end.
    #[must_use]
    pub(crate) fn next_due(&self, wait: Duration) -> Option<Instant> {
        let mut table = self.table.lock();
        let now = Instant::now();
        let due = |save: &Save| {
            let due = save.last.checked_add(wait).unwrap_or(now);
            let again = now.checked_add(BUSY).unwrap_or(now);
            if save.busy > 0 || save.is_settling { due.max(again) } else { due }
        };
        let next = table.saves.iter().map(due).min();
        table.is_watched = next.is_some();
        next
    }

    /// Commits the changes that have waited for so long.
    pub(crate) fn flush_due(&self, commit: &dyn Commit, wait: Duration) {
        let now = Instant::now();
        self.flush(commit, |save| !save.is_settling && now.duration_since(save.last) >= wait);
    }
}

/// Makes a revision of pending changes.
pub trait Commit {
    /// Commits the changes of a user. `there` is called when the revision exists. What cannot be
    /// committed any more is logged.
    fn commit(&self, who: &Owner, context: &Context, changes: &[Change], there: &dyn Fn());
}

/// A save is committed: whether that succeeds or fails, it waits no longer.
struct SaveGuard<'a> {
    saves: &'a Saves,
    who: &'a Owner,
    is_over: Cell<bool>,
}

impl SaveGuard<'_> {
    /// It is no longer pending.
    fn over(&self) {
        if self.is_over.replace(true) {
            return;
        }
        let mut table = self.saves.table.lock();
        table.saves.retain(|save| save.who != *self.who);
        self.saves.recount(&table);
        drop(table);
        self.saves.settled.notify_all();
    }
}

impl Drop for SaveGuard<'_> {
    fn drop(&mut self) {
        self.over();
    }
}

/// The pending changes, in the hands of a request that commits them.
#[derive(Debug)]
pub struct JoinedChanges<'a> {
    saves: &'a Saves,
    who: Owner,
    /// The changes, in their order.
    pub changes: Vec<Change>,
    is_counted: bool,
}

impl JoinedChanges<'_> {
    /// Notes that they are committed.
    pub fn done(self) {
        if let Some(save) = self.saves.table.lock().of(&self.who) {
            save.changes.retain(|change| !self.changes.iter().any(|done| done.id == change.id));
        }
    }
}

impl Drop for JoinedChanges<'_> {
    fn drop(&mut self) {
        if !self.is_counted {
            return;
        }
        let mut table = self.saves.table.lock();
        let is_over = table.of(&self.who).is_some_and(|save| {
            save.busy = save.busy.minus(1);
            save.busy == 0 && save.changes.is_empty()
        });
        if is_over {
            table.saves.retain(|save| save.who != self.who);
            self.saves.recount(&table);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sapwood_testkit::fspath;

    fn change(path: &FsPath, what: ChangeKind) -> Change {
        Change { id: 0, path: path.to_owned(), what }
    }

    fn file(path: &FsPath) -> Change {
        change(path, ChangeKind::Make(NodeKind::File, PropList::new()))
    }

    fn deletion(path: &FsPath) -> Change {
        change(path, ChangeKind::Delete(Vec::new()))
    }

    #[test]
    fn how_a_path_is() {
        let changes = [
            deletion(fspath("/d")),
            file(fspath("/f")),
            deletion(fspath("/g")),
            file(fspath("/g")),
        ];
        assert_eq!(state(&changes, fspath("/d")), Some(State::Gone { itself: true }));
        assert_eq!(state(&changes, fspath("/d/x")), Some(State::Gone { itself: false }));
        assert_eq!(state(&changes, fspath("/dx")), None);
        let made = Some(State::Made(NodeKind::File, PropList::new()));
        assert_eq!(
            (state(&changes, fspath("/f")), state(&changes, fspath("/g"))),
            (made.clone(), made)
        );
        assert_eq!(state(&changes, fspath("/")), None);
    }

    #[test]
    fn what_is_taken_back() {
        let mut changes = vec![
            deletion(fspath("/d/a")),
            file(fspath("/d/b")),
            deletion(fspath("/d/c/x")),
            deletion(fspath("/e")),
        ];
        assert!(!take_back(&mut changes, fspath("/d")));
        assert_eq!(changes.len(), 1);
        let mut changes = vec![deletion(fspath("/f")), file(fspath("/f"))];
        assert!(take_back(&mut changes, fspath("/f")));
        assert_eq!(state(&changes, fspath("/f")), Some(State::Gone { itself: true }));
    }
}
